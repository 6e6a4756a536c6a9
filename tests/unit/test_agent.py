"""Tests of the JVM tracing agent in a program whose calls are known. The agent counts every call
exactly and does not disturb the program."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from dfslab.instruments import trace as tracing
from dfslab.instruments.tracing import callprofile
from dfslab.testbeds.java_agent import agent_jar, java_option
from support.profiles import call_profile
from support.waiting import wait_until

pytestmark = pytest.mark.heavy

PLANTED = Path(__file__).parents[1] / "planted"
POINTS = """
point Planted leaf leaf service bytes=return
point Planted middle middle service
point Planted top top service    # the outermost
point Planted fails fails service
point Planted recurse recurse service
point Planted pause pause blocked
point Planted spin spin service
point Planted mixed mixed service
"""


# JVM options for programs that run for two seconds. The optimising compiler would take half of the
# processor time of such a short program.
QUICK = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
NAMED = "point Planted named named service about=arg0\n"


@pytest.fixture(scope="module")
def jar() -> Path:
    return agent_jar()


@pytest.fixture(scope="module")
def classes(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("classes")
    sources = [str(path) for path in PLANTED.glob("*.java")]
    subprocess.run(["javac", "-d", str(folder), *sources], check=True)
    return folder


@pytest.fixture
def planted(jar, classes, tmp_path):
    """Returns a function that runs the Java program `Planted`, whose calls are known, under the
    tracing agent. The function returns (finished process, profile or None).

    The argument `java` has the options of the JVM. The default of `java` is QUICK, which switches
    off the optimising compiler. Tests with very many calls pass no options, because this compiler
    then saves more time than it takes.
    """

    def run(*words: str, points: str = POINTS, option: str = "", java: tuple[str, ...] = QUICK):
        (tmp_path / "points.txt").write_text(points)
        folder = tmp_path / "profiles"
        reported = option or java_option(jar, tmp_path / "points.txt", folder, "planted")
        done = subprocess.run(
            ["java", *java, reported, "-cp", str(classes), "Planted", *words],
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.endswith("done\n")
        files = callprofile.expand([folder]) if folder.is_dir() else []
        return done, call_profile(files) if files else None

    return run


def places(profile: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Returns a dictionary from the path of each node of a call profile, such as "top/leaf", to the
    node."""
    found: dict[str, dict[str, Any]] = {}

    def add(node: dict[str, Any], above: str) -> None:
        path = f"{above}/{node['name']}" if above else node["name"]
        found[path] = node
        for child in node["children"]:
            add(child, path)

    for root in profile["roots"]:
        add(root, "")
    return found


def test_every_call_of_every_thread_is_counted_exactly(planted):
    waves = 100
    _, profile = planted("count", str(waves))
    observed = places(profile)
    assert "planted:named" not in observed
    tops, middles = 4 * waves, (1 + 2 + 3 + 4) * waves
    leaves = 10 * middles
    counts = {path: node["count"] for path, node in observed.items()}
    assert counts == {
        "planted:top": tops,
        "planted:top/middle": middles,
        "planted:top/middle/leaf": leaves,
        "planted:fails": 10,
    }
    assert observed["planted:top/middle/leaf"]["bytes"] == sum(range(10)) * middles
    assert observed["planted:fails"]["errors"] == 5
    assert profile["spans"] == tops + middles + leaves + 10
    assert not any(profile["losses"].values())


def test_times_add_up_to_the_nanosecond(planted):
    _, profile = planted("count", "20")
    total = sum(root["total_ns"] for root in profile["roots"])
    assert sum(node["self_ns"] for node in places(profile).values()) == total > 0
    for node in places(profile).values():
        assert node["min_s"] <= node["p50_s"] <= node["p99_s"] <= node["max_s"]


def test_exemplar_traces_are_kept_with_what_they_were_about(planted, tmp_path):
    _, profile = planted("count", "100", points=POINTS + NAMED)
    (path,) = (tmp_path / "profiles").glob("*.otlp.json")
    kept = tracing.profile([path])
    (spans,) = (
        s["spans"] for r in json.loads(path.read_text())["resourceSpans"] for s in r["scopeSpans"]
    )
    assert not any(kept.losses.values())
    whole = places(profile)["planted:top"]
    tops = [span for span in spans if span["name"] == "top"]
    assert 2 <= len(tops) <= 4, "two slowest and two sampled"
    took = [int(s["endTimeUnixNano"]) - int(s["startTimeUnixNano"]) for s in tops]
    assert max(took) == round(whole["max_s"] * 1e9)
    for top in tops:
        inside = [span for span in spans if span["traceId"] == top["traceId"]]
        middles = [span for span in inside if span.get("parentSpanId") == top["spanId"]]
        assert 1 <= len(middles) <= 4
        assert len(inside) == 1 + len(middles) * (1 + 10)
    failed = [span for span in spans if span.get("status") == {"code": 2}]
    assert {span["name"] for span in failed} == {"fails"}
    about = {a["key"]: a["value"] for s in spans if s["name"] == "named" for a in s["attributes"]}
    assert about["dfslab.about"] == {"stringValue": "file-7"}


WANDER = "point Planted north north service\npoint Planted south south service about=arg1\n"


@pytest.mark.parametrize("interval_s", [10, 0.01])
def test_a_walk_s_own_count_is_that_of_the_profile(planted, jar, tmp_path, interval_s):
    (tmp_path / "points.txt").write_text(WANDER)
    option = java_option(
        jar, tmp_path / "points.txt", tmp_path / "profiles", "planted", interval_s=interval_s
    )
    done, profile = planted("wander", "4", "100000", points=WANDER, option=option, java=())
    reported: dict[str, list[int]] = {}
    for line in done.stdout.splitlines()[:-1]:
        path, *counts = line.split()
        sums = reported.setdefault(path, [0, 0])
        reported[path] = [a + int(b) for a, b in zip(sums, counts, strict=True)]
    observed = places(profile)
    assert {path: [n["count"], n["errors"]] for path, n in observed.items()} == {
        f"planted:{path.removeprefix('/')}": counts for path, counts in reported.items()
    }
    assert sum(count for count, _ in reported.values()) >= 400_000
    total = sum(root["total_ns"] for root in profile["roots"])
    assert sum(node["self_ns"] for node in observed.values()) == total
    assert not any(profile["losses"].values())


def test_the_first_calls_of_a_long_one_are_kept_as_they_were(planted, tmp_path):
    planted("wander", "2", "100000", points=WANDER)
    (path,) = (tmp_path / "profiles").glob("*.otlp.json")
    traces: dict[str, list[dict[str, Any]]] = {}
    for one in json.loads(path.read_text())["resourceSpans"]:
        for span in one["scopeSpans"][0]["spans"]:
            traces.setdefault(span["traceId"], []).append(span)
    long = 0
    for spans in traces.values():
        first, *rest = spans
        assert "parentSpanId" not in first
        by_id = {span["spanId"]: span for span in spans}
        starts = [int(span["startTimeUnixNano"]) for span in spans]
        assert starts == sorted(starts)
        for span in rest:
            around = by_id[span["parentSpanId"]]
            assert int(span["endTimeUnixNano"]) > int(span["startTimeUnixNano"])
            assert int(around["startTimeUnixNano"]) <= int(span["startTimeUnixNano"])
            assert int(span["endTimeUnixNano"]) <= int(around["endTimeUnixNano"])
        cut = [a["key"] for a in first["attributes"]].count("dfslab.cut")
        assert cut == (len(spans) == 256)
        long += cut
        # The attribute `dfslab.about` of a call of `south` names the calls around it. Other calls
        # do not have the attribute.
        for span in spans:
            about = [a["value"] for a in span["attributes"] if a["key"] == "dfslab.about"]
            above, around = "", span
            while "parentSpanId" in around:
                around = by_id[around["parentSpanId"]]
                above = f"/{around['name']}{above}"
            assert about == ([{"stringValue": above}] if span["name"] == "south" else [])
    assert long >= 2


def test_threads_that_end_leave_their_trees_to_others(planted, tmp_path):
    planted("count", "100")
    (path,) = callprofile.expand([tmp_path / "profiles"])
    assert callprofile.read(path).trees <= 8, "400 threads, never more than 5 at one time"


def test_work_and_waits_are_apart_and_ranked(planted):
    _, profile = planted("mixed")
    (work, *rest), (wait,) = profile["ranking"], profile["waits"]
    assert (work["path"], wait["path"]) == ("planted:mixed/spin", "planted:mixed/pause")
    # Only lower bounds of the measured times are checked, because a busy machine can only make the
    # times longer.
    assert rest[0]["self_s"] < work["self_s"]
    assert work["self_s"] >= 0.020
    assert wait["self_s"] >= 0.060


def test_a_snapshot_never_waits_for_the_host_with_a_tree_in_its_hands(planted, jar, tmp_path):
    points = "point Planted with with service about=arg0\n"
    option = java_option(
        jar, tmp_path / "points.txt", tmp_path / "profiles", "planted", interval_s=0.1
    )
    # Two locks could cause a deadlock. The program's thread holds a lock that the argument's
    # `toString` also needs. Every 512 calls, the thread also takes the agent's lock on its call
    # tree. A snapshot must therefore not hold one of these locks while it waits for the other lock.
    _, profile = planted("locked", "100000", points=points, option=option, java=())
    assert places(profile)["planted:with"]["count"] == 100_000


@pytest.mark.parametrize("carrier", ["Planted$Job", "Planted$J?b"])
def test_an_operation_goes_on_in_another_thread(planted, carrier):
    # The agent stores the calling context in two ways. If an instrumentation point names a class,
    # the class gets an additional field for the context. If the class only matches a pattern, a
    # table stores the context.
    over = f"capture {carrier} <init>\nresume {carrier} run\n"
    over += "point Planted submit submit service\n"
    _, profile = planted("handover", points=POINTS + over)
    counts = {path: node["count"] for path, node in places(profile).items()}
    assert counts == {
        "planted:submit": 2,
        "planted:submit/middle": 2,
        "planted:submit/middle/leaf": 6,
    }
    _, apart = planted("handover")
    assert set(places(apart)) == set(counts) | {"planted:middle", "planted:middle/leaf"}


def test_a_hand_over_comes_before_the_point_of_the_same_method(planted):
    over = "capture Planted$Job <init>\nresume Planted$Job run\npoint Planted$Job run run service\n"
    submit = "point Planted submit submit service\n"
    for points in (over + submit, submit + "".join(reversed(over.splitlines(keepends=True)))):
        _, profile = planted("handover", points=points)
        (root,) = profile["roots"]
        assert (root["name"], root["children"][0]["name"]) == ("planted:submit", "run")


def test_calls_beyond_the_depth_limit_are_counted(planted):
    _, profile = planted("recurse", "300")
    timed = sum(node["count"] for node in places(profile).values())
    assert timed + profile["losses"]["too_deep"] == 300
    assert timed == 200


def test_calls_without_room_for_their_path_are_counted_and_moved(planted):
    fork = "point Planted left left service\npoint Planted right right service\n"
    _, profile = planted("fork", "15", points=fork)
    rows = places(profile)
    assert sum(node["count"] for node in rows.values()) == 2**16 - 2
    at_their_place = [node["count"] for path, node in rows.items() if "merged" not in path]
    assert set(at_their_place) == {1}
    assert profile["losses"]["misplaced"] == 2**16 - 2 - len(at_their_place)
    assert len(rows) < 50_010


def test_hand_overs_without_room_are_counted(planted):
    over = "capture Planted$Job <init>\npoint Planted submit submit service\n"
    _, profile = planted("waiting", "70000", points=over, java=())
    assert places(profile)["planted:submit"]["count"] == 70_000
    assert profile["losses"]["hand_overs"] == 70_000 - 65_536


def test_a_traced_call_allocates_nothing(planted):
    done, profile = planted("allocated", java=())
    # The agent may allocate memory only for data that the profile keeps. These data are histogram
    # buckets for durations that did not occur before, and the slowest calls so far.
    assert int(done.stdout.split()[0]) < 400_000, "bytes in a million calls"
    assert places(profile)["planted:middle/leaf"]["count"] == 20 * 100_000 + 1_000_000


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("point Planted nothing nothing service", "there is no such method"),
        ("point Planted leaf leaf2 service bytes=arg7", "leaf"),
        ("point Planted leaf leaf2 service bytes=field:none", "leaf"),
        ("capture Planted leaf arg7", "leaf"),
    ],
)
def test_a_point_that_cannot_be_instrumented_is_one_line_and_others_work(planted, line, said):
    done, profile = planted("count", "1", points=f"{line}\n{POINTS}")
    (reported,) = [text for text in done.stderr.splitlines() if "dfslab-agent: " in text]
    assert " is off: " in reported
    assert said in reported
    assert places(profile)["planted:top"]["count"] == 4
    assert profile["losses"]["points_off"] == 1


@pytest.mark.parametrize(
    ("points", "said"),
    [
        ("cut Planted leaf", "allowed are point, capture"),
        ("point Planted leaf leaf work", "kinds are service, disk"),
        ("point Planted leaf", "needs 4 to 6 words"),
        ("point Planted leaf a/b service", "holds no"),
        ("point Planted leaf leaf service bytes=much", "allowed are this, return"),
    ],
)
def test_a_wrong_points_file_leaves_the_host_untraced(planted, points, said):
    done, profile = planted("count", "1", points=points)
    assert profile is None
    (reported,) = done.stderr.splitlines()
    assert reported.startswith("dfslab-agent: traces nothing: ")
    assert f"points.txt:1: {points}: " in reported
    assert said in reported


def test_wrong_arguments_leave_the_host_untraced(planted, jar, tmp_path):
    for reported, said in (
        ("points=/no/such,out=x", "/no/such"),
        ("speed=9", "speed=9: allowed are"),
        ("out=x", "points=… is needed"),
    ):
        done, profile = planted("count", "1", option=f"-javaagent:{jar}={reported}")
        assert profile is None
        assert said in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_it_joins_a_running_program_and_leaves_it(jar, classes, tmp_path):
    (tmp_path / "points.txt").write_text(POINTS)
    stop, folder = tmp_path / "stop", tmp_path / "profiles"
    reported = f"points={tmp_path / 'points.txt'},out={folder},service=planted,interval_s=0.1"
    program = subprocess.Popen(
        ["java", "-cp", str(classes), "Planted", "until", str(stop)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        join(classes, program.pid, jar, reported)
        first = awaited(folder, 1)
        awaited(folder, first + 1)
        join(classes, program.pid, jar, "detach")
        (path,) = callprofile.expand([folder])
        left = json.loads(path.read_text())
        assert left["last"]
        time.sleep(0.5)
        assert json.loads(path.read_text()) == left, "it went on after it was asked to end"
        join(classes, program.pid, jar, reported)
        again = awaited(folder, left["nodes"][0]["count"] + 1)
        assert again > left["nodes"][0]["count"]
    finally:
        stop.touch()
        out, words = program.communicate(timeout=120)
    assert (out, program.returncode) == ("done\n", 0), words


def test_a_pause_records_nothing_and_then_it_goes_on(jar, classes, tmp_path):
    (tmp_path / "points.txt").write_text(POINTS)
    stop, folder = tmp_path / "stop", tmp_path / "profiles"
    option = java_option(jar, tmp_path / "points.txt", folder, "planted", interval_s=0.1)
    words = ["java", option, "-cp", str(classes), "Planted", "until", str(stop)]
    program = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        awaited(folder, 1)
        join(classes, program.pid, jar, "pause")
        callprofile.await_written(folder)
        before = awaited(folder, 1)
        callprofile.await_written(folder)
        assert awaited(folder, 1) == before
        join(classes, program.pid, jar, "resume")
        awaited(folder, before + 1)
    finally:
        stop.touch()
        out, words = program.communicate(timeout=120)
    assert (out, words, program.returncode) == ("done\n", "", 0)


def test_exemplar_traces_of_a_warm_up_are_let_go(jar, classes, tmp_path):
    (tmp_path / "points.txt").write_text(POINTS)
    begin, folder = tmp_path / "begin", tmp_path / "profiles"
    option = java_option(jar, tmp_path / "points.txt", folder, "planted", interval_s=0.1)
    words = ["java", option, "-cp", str(classes), "Planted", "warm-up", str(begin)]
    program = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        awaited(folder, 5, "pause")
        # The agent writes exemplar traces at every tenth snapshot only.
        assert wait_until(lambda: "pause" in kept(folder))
        assert kept(folder).keys() == {"pause", "top", "middle", "leaf", "fails"}
        requested_ns = time.time_ns()
        before = callprofile.await_written(folder, discard=True)
        assert kept(folder) == {}
        assert not list(folder.glob(f"*{callprofile.FORGET}"))
    finally:
        begin.touch()
        out, words = program.communicate(timeout=120)
    assert (out, words, program.returncode) == ("done\n", "", 0)
    (path,) = callprofile.expand([folder])
    observed = {root["name"]: root for root in call_profile([path])["roots"]}
    assert observed["planted:pause"]["count"] == 5 + 20
    assert observed["planted:pause"]["max_s"] >= 0.05
    assert (observed["planted:top"]["count"], observed["planted:fails"]["errors"]) == (8, 5)
    (reported,) = before.values()
    assert sum(row.count for row in reported.nodes if row.step == "pause") == 5
    after = kept(folder)
    assert after.keys() == {"pause"}
    assert 2 <= len(after["pause"]) <= 4
    assert min(after["pause"]) > requested_ns


def join(classes: Path, process: int, jar: Path, reported: str) -> None:
    command = ["java", "-cp", str(classes), "Join", str(process), str(jar), reported]
    subprocess.run(command, check=True, timeout=240)


def awaited(folder: Path, calls: int, step: str = "top") -> int:
    """Waits for a snapshot in `folder` with at least `calls` calls of the step `step`. Returns the
    number of calls in this snapshot."""
    counts = [0]

    def counted() -> bool:
        for path in callprofile.expand([folder]) if folder.is_dir() else []:
            rows = callprofile.read(path).nodes
            counts.append(sum(row.count for row in rows if row.step == step))
        return max(counts) >= calls

    assert wait_until(counted), f"never {calls} calls"
    return max(counts)


def kept(folder: Path) -> dict[str, list[int]]:
    """Returns the start times in ns of the spans in the folder's exemplar traces, by the name of
    the step."""
    found: dict[str, list[int]] = {}
    for path in folder.glob("*.otlp.json"):
        for one in json.loads(path.read_text())["resourceSpans"]:
            for span in one["scopeSpans"][0]["spans"]:
                found.setdefault(span["name"], []).append(int(span["startTimeUnixNano"]))
    return found
