"""Tests of `dfslab predict FILE.csv`: rates and accelerators from hardware, and wrong tables."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from dfslab.models.scaling import io_hardware, training
from dfslab.models.scaling.io_hardware import IoHardware
from dfslab.models.scaling.training import Shares, TrainingLoad, TrainingSystem
from support.command import dfslab

from verification.truth.training import link_roofline

SYSTEMS = """system,file_system,clients,processes,link_bytes_per_s,servers,devices,medium
new,lustre,10,160,12500000000,8,96,nvme
small,unheard-of,1,16,,,,
"""
TRAINING = """system,clients,sample_bytes,accelerator_bytes_per_s,utilisation,client_bytes_per_s
a,4,146600628,3104833536,0.9,25000000000
"""
LOAD = TrainingLoad(1e8, 3e9, 0.9)
SYSTEM = TrainingSystem(4, 25e9, 64, 4, 50e9, 40, 6e9)


@pytest.fixture
def table(tmp_path):
    """Provides a function that writes a table to a file and returns its path."""

    def written(text):
        path = tmp_path / "table.csv"
        path.write_text(text)
        return path

    return written


def test_every_phase_of_each_system_has_a_rate_and_an_interval(table):
    done = dfslab("predict", table(SYSTEMS), "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    phases = [*io_hardware.DATA_PHASES, *io_hardware.METADATA_PHASES]
    assert [(row["system"], row["phase"]) for row in rows] == [
        (system, phase) for system in ("new", "small") for phase in phases
    ]
    assert all(0 < row["low_per_s"] < row["rate_per_s"] < row["high_per_s"] for row in rows)
    shown = dfslab("predict", table(SYSTEMS)).stdout
    assert max(map(len, shown.splitlines())) <= 80


def test_hardware_that_feeds_no_accelerator_feeds_none():
    slow = replace(SYSTEM, client_bytes_per_s=1e8)
    found = training.accelerators(slow, LOAD)
    assert (found.count, found.low) == (0, 0)


@pytest.mark.parametrize(
    "words",
    [
        ("--method", "petri"),
        ("--metadata-server",),
        ("--set", "workload.clients=4"),
        ("--from", "nowhere"),
    ],
)
def test_options_of_scenarios_are_refused_for_a_table(table, words):
    done = dfslab("predict", table(SYSTEMS), *words)
    assert done.returncode == 2
    assert f"{words[0]} = " in done.stderr
    assert "has no use with a CSV table" in done.stderr


def test_what_was_assumed_or_is_not_known_is_named(table):
    shown = dfslab("predict", table(SYSTEMS.replace("lustre", "lustr"))).stdout
    words = " ".join(shown.split())
    assert "new: no results of file system 'lustr' are known" in words
    assert "Did you mean lustre?" in words
    no_cores = training.capacities(replace(SYSTEM, client_cores=None), LOAD.sample_bytes)
    assert f"clients' processors ({training.CORES:g} cores each, assumed)" in no_cores
    assert "clients' processors" in training.capacities(SYSTEM, LOAD.sample_bytes)


def test_accelerators_are_predicted_from_links(table):
    done = dfslab("predict", table(TRAINING), "--json")
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)
    assert 1 <= row["low"] <= row["count"] < row["high"]
    assert row["limit"] == "clients' links"
    assert "Most accelerators" in dfslab("predict", table(TRAINING)).stdout


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (SYSTEMS.replace("nvme", "tape"), "medium in line 2 = 'tape': one of hdd, ssd, nvme, pmem"),
        (SYSTEMS.replace("processes", "ranks"), "processes: no such column"),
        (SYSTEMS.replace(",10,", ",0,"), "clients in line 2 = '0': a number above 0"),
        (TRAINING.replace(",0.9,", ",90,"), "utilisation in line 2"),
        (SYSTEMS.splitlines()[0], "no measurement"),
    ],
)
def test_wrong_tables_are_one_line(table, text, said):
    done = dfslab("predict", table(text))
    assert done.returncode == 2, done.stdout
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_one_known_resource_alone_gives_its_capacity():
    lossless = Shares(1.0, 0.0, 1.0, 1.0, 0.0, 1e-30)
    system = TrainingSystem(2, client_bytes_per_s=27e9)
    found = training.accelerators(system, LOAD, lossless)
    assert (found.count, found.limit) == (20, "clients' links")
    assert link_roofline(system, LOAD) == 20
    twice = replace(system, servers=1, server_bytes_per_s=54e9)
    assert training.accelerators(twice, LOAD, lossless).count == int(20 / 2**0.5)


@pytest.mark.parametrize(
    "more",
    [
        {"clients": 8},
        {"client_bytes_per_s": 50e9},
        {"client_cores": 128},
        {"servers": 8},
        {"drives": 80},
        {"drive_bytes_per_s": 12e9},
    ],
)
def test_more_of_a_resource_never_feeds_fewer_accelerators(more):
    least = training.accelerators(SYSTEM, LOAD)
    most = training.accelerators(replace(SYSTEM, **more), LOAD)
    assert most.bytes_per_s > least.bytes_per_s
    assert most.count >= least.count
    assert least.count <= link_roofline(SYSTEM, LOAD)


@pytest.mark.parametrize("phase", [*io_hardware.DATA_PHASES, *io_hardware.METADATA_PHASES])
def test_more_hardware_never_predicts_less_and_no_capacity_is_exceeded(phase):
    law = io_hardware.laws().laws[phase]
    base = IoHardware("lustre", 10, 160, 12.5e9, 8, 96, "nvme", 2)
    rate = law.rate_per_s(base)
    for more in (
        {"clients": 20},
        {"processes": 320},
        {"link_bytes_per_s": 25e9},
        {"servers": 16},
        {"devices": 192},
        {"metadata_servers": 4},
    ):
        assert law.rate_per_s(replace(base, **more)) >= rate
    own = law.effects["lustre"] * law.effects["central metadata"]
    assert rate <= own * 160 * law.shares["processes"]
