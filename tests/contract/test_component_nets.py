"""Tests of the requirements that the net in a file system's folder (`net.py`) meets, and of the
messages about a `net.py` that violates the interface."""

from __future__ import annotations

from pathlib import Path

import pytest
from dfslab import discover
from dfslab.models.component_nets import own_net
from dfslab.models.tree.prediction import Situation
from dfslab.spec.input_error import InputError
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario

NETS = [
    name
    for name, path in discover.members(discover.FILE_SYSTEMS).items()
    if (path / "net.py").exists()
]
SEED = 3


def situation(system: str, workload: str = "sequential_read", clients: int = 2) -> Situation:
    """Returns a configuration with small files, in which each role of the file system is on four
    separate nodes."""
    roles = discover.file_system(system).roles
    nodes = [{"name": one.name, "count": 4, "roles": {one.name: 1}} for one in roles]
    files = {"name": workload, "clients": clients}
    if workload.startswith("sequential"):
        files |= {"file_size": "1 MiB", "transfer_size": "64 KiB"}
    return Situation(
        build(
            Scenario,
            {
                "name": "contract",
                "deployment": {"node": nodes},
                "file_system": {"name": system},
                "workload": files,
                "run": {"methods": ["components"]},
            },
        )
    )


@pytest.mark.parametrize("name", NETS)
@pytest.mark.parametrize("workload", ["sequential_read", "sequential_write"])
def test_every_level_of_detail_simulates_the_same_files(name, workload):
    given = situation(name, workload)
    net = own_net(given)
    assert net.grains
    assert len(set(net.grains)) == len(net.grains)
    firings = []
    for grain in net.grains:
        setup = net.setup_of(given, grain)
        assert (setup.clients, setup.operations, setup.file_size) == (2, 1, 1 << 20)
        assert not setup.calls
        one = net.simulate(setup, SEED)
        moved_bytes = setup.clients * setup.file_size
        assert one.time_s > 0
        assert one.throughput_bytes_per_s == pytest.approx(moved_bytes / one.time_s)
        assert one.utilisation
        assert all(-1e-9 <= busy <= 1 + 1e-9 for busy in one.utilisation.values())
        firings.append(one.firings)
    # The levels of detail are declared with the finest first. A finer net needs more firings.
    assert firings == sorted(firings, reverse=True)
    assert firings[0] > firings[-1] > 0


@pytest.mark.parametrize("name", NETS)
def test_a_seed_determines_the_result(name):
    given = situation(name)
    net = own_net(given)
    setup = net.setup_of(given, net.grains[-1])
    assert net.simulate(setup, SEED) == net.simulate(setup, SEED)


@pytest.mark.parametrize("name", NETS)
def test_placement_0_is_the_setup_and_others_differ(name):
    given = situation(name)
    net = own_net(given)
    setup = net.setup_of(given, net.grains[0])
    assert net.placed(setup, 0) == setup
    others = [net.placed(setup, number_of) for number_of in (1, 2)]
    assert None not in others
    assert setup not in others
    assert others[0] != others[1]
    # The rate of a single client does not depend on the placement of its file, so nothing is
    # placed.
    alone = situation(name, clients=1)
    assert net.placed(net.setup_of(alone, net.grains[0]), 1) is None


@pytest.mark.parametrize("name", NETS)
def test_a_part_of_a_setup_has_smaller_files(name):
    given = situation(name)
    setup = own_net(given).setup_of(given, own_net(given).grains[0])
    part = setup.part(0.5)
    assert part is not None
    assert part.clients == setup.clients
    assert part.file_size == setup.file_size // 2


@pytest.mark.parametrize("name", NETS)
def test_notes_are_sentences_and_an_unknown_workload_is_refused(name):
    given = situation(name)
    net = own_net(given)
    assert all(isinstance(one, str) and one for one in net.notes_of(given))
    with pytest.raises(InputError, match=r"^workload"):
        net.setup_of(situation(name, "mail_server"), net.grains[0])


class FileSystemStub:
    """A file system of which only the name and the folder are known."""

    def __init__(self, folder: Path) -> None:
        self.name, self.folder = folder.name, folder


class SituationStub:
    """A configuration of which only the file system is known."""

    def __init__(self, folder: Path) -> None:
        self.system = FileSystemStub(folder)


def folder_with(text: str | None, tmp_path: Path, name: str) -> Path:
    """Returns a file system's folder below `tmp_path`. The text of its `net.py` is `text`. If
    `text` is None, the folder has no `net.py`."""
    folder = tmp_path / "filesystems" / name
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text('"""A file system."""\n')
    if text is not None:
        (folder / "net.py").write_text(text)
    return folder


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('"""A net."""\nGRAINS = ("packet",)\n', "lacks NET"),
        ('"""A net."""\nNET = {"grains": ("packet",)}\n', "gives dict for NET"),
    ],
)
def test_a_module_without_a_net_is_named(text, reason, tmp_path, monkeypatch):
    folder = folder_with(text, tmp_path, f"netless_{len(text)}")
    monkeypatch.setenv("DFSLAB_PATH", str(tmp_path))
    with pytest.raises(discover.DiscoveryError, match=rf"net\.py: {reason}, which must be of type"):
        own_net(SituationStub(folder))


def test_a_folder_without_a_net_is_refused(tmp_path):
    folder = folder_with(None, tmp_path, "without_net")
    with pytest.raises(InputError, match=r"components needs a file system whose folder has a net"):
        own_net(SituationStub(folder))
