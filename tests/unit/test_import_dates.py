"""Tests that the dates in results of other tools become ISO 8601 in UTC. Further tests check that
runs with and without dates can be compared and reported."""

from __future__ import annotations

import json

import pytest
from dfslab.result import Provenance, Result
from dfslab.spec import clock
from dfslab.studies.decisions import doubts
from dfslab.studies.runs.records.csv_row import RunRow
from support import synthetic, tool_texts
from support.command import dfslab

ASCTIME = "Fri Nov 27 22:22:44 2026"
ISO = "2026-11-27T22:22:44.000+00:00"
SYNCS = json.loads(tool_texts.FIO_FSYNC)


@pytest.fixture
def fio(tmp_path):
    """Provides a function that writes results of fio with the given date and returns the path. All
    rates are multiplied by the argument `factor`."""

    def written(name: str, factor: float, **dates: object) -> str:
        job = SYNCS["jobs"][0]
        changed = {
            side: {
                **job[side],
                "iops": job[side]["iops"] * factor,
                "bw_bytes": job[side]["bw_bytes"] * factor,
                "runtime": job[side]["runtime"] / factor,
            }
            for side in ("read", "write")
        }
        path = tmp_path / name
        path.write_text(json.dumps({**SYNCS, **dates, "jobs": [{**job, **changed}]}))
        return str(path)

    return written


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (ISO, ISO),
        ("1795818164", ISO),
        ("2026-11-27T23:22:44+0100", ISO),
        ("2026-11-27T22:22:44.000Z", ISO),
        ("Fri Nov 27 22:22:44 UTC 2026", ISO),
        (ASCTIME, ""),
        ("Fri Nov 27 22:22:44 CET 2026", ""),
        ("2026-11-27T22:22:44", ""),
        ("20261127", ""),
        ("", ""),
    ],
)
def test_a_date_becomes_utc_only_if_its_time_zone_is_known(text, expected):
    assert clock.utc_text(text) == expected


@pytest.mark.parametrize("dates", [{"time": ASCTIME}, {"timestamp": 1795818164, "time": ASCTIME}])
def test_noisy_repetitions_of_another_tool_are_compared_and_reported(fio, tmp_path, dates):
    paths = [fio(f"{number}.json", factor, **dates) for number, factor in enumerate((1.0, 1.6))]
    done = dfslab("import", *paths, "--out", str(tmp_path / "runs"))
    assert done.returncode == 0, done.stderr
    run = done.stdout.split()[-1]
    for words in (("compare", run), ("report", run), ("compare", run, run)):
        shown = dfslab(*words)
        assert "Traceback" not in shown.stderr
        assert shown.returncode in (0, 1), shown.stderr
    page = (tmp_path / "runs").glob("*/latest/report.html")
    text = next(page).read_text()
    assert ("2026-11-27 22:22 UTC" in text) == ("timestamp" in dates)
    assert (f"time zone is not known: {ASCTIME}" in text) == ("timestamp" not in dates)


def test_a_stored_date_of_an_earlier_version_is_read():
    known = {"software": "fio", "commit": "", "python": "", "host": "", "kernel": ""}
    known |= {"cores": 0, "memory_bytes": 0, "seed": 0}
    dates = {ASCTIME: "", "Fri Nov 27 22:22:44 UTC 2026": ISO, ISO: ISO, "": ""}
    for text, expected in dates.items():
        assert Provenance.model_validate({**known, "started": text}).started == expected


def test_results_without_a_date_do_not_count_for_the_time_between_starts():
    points = synthetic.scenario(sizes=("1 MiB",), clients=(1, 2, 4), hold_out=()).points()
    dates = ("", "2026-11-27T22:22:44.000+00:00", "2026-11-27T22:23:44.000+00:00")
    results = [
        _dated(synthetic.measured(one, 100.0), text)
        for one, text in zip(points, dates, strict=False)
    ]
    assert doubts.measuring_s(results) == 3 * 60


def test_a_table_of_runs_with_another_date_is_refused():
    point = synthetic.scenario().points()[0]
    known = _dated(synthetic.measured(point, 100.0), ISO)
    texts = {"repetition": "0", "started": ASCTIME, "wall_s": "1", "rate_per_s": "100"}
    with pytest.raises(ValueError, match="started = 'Fri Nov 27.*: must be a date as ISO 8601"):
        RunRow(texts, 2).result(point.scenario, known.provenance)


def _dated(result: Result, started: str) -> Result:
    origin = result.provenance.model_copy(update={"started": started})
    return result.model_copy(update={"provenance": origin})
