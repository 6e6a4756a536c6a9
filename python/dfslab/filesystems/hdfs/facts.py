"""Declares the roles, parameters (with sources), legal combinations and access of HDFS."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlparse

from dfslab.spec.streams.target import HadoopTarget, HdfsTarget
from dfslab.spec.systems.endpoint import Endpoint
from dfslab.spec.systems.filesystem import Facts, Role
from dfslab.spec.systems.memory import ObjectMemory
from dfslab.spec.systems.parameters import Parameter, Parameters

TITLE = "Hadoop Distributed File System"
SOURCE = "Shvachko et al. 2010; Hadoop 3.4 hdfs-default.xml; Wu et al. 2013"
ROLES = (
    Role("client", "client", "ClientNode"),
    Role("namenode", "metadata", "NameNode"),
    Role("datanode", "data", "DataNode", instances=3),
)

PARAMETERS = Parameters(
    Parameter(
        "block_size",
        "Block size",
        "B",
        "filesystem",
        2.0**27,
        "Dap1",
        "dfs.blocksize",
        minimum=2.0**20,
        purpose="block size",
    ),
    Parameter(
        "replication",
        "Replicas of a block, the length of the write pipeline",
        "1",
        "filesystem",
        3.0,
        "Rp1",
        "dfs.replication",
        minimum=1,
        purpose="copies",
    ),
    Parameter(
        "packet_size",
        "Bytes of a data packet",
        "B",
        "filesystem",
        65536.0,
        "Pp2",
        "dfs.client-write-packet-size",
        minimum=512,
    ),
    Parameter(
        "handler_count",
        "NameNode threads that answer calls",
        "1",
        "filesystem",
        10.0,
        "Np6",
        "dfs.namenode.handler.count",
        minimum=1,
    ),
    Parameter(
        "call_queue",
        "Calls that may wait for each NameNode thread",
        "1",
        "filesystem",
        100.0,
        "Np7",
        "ipc.server.handler.queue.size",
        minimum=1,
    ),
    Parameter(
        "fair_lock",
        "Namespace lock given in order of asking (1) or as it can be (0)",
        "1",
        "filesystem",
        1.0,
        "Np5",
        "dfs.namenode.fslock.fair",
        choices=(0.0, 1.0),
    ),
    Parameter(
        "prefetch_blocks",
        "Blocks located by one getBlockLocations",
        "1",
        "filesystem",
        10.0,
        "Pp1",
        "dfs.client.read.prefetch.size",
        minimum=1,
    ),
    Parameter(
        "read_streams",
        "Blocks that a client reads at once (1: one after the other, as DFSInputStream does)",
        "1",
        "filesystem",
        1.0,
        "",
        "Wu 2013, Figure 2",
        minimum=1,
    ),
    Parameter(
        "block_sync",
        "Each block is on disk before it is done (1), as the load's own client "
        "asks with every last packet, or is written back later (0), as Java's can",
        "1",
        "filesystem",
        1.0,
        "",
        "CreateFlag.SYNC_BLOCK",
        choices=(0.0, 1.0),
    ),
    Parameter(
        "close_committed_allowed",
        "Unreported blocks a file may be closed with",
        "1",
        "filesystem",
        1.0,
        "",
        "dfs.namenode.file.close.num-committed-allowed",
        minimum=0,
        daemons_only=True,
    ),
    Parameter(
        "complete_retry_delay",
        "Client back-off when a close comes too early",
        "s",
        "filesystem",
        0.4,
        "",
        "dfs.client.block.write.locateFollowingBlock.initial.delay.ms",
        minimum=0,
    ),
    Parameter(
        "setup_trips",
        "Round trips to each member of a pipeline before a block: TCP's "
        "handshake, the request and its answer",
        "1",
        "derived",
        2.0,
        "",
        "RFC 9293; DataTransferProtocol, OP_WRITE_BLOCK",
    ),
    Parameter(
        "packets_in_flight",
        "Packets a client takes before one of them is acknowledged",
        "1",
        "derived",
        200.0,
        "",
        "hdfs-native: 100 queued and 100 sent; Java's dfs.client.write.max-packets-in-flight is 80",
    ),
    Parameter(
        "complete_retries",
        "Back-offs of one close of a written file",
        "1",
        "calibrated",
        0.02,
        spread=2.0,
    ),
    Parameter(
        "client_stream_cpu", "Client time of opening or creating a stream", "s", "calibrated", 5e-5
    ),
    Parameter("client_call_cpu", "Client time of one remote call", "s", "calibrated", 1e-4),
    Parameter("lookup_cpu", "NameNode time of a call that only reads", "s", "calibrated", 1e-4),
    Parameter(
        "update_cpu",
        "NameNode time of creating, adding to and completing a file",
        "s",
        "calibrated",
        2e-4,
    ),
    Parameter(
        "report_cpu",
        "NameNode time of one DataNode's report of a new replica",
        "s",
        "calibrated",
        2e-5,
    ),
    Parameter("rename_cpu", "NameNode time of a rename", "s", "calibrated", 2e-4),
    Parameter("delete_cpu", "NameNode time of a removal", "s", "calibrated", 2e-4),
    Parameter("edit_sync", "Waiting for the edit log to be on disk", "s", "calibrated", 4e-4),
    Parameter("entry_cpu", "NameNode time of one listed entry", "s", "calibrated", 2e-6),
    Parameter(
        "read_setup_cpu",
        "DataNode time of taking a connection and opening a replica to read",
        "s",
        "calibrated",
        5e-4,
    ),
    Parameter(
        "write_setup_cpu",
        "DataNode time of taking a connection and opening a replica to write",
        "s",
        "calibrated",
        1e-3,
    ),
    Parameter("finalize_cpu", "DataNode time of finishing a replica", "s", "calibrated", 1e-3),
    Parameter(
        "retire_cpu",
        "DataNode time of a written replica that nobody waits for",
        "s",
        "calibrated",
        1e-3,
    ),
    Parameter(
        "client_read_byte_cpu",
        "Client time of a byte read (copy, checksum)",
        "s/B",
        "calibrated",
        8e-10,
    ),
    Parameter(
        "client_write_byte_cpu",
        "Client time of a byte written (copy, checksum)",
        "s/B",
        "calibrated",
        8e-10,
    ),
    Parameter("server_read_byte_cpu", "DataNode time of a byte sent", "s/B", "calibrated", 4e-10),
    Parameter(
        "server_write_byte_cpu",
        "DataNode time of a byte received, stored, mirrored",
        "s/B",
        "calibrated",
        1.2e-9,
    ),
)

# Memory per object of the NameNode according to several sources. Most sources count one object for
# each file (its inode) and one for each of its blocks. Cloudera's rule counts only blocks and
# includes spare memory. Wu counts only files.
MEMORY = (
    ObjectMemory("namenode", 200, "Shvachko 2010: 200 B an object", 200, "block_size"),
    ObjectMemory(
        "namenode",
        0,
        "Cloudera's sizing rule: 1 GB of heap for a million blocks",
        1000,
        "block_size",
    ),
    ObjectMemory("namenode", 238, "LinkedIn: 1.6 G objects in 380 GB", 238, "block_size"),
    ObjectMemory("namenode", 200, "Wu 2013: 200 B a file, blocks not counted"),
)
SEVERAL_SERVERS = "federation: each NameNode has the names below separate mount points"

# The steps that Liu 2018 names, and the call paths under which traces record them. The key is the
# name of a step. The value has one or more ends of call paths. A path consists of names of traced
# methods, which points.txt lists. All paths with such an end count. If a step has several ends, the
# times of all ends are added, but only the calls of the first end are counted. For example, a
# request is counted once, when its file is opened, and its time includes the reads.
FUNCTIONS = {
    "FileSystem#createFileSystem": ("create_file_system",),
    "DFSOutputStream#close": ("close",),
    "BlockSender#sendBlock": ("send_block",),
    "BlockSender#sendPacket": ("send_block/send_packet",),
    "FSNamesystem#getBlockLocations": ("locate_blocks",),
    "write to disk": ("write_disk",),
    "flush to disk": ("flush_disk",),
    "back-off of a close": ("complete_back_off",),
    "request (open, read)": ("open", "read", "pread"),
}

# The call path under which a client's trace records the work of steps. The key has one or more
# steps of operations.py, and the value is the call path. A path consists of names of traced
# methods, which points.txt lists.
TRACED = {
    ("create",): "create",
    ("create/create",): "create/rpc_create",
    ("write",): "write",
    ("write/addBlock",): "rpc_addBlock",
    ("write/connect", "write/openReplica"): "connect_pipeline",
    ("close",): "close",
    ("close/writeRequest", "close/lastAck", "close/writeAck"): "close/wait_for_acks",
    ("close/complete",): "complete_file/rpc_complete",
    ("close/backoff",): "complete_back_off",
    ("open",): "open",
    ("open/getBlockLocations",): "open/get_block_locations/rpc_getBlockLocations",
    ("read",): "read",
    ("read/connect",): "connect_block",
    ("stat",): "get_file_info",
    ("stat/getFileInfo",): "get_file_info/rpc_getFileInfo",
    ("list",): "list",
    ("list/getListing",): "list/rpc_getListing",
    ("rename",): "rename",
    ("rename/rename",): "rename/rpc_rename",
    ("delete",): "delete",
    ("delete/delete",): "delete/rpc_delete",
    ("append",): "append",
    ("append/append",): "append/rpc_append",
}

NAMENODE_PORT = 8020
ACCESS_KEYS = ("testbed", "uri", "directory", "client", "shared_client")


def check(parameters: Mapping[str, float], instances: Mapping[str, int]) -> list[tuple[str, str]]:
    """Returns one pair for each violated rule: the name of a parameter or role, and what is
    required of it. For example, replicas must be on different DataNodes, and there must be one
    NameNode."""
    wrong = []
    if parameters["replication"] > instances["datanode"]:
        wrong.append(("replication", f"at most the {instances['datanode']} datanodes deployed"))
    if parameters["replication"] != int(parameters["replication"]):
        wrong.append(("replication", "a whole number"))
    if instances["namenode"] != 1:
        wrong.append(("namenode", "exactly one namenode is described"))
    if parameters["block_size"] % 512:
        wrong.append(("block_size", "a multiple of the 512-byte checksum chunk"))
    return wrong


def address(uri: str) -> tuple[str, int]:
    """Returns the (host, port) of the NameNode, with the default port if the URI has none. Raises
    ValueError when the URI names no NameNode."""
    parsed = urlparse(uri)
    if not parsed.scheme or not parsed.hostname:
        raise ValueError('needs "scheme://host:port"')
    return parsed.hostname, parsed.port or NAMENODE_PORT


def target(endpoint: Endpoint, parameters: Mapping[str, float]) -> HdfsTarget | HadoopTarget:
    """Returns the load generator's target at `endpoint.uri`. The target is called through Hadoop's
    Java client if `endpoint.client` is "java", else through the load generator's own HDFS client.
    """
    root = endpoint.directory or "/"
    replication, block_size_bytes = int(parameters["replication"]), int(parameters["block_size"])
    if endpoint.client != "java":
        return HdfsTarget(
            uri=endpoint.uri,
            root=root,
            replication=replication,
            block_size_bytes=block_size_bytes,
            shared_client=endpoint.shared_client,
        )
    # Import here, so that Hadoop's jars are looked up only when Hadoop's client is used.
    from dfslab.filesystems.hdfs import java

    client = java.client(endpoint.java)
    return HadoopTarget(
        uri=endpoint.uri,
        root=root,
        replication=replication,
        block_size_bytes=block_size_bytes,
        shared_client=endpoint.shared_client,
        class_path=client.class_path,
        configuration=client.configuration,
        sync_block=bool(parameters["block_sync"]),
    )


def stored_copies(parameters: Mapping[str, float]) -> float:
    """Returns how many bytes the servers store for each byte of a file."""
    return parameters["replication"]


FACTS = Facts(
    title=TITLE,
    source=SOURCE,
    roles=ROLES,
    parameters=PARAMETERS,
    access_keys=ACCESS_KEYS,
    stored_copies=stored_copies,
    check=check,
    target=target,
    memory=MEMORY,
    several_servers=SEVERAL_SERVERS,
    address=address,
    functions=FUNCTIONS,
    traced=TRACED,
    plan_position=1,
)
