"""Tests that existing mounts and clusters are recognised from outputs of kernels and servers that
were recorded."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
from dfslab.filesystems.cephfs import existing as cephfs
from dfslab.filesystems.glusterfs import existing as glusterfs
from dfslab.instruments import recognising
from dfslab.spec.input_error import InputError
from dfslab.spec.systems.mounts import StorageLayout

# Recorded lines of /proc/self/mountinfo. The key is the name of a file system, and the value is the
# line of a mount of this file system. In the line, %s stands for the mount point.
LINES = {
    "moosefs": r"282 135 0:68 / %s rw,relatime - fuse mfs\04310.77.0.1:9421 rw,user_id=0",
    "glusterfs": "152 65 0:51 / %s rw - fuse.glusterfs 10.77.0.1:/dfslab rw,user_id=0",
    "juicefs": "172 134 0:54 / %s rw - fuse.juicefs JuiceFS:dfslab rw,max_read=131072",
    "cephfs": "90 1 0:40 / %s rw - ceph 10.0.0.1:6789,10.0.0.2:6789:/ rw,name=admin",
    "nfs": "91 1 0:41 / %s rw - nfs4 server:/export rw,vers=4.2",
    "lustre": "92 1 0:42 / %s rw - lustre mgs@tcp:/scratch rw",
    "": "93 1 0:43 / %s rw - fuse.sshfs user@host:/home rw",
}
SERVERS = {
    "moosefs": ["10.77.0.1:9421"],
    "glusterfs": ["10.77.0.1"],
    "nfs": ["server"],
    "cephfs": ["10.0.0.1:6789", "10.0.0.2:6789"],
}


@pytest.mark.parametrize("name", LINES)
def test_a_mount_is_known_by_its_line(name, tmp_path, monkeypatch):
    point = tmp_path / "with blank"
    point.mkdir()
    table = tmp_path / "mountinfo"
    reported = str(point).replace(" ", r"\040")
    table.write_text(f"41 1 254:0 / / rw - ext4 /dev/vda rw\n{LINES[name] % reported}\n")
    monkeypatch.setattr(recognising, "MOUNTS", table)
    found = recognising.existing(str(point)).document()
    assert found["file_system"] == name
    assert found["mounted_at"] == str(point)
    assert found["size_bytes"] >= found["free_bytes"] > 0
    if name in SERVERS:
        assert found["servers"] == SERVERS[name]
    assert recognising.existing(str(tmp_path)).file_system == "local"


def test_paths_to_bricks_are_understood():
    path = (
        "((<DISTRIBUTE:v-dht> (<REPLICATE:v-replicate-0> <POSIX(/b/1):data-1:/b/1/> "
        "<POSIX(/b/1):data-2:/b/1/>) (<REPLICATE:v-replicate-1> <POSIX(/b/1):data-3:/b/1/> "
        "<POSIX(/b/1):data-4:/b/1/>)) (v-dht-layout (v-replicate-0 0 1)))"
    )
    found = glusterfs.understood({"trusted.glusterfs.pathinfo": path})
    assert found.servers == ["data-1", "data-2", "data-3", "data-4"]
    assert found.facts["copies"] == 2
    assert glusterfs.understood({}) == StorageLayout()
    layout = "stripe_unit=4194304 stripe_count=2 object_size=4194304 pool=cephfs_data"
    assert cephfs.understood({"ceph.dir.layout": layout}).facts["layout"]["stripe_count"] == "2"


ANSWERS = {
    "/jmx?qry=Hadoop:service=NameNode,name=NameNodeInfo": {
        "beans": [
            {
                "SoftwareVersion": "3.4.3",
                "LiveNodes": json.dumps({"a": {"xferaddr": "10.0.0.2:9866"}}),
            }
        ]
    },
    "/jmx?qry=Hadoop:service=NameNode,name=FSNamesystemState": {
        "beans": [
            {"CapacityTotal": 100, "CapacityRemaining": 60, "FilesTotal": 4, "BlocksTotal": 5}
        ]
    },
    "/webhdfs/v1/a%20b?op=LISTSTATUS": {
        "FileStatuses": {
            "FileStatus": [
                {"type": "FILE", "replication": 3, "blockSize": 134217728},
                {"type": "FILE", "replication": 2, "blockSize": 134217728},
                {"type": "DIRECTORY", "replication": 0, "blockSize": 0},
            ]
        }
    },
    "/webhdfs/v1/a%20b?op=GETCONTENTSUMMARY": {"ContentSummary": {"fileCount": 9, "length": 77}},
}


class Door(BaseHTTPRequestHandler):
    """A web server that imitates the web interface of a NameNode and answers the requests in
    ANSWERS."""

    def do_GET(self):
        answer = ANSWERS.get(self.path)
        self.send_response(200 if answer else 404)
        self.end_headers()
        said = answer or {"RemoteException": {"exception": "FileNotFoundException"}}
        self.wfile.write(json.dumps(said).encode())

    def log_message(self, *words):
        """Suppresses the log line that the web server would print for each request."""


@pytest.fixture
def door():
    server = HTTPServer(("127.0.0.1", 0), Door)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_namenode_is_queried_at_its_web_interface(door):
    found = recognising.existing("hdfs://namenode:8020/a b", door).document()
    assert found["file_system"] == "hdfs"
    assert found["servers"] == ["10.0.0.2:9866"]
    assert found["replication_seen"] == [2, 3]
    assert found["block_size_bytes_seen"] == [134217728]
    assert (found["directory_files"], found["directory_bytes"]) == (9, 77)
    assert (found["size_bytes"], found["free_bytes"], found["version"]) == (100, 60, "3.4.3")


def test_what_cannot_be_looked_at_is_one_clear_line(door, tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    cases = {
        str(file): "existing directory",
        str(Path("/no/such")): "existing directory",
        "s3://bucket": "must begin with hdfs",
        "hdfs:///x": "must name a NameNode",
        "hdfs://namenode/missing": "no such directory",
    }
    for place, allowed in cases.items():
        with pytest.raises(InputError, match=allowed):
            recognising.existing(place, door)
    with pytest.raises(InputError, match="web address"):
        recognising.existing("hdfs://127.0.0.1/", "127.0.0.1:1")
