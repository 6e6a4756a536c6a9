"""Compares sections 2 and 3 of Wu 2013 with the description of HDFS. The comparison covers the
tables, the diagrams and formulas (1) to (11). Known misprints are corrected."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import sympy
from dfslab import discover
from dfslab.models.queue.queueing import mean_value_analysis
from dfslab.models.tree.invocations import Invocation, dependences, invocations
from dfslab.report.description import parameter_rows
from dfslab.report.diagrams import marte
from dfslab.report.diagrams.interaction import Event, Fragment, interaction, messages
from dfslab.report.diagrams.uml import uml
from dfslab.spec.systems.parameters import symbol

from verification.papers.obtained import Obtained, judged

HDFS = discover.file_system("hdfs")
TABLE_1 = {
    *(f"Dp{number}" for number in range(1, 10)),
    *(f"Np{number}" for number in range(1, 5)),
    "Dap1",
    "Dap2",
    "Pp1",
}
DATA = {"Dap1", "Dap2"}
NAMENODE = {"Dp4", "Dp5", "Dp6", "Dp8", "Dp9"}


def _by_label(operation: str) -> dict[str, Invocation]:
    return {one.label: one for one in invocations(HDFS, operation)}


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"


def table_1() -> Obtained:
    """Judges whether the description of HDFS has all parameters of Table 1 of Wu 2013."""
    found = {row.parameter.wu for row in parameter_rows(HDFS)} - {""}
    text = f"{len(found & TABLE_1)} of {len(TABLE_1)} found; besides: {_listed(found - TABLE_1)}"
    return judged(found >= TABLE_1, text)


def figure_1() -> Obtained:
    """Judges whether the structural model has the classes and the three nodes of figure 1 of Wu
    2013."""
    drawn = uml(HDFS)
    classes = {one.name for one in drawn.classes}
    wanted = {"DataNode", "NameNode", "ClientNode", "File", "Block"}
    stereotypes = {*marte.NODE, marte.LINK, *marte.HARDWARE.values()}
    marked = ", ".join(f"«{name}»" for name in sorted(stereotypes))
    text = f"classes {_listed(classes)}; {len(drawn.machines)} nodes; {marked}"
    return judged(wanted <= classes and len(drawn.machines) == 3, text)


def _operators(body: Iterable[Event]) -> Iterator[str]:
    for event in body:
        if isinstance(event, Fragment):
            yield event.operator
            for operand in event.operands:
                yield from _operators(operand.body)


def _drawn(operation: str, operators: set[str], calls: set[str]) -> Obtained:
    """Judges whether one sequence diagram has the given fragments (`operators`) and messages
    (`calls`) of Wu's diagram."""
    body = interaction(HDFS, operation).body
    found, sent = set(_operators(body)), {one.name for one in messages(body)}
    text = f"fragments {_listed(found)}; messages {_listed(sent)}"
    return judged(operators <= found and calls <= sent, text)


def figure_2() -> Obtained:
    """Judges whether the sequence diagram of a read agrees with figure 2 of Wu 2013. The diagram
    must have the fragments alt, par and loop, and the messages getBlockLocations and readBlock."""
    return _drawn("read", {"alt", "par", "loop"}, {"getBlockLocations", "readBlock"})


def figure_3() -> Obtained:
    """Judges whether the sequence diagram of a write agrees with figure 3 of Wu 2013. The diagram
    must have the loop and the messages of this figure. Data must go from each DataNode to the
    next."""
    drawn = _drawn("write", {"loop"}, {"create", "addBlock", "complete"})
    sent = list(messages(interaction(HDFS, "write").body))
    data = [one for one in sent if one.sender.startswith("datanode")]
    chained = any(one.receiver.startswith("datanode") for one in data)
    hops = "data go from DataNode to DataNode" if chained else "data go from the client alone"
    return judged(drawn.verdict == "hit" and chained, f"{drawn.text}; {hops}")


# Symbols of the paper: a file of B whole blocks, and n locations of blocks per request.
B = sympy.Symbol("B", positive=True, integer=True)
n = sympy.Symbol("n", positive=True, integer=True)
BLOCK_BYTES = sympy.Symbol("block_bytes", positive=True)
# Whole blocks that are read one after the other, and not at random places.
WHOLE_BLOCKS: dict[sympy.Basic, sympy.Basic] = {
    sympy.sympify(symbol("file_size")): B * BLOCK_BYTES,
    sympy.sympify(symbol("block_size")): BLOCK_BYTES,
    sympy.sympify(symbol("prefetch_blocks")): n,
    sympy.sympify(symbol("read_streams")): sympy.Integer(1),
    sympy.sympify(symbol("scattered")): sympy.Integer(0),
}


def terms(operation: str, expected: dict[str, sympy.Expr]) -> Obtained:
    """Judges whether an operation on a file of B whole blocks makes exactly the invocations
    `expected`, each as often as `expected` says. The times of these invocations are the terms of a
    sum in Wu 2013."""
    found = {
        label: sympy.simplify(one.count.xreplace(WHOLE_BLOCKS))
        for label, one in _by_label(operation).items()
    }
    made = {label: count for label, count in found.items() if count != 0}
    holds = made.keys() == expected.keys() and all(
        sympy.simplify(count - expected[label]) == 0 for label, count in made.items()
    )
    terms = " + ".join(
        label if count == 1 else f"{str(count).replace('ceiling', 'ceil')} {label}"
        for label, count in ((one, expected[one] if holds else made[one]) for one in made)
    )
    return judged(holds, f"a file of B blocks: T_t_{operation} = {terms}")


def equation_1() -> Obtained:
    """Judges whether the response time of a read has the terms of formula (1) of Wu 2013, as
    corrected by errata W11 and W12."""
    one = sympy.Integer(1)
    return terms(
        "read",
        {"T_open_self": one, "T_getBlockLocations": sympy.ceiling(B / n), "T_readBlock_2": B},
    )


def equation_6() -> Obtained:
    """Judges whether the response time of a write has the terms of formula (6) of Wu 2013, as
    corrected by errata W9 and W13, and those of close and complete."""
    once = ("T_create_self", "T_rpc_create", "T_write_self", "T_close_self", "T_complete")
    ones: dict[str, sympy.Expr] = dict.fromkeys(once, sympy.Integer(1))
    return terms("write", {**ones, "T_addBlock": B, "T_writeRequest": B})


def _depends(operation: str, label: str, *, whole: bool, wanted: set[str]) -> Obtained:
    """Judges whether the time of one invocation depends on exactly the parameters `wanted`. In
    Wu 2013, these parameters are the arguments of a function f_i, which is the time of the
    invocation."""
    found = dependences(HDFS, operation, _by_label(operation)[label], whole=whole)
    return judged(found == wanted, f"{label} = f({_listed(found)})")


def equation_2() -> Obtained:
    """Judges whether f1, the self time of open, depends on exactly the parameters in formula (2) of
    Wu 2013."""
    return _depends("read", "T_open_self", whole=False, wanted=DATA | {"Dp8"})


def equation_3() -> Obtained:
    """Judges whether f2, the time of getBlockLocations, depends on exactly the parameters in
    formula (3) of Wu 2013."""
    return _depends("read", "T_getBlockLocations", whole=True, wanted=DATA | NAMENODE)


def equation_4() -> Obtained:
    """Judges whether f3, the time of readBlock, depends on exactly the parameters in formula (4) of
    Wu 2013."""
    return _depends("read", "T_readBlock", whole=True, wanted=DATA | {"Dp7", "Dp8", "Dp9"})


def equation_7() -> Obtained:
    """Judges whether f4 depends on exactly the parameters in formula (7) of Wu 2013. f4 is the time
    of create including its inner call."""
    return _depends("write", "T_create_self", whole=True, wanted=DATA | NAMENODE)


def equation_8() -> Obtained:
    """Judges whether f5, the time of the remote call create, depends on exactly the parameters in
    formula (8) of Wu 2013."""
    return _depends("write", "T_rpc_create", whole=True, wanted=DATA | NAMENODE)


def equation_9() -> Obtained:
    """Judges whether f6 depends on exactly the parameters in formula (9) of Wu 2013. f6 is the time
    of append including its inner call."""
    return _depends("append", "T_append_self", whole=True, wanted=DATA | NAMENODE)


def equation_10() -> Obtained:
    """Judges whether f7, the time of writeRequest, depends on exactly the parameters in formula
    (10) of Wu 2013."""
    return _depends("write", "T_writeRequest", whole=True, wanted=DATA | NAMENODE | {"Dp7"})


def _counted(operation: str) -> Obtained:
    """Judges whether 64 requests that arrive together at one server take 64 times as long as a
    single request without load."""
    unloaded_s, count = 0.02, 64
    serial = count / mean_value_analysis([unloaded_s], count).rate_per_s
    two = count / mean_value_analysis([unloaded_s], count, servers=[2]).rate_per_s
    printed = count * unloaded_s
    text = (
        f"{count} {operation}s of {unloaded_s} s: {printed:.3g} s by the formula, "
        f"{serial:.3g} s on one server, {two:.3g} s on two"
    )
    return judged(abs(serial / printed - 1) < 1e-9, text)


def equation_5() -> Obtained:
    """Judges whether n reads that arrive together take n times the time of one read, as in formula
    (5) of Wu 2013."""
    return _counted("read")


def equation_11() -> Obtained:
    """Judges whether n writes that arrive together take n times the time of one write, as in
    formula (11) of Wu 2013."""
    return _counted("write")


def decomposed() -> Obtained:
    """Judges whether the time of writeRequest depends on the parameters of its inner operations,
    which Wu 2013 leaves to future work."""
    one = _by_label("write")["T_writeRequest"]
    found = {str(symbol) for symbol in one.own.free_symbols}
    named = {"packet_size", "replication", "datanode.disk_write_rate"}
    return judged(
        named <= found,
        f"T_writeRequest has {len(found)} parameters, {_listed(named & found)} among them",
    )


def other_systems() -> Obtained:
    """Judges whether formulas of reads exist for the systems to which Wu 2013 says that its
    approach applies."""
    texts, holds = [], True
    for name in ("moosefs", "gfs", "zfs"):
        system = discover.file_system(name)
        roles = {role.kind for role in system.roles}
        terms = invocations(system, "read")
        holds &= bool(terms) and {"metadata", "data"} <= roles
        texts.append(
            f"{name}: {len(terms)} terms, roles {_listed(role.name for role in system.roles)}"
        )
    return judged(holds, "; ".join(texts))


def file_list() -> Obtained:
    """Judges whether the formula of the operation File List exists and depends on the number of
    directory entries."""
    found = _by_label("list")
    entries = sympy.Symbol("entries", nonnegative=True)
    symbols = {str(symbol) for one in found.values() for symbol in one.own.free_symbols}
    return judged(str(entries) in symbols, f"T_t_list = {' + '.join(found)}; grows with entries")
