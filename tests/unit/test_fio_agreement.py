"""Tests of the comparison of fio with dfslab. The tests check the job file and options that fio
gets, the figures that are read from fio's output, and the verdict of the comparison."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from verification.fio_agreement import (
    DIRECT,
    EQUAL,
    FILE_BYTES,
    FILE_NAME,
    JOBS,
    Agreement,
    Conditions,
    figures_of_fio,
    prepared,
)


def output_of_fio(reads: int, writes: int) -> str:
    """Returns the JSON output of fio for a job of 2 s with `reads` reads, `writes` writes and 1.5 s
    of processor time."""
    job = {
        "read": {"iops": reads / 2, "total_ios": reads},
        "write": {"iops": writes / 2, "total_ios": writes},
        "usr_cpu": 25.0,
        "sys_cpu": 50.0,
        "job_runtime": 2000,
    }
    return json.dumps({"jobs": [job]})


def test_equal_conditions_give_fio_a_cached_file_and_an_aligned_buffer(tmp_path: Path) -> None:
    options = prepared(EQUAL, 1 << 20, tmp_path)
    assert options == [f"--directory={tmp_path}", "--allow_file_create=0", "--iomem_align=4k"]
    assert (tmp_path / FILE_NAME).stat().st_size == FILE_BYTES


def test_no_file_that_exists_is_written_over(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_text("kept")
    with pytest.raises(FileExistsError):
        prepared(EQUAL, 1 << 20, tmp_path)
    assert (tmp_path / FILE_NAME).read_text() == "kept"


def test_the_own_conditions_of_fio_add_nothing(tmp_path: Path) -> None:
    own = Conditions(keeps_file=False, aligns_buffer=False)
    assert prepared(own, 1 << 20, tmp_path) == [f"--directory={tmp_path}"]
    assert list(tmp_path.iterdir()) == []


def test_only_direct_transfers_use_a_file_outside_the_page_cache() -> None:
    direct = [name for name, job in JOBS.items() if job.equal_conditions() == DIRECT]
    assert direct == ["direct reads of 64 KiB"]


def test_rate_and_processor_time_are_those_of_reads_and_writes() -> None:
    found = figures_of_fio(output_of_fio(reads=2000, writes=1000))
    assert found.rate_per_s == 1500
    assert found.processor_s == pytest.approx(1.5 / 3000)


def test_output_without_a_transfer_is_refused() -> None:
    with pytest.raises(ValueError, match="no transfer"):
        figures_of_fio(output_of_fio(reads=0, writes=0))


@pytest.mark.parametrize(
    ("ratios", "verdict"),
    [
        ((0.99, 1.0, 1.01, 1.0), "agree"),
        ((1.9, 2.0, 2.1, 2.0), "differ"),
        ((0.48, 0.5, 0.52, 0.5), "differ"),
        ((0.5, 1.0, 2.0, 1.0), "too noisy to say"),
    ],
)
def test_the_verdict_follows_from_the_interval(ratios: tuple[float, ...], verdict: str) -> None:
    assert Agreement("job", ratios).verdict() == verdict
