"""Tests that jobs of another tool with different settings count as different configurations. A
comparison pairs only equal configurations, and only runs of equal configurations count as
repetitions."""

from __future__ import annotations

import json

import pytest
from dfslab.imports import as_results, tool_report
from dfslab.imports.job_settings import JobSettings
from dfslab.imports.results import fio_json
from support import tool_texts, tool_texts_more
from support.command import dfslab

KIBI = 1024


def report(name: str = "randread", iops: float = 1000.0, **options: str) -> str:
    """Returns fio's JSON report on one job of reads. `options` replaces options of the job, and
    `iops` is the reported rate in reads per second."""
    given = {"rw": "randread", "bs": "4k", "size": "64m", "iodepth": "4", "ioengine": "libaio"}
    given |= {"direct": "1", **options}
    per_s = iops * int(given["bs"].removesuffix("k")) * KIBI
    side = {"iops": iops, "bw_bytes": per_s, "lat_ns": {"mean": 1e6, "N": 1000}}
    job = {"jobname": name, "groupid": 0, "error": 0, "job options": given, "read": side}
    return json.dumps({"fio version": "fio-3.33", "jobs": [job]})


@pytest.fixture
def imported(tmp_path):
    """Provides a function that imports the given reports as one run, and returns its path."""

    def run(name: str, *texts: str) -> str:
        paths = [tmp_path / f"{name}-{number}.json" for number in range(len(texts))]
        for path, text in zip(paths, texts, strict=True):
            path.write_text(text)
        done = dfslab("import", *map(str, paths), "--out", str(tmp_path / name))
        assert done.returncode == 0, done.stderr
        return done.stdout.split()[-1]

    return run


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize(
    "changed", [{"bs": "64k"}, {"size": "128m"}, {"iodepth": "8"}, {"rw": "read"}, {"direct": "0"}]
)
def test_jobs_of_one_name_with_other_settings_are_neither_paired_nor_pooled(imported, changed):
    one, other = report(), report(**changed)
    done = dfslab("compare", imported("a", one), imported("b", other))
    assert done.returncode == 2
    assert "has no measured configuration of" in done.stderr
    reports = [fio_json.read(text) for text in (one, other, one)]
    repetitions = [found.repetition for found in tool_report.merged(reports).measurements]
    assert repetitions == [0, 0, 1]


def test_jobs_that_differ_only_in_their_names_are_paired_and_the_names_are_stated(imported):
    before = imported("a", report("old", 1000), report("old", 1010))
    after = imported("b", report("new", 2000), report("new", 2020))
    done = dfslab("compare", before, after)
    assert done.returncode == 0, done.stderr
    assert "of 1 rates: 1 higher (faster)" in flat(done.stdout)
    assert "workload.part old → new" in flat(done.stdout)


def test_two_jobs_of_equal_settings_are_not_paired_with_one(imported):
    one = json.loads(report("a"))
    one["jobs"] += json.loads(report("b"))["jobs"]
    done = dfslab("compare", imported("two", json.dumps(one)), imported("one", report("c")))
    assert done.returncode == 2
    assert "has no measured configuration of" in done.stderr


def test_the_hint_on_repetitions_keeps_the_two_runs_apart(imported):
    done = dfslab("compare", imported("a", report()), imported("b", report(iops=1100.0)))
    assert done.returncode == 0, done.stderr
    hint = "import all files of the first into one run (`dfslab import A1 A2 …`) and all files of"
    assert hint in flat(done.stdout)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (tool_texts.IOR_3_0, {"transfer_size": "1 MiB", "file_size": "16 MiB"}),
        (tool_texts.IOR_JSON_3, {"transfer_size": "256 KiB", "file_size": "1 MiB"}),
        (tool_texts_more.SMALLFILE_3, {"file_size": "64 KiB"}),
        (
            tool_texts_more.ELBENCHO_2.replace(
                "elbencho -w", "elbencho -w -b 4k --size=1m --iodepth 8 --direct"
            ),
            {
                "transfer_size": "4 KiB",
                "file_size": "1 MiB",
                "queue_depth": 8,
                "offsets": "sequential",
                "access": "direct I/O",
            },
        ),
    ],
)
def test_settings_that_a_tool_reports_are_labels_of_its_results(tmp_path, text, expected):
    path = tmp_path / "given"
    path.write_text(text)
    found = as_results.results(tool_report.read(path), path)[0].labels
    keys = JobSettings(1, 1, 1, True, True, "x").labels()
    known = {key.removeprefix("workload."): value for key, value in found.items()}
    assert {key: value for key, value in known.items() if key in keys} == expected


def test_several_block_sizes_are_a_setting_of_their_own(tmp_path):
    path = tmp_path / "given"
    path.write_text(report().replace('"bs": "4k"', '"bssplit": "4k/50:64k/50"'))
    (one,) = tool_report.read(path).measurements
    assert (one.settings.transfer_bytes, one.settings.options) == (None, "bssplit=4k/50:64k/50")
