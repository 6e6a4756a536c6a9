"""Tests of workloads that are external programs: placeholders in their command lines, their
execution, and a one-line message for each error."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import tomlkit
from dfslab.cli.root import app
from dfslab.documents.measured_load import ProgramRun
from dfslab.instruments import access
from dfslab.instruments.contract import MeasurementOptions
from dfslab.instruments.trace import Trace
from dfslab.laboratory import Laboratory
from dfslab.method import RunFailed
from dfslab.report import page as pages
from dfslab.result import Result
from dfslab.spec.check import check
from dfslab.spec.input_error import InputError
from dfslab.spec.model import build
from dfslab.spec.scenario import Point, Scenario, read
from dfslab.studies import bottlenecks
from dfslab.studies.contract import Findings, FinishedRun
from dfslab.studies.server_law import ServerLaw
from support.clusters import runs
from support.measuring import measure_once
from support.profiles import SMALL_FILES, files
from support.waiting import wait_until
from typer.testing import CliRunner

NODE = {"name": "here", "roles": {"client": 1, "storage": 1}}


def table(*command: str, limit: str = "120 s", **keys: object) -> dict:
    return {
        "name": "program",
        "deployment": {"node": [NODE]},
        "file_system": {"name": "local"},
        "workload": {"name": "command", "command": list(command), **keys},
        "run": {"methods": ["measure"], "repetitions": 1, "time_limit": limit},
    }


def point(*command: str, **keys: object) -> Point:
    (one,) = check(build(Scenario, table(*command, **keys)))
    return one


def run(one: Point, directory: Path | None = None) -> Result:
    if directory is not None:
        reported = one.scenario.with_values({"file_system.access.directory": str(directory)})
        one = one.model_copy(update={"scenario": reported})
    return measure_once(one)


def test_a_program_works_in_the_given_directory(tmp_path):
    script = 'printf "%s" "$2 $3 $4" > "$1/said"'
    one = point(
        "sh",
        "-c",
        script,
        "sh",
        "{directory}",
        "{seed}",
        "{file_size}",
        "{word}",
        file_size="2 MiB",
        word="x y",
    )
    result = run(one, tmp_path)
    assert (tmp_path / "said").read_text() == f"1 {2 << 20} x y"
    assert result.value("latency_s_mean.command") == pytest.approx(1 / result.value())
    assert result.program.command[-1] == "x y"


def test_a_measured_program_is_weighed_and_has_a_page(tmp_path):
    """An external program has no operation stream. Studies that need an operation stream skip the
    run of such a program. The page of the run is still written, without these studies."""
    laboratory = Laboratory()
    plan = laboratory.plan(build(Scenario, table("true")))
    done = laboratory.run(plan, tmp_path, fresh=True, always_page=True)
    assert [result.complete for result in done.results] == [True]
    assert done.find(ServerLaw) is None
    assert "1 configuration" in done.page.read_text()


def test_folders_are_new_at_every_run(tmp_path):
    one = point("sh", "-c", 'echo "$1" >> "$2/names"', "sh", "{folder}", "{directory}")
    for _ in range(2):
        run(one, tmp_path)
    first, second = (tmp_path / "names").read_text().split()
    assert first != second
    assert first.startswith("/")


def test_what_comes_before_it_is_ready_does_not_count(tmp_path):
    script = 'sleep 1; echo ready; read line; printf "%s" "$line" > "$1/heard"'
    began = time.monotonic()
    result = run(point("sh", "-c", script, "sh", "{directory}", says_ready=True), tmp_path)
    assert time.monotonic() - began - result.program.took_s >= 1.0
    assert (tmp_path / "heard").read_text() == "go"


@pytest.mark.parametrize(
    ("script", "keys", "said"),
    [
        ("echo no room; exit 3", {}, "sh ended with 3: no room"),
        ("sleep 60", {"limit": "1 s"}, "sh did not end within 1 s"),
        ("sleep 60", {"limit": "1 s", "says_ready": True}, "sh was not ready within 1 s"),
        ("exit 4", {"says_ready": True}, "sh ended with 4 before it was ready"),
    ],
)
def test_a_program_that_fails_says_how(script, keys, said):
    with pytest.raises(RunFailed, match=said):
        run(point("sh", "-c", script, **keys))


def test_nothing_of_a_program_outlives_its_limit(tmp_path):
    script = 'sleep 300 & echo $! > "$1/child"; wait'
    with pytest.raises(RunFailed, match="did not end"):
        run(point("sh", "-c", script, "sh", "{directory}", limit="3 s"), tmp_path)
    child = int((tmp_path / "child").read_text())
    assert wait_until(lambda: not runs(child))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"command": []}, "workload.command = []: needs a program"),
        ({"command": ["echo", "{sise}"], "size": 1}, "did you mean size?"),
        ({"command": ["echo"], "word": 1}, "workload.word = 1: is no word of the command"),
        ({"command": "echo"}, "workload.command"),
        ({"command": ["/no/such/program"], "install": "make it"}, "`make it` installs it"),
        ({"command": ["no-such-program"]}, "is not a program on this machine"),
        ({"methods": ["measure", "sequence"]}, "only measure and trace can run it"),
        ({"methods": ["trace"]}, "file_system.access.testbed = true"),
        ({"verify": "after"}, "no verification"),
        ({"cache": "cold"}, "workload.cache = 'cold': is for loads"),
        ({"think_time": "1 s"}, "is for loads"),
    ],
)
def test_what_is_wrong_is_one_line(tmp_path, change, said):
    reported = table("echo")
    for key, value in change.items():
        reported["run" if key in ("methods", "verify") else "workload"][key] = value
    path = tmp_path / "scenario.toml"
    path.write_text(tomlkit.dumps(reported))
    words = ["run", str(path), "--out", str(tmp_path / "runs")]
    answer = CliRunner().invoke(app, words)
    assert isinstance(answer.exception, InputError), answer.output
    assert said in str(answer.exception)
    assert str(path) in str(answer.exception)


def test_words_name_files_in_the_scenario_s_folder(tmp_path):
    reported = table("{here}/program", "{word}", word="w")
    path = tmp_path / "scenario.toml"
    path.write_text(tomlkit.dumps(reported))
    command = read(path).workload.parameters["command"]
    assert command == [f"{tmp_path}/program", "{word}"]


def test_a_testbed_without_counting_processes_is_refused():
    reported = table("true")
    reported["file_system"] = {"name": "nfs", "access": {"testbed": True}}
    reported["deployment"] = {"node": [{"name": "here", "roles": {"client": 1, "server": 1}}]}
    reported["run"]["methods"] = ["trace"]
    one = build(Scenario, reported).points()[0]
    options = MeasurementOptions(trace_directory=Path("/nowhere"))
    with access.session() as session, pytest.raises(InputError) as wrong:
        Trace().run(one, session, options=options)
    assert "the processes of nfs count no calls" in str(wrong.value)


def traced(tmp_path: Path) -> list[Result]:
    """Returns the results of two traced configurations. Also writes their call profiles to the
    folders in which the tracing instrument stores them."""
    results = []
    for number, size in enumerate((1, 2)):
        one = point("true", "{size}", size=size).model_copy(
            update={"labels": {"workload.size": size}}
        )
        result = run(one)
        folder = tmp_path / "traces" / f"p{number}"
        folder.mkdir(parents=True)
        for name, file in files(SMALL_FILES):
            path = folder / f"{name}.profile.json"
            path.write_text(json.dumps({"format": file.format, **file.model_dump(mode="json")}))
        program = ProgramRun(took_s=1.5, profiles=folder.name)
        results.append(result.model_copy(update={"method": "trace", "program": program}))
    return results


def test_functions_are_summed_over_their_places_and_gains_over_theirs(tmp_path):
    found = bottlenecks.bottlenecks(traced(tmp_path), tmp_path / "traces")
    assert [one.labels for one in found] == [{"workload.size": 1}, {"workload.size": 2}]
    one = found[0]
    assert (one.took_s, one.calls_s) == (1.5, 1.0)
    first = one.steps[0]
    assert (first.name, first.verdict) == ("client: back_off", "faster")
    assert first.saving == pytest.approx(0.35, abs=0.01)
    # `by_sum` ranks functions by the time that clients wait for them. The server's background call
    # has the largest total time, but no client waits for it, so it is not first.
    assert one.by_sum == "client: back_off"
    by_name = {f.name: f for f in one.functions}
    assert by_name["beat"].total_s == 5.0
    assert by_name["close"].mean_s == pytest.approx(0.08)


def test_named_functions_are_ends_of_paths_and_counted_once(tmp_path):
    from dfslab.instruments.tracing.callprofile import merge

    top = merge(
        files(
            (
                (
                    "client",
                    [
                        {
                            "above": -1,
                            "step": "open",
                            "count": 2,
                            "total_ns": 4 * 10**9,
                            "self_ns": 3 * 10**9,
                        },
                        {
                            "above": 0,
                            "step": "open",
                            "count": 2,
                            "total_ns": 10**9,
                            "self_ns": 10**9,
                        },
                        {
                            "above": -1,
                            "step": "read",
                            "count": 6,
                            "total_ns": 10**9,
                            "self_ns": 10**9,
                        },
                        {"above": -1, "step": "send", "count": 5, "total_ns": 7, "self_ns": 7},
                        {"above": 2, "step": "send", "count": 1, "total_ns": 9, "self_ns": 9},
                    ],
                ),
            )
        )
    )
    named = {"request": ("open", "read"), "sent in a read": ("read/send",), "none": ("close",)}
    request, sent, none = bottlenecks.functions(top, named)
    assert (request.count, request.total_s) == (2, 5.0)
    assert (sent.count, sent.total_s) == (1, 9e-9)
    assert (none.count, none.mean_s) == (0, None)


def test_the_page_has_both_tables_and_every_configuration_s_trees(tmp_path):
    results = traced(tmp_path)
    found = bottlenecks.Programs(programs=bottlenecks.bottlenecks(results, tmp_path / "traces"))
    run = FinishedRun(results[0].point.scenario, results, Findings.of(found))
    text = pages.render(run)
    section = text[text.index("Bottlenecks of programs") :]
    assert "back_off" in section
    assert "whole program" in section
    assert section.count('class="flame" role="group"') == 2


def test_every_word_of_the_shipped_scenarios_is_filled():
    folder = Path(__file__).parents[2] / "scenarios"
    for name in ("liu-spark", "liu-wordcount", "liu-request-frequency", "liu-file-size"):
        for one in check(read(folder / f"{name}.toml")):
            words = one.scenario.workload.parameters["command"]
            named = [word for word in words if word.startswith(str(folder)) and ".venv" not in word]
            assert named, name
            assert all(os.path.exists(word) for word in named)


def test_an_interrupted_command_may_still_write_its_end(tmp_path):
    """A command that `trace record` runs can still write its profile after Ctrl-C, before dfslab
    ends."""
    ended, began = tmp_path / "ended", tmp_path / "began"
    written = f"kill $!; sleep 0.5; echo whole > {ended}; exit 3"
    inner = f"sleep 60 & trap '{written}' INT; echo > {began}; wait"
    outer = f"""import os
from dfslab.documents.measured_load import ProgramRun
from dfslab.instruments.external_program import to_end
to_end(["sh", "-c", {inner!r}], os.environ)"""
    waiting = subprocess.Popen([sys.executable, "-c", outer], stderr=subprocess.PIPE, text=True)
    assert wait_until(lambda: began.exists() or waiting.poll() is not None)
    assert waiting.poll() is None
    waiting.send_signal(signal.SIGINT)
    _, said = waiting.communicate(timeout=120)
    assert "KeyboardInterrupt" in said
    assert ended.read_text() == "whole\n"
