"""Tests that Table 1 and formulas (1) to (11) of Wu 2013, with errata corrected, can be derived
from the description of HDFS."""

from __future__ import annotations

import random

import pytest
import sympy
from dfslab import discover
from dfslab.models.queue.queueing import mean_value_analysis
from dfslab.models.tree.formula import formula
from dfslab.models.tree.invocations import Invocation, dependences, invocations
from dfslab.report import description
from dfslab.spec.steps.operation import REFERENCE_FREQUENCY_HZ
from dfslab.spec.systems.parameters import symbol

SYSTEMS = list(discover.members(discover.FILE_SYSTEMS))
HDFS = discover.file_system("hdfs")
TABLE_1 = {
    *(f"Dp{n}" for n in range(1, 10)),
    *(f"Np{n}" for n in range(1, 5)),
    "Dap1",
    "Dap2",
    "Pp1",
}
LACKING = {
    "Rp1": "replication",
    "Hp1": "datanode.disk_write_rate",
    "Hp2": "datanode.disk_latency",
    "Pp2": "packet_size",
    "Np5": "fair_lock",
    "Np6": "handler_count",
    "Np7": "call_queue",
}
COMMON = {"Dap1", "Dap2"}
NAMENODE = {"Dp4", "Dp5", "Dp6", "Dp8", "Dp9"}

# Symbols of the paper: B blocks of P packets of p bytes each, n locations per request, L replicas.
# The paper assumes whole blocks and whole packets.
B, n, P, p, L = sympy.symbols("B n P p L", positive=True, integer=True)
S = P * p
WHOLE = {
    symbol("file_size"): B * S,
    symbol("block_size"): S,
    symbol("packet_size"): p,
    symbol("prefetch_blocks"): n,
    symbol("replication"): L,
    # Blocks are read one after the other.
    symbol("read_streams"): 1,
    # Hadoop's Java client does not wait for the disk, but leaves data to write-back.
    symbol("block_sync"): 0,
    # Files are read and written sequentially, and no write is forced to disk.
    symbol("scattered"): 0,
    symbol("fsync"): 0,
    symbol("forced"): 0,
    # Connections exist and have their full congestion window.
    symbol("setup_trips"): 0,
    symbol("initial_window"): sympy.oo,
}


def total(found: list[Invocation]) -> sympy.Expr:
    """Returns the sum of count * T over the invocations, with a separate symbol T for each."""
    return sympy.Add(*[one.count * sympy.Symbol(one.label, nonnegative=True) for one in found])


def T(name):
    return sympy.Symbol(f"T_{name}", nonnegative=True)


def of_whole_blocks(expression):
    """Returns an expression of the description for files of B whole blocks, each of P packets of p
    bytes."""
    return sympy.simplify(expression.subs(WHOLE, simultaneous=True).doit())


def by_name(operation):
    return {one.label: one for one in invocations(HDFS, operation)}


def test_table_1_is_found_by_walking():
    rows = description.parameter_rows(HDFS)
    found = {row.parameter.wu for row in rows if row.parameter.wu}
    assert found == TABLE_1 | LACKING.keys()
    keys = {row.parameter.key: row for row in rows}
    assert all(keys[key].parameter.wu == paper for paper, key in LACKING.items())
    for row in rows:
        identity, _, meaning, _, default, origin, source, where = row.cells()
        assert meaning
        assert where
        # Every parameter has a default value, except the lengths of queues, which result from the
        # workload. Every parameter of the file system also names the source of its default value.
        assert default or identity in ("Dp4", "Dp5", "Dp6")
        assert source or origin != "filesystem"


def test_a_parameter_that_acts_nowhere_is_not_in_the_table():
    local = {row.parameter.key for row in description.parameter_rows(discover.file_system("local"))}
    assert not local & set(LACKING.values())
    assert not any(".request_queue" in key for key in local)


def test_read_is_the_corrected_1():
    """The description's read time equals Wu's formula (1) as corrected: T_open_self + N
    T_getBlockLocations + M T_readBlock, with N = ceil(B / n) requests and M = B blocks (errata W11,
    W12). The formula's readBlock is readBlock_2 in the description, which reads a whole block; the
    description's readBlock reads a part of one."""
    derived = of_whole_blocks(total(invocations(HDFS, "read")))
    N, M = sympy.ceiling(B / n), B
    paper = T("open_self") + N * T("getBlockLocations") + M * T("readBlock_2")
    assert sympy.simplify(derived - paper) == 0
    printed = T("open_self") + M * T("getBlockLocations") + N * T("readBlock_2")
    assert sympy.simplify(derived - printed) != 0, "W11: N > M > 1 swaps the two counts"


@pytest.mark.parametrize("system", SYSTEMS)
def test_invocations_of_different_times_have_different_symbols(system):
    """Invocations that share a name but take different times get different symbols. With the same
    symbol, their times would count as equal. Reads of whole blocks and reads of parts of blocks are
    an example."""
    described = discover.file_system(system)
    for operation in described.operations:
        labels = [one.label for one in invocations(described, operation)]
        assert len(labels) == len(set(labels)), operation


def test_write_is_the_corrected_6():
    """The description's write time equals Wu's formula (6) as corrected (errata W9, W13). For a
    file of B blocks, it is T_create_self + T_rpc_create + B (T_addBlock + T_writeRequest) +
    T_write_self + T_close_self + T_complete."""
    derived = of_whole_blocks(total(invocations(HDFS, "write")))
    own = {name: one.own for name, one in by_name("write").items()}
    # In the description, the wait for a block's last acknowledgement is part of the self times of
    # write and close. In Wu's formula it is part of the block's writeRequest.
    acknowledged = of_whole_blocks(own["T_write_self"] + own["T_close_self"]).coeff(
        symbol("finalize_cpu")
    )
    assert acknowledged.subs(symbol("datanode.frequency"), REFERENCE_FREQUENCY_HZ) == B
    paper = T("create_self") + T("rpc_create") + B * (T("addBlock") + T("writeRequest"))
    rest = sympy.simplify(derived - paper)
    assert rest == T("complete") + T("write_self") + T("close_self")
    printed = T("create_self") + T("rpc_create") + T("writeRequest") + B * T("addBlock")
    assert (derived - printed).subs(B, 2).has(T("writeRequest")), "W13: one for each block"
    assert by_name("append").keys() - by_name("write").keys() == {"T_append_self", "T_rpc_append"}
    assert by_name("write").keys() - by_name("append").keys() >= {"T_create_self", "T_rpc_create"}


def test_a_block_is_written_as_the_corrected_6_has_it():
    """Writing a block of S bytes takes L t_hop(p) + (S - p) / r. L is the number of replicas,
    t_hop(p) the time of one packet of p bytes for one hop, and r the smaller of the rates of the
    client's and the DataNode's adapter. Processor time is zero in this test."""
    free = {
        symbol(key): 0
        for key in ("client_write_byte_cpu", "server_write_byte_cpu", "write_setup_cpu")
    }
    derived = of_whole_blocks(by_name("write")["T_writeRequest"].own.subs(free))
    mine, theirs = sympy.symbols("mine theirs", positive=True)
    adapters = {symbol("client.nic_bandwidth"): mine, symbol("datanode.nic_bandwidth"): theirs}
    derived = derived.subs(adapters, simultaneous=True).doit()
    slowest = sympy.Min(mine, theirs)
    hop = symbol("network_latency") + p / slowest
    assert sympy.simplify(derived - (L * hop + (S - p) / slowest)) == 0
    # With one replica and one packet, the time is that of one hop.
    assert sympy.simplify(derived.subs({L: 1, P: 1}) - hop) == 0


def of_count(response_s: sympy.Expr) -> sympy.Expr:
    """Returns the time in seconds of `count` operations by Wu's formulas (5) and (11), which
    multiply the response time of one operation by `count`."""
    return symbol("count") * response_s


def test_count_multiplies_the_unloaded_time_on_a_serial_server_only():
    """Wu's formulas (5) and (11) multiply the unloaded time by `count`. The product equals the time
    that a closed network with `count` clients needs for one operation of each client only if one
    server does all the work."""
    unloaded = sympy.Float(0.02)
    for count in (1, 7, 64):
        work = float(of_count(unloaded).subs(symbol("count"), count))
        makespan = count / mean_value_analysis([0.02], count).rate_per_s
        assert work == pytest.approx(makespan)
    # Erratum W10: a response time under load already includes the queue, so multiplying it counts
    # the queue twice. With two servers, even the unloaded time gives too much.
    loaded = mean_value_analysis([0.02], 8).response_s
    assert float(of_count(sympy.Float(loaded)).subs(symbol("count"), 8)) > 7 * (8 * 0.02)
    two = 8 / mean_value_analysis([0.02], 8, servers=[2]).rate_per_s
    assert float(of_count(unloaded).subs(symbol("count"), 8)) > 1.8 * two


@pytest.mark.parametrize(
    ("number", "operation", "name", "whole", "expected"),
    [
        (2, "read", "T_open_self", False, COMMON | {"Dp8"}),
        (3, "read", "T_getBlockLocations", True, COMMON | NAMENODE),
        (4, "read", "T_readBlock", True, COMMON | {"Dp7", "Dp8", "Dp9"}),
        (7, "write", "T_create_self", True, COMMON | NAMENODE),
        (8, "write", "T_rpc_create", True, COMMON | NAMENODE),
        (9, "append", "T_append_self", True, COMMON | NAMENODE),
        (10, "write", "T_writeRequest", True, COMMON | NAMENODE | {"Dp7"}),
    ],
)
def test_dependence_sets(number, operation, name, whole, expected):
    """The time of a call depends on exactly the parameters in the paper's dependence set. Each set
    in the paper has a number. Set (2) lists the parameters of the self time of open. Set (7) lists
    those of create, including the call that create makes."""
    one = by_name(operation)[name]
    assert dependences(HDFS, operation, one, whole=whole) == expected


def test_10_is_of_write_request_and_not_of_create():
    """Formula (10) is printed as T_create, but it is the time of writeRequest, because it needs the
    DataNode's adapter. Create does not depend on this adapter: set (7), which lists the parameters
    of create, does not contain it (erratum W8)."""
    create = by_name("write")["T_create_self"]
    assert "Dp7" not in dependences(HDFS, "write", create, whole=True)


def test_every_symbol_of_an_invocation_is_in_its_dependence_set():
    """Each of the paper's parameters Dap1, Dap2, Dp7, Dp8 and Dp9 that occurs in the formula of an
    invocation is in the dependence set of this invocation."""
    for operation in ("read", "write", "append"):
        for one in invocations(HDFS, operation):
            ids = dependences(HDFS, operation, one, whole=True)
            acting = {HDFS.parameter(str(s)).wu for s in one.own.free_symbols}
            assert acting & {"Dap1", "Dap2", "Dp7", "Dp8", "Dp9"} <= ids


@pytest.mark.parametrize("system", SYSTEMS)
def test_invocations_add_up_to_the_response_time(system):
    described = discover.file_system(system)
    seeded = random.Random(5)
    for operation, tree in described.operations.items():
        whole = formula(operation, tree).expanded()
        parts = sympy.Add(*[one.count * one.own for one in invocations(described, operation)])
        names = sorted(whole.free_symbols | parts.free_symbols, key=str)
        number = sympy.lambdify(names, (whole, parts), "math", cse=True)
        for _ in range(20):
            expected, found = number(*(seeded.uniform(1.0, 9.0) for _ in names))
            assert found == pytest.approx(expected, rel=1e-9)
