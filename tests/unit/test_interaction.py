"""Tests of UML interaction diagrams that are drawn from the descriptions of file systems. Chains of
messages, parallel branches, guards and legends are drawn as in Figures 2 and 3 of the paper Wu
2013."""

from __future__ import annotations

import re

import pytest
from dfslab import discover
from dfslab.cli import describing
from dfslab.report.description import parameter_rows
from dfslab.report.diagrams import diagram
from dfslab.report.diagrams.interaction import Fragment, interaction, messages
from dfslab.report.diagrams.legend import legend
from dfslab.report.diagrams.uml import uml
from dfslab.spec.steps.expression import ceiling, named, symbol
from support.xmi_reader import read_xmi

HDFS = discover.file_system("hdfs")
SYSTEMS = list(discover.members(discover.FILE_SYSTEMS))
# Largest number of characters of a guard, and of a line of a legend or note.
MOST_GUARD_LENGTH, MOST_NOTE_LENGTH = 100, 200
NAME = re.compile(r"[a-z]\w*(?:\.\w+)?")


def fragments(body):
    """Yields all combined fragments (such as loops and alternatives) in the body of an interaction.
    An outer fragment comes before the fragments within it."""
    for event in body:
        if isinstance(event, Fragment):
            yield event
            for operand in event.operands:
                yield from fragments(operand.body)


def ways(drawn, name):
    """Returns (sender, receiver) of the messages with this name, in the order of the drawing and
    without repetitions."""
    sent = [(one.sender, one.receiver) for one in messages(drawn.body) if one.name == name]
    return list(dict.fromkeys(sent))


def test_a_written_packet_goes_along_the_chain_and_its_acknowledgement_back():
    drawn = interaction(HDFS, "write")
    chain = ["client", "datanode", "datanode2", "datanode3"]
    there = list(zip(chain, chain[1:], strict=False))
    assert ways(drawn, "receivePacket") == there
    assert ways(drawn, "lastPacket") == there
    back = [(receiver, sender) for sender, receiver in reversed(there)]
    assert ways(drawn, "writeAck") == back
    labels = [line.label for line in drawn.lifelines[2:]]
    assert labels == ["first DataNode", "second DataNode", "third DataNode"]
    assert "drawn with replication = 3" in drawn.legend


def test_a_read_has_the_parallel_and_the_sequential_branch():
    drawn = interaction(HDFS, "read")
    (branches,) = [
        one
        for one in fragments(drawn.body)
        if [operand.guard for operand in one.operands] == ["read_streams > 1", "else"]
    ]
    parallel, sequential = ([one.operator for one in fragments(o.body)] for o in branches.operands)
    assert "par" in parallel
    assert "par" not in sequential
    assert any(text == "blocks = max(1, ceil(file_size / block_size))" for text in drawn.legend)


def test_two_steps_that_share_one_block_say_which_part_of_it_they_write():
    guards = [one.operands[0].guard for one in fragments(interaction(HDFS, "write").body)]
    parts = [guard for guard in guards if guard.startswith("part of the work")]
    assert parts == [
        "part of the work: share_acknowledged",
        "part of the work: 1 - share_acknowledged",
    ]
    assert not [guard for guard in guards if "≤" in guard and "share" in guard]


def test_an_append_asks_for_a_block_only_when_one_is_full():
    """In the diagram of an append, the message addBlock is only in the loop over blocks, and not
    before or after this loop (Wu 2013, section 2.2.2)."""
    drawn = interaction(HDFS, "append")
    outside = [one for one in drawn.body if not isinstance(one, Fragment)]
    assert "addBlock" not in [one.name for one in messages(outside)]
    assert "addBlock" in [one.name for one in messages(drawn.body)]


@pytest.mark.parametrize("name", SYSTEMS)
def test_guards_and_notes_are_short(name):
    for drawn in uml(discover.file_system(name)).interactions:
        for fragment in fragments(drawn.body):
            for operand in fragment.operands:
                assert len(operand.guard) <= MOST_GUARD_LENGTH, operand.guard
        for draw in (diagram.mermaid, diagram.plantuml):
            for line in draw(name, drawn).splitlines():
                assert len(line.strip()) <= MOST_NOTE_LENGTH, line
        assert not any("answered" in one.name or not one.name for one in messages(drawn.body))


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_legend_explains_every_name_once(name):
    """The legend has exactly one line for every name in a guard or formula, unless the name is a
    parameter of the file system. Every name with a line in the legend is used."""
    system = discover.file_system(name)
    words = {"i", "if", "else", "or", "and", "not", "max", "min", "ceil", "floor", "sqrt", "log"}
    words |= {"of", "all", "later", "needed", "stages", "overlap", "part", "the", "work"}
    for drawn in uml(system).interactions:
        lines = [line for line in drawn.legend if not line.startswith("drawn with ")]
        explained = [line.split(" = ")[0] for line in lines]
        assert len(set(explained)) == len(explained), drawn.name
        guards = [
            operand.guard
            for fragment in fragments(drawn.body)
            if fragment.operator != "par"
            for operand in fragment.operands
            if not operand.guard.startswith("later ")
        ]
        texts = [*guards, *(line.split(" = ")[1] for line in lines)]
        used = {match for text in texts for match in NAME.findall(text)} - words
        parameters = {row.parameter.key for row in parameter_rows(system, [drawn.name])}
        assert used - parameters <= set(explained), drawn.name


def test_two_amounts_of_one_name_have_different_labels():
    """Two expressions that have the same name but different formulas get different labels, here
    "blocks" and "blocks_2". The legend explains each label by its formula."""
    size, files = symbol("size"), symbol("files")
    few, many = named("blocks", ceiling(size)), named("blocks", ceiling(size / files))
    short = named("is_small", few > many)
    names = legend([few, short, many])
    assert names.lines() == [
        "blocks = ceil(size)",
        "is_small = blocks > blocks_2",
        "blocks_2 = ceil(size / files)",
    ]
    assert names.text(many * 2 + few, 0) == "blocks_2 · 2 + blocks"
    assert names.text(~short) == "not is_small"


def test_both_languages_print_the_same_events():
    drawn = interaction(HDFS, "write")
    texts = [draw("hdfs", drawn) for draw in (diagram.mermaid, diagram.plantuml)]
    counts = [text.count("«") - text.count('participant "«') for text in texts]
    assert counts[0] == counts[1] > 0
    kinds = [{part.split("»")[0] for part in text.split("«")[1:]} for text in texts]
    assert kinds[0] == kinds[1] - {"HwComputingResource"}


@pytest.mark.parametrize("form", [*describing.FORMS, "xmi"])
def test_only_the_requested_operation_is_shown(form):
    document, _ = describing.filesystem("hdfs", form, "stat")
    if form == "table":
        acting = {one.split(":")[0] for row in document for one in row["acts in"].split("; ")}
        assert acting == {"stat"}
    elif form == "formula":
        assert re.findall(r"^(T_t_\w+) =", document["formula"], re.MULTILINE) == ["T_t_stat"]
    elif form == "xmi":
        assert [one.name for one in read_xmi(document["xmi"]).interactions] == ["stat"]
    elif form == "net":
        assert list(document) == ["stat"]
    else:
        assert list(document) == ["class", "deployment", "stat"]


@pytest.mark.parametrize("system", SYSTEMS)
def test_what_happens_once_is_no_loop(system):
    described = discover.file_system(system)
    for operation in described.operations:
        guards = [
            operand.guard
            for one in fragments(interaction(described, operation).body)
            if one.operator == "loop"
            for operand in one.operands
        ]
        assert "i ≤ 1" not in guards, operation
