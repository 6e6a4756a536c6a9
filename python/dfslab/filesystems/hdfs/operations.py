"""Describes the operations of HDFS: calls to the NameNode, streams from one DataNode, pipelines
through several.

Read and write follow Figures 2 and 3 of Wu 2013, with two corrections of its equations (1) and (6).
First, getBlockLocations is called once per `prefetch_blocks` blocks. Second, each block has a
pipeline of `replication` DataNodes. The NameNode answers under one lock of the namespace, which is
shared for reads and exclusive for changes. Edits are written to disk after the lock is released.
"""

from __future__ import annotations

from dfslab.filesystems.hdfs.facts import PARAMETERS as P
from dfslab.spec.steps.expression import Expr, Max, Min, ceiling, named, select
from dfslab.spec.steps.heads import FORCED_SEEKS, seeks_of, seeks_of_unit
from dfslab.spec.steps.operation import (
    Expression,
    Node,
    at,
    call,
    cpu,
    delay,
    disk_read,
    disk_write,
    either,
    hold_lock,
    hold_thread,
    later,
    par,
    part,
    pipeline,
    repeat,
    reply,
    send,
    seq,
    when,
)
from dfslab.spec.steps.transport import round_trips, stalled_round_trips
from dfslab.spec.systems.parameters import symbol

# Bytes of a request, an answer or an acknowledgement of the data transfer protocol, which fit one
# TCP segment.
SMALL_BYTES = 256
# The NameNode sends BLOCK_BYTES + replication * REPLICA_BYTES for the location of a block. The
# bytes of a replica state its DataNode and storage (hdfs.proto: LocatedBlockProto,
# DatanodeInfoProto). About 690 bytes were counted for a block with three replicas.
BLOCK_BYTES, REPLICA_BYTES = 75, 205
blocks = named("blocks", Max(1, ceiling(P.file_size / P.block_size)))
block_bytes = named("block_bytes", P.file_size / blocks)
packets = named("packets", Max(1, ceiling(block_bytes / P.packet_size)))
packet_bytes = named("packet_bytes", block_bytes / packets)


def _handle(seconds: Expression, *, writes: bool) -> Node:
    """Returns the step in which a handler thread of the NameNode takes the namespace lock and works
    for `seconds`. The lock is exclusive if the call `writes`, else shared."""
    mode = "exclusive" if writes else "shared"
    locked = hold_lock("namenode", mode, cpu("namenode", seconds), "namespace", P.fair_lock)
    places = P.handler_count * P.call_queue
    return hold_thread("namenode", P.handler_count, locked, "handle", places)


def _ask(
    name: str,
    seconds: Expression,
    *answer: Node,
    writes: bool = False,
    response_bytes: Expression = SMALL_BYTES,
) -> Node:
    """Returns the step in which the client calls the NameNode. The call takes `seconds` of
    processor time at the NameNode. If `writes` is true, the NameNode syncs the edit log before it
    answers. No handler thread is occupied during the sync."""
    sync = (delay("namenode", P.edit_sync, "logSync"),) if writes else ()
    handled = _handle(seconds, writes=writes)
    return seq(
        cpu("client", P.client_call_cpu),
        call("namenode", name, handled, *sync, *answer, response_bytes=response_bytes),
    )


_locations = named("locations", ceiling(blocks / P.prefetch_blocks))
_located_bytes = named(
    "located_bytes",
    SMALL_BYTES + Min(blocks, P.prefetch_blocks) * (BLOCK_BYTES + P.replication * REPLICA_BYTES),
)

# The client reads all blocks that it has located before it requests more locations. Meanwhile, the
# connection to the NameNode is idle. After such an idle time, TCP restarts with its initial window
# (RFC 5681, 4.1). An answer with the locations of many blocks therefore arrives in several windows.
_windows = round_trips(
    stalled_round_trips(
        _located_bytes,
        Min(symbol("client.nic_bandwidth"), symbol("namenode.nic_bandwidth")),
        "locations",
    ),
    "client",
    "window",
    home="namenode",
)
_locate = _ask("getBlockLocations", P.lookup_cpu, _windows, response_bytes=_located_bytes)


def _read_part(units: Expr, unit_bytes: Expr) -> Node:
    """Returns the step that reads `units` packets of `unit_bytes` bytes as one stream from one
    replica of a block."""
    seeks = seeks_of_unit(units, unit_bytes)
    return seq(
        round_trips(1, "datanode", "handshake", SMALL_BYTES),
        cpu("datanode", P.read_setup_cpu, "openReplica"),
        call(
            "datanode",
            "readBlock",
            pipeline(
                units,
                seq(
                    when(P.cold, disk_read("datanode", unit_bytes, "diskRead", seeks)),
                    cpu("datanode", unit_bytes * P.server_read_byte_cpu, "sendPacket"),
                ),
                send("client", "packet", size_bytes=unit_bytes),
                cpu("client", unit_bytes * P.client_read_byte_cpu, "receivePacket"),
                name="stream",
            ),
        ),
    )


_read_block = _read_part(packets, packet_bytes)
# With random access, a client reads by position (pread): every call opens a new stream.
calls = named("calls", Max(1, ceiling(P.file_size / Min(P.transfer_size, P.block_size))))
call_bytes = named("call_bytes", P.file_size / calls)
_call_packets = named("call_packets", Max(1, ceiling(call_bytes / P.packet_size)))
_read_call = _read_part(_call_packets, call_bytes / _call_packets)

# The parallel branch of Wu 2013, Figure 2: several blocks are read concurrently, each from a
# different DataNode.
_at_once = repeat(
    named("rounds", ceiling(blocks / P.read_streams)), par(_read_block, copies=P.read_streams)
)

# A synchronous write call (hsync) ends its packet early, and waits until all replicas have the
# packet on disk. A block is therefore written as several streams, one for each call, which run one
# after another.
turns = named("turns", select(P.forced, Max(1, ceiling(block_bytes / P.transfer_size)), 1))
_turn_packets = named("turn_packets", Max(1, ceiling(block_bytes / turns / P.packet_size)))
_turn_bytes = block_bytes / turns / _turn_packets

_hop = send(
    "datanode",
    "receivePacket",
    cpu("datanode", _turn_bytes * P.server_write_byte_cpu),
    size_bytes=_turn_bytes,
)

_stream = pipeline(
    _turn_packets,
    cpu("client", _turn_bytes * P.client_write_byte_cpu, "sendPacket"),
    repeat(P.replication, _hop),
    name="pipeline",
)

# The last packet of a block is empty. A DataNode that receives it ends the threads of the block,
# and reports its replica to the NameNode.
_report = send(
    "datanode",
    "lastPacket",
    cpu("datanode", P.retire_cpu, "retire"),
    send("namenode", "blockReceived", _handle(P.report_cpu, writes=True), size_bytes=256),
    size_bytes=31,
)

# Replicas are synced concurrently, because a DataNode forwards the last packet before it syncs its
# own replica.
_forced = par(
    disk_write("datanode", block_bytes / turns, "syncBlock", select(P.forced, FORCED_SEEKS, 1)),
    copies=P.replication,
)
_written_back = later(
    par(disk_write("datanode", block_bytes, seeks=seeks_of(block_bytes)), copies=P.replication),
    name="write-back",
)

# For each block, every member of the pipeline opens a new connection to the next member. The client
# requests this from the first member, and receives the answer through all members from the last
# one.
_set_up = seq(
    round_trips(P.replication * P.setup_trips, "datanode", "connect", SMALL_BYTES),
    repeat(P.replication, cpu("datanode", P.write_setup_cpu, "openReplica")),
)

# Number of round trips for which the pipeline of a block waits. The number is the sum of three
# terms:
# - TCP slow start stalls the stream of the block on the first hop.
# - Each of the other replication - 1 hops adds the stall of one packet, because a DataNode forwards
#   a packet only when it has received the whole packet.
# - The acknowledgement of each synchronous call returns over all hops. The acknowledgement takes
#   half a round trip for each hop.
_rate = Min(symbol("client.nic_bandwidth"), symbol("datanode.nic_bandwidth"))
_slow_start = round_trips(
    named(
        "waits_for_windows",
        stalled_round_trips(block_bytes, _rate, "block")
        + (P.replication - 1) * stalled_round_trips(packet_bytes, _rate, "packet")
        + select(P.forced, turns * P.replication / 2, 0),
    ),
    "datanode",
    "slowStart",
)

_write_block = seq(
    _slow_start,
    repeat(turns, _stream, either(P.block_sync | P.fsync | P.forced, _forced, _written_back)),
    later(repeat(P.replication, _report), name="report"),
    name="writeRequest",
)
# The share of packets that must wait for an acknowledgement before they are sent. The first
# `packets_in_flight` packets need not wait.
_waited = named("share_acknowledged", Max(0, packets - P.packets_in_flight) / packets)

_stream_opened = cpu("client", P.client_stream_cpu)
# Before a client writes its first file, it connects to the NameNode. A client that reads is already
# connected, because it wrote the files before.
_connected = round_trips(P.first, "namenode", "connect", SMALL_BYTES)
_last_ack = seq(
    par(cpu("datanode", P.finalize_cpu, "finalize"), copies=P.replication),
    at(
        "datanode",
        repeat(P.replication - 1, reply("datanode", name="writeAck", size_bytes=SMALL_BYTES)),
        reply("client", name="writeAck", size_bytes=SMALL_BYTES),
    ),
)
_add_block = _ask("addBlock", P.update_cpu, writes=True)


def _written(*, appends: bool) -> Node:
    """Returns the step that writes a file, without the end of its last block.

    The step writes all blocks except the last block. Of the work on the last block, the step does
    the share `share_acknowledged`: that of the packets that wait for an acknowledgement. The close
    of the file does the remaining work. If `appends` is true, the client first continues the file's
    last block. The client requests another block whenever a block is full.
    """
    before, after = ((), (_add_block,)) if appends else ((_add_block,), ())
    return seq(
        repeat(blocks - 1, *before, _set_up, _write_block, _last_ack, *after, reselect=True),
        *before,
        _set_up,
        part(_waited, _write_block),
        name="write",
    )


_complete = seq(
    part(1 - _waited, _write_block),
    _last_ack,
    _ask("complete", P.update_cpu, writes=True),
    delay("client", P.complete_retries * P.complete_retry_delay, "backoff"),
    name="close",
)
_create = seq(_connected, _stream_opened, _ask("create", P.update_cpu, writes=True), name="create")
_empty_close = seq(_ask("complete", P.update_cpu, writes=True), name="close")

OPERATIONS = {
    "read": seq(
        seq(_stream_opened, _locate, name="open"),
        seq(
            repeat(Max(0, _locations - 1), _locate),
            either(
                P.scattered,
                repeat(calls, _read_call, reselect=True),
                either(P.read_streams > 1, _at_once, repeat(blocks, _read_block, reselect=True)),
            ),
            name="read",
        ),
    ),
    "write": seq(_create, _written(appends=False), _complete),
    "append": seq(
        seq(_stream_opened, _ask("append", P.update_cpu, writes=True), name="append"),
        _written(appends=True),
        _complete,
    ),
    "create": seq(_create, _empty_close),
    "stat": seq(_ask("getFileInfo", P.lookup_cpu), name="stat"),
    "list": seq(
        _ask("getListing", P.lookup_cpu + P.entries * P.entry_cpu, response_bytes=120 * P.entries),
        name="list",
    ),
    "rename": seq(_ask("rename", P.rename_cpu, writes=True), name="rename"),
    "delete": seq(_ask("delete", P.delete_cpu, writes=True), name="delete"),
}
