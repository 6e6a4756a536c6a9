"""Tests that results of other tools on a described system are fitted, evaluated and exported like
dfslab's own results."""

from __future__ import annotations

import json

import pytest
from dfslab.spec.scenario import read as read_scenario
from dfslab.studies.runs.store import load_results
from support.command import dfslab
from support.tool_texts import FIO_2, FIO_FSYNC, MDTEST_3
from support.tool_texts_more import WARP_1

SYSTEM = """schema = 1
name = "described"
[[deployment.node]]
name = "machine"
roles = { client = 1, storage = 1 }
[file_system]
name = "local"
[workload]
name = "sequential_read"
"""
CLIENTS = (1, 2, 4, 8)
# Largest allowed relative standard deviation of a fit to planted times. On different machines, the
# deviation was 0.09 to 0.12.
#
# The fit is not exact. The planted times are linear in the number of clients, but the fitted
# function has a term for the number of clients that an operation waits for. If two terms are
# proportional to each other, rounding errors of linear algebra decide which of them is fitted.
LARGEST_SD = 0.15
KIB, MIB = 1 << 10, 1 << 20


def planted_s(clients: int) -> float:
    """Returns the mean time of an operation in seconds: 0.002 + 0.0005 (clients - 1)."""
    return 0.002 + 0.0005 * (clients - 1)


def fio_json() -> str:
    jobs = [
        {
            "jobname": f"writers-{clients}",
            "groupid": clients,
            "error": 0,
            "job options": {"numjobs": str(clients), "group_reporting": "1", "bs": "64k"},
            "write": {
                "bw_bytes": 64 * KIB * clients / planted_s(clients),
                "iops": clients / planted_s(clients),
                "total_ios": 1000,
                "lat_ns": {"mean": planted_s(clients) * 1e9, "N": 1000},
            },
        }
        for clients in CLIENTS
    ]
    return json.dumps({"fio version": "fio-3.36", "jobs": jobs})


def ior_json() -> str:
    tests = [
        {
            "TestID": number,
            "Parameters": {"tasks": clients},
            "Results": [
                {
                    "access": "read",
                    "bwMiB": clients / planted_s(clients),
                    "xferKiB": 1024.0,
                    "blockKiB": 1024.0,
                    "iops": clients / planted_s(clients),
                }
            ],
        }
        for number, clients in enumerate(CLIENTS)
    ]
    return json.dumps({"Version": "4.0.0", "tests": tests})


def elbencho_csv() -> str:
    head = "ISO date,label,hosts,threads,operation,IOPS [last],MiB/s [last],IO lat us [avg]"
    rows = [
        f"2024-01-01T00:00:00,x,1,{clients},WRITE,{rate},{rate / 4},{planted_s(clients) * 1e6}"
        for clients in CLIENTS
        for rate in [clients / planted_s(clients)]
    ]
    return "\n".join([head, *rows, ""])


def cosbench_csv() -> str:
    """Returns results of COSBench that lack the number of clients. Therefore none of them can be
    described."""
    return (
        "Stage,Op-Name,Op-Type,Op-Count,Byte-Count,Avg-ResTime,Avg-ProcTime,Throughput,Bandwidth,"
        "Succ-Ratio\nmain,read,read,10,640,5,5,20,1280,100%\n"
    )


def iozone_text() -> str:
    """Returns a result table of iozone with one client and four record sizes. In it, a write of r
    KiB takes 1 + r / 64 ms."""
    rows = [
        f"            4096 {record:7} {record / (0.001 + 0.001 * record / 64):8.0f} {1000:8}"
        for record in (16, 64, 256, 1024)
    ]
    return "\n".join(
        [
            "\tIozone: Performance Test of File I/O",
            "\t        Version $Revision: 3.506 $",
            "\tCommand line used: iozone -a -s 4096 -i 0",
            "\tOutput is in kBytes/sec",
            "              kB  reclen    write  rewrite    read    reread",
            *rows,
            "",
        ]
    )


@pytest.fixture
def imported(tmp_path):
    """Provides a function that imports a text on the described system and returns (the finished
    command, the folder of the run)."""
    (tmp_path / "on.toml").write_text(SYSTEM)

    def run(text: str):
        path = tmp_path / "given"
        path.write_text(text)
        runs = tmp_path / "runs"
        done = dfslab("import", str(path), "--on", str(tmp_path / "on.toml"), "--out", str(runs))
        return done, next(runs.glob("*/latest"), None)

    return run


@pytest.mark.parametrize(
    ("text", "operation", "step"),
    [
        (fio_json(), "pwrite", "write"),
        (ior_json(), "pread", "read"),
        (elbencho_csv(), "pwrite", "write"),
        (iozone_text(), "pwrite", "write"),
    ],
    ids=["fio", "ior", "elbencho", "iozone"],
)
def test_an_imported_run_is_fitted_judged_and_exported(imported, tmp_path, text, operation, step):
    done, run = imported(text)
    assert (done.returncode, done.stderr) == (0, "")
    fitted = json.loads(dfslab("fit", str(run), "--json").stdout)["functions"]
    assert [(one["operation"], one["step"], one["points"]) for one in fitted] == [
        (operation, step, len(CLIENTS))
    ]
    assert fitted[0]["relative_sd"] < LARGEST_SD
    judged = json.loads(dfslab("check", str(run), "--json").stdout)
    assert judged["figures"] >= len(CLIENTS)
    table = tmp_path / "runs.csv"
    assert dfslab("export", str(run), "-o", str(table)).returncode == 0
    rows = table.read_text().splitlines()
    assert len(rows) == 1 + len(CLIENTS)
    assert f"step_s_mean.{operation}.{step}" in rows[0]
    assert dfslab("report", str(run), "--as", "prometheus").returncode == 0


def test_what_no_workload_describes_is_left_out_by_name(imported):
    done, _ = imported(MDTEST_3)
    assert done.returncode == 0
    assert "name = metadata, operation = create, clients = 4: 11,111 operations/s" in done.stdout
    assert "tree creation, mkdir: left out: no workload describes" in done.stdout
    done, _ = imported(WARP_1)
    assert "Total, mixed: left out: no workload describes" in done.stdout


def test_the_written_scenario_has_the_imported_load(imported):
    done, run = imported(FIO_FSYNC)
    assert "j, fsync: left out: no workload describes the operation 'fsync'" in done.stdout
    written = read_scenario(run / "scenario.toml")
    labels = [
        (one.labels["workload.mode"], one.labels["workload.file_size"]) for one in written.points()
    ]
    assert labels == [("randread", "8 MiB"), ("randwrite", "8 MiB")]
    assert {one.id for one in written.points()} == {one.point_id for one in load_results(run)}
    workload = written.workload
    assert (workload.clients, workload.parameters["transfer_size"]) == (2, "4 KiB")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"direct": "1", "end_fsync": "1"}, ("direct", True, "none")),
        ({"fsync": "1"}, ("warm", "write", "none")),
        ({"sync": "1"}, ("warm", False, "all")),
        ({"sync": "dsync"}, ("warm", False, "data")),
        ({}, ("warm", False, "none")),
    ],
)
def test_the_access_and_the_bytes_of_the_tool_are_kept(imported, options, expected):
    document = json.loads(fio_json())
    document["jobs"] = document["jobs"][2:3]
    given = {"ioengine": "libaio", "iodepth": "32", "size": "1G", "rw": "write", **options}
    document["jobs"][0]["job options"].update(given)
    done, run = imported(json.dumps(document))
    assert (done.returncode, done.stderr) == (0, "")
    (point,) = read_scenario(run / "scenario.toml").points()
    workload = point.scenario.workload
    assert (workload.cache, workload.fsync, workload.sync_io) == expected
    assert (workload.clients, point.labels["workload.file_size"]) == (4 * 32, "32 MiB")


def test_an_access_of_some_configurations_is_not_that_of_the_others(imported):
    document = json.loads(fio_json())
    document["jobs"][0]["job options"]["direct"] = "1"
    _, run = imported(json.dumps(document))
    points = read_scenario(run / "scenario.toml").points()
    assert [one.scenario.workload.cache for one in points] == ["direct", "warm", "warm", "warm"]
    assert {one.id for one in points} == {one.point_id for one in load_results(run)}


def test_a_file_of_which_nothing_can_be_described_is_refused_in_one_line(imported):
    done, run = imported(cosbench_csv())
    assert (done.returncode, run) == (2, None)
    assert "no measurement can be described: main, read: left out: the tool rep" in done.stderr
    assert done.stderr.count("\n") == 1


def test_fit_says_that_a_run_of_an_undescribed_system_has_no_steps(tmp_path):
    path = tmp_path / "given"
    path.write_text(FIO_2)
    assert dfslab("import", str(path), "--out", str(tmp_path / "runs")).returncode == 0
    run = next(tmp_path.glob("runs/*/latest"))
    done = dfslab("fit", str(run), "--quiet")
    assert done.returncode == 1
    assert done.stderr.endswith("no step was measured at 4 configurations or more\n")
    assert "is a program" not in done.stderr


def test_what_would_settle_an_imported_result_is_asked_of_its_tool(imported):
    document = json.loads(fio_json())
    document["jobs"] = document["jobs"][2:3]
    _, run = imported(json.dumps(document))
    said = " ".join(dfslab("advise", str(run)).stdout.split())
    assert "Would settle it: the original tool with the same options before and after" in said
    assert "sweep=" not in said


@pytest.mark.parametrize("command", [("advise",), ("whatif", "client disk x2")])
def test_advice_on_an_undescribed_import_names_what_is_needed(tmp_path, command):
    path = tmp_path / "given"
    path.write_text(FIO_2)
    assert dfslab("import", str(path), "--out", str(tmp_path / "runs")).returncode == 0
    name, *changes = command
    done = dfslab(name, str(next(tmp_path.glob("runs/*/latest"))), *changes)
    assert done.returncode in (1, 2)
    assert "needs the system that `dfslab import FILE --on SCENARIO` names" in done.stderr
    assert "is a program" not in done.stderr


def test_the_page_of_an_undescribed_import_states_no_unknown_as_a_fact(tmp_path):
    path = tmp_path / "given"
    path.write_text(FIO_2)
    assert dfslab("import", str(path), "--out", str(tmp_path / "runs")).returncode == 0
    run, page = next(tmp_path.glob("runs/*/latest")), tmp_path / "page.html"
    assert dfslab("report", str(run), "-o", str(page)).returncode == 0
    shown = page.read_text()
    assert "Linux <" not in shown
    assert "0, 0 B" not in shown
    assert "not known, not known" in shown
    assert "No configuration was measured or predicted with a rate" not in shown
