"""Tests of the web application by HTTP. The tests cover refused requests, the list of runs, what-if
sliders, dropped files and token games."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
import os
import shutil
from pathlib import Path

import pytest
from dfslab.nets import files
from dfslab.spec.changes import sliders
from dfslab.spec.input_error import InputError
from dfslab.web import catalog, drops, whatif_board
from dfslab.web.guard import is_own_name
from dfslab.web.serve_settings import settings_of
from support import recorded, synthetic
from support.serving import served
from support.waiting import wait_until

KEY = "mine/20260101T000000.000000Z"
LATER = "mine/20260102T000000.000000Z"
HOSTS = "scenario:hdfs-hosts"
STRACE = """10 09:00:00.100000 openat(AT_FDCWD, "/app/out", O_WRONLY|O_CREAT, 0666) = 3 <0.004000>
10 09:00:00.200000 write(3, "x"..., 8192) = 8192 <0.002000>
10 09:00:00.500000 close(3) = 0 <0.000500>
"""
FIO = {
    "fio version": "fio-3.35",
    "jobs": [
        {
            "jobname": "mine",
            "error": 0,
            "job options": {"rw": "read", "bs": "4k"},
            "read": {"iops": 100.0, "bw_bytes": 409600, "total_ios": 1000, "runtime": 10000},
            "write": {},
            "trim": {},
        }
    ],
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Path:
    """Provides a folder with two copies of the recorded run."""
    folder = tmp_path_factory.mktemp("runs")
    for key in (KEY, LATER):
        shutil.copytree(recorded.RUN, folder / key)
    return folder


@pytest.fixture(scope="module")
def site(runs):
    """Provides the running web application for the folder `runs`."""
    with served(runs) as found:
        yield found


def files_of(folder: Path) -> dict[str, int]:
    """Returns the time of the last change of every file below a folder, by its path."""
    return {str(one): one.lstat().st_mtime_ns for one in folder.rglob("*")}


def test_only_the_own_names_are_answered(site):
    assert site.get("/", Host="localhost:1").status == 200
    assert site.get("/", Host="127.0.0.1").status == 200
    for name in ("evil.example", "127.0.0.1.evil.example", "10.0.0.1", "", "[::1"):
        assert site.get("/", Host=name).status == 403, name


def test_the_own_name_has_no_case():
    assert is_own_name("myhost:8787", "MyHost")
    assert is_own_name("MYHOST", "MyHost")
    assert not is_own_name("other", "MyHost")


def test_forms_of_other_sites_are_refused(site):
    other = site.post("/api/games", {"file": "protocol"}, Origin="http://evil.example")
    assert other.status == 403
    assert "another web site" in other.document["error"]
    assert site.post("/api/games", {"file": "protocol"}, Origin="null").status == 403
    assert site.post("/api/games", {"file": "protocol"}, Origin=site.address).status == 200
    assert site.get("/api/games").status == 405


def test_pages_may_load_nothing_from_elsewhere(site):
    for path in ("/", f"/runs/{KEY}", "/static/app.css"):
        headers = site.get(path).headers
        assert headers["content-security-policy"].startswith("default-src 'none'")
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"


def test_an_address_for_other_machines_needs_the_token(runs):
    assert settings_of(runs, "127.0.0.1", 1).token == ""
    assert settings_of(runs, "::1", 1).token == ""
    open_to_others = settings_of(runs, "0.0.0.0", 1)
    assert len(open_to_others.token) >= 32
    assert open_to_others.token != settings_of(runs, "0.0.0.0", 1).token
    with served(runs, "secret", "0.0.0.0") as site:
        assert site.get("/").status == 401
        assert site.get("/?token=wrong").status == 401
        refused = site.post("/api/games", {"file": "protocol"})
        assert (refused.status, "needs the token" in refused.document["error"]) == (401, True)
        assert site.get("/", Authorization="Bearer secret").status == 200
        entered = site.get("/?q=a&token=secret")
        assert (entered.status, entered.headers["location"]) == (303, "/?q=a")
        cookie = entered.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "samesite=strict" in cookie.lower()
        assert site.get("/", Cookie=cookie.partition(";")[0]).status == 200
        assert site.get("/", Cookie="dfslab-token=wrong").status == 401
        assert site.get("/", Host="evil.example", Authorization="Bearer secret").status == 403


def test_runs_are_listed_searched_and_filtered(site):
    every = site.get("/").text
    assert every.index(LATER) < every.index(KEY)
    assert KEY in site.get("/?q=LOCAL+measure").text
    assert KEY not in site.get("/?q=glusterfs").text
    assert KEY in site.get("/?state=finished").text
    assert KEY not in site.get("/?state=running").text


def test_an_inconclusive_run_is_listed_as_such_with_its_reason(runs, site):
    key = "mine/20260104T000000.000000Z"
    folder = runs / key
    shutil.copytree(recorded.RUN, folder)
    doubt = "Inconclusive: repeats of one configuration differ by 40% (standard deviation)."
    try:
        (folder / "summary.json").write_text(json.dumps({"doubt": doubt}))
        listed = site.get("/?state=inconclusive").text
        assert (key in listed, KEY in listed, doubt in listed) == (True, False, True)
        assert key not in site.get("/?state=finished").text
        live = site.get(f"/api/live/{key}").document
        ended = (live["state"], live["text"], live["has_ended"], live["share"])
        assert ended == ("inconclusive", doubt, True, 1.0)
        # A run with a damaged summary is listed as finished, because the summary cannot state that
        # the run is inconclusive.
        (folder / "summary.json").write_text("{")
        assert key in site.get("/?state=finished").text
    finally:
        shutil.rmtree(folder)


def test_a_run_is_shown_without_a_change_of_its_folder(site, runs):
    before = files_of(runs)
    answer = site.get(f"/runs/{KEY}")
    assert answer.status == 200
    assert "What limits" in answer.text
    assert 'href="/whatif?source=run%3Amine%2F' in answer.text
    for first, second in ((LATER, KEY), (KEY, LATER)):
        compared = site.get(f"/compare?run={first}&run={second}")
        assert "Two runs compared" in compared.text
        assert f"What differs in {LATER}, compared with {KEY}?" in compared.text
    assert site.get(f"/live/{KEY}").status == 200
    assert files_of(runs) == before


def test_what_is_not_there_is_one_line(site):
    assert site.get("/nothing").status == 404
    for path in ("/runs/a/b", "/runs/..%2f../etc", "/runs/.dropped/x", "/compare?run=a"):
        answer = site.get(path)
        assert answer.status in (400, 404), path
        assert "Traceback" not in answer.text
    wrong = site.get("/whatif?source=scenario:nothing")
    assert (wrong.status, "neither a ready scenario nor a run" in wrong.text) == (400, True)
    assert site.get(f"/whatif?source={HOSTS}&point=99").status == 400
    assert site.get(f"/whatif?source={HOSTS}&point=x").status == 400


def test_a_link_out_of_the_folder_is_not_followed(runs, tmp_path, site):
    shutil.copytree(recorded.RUN, tmp_path / "elsewhere" / "run")
    (runs / "linked").symlink_to(tmp_path / "elsewhere")
    try:
        assert "linked/run" not in site.get("/").text
        assert site.get("/runs/linked/run").status == 400
    finally:
        (runs / "linked").unlink()


def test_a_run_with_a_living_process_is_running(runs, site):
    folder = runs / "mine" / "20260103T000000.000000Z"
    folder.mkdir()
    shutil.copy(recorded.RUN / "scenario.toml", folder)
    try:
        assert "unfinished</span>" in site.get("/?state=unfinished").text
        (folder / ".lock").write_text(f"{os.getpid()}\n")
        assert folder.name in site.get("/?state=running").text
        moved = site.get(f"/runs/mine/{folder.name}")
        assert (moved.status, moved.headers["location"]) == (303, f"/live/mine/{folder.name}")
        # The lock file names the PID of this process but is older than this process. So an earlier
        # process with the same PID wrote the file and has ended.
        os.utime(folder / ".lock", (1, 1))
        assert folder.name in site.get("/?state=unfinished").text
    finally:
        shutil.rmtree(folder)


def test_sliders_change_the_prediction(site):
    def asked(**positions):
        body = {"source": HOSTS, "positions": positions}
        return site.post("/api/whatif", body)

    now = asked().document
    assert (now["gain"], now["before"], now["is_changed"]) == (1.0, now["after"], False)
    clients = {"workload.clients": 2}
    more = asked(**clients).document
    before, after = more["before"], more["after"]
    assert after["rate_per_s"] > 1.5 * before["rate_per_s"]
    assert more["low"] < more["gain"] < more["high"]
    assert more["limit"]
    assert before == now["before"]
    assert {one["operation"] for one in more["times"]} == {"write"}
    assert "<svg" in more["chart"]
    net = site.post("/api/whatif/net", {"source": HOSTS, "positions": clients}).document
    assert 0.3 * after["rate_per_s"] < net["rate_per_s"] < 3 * after["rate_per_s"]
    assert net["low"] < net["rate_per_s"] < net["high"]
    queue_per_s = after["rate_per_s"]
    differ = queue_per_s > 1.1 * net["high"] or queue_per_s < net["low"] / 1.1
    assert any("The models differ" in one for one in net["notes"]) == differ


def test_a_run_calibrates_its_sliders(site):
    page = site.get(f"/whatif?source=run:{KEY}")
    assert "calibrated by the measurements of the run" in page.text
    found = site.post("/api/whatif", {"source": f"run:{KEY}", "positions": {"workload.clients": 0}})
    assert found.status == 200


def test_an_impossible_change_is_one_line(site):
    page = site.get(f"/whatif?source={HOSTS}").text
    assert "copies" in page
    # The requested slider position 99 is beyond the last position. A position beyond the last one
    # counts as the last position, which is the largest legal number of copies. More copies than
    # DataNodes would be illegal.
    wrong = site.post(
        "/api/whatif", {"source": HOSTS, "positions": {"file_system.replication": 99}}
    )
    assert wrong.status == 400
    assert "replication" in wrong.document["error"]
    assert "\n" not in wrong.document["error"]
    for body in (b"{", {"source": HOSTS, "more": 1}, b" " * 100_000):
        assert site.post("/api/whatif", body).status == 400


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (ModuleNotFoundError(name="scipy"), 422, "pip install 'dfslab[fit]'"),
        (PermissionError(13, "Permission denied"), 422, "Permission denied"),
        (KeyError("a"), 500, "an error in dfslab"),
        (ModuleNotFoundError(name="unknown"), 500, "an error in dfslab"),
    ],
)
def test_failures_are_one_line_for_scripts(site, monkeypatch, error, status, line):
    def fail(*_):
        raise error

    monkeypatch.setattr(whatif_board, "board_of", fail)
    answer = site.post("/api/whatif", {"source": HOSTS})
    assert (answer.status, line in answer.document["error"]) == (status, True)


def test_an_error_of_the_program_is_logged_and_has_the_headers(site, monkeypatch, caplog):
    def fail(*_):
        raise ModuleNotFoundError("No module named 'unknown'", name="unknown")

    monkeypatch.setattr(whatif_board, "board_of", fail)
    logger = logging.getLogger("uvicorn.error")
    logger.addHandler(caplog.handler)
    try:
        answer = site.post("/api/whatif", {"source": HOSTS})
        assert wait_until(lambda: "No module named 'unknown'" in caplog.text)
    finally:
        logger.removeHandler(caplog.handler)
    assert answer.status == 500
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")


def test_the_same_content_under_another_name_is_read_again(site):
    net = (Path(__file__).parents[2] / "scenarios" / "nets" / "protocol.cpn").read_bytes()
    assert site.post("/api/drop?name=b.txt", net + b"\n").status == 400
    taken = site.post("/api/drop?name=a.cpn", net + b"\n")
    assert taken.document["kind"] == "net"
    assert "a.cpn" in site.get(taken.document["address"]).text


def test_sliders_stop_at_present_values():
    from dfslab.spec.files.ready import files
    from dfslab.spec.scenario import read

    for name in ("quickstart", "hdfs-hosts", "pvfs", "glusterfs"):
        scenario = read(files()[name]).points()[0].scenario
        found = sliders.sliders_of(scenario)
        assert 4 <= len(found) <= sliders.MOST_SLIDERS
        assert len({one.key for one in found}) == len(found)
        for one in found:
            assert 0 <= one.present < len(one.stops)
            assert one.change(one.present) == ""
            assert len(set(one.labels)) == len(one.labels), one
            changed = sliders.changes_at(scenario, found, {one.key: one.present - 1})
            assert bool(changed) == (one.present > 0)


def test_a_number_with_one_legal_value_has_no_slider():
    """NFS has exactly one server. A local directory has no network."""
    from dfslab.web.whatif_board import board_of

    nfs = [one.name for one in board_of(Path("none"), "scenario:nfs").sliders(0)]
    assert "servers" not in nfs
    assert {"clients", "link", "server cores"} <= set(nfs)
    local = [one.name for one in board_of(Path("none"), "scenario:quickstart").sliders(0)]
    assert not {"link", "client link", "network latency", "servers"} & set(local)
    assert {"disk", "clients"} <= set(local)


def test_sliders_stop_at_values_that_users_choose():
    from dfslab.spec.files.ready import files
    from dfslab.spec.scenario import read

    scenario = read(files()["glusterfs"]).points()[0].scenario
    labels = {one.name: one.labels for one in sliders.sliders_of(scenario)}
    assert {"500 Mbit/s", "1 Gbit/s", "2 Gbit/s", "8 Gbit/s"} <= set(labels["link"])
    assert labels["transfer size"] == [
        *(f"{2**place} KiB" for place in range(6, 10)),
        *(f"{2**place} MiB" for place in range(5)),
    ]


def test_the_list_tells_runs_of_one_name_apart(tmp_path):
    folder = tmp_path / "tmp-data" / "20260102T030405.000006Z"
    folder.mkdir(parents=True)
    (folder / "scenario.toml").write_text(
        'name = "tmp-data"\n[workload]\nname = "read"\ncache = "direct"\n'
        '[[sweep]]\n"workload.transfer_size" = ["4 KiB", "1 MiB"]\n"workload.clients" = [1, 8]\n'
        '[[sweep]]\n"workload.clients" = [2, 3, 4]\n'
    )
    (entry,) = catalog.entries(tmp_path)
    assert entry.settings == "transfer size 4 KiB, 1 MiB; clients 1, 8, 2, 3, …; cache direct"
    assert "4 kib" in entry.words


def test_results_of_another_tool_become_a_run(site, runs):
    taken = site.post("/api/drop?name=../../my+fio.json", json.dumps(FIO).encode()).document
    assert (taken["kind"], taken["name"]) == ("results", "my-fio.json")
    assert taken["address"].startswith("/runs/fio-my-fio-json/")
    assert site.get(taken["address"]).status == 200
    assert not [one for one in runs.parent.glob("*fio*") if not one.name.startswith("test_")]


def test_a_run_of_another_tool_claims_no_system_and_has_no_sliders(site, runs):
    taken = site.post("/api/drop?name=unknown.json", json.dumps(FIO).encode()).document
    key = taken["address"].removeprefix("/runs/")
    (entry,) = (one for one in catalog.entries(runs) if one.key == key)
    assert (entry.file_system, entry.is_program) == ("not known", True)
    assert "cache not known" in entry.settings
    assert "warm" not in entry.settings
    assert "transfer size 4 KiB" in entry.settings
    listed = site.get("/whatif").text
    assert f"run:{KEY}" in listed
    assert f"run:{key}" not in listed
    assert "What if, from this run" not in site.get(taken["address"]).text
    assert "What if, from this run" in site.get(f"/runs/{KEY}").text


def test_a_run_of_another_tool_on_a_known_system_has_sliders(runs):
    placed = "placed/20260103T000000.000000Z"
    folder = runs / placed
    shutil.copytree(runs / KEY, folder)
    try:
        summary = folder / "summary.json"
        summary.write_text(json.dumps({**json.loads(summary.read_text()), "imported": "a.json"}))
        (entry,) = (one for one in catalog.entries(runs) if one.key == placed)
        assert not entry.is_program
        assert entry.file_system != "not known"
        assert "cache not known" in entry.settings
        assert f"run:{placed}" in whatif_board.sources([entry])
    finally:
        shutil.rmtree(folder)


def test_a_ready_scenario_of_a_program_is_not_offered_for_sliders():
    offered = whatif_board.sources([])
    assert HOSTS in offered
    assert "scenario:liu-spark" not in offered


def test_a_trace_a_recording_and_a_net_are_shown(site):
    spans = json.dumps(synthetic.spans_of({"node-1": 1, "node-2": 3}, seed=8)).encode()
    trace = site.post("/api/drop?name=spans.json", spans).document
    assert trace["kind"] == "trace"
    assert "call trees" in site.get(trace["address"]).text
    calls = site.post("/api/drop?name=app.strace", STRACE.encode()).document
    assert calls["kind"] == "calls"
    shown = site.get(calls["address"]).text
    assert "3 calls of 1 clients in /app (guessed) can be replayed" in shown
    net = {"name": "one", "colours": [], "places": [], "transitions": []}
    protocol = Path(__file__).parents[2] / "scenarios" / "nets" / "protocol.cpn"
    taken = site.post("/api/drop?name=a.cpn", protocol.read_bytes()).document
    assert (taken["kind"], taken["address"][:18]) == ("net", "/net?file=dropped:")
    assert site.get(taken["address"]).status == 200
    assert site.post("/api/drop?name=one.json", json.dumps(net).encode()).status == 400
    whole = gzip.compress(files.written(files.read(protocol), "json").encode())
    taken = site.post("/api/drop?name=whole.json.gz", whole).document
    assert (taken["kind"], taken["address"][:18]) == ("net", "/net?file=dropped:")
    assert site.get(taken["address"]).status == 200


def kept(runs: Path) -> set[Path]:
    """Returns the paths of all files and folders in the folder of dropped files."""
    return set((runs / drops.FOLDER).rglob("*"))


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("net.json", b'{"name": "n", "places": [{"nam": 1}], "transitions": []}', "net n"),
        ("empty.json", b"", "is empty"),
        ("noise.bin", bytes(range(256)), "takes results of other tools"),
        ("words.txt", b"hello\n", "takes results of other tools"),
        ("bad.pnml", b"<pnml>", "bad.pnml"),
    ],
)
def test_a_file_that_nothing_reads_is_refused_in_one_line(site, runs, name, content, reason):
    before = kept(runs)
    answer = site.post(f"/api/drop?name={name}", content)
    assert answer.status == 400
    assert kept(runs) == before
    line = answer.document["error"]
    assert reason in line
    assert "\n" not in line
    assert str(runs) not in line


def test_dropped_files_have_a_bound_together(tmp_path, monkeypatch):
    monkeypatch.setattr(drops, "MOST_KEPT_BYTES", 3 * 1024)

    async def content(byte: bytes):
        yield byte * 2048

    def keep(name: str, byte: bytes) -> Path:
        return asyncio.run(drops.keep(tmp_path, name, content(byte)))

    first = keep("a.json", b"a")
    # A second file with the same content is not stored again.
    assert keep("a.json", b"a") == first
    with pytest.raises(InputError, match=r"holds 2 KiB of at most 3 KiB"):
        keep("b.json", b"b")


def test_a_file_that_is_too_large_is_refused_and_removed(site, runs, monkeypatch):
    monkeypatch.setattr(drops, "MOST_BYTES", 10_000)
    before = set((runs / drops.FOLDER).glob("*")) if (runs / drops.FOLDER).exists() else set()
    answer = site.post("/api/drop?name=large.json", b"x" * 20_000)
    assert "must be at most" in answer.document["error"]
    assert set((runs / drops.FOLDER).glob("*")) == before


def test_a_net_is_played(site):
    start = site.post("/api/games", {"file": "protocol"}).document
    key = start["game"]
    assert (start["steps"], start["back"]) == (0, False)
    assert "<svg" in start["picture"]
    fired = site.post(f"/api/games/{key}/fire", {"choice": 0}).document
    assert fired["steps"] == 1
    assert fired["fired"][0] == start["choices"][0]
    further = site.post(f"/api/games/{key}/fire", {"steps": 5}).document
    assert further["steps"] > 1
    back = site.post(f"/api/games/{key}/back", {}).document
    assert back["steps"] == further["steps"] - 1
    again = site.post(f"/api/games/{key}/back", {"to_start": True}).document
    assert {**again, "game": ""} == {**start, "game": ""}
    wrong = site.post(f"/api/games/{key}/fire", {"choice": 99})
    assert "enabled bindings" in wrong.document["error"]
    assert site.post("/api/games/nothing/fire", {}).status == 400


def test_names_of_dropped_files_are_plain():
    assert drops.plain_name("../../etc/passwd") == "passwd"
    assert drops.plain_name("C:\\a b.json") == "a-b.json"
    assert drops.plain_name("..") == "file"
    assert drops.plain_name(".lock") == "lock"
    assert drops.plain_name("x" * 200 + ".json").endswith("x.json")
    assert len(drops.plain_name("x" * 200)) == drops.LONGEST_NAME
