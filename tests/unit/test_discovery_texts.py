"""Tests that the deployment of a running file system is found from recorded outputs of its
tools."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dfslab.filesystems.cephfs.existing import EXISTING as CEPHFS
from dfslab.filesystems.glusterfs.existing import EXISTING as GLUSTERFS
from dfslab.filesystems.glusterfs.volume_info import of_client_graph, of_volume_info
from dfslab.filesystems.hdfs.existing import EXISTING as HDFS
from dfslab.filesystems.juicefs.existing import EXISTING as JUICEFS
from dfslab.filesystems.moosefs.existing import EXISTING as MOOSEFS
from dfslab.filesystems.nfs.existing import EXISTING as NFS
from dfslab.instruments.discovery import client_machine
from dfslab.spec.systems.mounts import ExistingFileSystem

VOLUME = """
Volume Name: data
Type: Distributed-Replicate
Status: Started
Number of Bricks: 2 x 3 = 6
Transport-type: tcp
Bricks:
Brick1: 10.77.0.1:/bricks/1
Brick2: 10.77.0.2:/bricks/1
Options Reconfigured:
performance.write-behind: off
performance.cache-size: 64MB
performance.io-thread-count: 32
features.shard: enable
transport.address-family: inet
"""
GRAPH = ["data-client-0", "data-client-1", "data-client-2", "data-client-3", "data-dht"]


class Commands:
    """A stand-in for a shell that answers commands with recorded outputs. Each keyword argument is
    a pair of texts. If a command line contains the first text, its output is the second. The output
    of any other command is empty."""

    def __init__(self, **outputs: str) -> None:
        self.outputs, self.asked = outputs, []

    def __call__(self, words: Sequence[str]) -> str:
        self.asked.append(list(words))
        line = " ".join(words)
        return next((out for key, out in self.outputs.items() if key in line), "")


def mount(source: str, **more) -> ExistingFileSystem:
    return ExistingFileSystem(
        file_system="",
        type="",
        source=source,
        servers=[],
        size_bytes=0,
        free_bytes=0,
        mounted_at="/mnt/x",
        **more,
    )


def test_a_gluster_volume_reports_bricks_copies_and_options():
    found = of_volume_info(VOLUME)
    assert found.instances == {"brick": 6}
    assert found.settings["copies"] == 3
    assert found.settings["write_behind"] == 0
    assert found.settings["cache_size"] == 64 * 2**20
    assert found.settings["io_thread_count"] == 32
    assert found.settings["shard"] == 1
    assert found.addresses == {"brick": ("10.77.0.1:24007", "10.77.0.2:24007")}


def test_dispersed_and_plain_gluster_volumes():
    dispersed = of_volume_info("Number of Bricks: 1 x (4 + 2) = 6\n")
    assert dispersed.settings == {"copies": 6, "data_fragments": 4}
    assert dispersed.instances == {"brick": 6}
    plain = of_volume_info("Number of Bricks: 5\n")
    assert (plain.instances, plain.settings) == ({"brick": 5}, {"copies": 1})


def test_the_graph_of_a_gluster_client_reports_what_its_servers_do_not():
    replicated = of_client_graph([*GRAPH, "data-replicate-0", "data-replicate-1"], "node")
    assert (replicated.instances, replicated.settings) == ({"brick": 4}, {"copies": 2})
    # The client graph of a dispersed set does not state how many bricks hold redundant data.
    # Therefore no setting is found.
    assert of_client_graph([*GRAPH, "data-disperse-0"], "node").settings == {}
    commands = Commands(**{".meta/graphs": "\n".join(GRAPH)})
    assert GLUSTERFS.discover(mount("node:/data"), commands).instances == {"brick": 4}
    # dfslab first requests the description of the volume from the volume's server. The server did
    # not answer here, so dfslab read the client's graph instead.
    assert "--remote-host=node" in commands.asked[0]


def test_moosefs_reports_goal_and_chunkservers():
    commands = Commands(
        mfsgetgoal="/mnt/x: 3\n",
        mfscli="chunk servers:;10.77.0.2;9422;1;-;3.0.117;0\nchunk servers:;10.77.0.3;9432;2;-;3\n",
    )
    found = MOOSEFS.discover(mount("mfs#10.77.0.1:9421"), commands)
    assert found.instances == {"master": 1, "chunkserver": 2}
    assert found.settings == {"goal": 3}
    assert found.addresses["master"] == ("10.77.0.1:9421",)
    assert found.addresses["chunkserver"] == ("10.77.0.2:9422", "10.77.0.3:9432")
    # If the tools of MooseFS give no output, dfslab knows only the facts in the kernel's entry of
    # the mount.
    silent = MOOSEFS.discover(mount("mfs#master"), Commands())
    assert (silent.instances, silent.settings) == ({"master": 1}, {})


def test_nfs_reports_its_request_size():
    options = "rw,relatime,vers=4.2,rsize=1048576,wsize=524288,addr=10.0.0.7"
    found = NFS.discover(mount("filer:/export", options=options), Commands())
    assert found.settings == {"request_size": 524288}
    assert found.addresses == {"server": ("10.0.0.7:2049",)}


def test_cephfs_reports_stores_copies_and_striping():
    layout = "stripe_unit=1048576 stripe_count=4 object_size=4194304 pool=data"
    found = CEPHFS.discover(
        mount("ceph-fuse", facts={"ceph.dir.layout": layout}),
        Commands(
            **{"osd stat": '{"num_osds":4,"num_up_osds":3}', "pool get data size": '{"size":2}'}
        ),
    )
    assert found.instances == {"osd": 3}
    assert found.settings == {
        "stripe_unit": 2**20,
        "stripe_count": 4,
        "object_size": 2**22,
        "copies": 2,
    }


def test_juicefs_reports_objects_and_store():
    text = (
        '{"Chunk": {"BlockSize": 4194304, "MaxUpload": 20}, '
        '"Format": {"Bucket": "redis://10.77.0.2:6379/2"}}'
    )
    found = JUICEFS.discover(mount("JuiceFS:x"), Commands(**{".config": text}))
    assert found.settings == {"block_size": 2**22, "max_uploads": 20}
    assert found.addresses == {"store": ("10.77.0.2:6379",)}
    assert JUICEFS.discover(mount("JuiceFS:x"), Commands(**{".config": "no JSON"})).settings == {}


def test_hdfs_reports_settings_only_where_files_agree():
    facts = {"replication_seen": [3], "block_size_bytes_seen": [2**27, 2**28]}
    found = HDFS.discover(mount("hdfs://name:8020/data", facts=facts), Commands())
    assert found.settings == {"replication": 3}
    assert found.addresses["namenode"] == ("name:8020",)


def test_the_speed_of_a_virtual_adapter_is_not_taken(tmp_path: Path):
    real, virtual = tmp_path / "eth0", tmp_path / "veth0"
    for path in (real, virtual):
        path.mkdir()
        (path / "speed").write_text("25000\n")
    (real / "device").mkdir()
    assert client_machine.link_rate(real) == 25e9 / 8
    assert client_machine.link_rate(virtual) is None
    (real / "speed").write_text("-1\n")
    assert client_machine.link_rate(real) is None
