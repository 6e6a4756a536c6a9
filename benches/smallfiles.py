"""Shows why small files are slow on a default HDFS. Predicts and measures how much time a shorter
retry delay saves.

Two clients of one traced testbed take turns; each creates a file, writes 4 KiB and closes it. When
a client closes a file before the DataNodes have reported the block, it retries the close after a
delay. One client has Hadoop's default delay of 400 ms, and the other client has a delay of 10 ms.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
from pathlib import Path

from dfslab.filesystems.hdfs.testbed import Testbed
from dfslab.instruments.tracing import callprofile
from dfslab.studies.traces import gain
from traced import Mix, between, snapshot

DELAY = "dfs.client.block.write.locateFollowingBlock.initial.delay.ms"
DEFAULT_MS, CURED_MS = 400, 10
# Number of files and size of a file in bytes. On a fast machine, a client closes only some dozen of
# 250 files before the DataNodes have reported the block.
FILES, SIZE_BYTES = 250, 4096
ROUNDS = int(os.environ.get("DFSLAB_BENCH_ROUNDS", "4"))
WARM_UP = 1
# Parameters of the testbed. Testbeds normally have shorter delays than Hadoop's defaults. The
# testbed of this bench has Hadoop's defaults.
TESTBED = {
    "datanodes": 3,
    "replication": 3,
    "close_committed_allowed": 0,
    "trace": True,
    "trace_interval_s": 1,
}


def main() -> None:
    """Runs the bench. Prints each round, then the figures as one JSON object."""
    line = f"small {FILES} {SIZE_BYTES}"
    rows = []
    with (
        tempfile.TemporaryDirectory(prefix="dfslab-bench-") as folder,
        Testbed.up({**TESTBED, "trace_directory": folder}, notify=print) as testbed,
        Mix(testbed) as default,
        Mix(testbed, **{DELAY: str(CURED_MS)}) as cured,
    ):
        # Both clients have the same warm-up, because a client that has made fewer calls is slower.
        # Less of the client's code is compiled then.
        for _ in range(WARM_UP):
            cured.does(line)
            default.does(line)
        for _ in range(ROUNDS):
            before = snapshot(Path(folder))
            slow_s = default.does(line)
            files = between(before, snapshot(Path(folder)))
            cured_s = cured.does(line)
            top = callprofile.merge((file.instance, file) for file in files)
            found = gain.savings(top, DEFAULT_MS / CURED_MS)
            named = found.steps[0]
            rows.append(
                {
                    "named": str(named.step),
                    "verdict": named.verdict,
                    "default_s": slow_s,
                    "cured_s": cured_s,
                    "predicted_s": named.saving * found.end_to_end_s,
                    "low_s": named.low * found.end_to_end_s,
                    "high_s": named.high * found.end_to_end_s,
                    "seen_s": slow_s - cured_s,
                }
            )
            print(json.dumps(rows[-1]), flush=True)
    predicted_s, seen_s = (
        statistics.median(row[key] for row in rows) for key in ("predicted_s", "seen_s")
    )
    print(
        json.dumps(
            {
                "named": statistics.mode(row["named"] for row in rows),
                "files_per_s": FILES / statistics.median(row["default_s"] for row in rows),
                "cured_files_per_s": FILES / statistics.median(row["cured_s"] for row in rows),
                "predicted_s": predicted_s,
                "seen_s": seen_s,
                "saving_error": abs(predicted_s - seen_s) / seen_s,
            }
        )
    )


if __name__ == "__main__":
    sys.exit(main())
