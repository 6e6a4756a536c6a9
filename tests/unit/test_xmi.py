"""Tests of the UML elements and diagrams of every file system description. Further tests write an
XMI file from them and read it back."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from dfslab import discover
from dfslab.exports.formats import xmi
from dfslab.report.diagrams import structure
from dfslab.report.diagrams.interaction import Fragment
from dfslab.report.diagrams.uml import uml
from dfslab.spec.input_error import InputError

SYSTEMS = list(discover.members(discover.FILE_SYSTEMS))


@pytest.mark.parametrize("name", SYSTEMS)
def test_an_export_reads_back_unchanged(name):
    model = uml(discover.file_system(name))
    text = xmi.export(model)
    assert xmi.read(text) == model
    assert xmi.export(xmi.read(text)) == text
    ids = [
        one.attrib[xmi.ID] for one in ElementTree.fromstring(text).iter() if xmi.ID in one.attrib
    ]
    assert len(set(ids)) == len(ids)


def test_a_changed_document_is_another_model():
    model = uml(discover.file_system("hdfs"))
    text = xmi.export(model).replace('name="addBlock"', 'name="takeBlock"')
    assert xmi.read(text) != model


@pytest.mark.parametrize("text", ["", "<a/>", "not xml", '<?xml version="1.0"?><x y="1"/>'])
def test_what_dfslab_did_not_export_is_one_line(text):
    with pytest.raises(InputError, match="is not what dfslab exports") as refused:
        xmi.read(text, "model.xmi")
    assert "\n" not in str(refused.value)


def test_hdfs_has_the_elements_of_the_papers_figures():
    model = uml(discover.file_system("hdfs"))
    classes = {one.name: one for one in model.classes}
    assert {"File", "Block", "ClientNode", "NameNode", "DataNode"} <= classes.keys()
    assert [a.paper for a in classes["Block"].attributes] == ["Dap1"]
    assert {"create", "addBlock", "getBlockLocations", "complete"} <= set(
        classes["NameNode"].operations
    )
    master = next(one for one in model.machines if one.deployed == "NameNode")
    assert master.stereotypes == ("HwComputingResource", "CommunicationEndPoint")
    assert {p.stereotype for p in master.parts} == {"HwProcessor", "HwDrive", "HwRAM"}
    processor = next(p for p in master.parts if p.name == "Processor")
    assert {a.paper for a in processor.attributes} == {"Np1", "Np2", "Np3"}
    assert ("ClientNode", "NameNode") in model.links


def operators(body):
    for one in body:
        if isinstance(one, Fragment):
            yield one.operator
            for operand in one.operands:
                yield from operators(operand.body)


def test_combined_fragments_of_all_four_kinds_are_used():
    found = {
        operator
        for name in SYSTEMS
        for interaction in uml(discover.file_system(name)).interactions
        for operator in operators(interaction.body)
    }
    assert found == {"loop", "opt", "alt", "par"}


@pytest.mark.parametrize("name", SYSTEMS)
def test_both_dialects_show_every_class_and_part(name):
    model = uml(discover.file_system(name))
    for text in (structure.class_plantuml(model), structure.class_mermaid(model)):
        assert all(one.name in text for one in model.classes)
        assert "«Configurable»" in text
    for text in (structure.deployment_plantuml(model), structure.deployment_mermaid(model)):
        assert all(one.name in text for one in model.machines)
        assert "HwProcessor" in text
        assert "CommunicationMedia" in text or not model.links
