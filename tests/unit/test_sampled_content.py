"""Tests of runs with `verify = "sample"`, which check the content of some reads. A run stops if a
file has wrong content. On a file system that works, runs of every operation type complete."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import pytest
from dfslab import _core

# Time limit in seconds, which is reached only if a test has failed: a wrong read stops the run.
HANGS_S = 120
KINDS = ["read", "pread", "pwrite", "write", "create", "append", "overwrite", "delete", "truncate"]


def plan(root: Path, kinds: list[str], **changes: object) -> str:
    """Returns a plan of two clients with equal shares of the operation types, as JSON. `changes`
    replace fields of the stream."""
    stream = {
        "seed": 5,
        "clients": 2,
        "operations_per_client": 400,
        "files_per_client": 6,
        "mix": [{"operation": kind, "weight": 1.0} for kind in kinds],
        "file_size": {"fixed": 65536},
        "transfer_size_bytes": 16384,
        **changes,
    }
    target = {"kind": "posix", "root": str(root)}
    return json.dumps(
        {
            "stream": stream,
            "target": target,
            "run_directory": "run",
            "verify": "sample",
            "time_limit_s": HANGS_S,
        }
    )


@pytest.mark.parametrize("kinds", [*([kind] for kind in KINDS), KINDS])
def test_content_that_is_right_passes(tmp_path, kinds):
    report = json.loads(_core.run_load(plan(tmp_path, kinds), lambda *_: None)[0])
    assert (report["complete"], report["errors"]) == (True, [])


@pytest.mark.parametrize("kind", ["read", "pread"])
def test_reads_of_zeros_stop_the_run(tmp_path, kind):
    """All files are overwritten with zeros while the clients read. The first read that checks its
    content stops the run."""

    def progress(share, phase):
        if phase == "running":
            # A wrong read stops the run, which then removes its files and folders. Any of them may
            # therefore be missing.
            with suppress(FileNotFoundError):
                for path in (tmp_path / "run").glob("c*/f*"):
                    with path.open("r+b") as file:
                        file.write(bytes(65536))

    given = plan(tmp_path, [kind], operations_per_client=10**9)
    report = json.loads(_core.run_load(given, progress)[0])
    assert not report["complete"]
    assert report["errors"][0]["kind"] == "corruption"
    assert "is not what was written" in report["errors"][0]["first"]
