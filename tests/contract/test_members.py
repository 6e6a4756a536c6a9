"""Tests of the requirements that every discovered file system, workload and testbed meets."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pytest
from dfslab import _core, discover
from dfslab.models.tree.formula import formula
from dfslab.models.tree.prediction import Situation
from dfslab.report import description
from dfslab.spec.check import check
from dfslab.spec.input_error import InputError
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario
from dfslab.spec.steps.operation import step_names, walk
from dfslab.spec.streams.stream import stream_spec
from dfslab.testbeds import found
from dfslab.testbeds.base import BaseTestbed, missing_methods
from dfslab.testbeds.capabilities import Counting, JavaReachable, Mounting, Traceable
from dfslab.testbeds.state import TestbedFolder

SYSTEMS = list(discover.members(discover.FILE_SYSTEMS))
WORKLOADS = list(discover.members(discover.WORKLOADS))
# Workloads that are operation streams; a workload that runs an external program has no stream.
STREAMS = [name for name in WORKLOADS if discover.workload(name).command is None]


def scenario(system: str, workload: str = "sequential_read", apart: bool = True, **keys):
    """Returns a scenario on the file system `system`, with the default number of instances of each
    role. If `apart` is true, each instance is on a separate node; otherwise all are on one node.
    `keys` are further keys of the workload."""
    described = discover.file_system(system)
    if apart:
        nodes = [
            {"name": role.name, "count": role.instances, "roles": {role.name: 1}}
            for role in described.roles
        ]
    else:
        nodes = [{"name": "one", "roles": {r.name: r.instances for r in described.roles}}]
    return build(
        Scenario,
        {
            "name": "contract",
            "deployment": {"node": nodes},
            "file_system": {"name": system},
            "workload": {"name": workload, **keys},
            "run": {"methods": ["sequence"]},
        },
    )


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_symbol_of_a_description_is_declared(name):
    system = discover.file_system(name)
    for row in description.parameter_rows(system):
        assert row.parameter.meaning
        assert row.parameter.unit
        assert row.acts_in


@pytest.mark.parametrize("name", SYSTEMS)
def test_no_declared_parameter_is_idle(name):
    system = discover.file_system(name)
    acting = {key for operation in system.operations for key in system.acting(operation)}
    reported = {p.key for p in system.parameters if p.daemons_only}
    assert {parameter.key for parameter in system.parameters} - acting == reported


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_purpose_of_a_parameter_agrees_with_its_printed_id(name):
    """A parameter has a purpose, by which generic code finds the parameter, and may have an id of
    Wu 2013, which tables print. Purpose and id must agree: the id Rp1 means the number of copies
    (or a mirror), and Dap1 means the block size. At most one parameter of a file system sets the
    number of copies."""
    parameters = list(discover.file_system(name).parameters)
    printed = {"Rp1": "copies", "Dap1": "block size"}
    for one in parameters:
        is_mirror = one.wu == "Rp1" and one.purpose == "mirror"
        assert is_mirror or printed.get(one.wu, one.purpose) == one.purpose, one.key
    assert sum(one.purpose in ("copies", "mirror") for one in parameters) <= 1


@pytest.mark.parametrize("apart", [True, False], ids=["apart", "together"])
@pytest.mark.parametrize("name", SYSTEMS)
def test_predictions_are_finite_positive_and_within_bounds(name, apart):
    workloads = ["sequential_read", "sequential_write"]
    if "append" in discover.file_system(name).operations:
        workloads.append("append")
    for workload in workloads:
        rates = []
        for size in ("1 B", "64 KiB", "1 MiB", "300 MiB"):
            for clients in (1, 3, 40):
                given = scenario(name, workload, apart, file_size=size, clients=clients)
                check(given)
                situation = Situation(given)
                prediction = situation.predict(situation.constants)
                low, high = prediction.bounds_per_s
                assert math.isfinite(prediction.rate_per_s)
                assert low * 0.999 <= prediction.rate_per_s <= high * 1.001, (workload, size)
                assert all(time >= 0 for time in prediction.steps.values())
                assert max(prediction.utilisation.values(), default=0) <= 1 + 1e-9
                rates.append(prediction.rate_per_s)
        assert rates[0] >= rates[3] >= rates[6] >= rates[9], f"{workload}: larger is not slower"


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_operation_has_named_steps_and_a_formula(name):
    system = discover.file_system(name)
    # Every file system has at least these operations. Other operations may be missing: Alluxio
    # cannot append to a finished file.
    assert set(system.operations) >= {"read", "write", "create", "stat", "list", "rename", "delete"}
    for operation, tree in system.operations.items():
        assert step_names(tree), operation
        assert len(list(walk(tree))) < 200
        assert formula(operation, tree).expanded().free_symbols


def draws(spec: dict) -> bool:
    """Returns whether the stream that `spec` describes has random parts: operation types, sizes,
    files or offsets."""
    parts = [
        part for whole in (spec.get("phases") or [spec]) for part in (whole, *whole.get("mix", ()))
    ]
    orders = [part.get("access", {}).get("order", "sequential") for part in parts]
    drawn_mix = [
        len(part.get("mix", ())) > 1 and part.get("mix_order") != "cycle"
        for part in spec.get("phases") or [spec]
    ]
    choices = [part.get("file_choice", "sequential") for part in parts]
    return (
        "fixed" not in spec["file_size"]
        or any(drawn_mix)
        or any(choice not in ("sequential", "newest") for choice in choices)
        or (_single(parts) and bool({"random", "same", "shuffled"} & {str(o) for o in orders}))
    )


def _single(parts: list[dict]) -> bool:
    """Returns whether any of `parts`, the parts of a stream, has the operation pread or pwrite,
    which transfers a part of a file.
    """
    return any(part.get("operation") in ("pread", "pwrite") for part in parts)


def test_a_workload_without_a_stream_is_a_program_and_says_so():
    assert set(WORKLOADS) - set(STREAMS) == {"command"}
    with pytest.raises(InputError, match="only measure and trace can run it"):
        stream_spec(scenario("local", "command", command=["true"]))


@pytest.mark.parametrize("name", STREAMS)
def test_every_workload_gives_a_valid_stream_of_described_operations(name):
    given = scenario("local", name)
    spec = stream_spec(given).text
    operations = _core.stream_operations(spec, 0, 50).operation
    assert operations
    mix = discover.workload(name).mix(discover.workload(name).parameters())
    assert set(operations) <= set(mix)
    assert sum(mix.values()) == pytest.approx(1.0)
    again = _core.stream_bytes(spec, 0)
    assert again == _core.stream_bytes(stream_spec(given).text, 0)
    other = _core.stream_bytes(stream_spec(given, repetition=1).text, 0)
    assert (again != other) == draws(json.loads(spec))


def test_nets_of_their_own_stay_rare():
    """Among the discovered file systems, only PVFS has a Petri net in addition to its operation
    trees. Such a net should stay rare, because it describes the file system a second time."""
    own = [
        name
        for name, path in discover.members(discover.FILE_SYSTEMS).items()
        if (path / "net.py").exists()
    ]
    assert own == ["pvfs"]


BEDS = [name for name in SYSTEMS if discover.file_system(name).has_testbed]
# The optional capabilities of each testbed. Every testbed also fulfils the contract of all
# testbeds.
CAPABILITIES = {
    "alluxio": {Mounting, Traceable},
    "cephfs": {Mounting, Counting},
    "glusterfs": {Mounting, Counting},
    "hdfs": {Traceable, JavaReachable},
    "juicefs": {Mounting, Counting},
    "moosefs": {Mounting, Counting},
    "nfs": set(),
}


@pytest.mark.parametrize("name", BEDS)
def test_a_testbed_keeps_its_contract(name, tmp_path):
    kind = found.testbed_class(name, "file_system.access.testbed")
    assert missing_methods(kind) == []
    assert name == kind.SYSTEM
    assert kind.WARM_UP.file_bytes > 0
    assert kind.WARM_UP.limit_s > 0
    described = discover.file_system(name).parameters.of_origin("filesystem")
    assert set(described) >= kind.NOT_SET
    if issubclass(kind, Traceable):
        # `traced` returns the parameters that switch tracing on, and the testbed's `parse` must
        # accept these parameters.
        for folder in (None, tmp_path):
            assert kind.parse(kind.traced(folder))


@pytest.mark.parametrize("name", CAPABILITIES)
def test_a_testbed_has_the_capabilities_that_its_class_derives_from(name):
    kind = found.testbed_class(name, "file_system.access.testbed")
    every = (Traceable, JavaReachable, Mounting, Counting)
    assert {one for one in every if issubclass(kind, one)} == CAPABILITIES[name]


class Unfinished(BaseTestbed):
    """A testbed class that defines `parse` and lacks the other four abstract methods."""

    SYSTEM = "local"

    @classmethod
    def parse(cls, parameters):
        return dict(parameters)


LACKING = "endpoint, port_count, prepare, start"


def test_a_testbed_that_lacks_methods_is_refused_by_their_names(monkeypatch):
    """A testbed class without all methods cannot be instantiated, its `up` creates nothing, and
    discovery does not return the class."""
    folder, record = TestbedFolder(Path("none"), "none"), None
    with pytest.raises(TypeError, match="abstract"):
        Unfinished({}, folder, record, print, False)
    with pytest.raises(TypeError, match=f"Unfinished lacks {LACKING}"):
        Unfinished.up()
    assert missing_methods(Unfinished) == LACKING.split(", ")
    monkeypatch.setattr(discover, "declared", lambda *_: Unfinished)
    with pytest.raises(discover.DiscoveryError, match=rf"testbed\.py: Testbed lacks {LACKING}"):
        found.testbed_class("nfs", "--on")


def test_callers_ask_testbeds_for_capabilities_only():
    """Outside the folder of testbeds, no module checks whether a testbed derives from a base class
    whose name ends in Testbed, such as MountedTestbed. Modules check for capabilities instead. Only
    testbeds/found.py, which discovers testbeds, is excepted."""
    package = Path(discover.__file__).parent
    asking = [
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if re.search(r"is(?:instance|subclass)\([^()]*,\s*\w*Testbed\b", path.read_text())
    ]
    assert asking == ["testbeds/found.py"]


def test_a_file_system_without_a_testbed_says_which_have_one():
    with pytest.raises(InputError, match=", ".join(BEDS)):
        found.testbed_class("lustre", "--on")


def test_a_member_of_the_wrong_kind_is_named(tmp_path, monkeypatch):
    (tmp_path / "workloads").mkdir()
    path = tmp_path / "workloads" / "wrong_kind.py"
    path.write_text('"""A workload that is a number."""\nTITLE = "x"\nWORKLOAD = 1\n')
    monkeypatch.setenv("DFSLAB_PATH", str(tmp_path))
    with pytest.raises(discover.DiscoveryError, match=r"wrong_kind\.py: gives int for WORKLOAD"):
        discover.workload("wrong_kind")


def test_a_member_may_annotate_what_it_declares(tmp_path, monkeypatch):
    (tmp_path / "workloads").mkdir()
    path = tmp_path / "workloads" / "annotated.py"
    path.write_text('"""A workload with an annotated title."""\nTITLE: str = "x"\nWORKLOAD = 1\n')
    monkeypatch.setenv("DFSLAB_PATH", str(tmp_path))
    with pytest.raises(discover.DiscoveryError, match=r"annotated\.py: gives int for WORKLOAD"):
        discover.workload("annotated")
    assert discover.title(path) == "x"
