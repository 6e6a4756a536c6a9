"""Operations of Alluxio: names at the master, blocks in workers' memory, a store underneath.

A block that no worker keeps (`cold`) is read through one from the store. With `write_through` the
client streams a file twice: block by block to workers that keep it, and through a worker to the
store; both streams leave by the client's adapter.
"""

from __future__ import annotations

from sympy import Max, ceiling

from dfslab.filesystems.alluxio.facts import PARAMETERS as P
from dfslab.spec.operation import (
    Node,
    call,
    choice,
    cpu,
    delay,
    disk_read,
    disk_write,
    later,
    par,
    pipeline,
    repeat,
    send,
    seq,
)

blocks = Max(1, ceiling(P.file_size / P.block_size))
packets = Max(1, ceiling(P.file_size / P.packet_size))
packet_bytes = P.file_size / packets
block_packets = Max(1, ceiling(P.file_size / blocks / P.packet_size))
block_packet_bytes = P.file_size / blocks / block_packets


def _ask(name: str, seconds, *, writes: bool = False, response_bytes=512) -> Node:
    """A call to the master; a change is answered when the journal is on disk."""
    sync = (delay("master", P.journal_sync, "journal"),) if writes else ()
    return seq(
        cpu("client", P.client_call_cpu),
        call("master", name, cpu("master", seconds), *sync, response_bytes=response_bytes),
    )


def _to_worker(name: str, size_bytes, *onward: Node) -> Node:
    """A message to a worker, and what is done with it there."""
    kept = cpu("worker", size_bytes * P.worker_byte_cpu)
    return send("worker", name, kept, *onward, size_bytes=size_bytes)


_sent = cpu("client", block_packet_bytes * P.client_byte_cpu, "sendPacket")
_cache_block = seq(
    delay("worker", P.stream_setup, "createBlock"),
    pipeline(block_packets, _sent, _to_worker("writeBlock", block_packet_bytes), name="cache"),
)
_persist = seq(
    delay("worker", P.stream_setup, "createFile"),
    pipeline(
        packets,
        cpu("client", packet_bytes * P.client_byte_cpu, "sendPacket"),
        _to_worker("writeStore", packet_bytes),
        send("store", "write", later(disk_write("store", packet_bytes), name="write-back"),
             size_bytes=packet_bytes),
        name="persist",
    ),
    choice((P.fsync, call("store", "flush", disk_write("store", P.file_size)))),
)  # fmt: skip

_cold_packet = call("store", "read", disk_read("store", block_packet_bytes, "diskRead"),
                    response_bytes=block_packet_bytes)  # fmt: skip
_read_block = seq(
    delay("worker", P.stream_setup, "openBlock"),
    call(
        "worker",
        "readBlock",
        pipeline(
            block_packets,
            choice((P.cold, _cold_packet)),
            cpu("worker", block_packet_bytes * P.worker_byte_cpu, "sendPacket"),
            send("client", "packet", size_bytes=block_packet_bytes),
            cpu("client", block_packet_bytes * P.client_byte_cpu, "receivePacket"),
            name="stream",
        ),
    ),
)

_status = _ask("getStatus", P.lookup_cpu)
_create = seq(_ask("createFile", P.update_cpu, writes=True), name="create")
_close = seq(_ask("completeFile", P.update_cpu, writes=True), name="close")
_write = seq(
    choice(
        (P.write_through, par(repeat(blocks, _cache_block), _persist)),
        (1 - P.write_through, repeat(blocks, _cache_block)),
    ),
    name="write",
)

OPERATIONS = {
    "read": seq(seq(_status, name="open"), seq(repeat(blocks, _read_block), name="read")),
    "write": seq(_create, _write, _close),
    # Files are written once, so an append is a new file with the same cost.
    "append": seq(_create, _write, _close),
    "create": seq(_create, _close),
    "stat": seq(_status, name="stat"),
    "list": seq(
        _ask("listStatus", P.lookup_cpu + P.entries * P.entry_cpu,
             response_bytes=400 * P.entries),
        name="list",
    ),
    "rename": seq(_ask("rename", P.update_cpu, writes=True), name="rename"),
    "delete": seq(_ask("remove", P.update_cpu, writes=True), name="delete"),
}  # fmt: skip
