"""Tests of what the commands `dfslab net check` and `dfslab net run` print about limits: an
interrupted or incomplete exploration, runs that were cut off, warm-ups that never end, and the
precision of means."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from dfslab.documents.net_run import (
    FileMonitor,
    FileMonitors,
    FiringObservation,
    RunLimits,
    ValueMonitor,
)
from dfslab.nets.build import Net, Put, Take, definition_of
from dfslab.nets.engine import state_space
from dfslab.nets.net_json import json_text
from dfslab.nets.simulate import Precision, simulate
from dfslab.spec.input_error import InputError

from tests.support import command

DELAYED = "exponential(1)"


def file_of(net: Net, place: Path) -> Path:
    """Writes a net to a JSON file in the folder `place` and returns the file's path."""
    path = place / f"{net.name}.json"
    path.write_text(json_text(definition_of(net)))
    return path


def source(delay: str = DELAYED) -> Net:
    """Returns a net that puts tokens into a place and never takes one away."""
    net = Net("source")
    ready = net.place("ready", initial=[()])
    net.transition("arrive", [Take(ready)], [Put(ready, delay=delay), Put(net.place("full"))])
    return net


def numbered() -> Net:
    """Returns a net that puts numbered tokens into a place, so that no two tokens are equal."""
    net = Net("numbered")
    job = net.colour("job", id=int)
    ready, full = net.place("ready", job, [(0,)]), net.place("full", job)
    token = job.token("j")
    net.transition("arrive", [Take(ready, "j")], [Put(ready, (token["id"] + 1,)), Put(full, "j")])
    return net


def short() -> Net:
    """Returns a net that fires three times, at intervals of 1 s, and is dead then."""
    net = Net("short")
    waiting, free = net.place("waiting", initial=[()] * 3), net.place("free", initial=[()])
    net.transition("serve", [Take(waiting), Take(free)], [Put(free, delay="1.0")])
    return net


def shown(*words: object) -> str:
    """Runs a command that succeeds, and returns its output as one line."""
    done = command.dfslab("net", *words)
    assert done.returncode == 0, done.stderr
    return " ".join(done.stdout.replace("│", " ").split())


@pytest.mark.parametrize("name", ["check", "states"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_an_exploration(name: str, number: signal.Signals, tmp_path: Path):
    path = file_of(numbered(), tmp_path)
    words = [str(command.DFSLAB), "net", name, str(path), "--markings", "100000000"]
    child = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    # The exploration of this net lasts for many seconds. It has begun when the process has used
    # more processor time than the start of the command needs.
    time.sleep(3)
    os.kill(child.pid, number)
    output, errors = child.communicate(timeout=30)
    assert (child.returncode, output, errors) == (130, "", "dfslab: interrupted\n")


def test_equal_tokens_do_not_make_markings_longer():
    # The markings of this net have 0, 1, 2, ... equal tokens. If each token were stored, this
    # state space would need 120 GB.
    space = state_space(source(), 100_000)
    assert (space.complete, space.markings, space.stopped_at) == (False, 100_000, "markings")
    assert space.bounds["full"] == (0, 99_999)


def test_check_says_why_liveness_is_not_known(tmp_path: Path):
    text = shown("check", file_of(source(), tmp_path), "--markings", 50)
    assert "not known: more than 50 markings exist (--markings)" in text


def test_check_of_a_net_that_draws_says_what_was_checked(tmp_path: Path):
    net = Net("draws")
    number = net.colour("number", n=float)
    net.transition(
        "draw",
        [Take(net.place("a", initial=[()]))],
        [Put(net.place("b", number), ("uniform(0.0, 1.0)",))],
    )
    path = file_of(net, tmp_path)
    text = shown("check", path)
    assert "the net is valid" in text
    assert "state space not explored" in text
    assert "drawn at random" in text
    assert "refused" not in text
    assert "Exits with 0 if the net is valid" in shown("check", "--help")
    assert "drawn" in json.loads(shown("check", path, "--json"))["state_space"]["refused"]


def test_a_precision_adds_runs_until_every_interval_is_that_narrow(tmp_path: Path):
    path = file_of(source(), tmp_path)
    words = ["run", path, "--end-time", 100, "--replications", 4, "--precision", 0.02]
    found = json.loads(shown(*words, "--json"))
    rate = found["transitions"]["arrive"]["rate_per_s"]
    assert found["replications"] in (16, 32, 64, 128, 256)
    assert rate["half_width"] <= 0.02 * rate["mean"]
    assert found["precision"]["is_reached"]
    assert f"was reached with {found['replications']} runs" in shown(*words)
    # The added runs continue the series, so the means are those of as many runs at once.
    same = simulate(
        definition_of(source()), replications=found["replications"], end_time_s=100.0, seed=0
    )
    assert same.model_dump()["transitions"] == found["transitions"]


def test_a_precision_that_is_not_reached_is_stated(tmp_path: Path):
    path = file_of(source(), tmp_path)
    words = ["run", path, "--end-time", 10, "--precision", 0.001, "--most-replications", 20]
    text = shown(*words)
    assert "The precision of ±0.1 % was not reached with 20 runs (widest interval: ±" in text
    assert "request more with --most-replications" in text


def test_a_precision_of_one_name_leaves_out_the_others():
    net = definition_of(source())
    limits: RunLimits = {"replications": 4, "end_time_s": 50.0}
    found = simulate(net, precision=Precision(0.1, names=("arrive",)), **limits)
    assert found.precision is not None
    assert found.precision.widest == "arrive"
    with pytest.raises(InputError, match="known: ready, full, arrive"):
        simulate(net, precision=Precision(0.1, names=("leave",)), **limits)
    with pytest.raises(InputError, match="between 0 and 1"):
        simulate(net, precision=Precision(5), **limits)


def test_a_precision_of_a_monitor_without_observations_is_never_reached():
    monitors = FileMonitors(
        measured={
            "late": FileMonitor(
                kind="Data collection",
                is_timed=False,
                monitor=ValueMonitor(
                    observations=[FiringObservation(transition="arrive", value="1", when="1 > 2")]
                ),
            )
        }
    )
    found = simulate(
        definition_of(source()),
        monitors,
        Precision(0.1, most_replications=8, names=("late",)),
        replications=4,
        end_time_s=5.0,
    )
    assert found.precision is not None
    assert (found.precision.is_reached, found.precision.relative) == (False, None)
    assert found.replications == 8


def test_precision_of_needs_a_precision(tmp_path: Path):
    done = command.dfslab("net", "run", file_of(source(), tmp_path), "--precision-of", "full")
    assert done.returncode == 2
    assert "needs --precision" in done.stderr


@pytest.mark.parametrize("limits", [["--warm-up", 100], ["--warm-up", 2.5, "--firings", 2]])
def test_a_warm_up_that_never_ends_gives_no_figures(limits: list[object], tmp_path: Path):
    done = command.dfslab("net", "run", file_of(short(), tmp_path), *limits)
    assert (done.returncode, done.stdout) == (1, "")
    assert "nothing was observed, because all 8 runs ended before the warm-up did" in done.stderr
    assert done.stderr.count("\n") == 1


def test_runs_that_end_before_the_warm_up_are_in_no_mean(tmp_path: Path):
    # One token waits for a time that is drawn, so some runs end before 1 s and some later.
    net = Net("drawn")
    first, then = net.place("first", initial=[()]), net.place("then")
    net.transition("wait", [Take(first)], [Put(then, delay=DELAYED)])
    net.transition("end", [Take(then)], [])
    found = simulate(definition_of(net), replications=40, warm_up_s=1.0)
    assert 0 < found.unobserved < 40
    assert found.transitions["end"].firings.mean == 1.0
    text = shown("run", file_of(net, tmp_path), "--replications", 40, "--warm-up", 1)
    assert f"{found.unobserved} of 40 runs ended before the warm-up of 1 s" in text


def test_runs_that_firings_cut_off_are_called_so(tmp_path: Path):
    path = file_of(source("1.0"), tmp_path)
    text = shown("run", path, "--firings", 5, "--end-time", 100)
    assert "(8 cut off by --firings)" in text
    assert "8 of 8 runs were cut off after 5 firings (--firings), at 4 s of simulated time" in text


def test_a_constant_and_a_value_without_interval_look_different(tmp_path: Path):
    path = file_of(source("1.0"), tmp_path)
    assert "ready 0 ± 0 1 ± 0 1 " in shown("run", path, "--end-time", 10)
    text = shown("run", path, "--end-time", 10, "--replications", 1)
    assert "ready 0 ± ? 1 ± ? 1 " in text
    assert "± ?: known from one run only, so there is no interval" in text
    assert "Waiting tokens have a time stamp in the future" in text


@pytest.mark.parametrize(
    ("delay", "limit"),
    [("5e9", ("--firings", 20)), ("1e10", ("--end-time", 100)), ("1", ("--end-time", 1e11))],
)
def test_a_time_that_is_too_large_suggests_another_unit(
    delay: str, limit: tuple[str, float], tmp_path: Path
):
    done = command.dfslab("net", "run", file_of(source(delay), tmp_path), *limit)
    assert done.returncode in (1, 2)
    assert "One unit of time is 1 s" in done.stderr
    assert "by 1e9 if its unit is 1 ns" in done.stderr
    assert done.stderr.count("\n") == 1
