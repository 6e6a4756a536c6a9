"""Fuzzes every reader of bytes for a limited time. The time for each reader is DFSLAB_FUZZ_SECONDS;
`make verify` sets ten minutes. A reader must not crash, and no input may take more than 5 s of
processor time or 1 GiB of memory.

An input that once made a reader fail is stored in `tests/recorded/fuzz` and is read again in every
run. The name of its file begins with the name of the reader and "_".
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support import fuzzing
from support.recorded import RECORDED

TESTS = Path(__file__).parents[1]
SECONDS = float(os.environ.get("DFSLAB_FUZZ_SECONDS", "1"))
SEED = int(os.environ.get("DFSLAB_FUZZ_SEED", "20261126"))
KEPT = [
    path
    for path in sorted((RECORDED / "fuzz").glob("*"))
    if path.name.rpartition("_")[0] in fuzzing.TARGETS
]
# Seconds that the process may take to start and to read the valid inputs, in addition to the
# fuzzing time.
START_S = 300.0


def fuzzed(target, folder, seconds=SECONDS, program=("-m", "support.fuzzing")):
    return subprocess.run(
        [sys.executable, *program, target, str(seconds), str(SEED), str(folder)],
        env={**os.environ, "PYTHONPATH": f"{TESTS}:{os.environ.get('PYTHONPATH', '')}"},
        capture_output=True,
        text=True,
        timeout=seconds + START_S,
        check=False,
    )


@pytest.mark.heavy
@pytest.mark.parametrize("target", fuzzing.TARGETS)
def test_a_reader_survives_its_time(target, tmp_path):
    done = fuzzed(target, tmp_path)
    last = tmp_path / "input"
    said = f"seed {SEED}: exit {done.returncode}, input {last}\n{done.stderr[-2000:]}"
    assert done.returncode == 0, said
    assert int(done.stdout) >= 1


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.name)
def test_inputs_that_once_broke_a_reader(path, tmp_path):
    target = path.name.rpartition("_")[0]
    name, read = fuzzing.TARGETS[target]
    (tmp_path / name).write_bytes(path.read_bytes())
    fuzzing.check(read, tmp_path / name)


BROKEN = """
import sys, time
from support import fuzzing
def hang(path):
    while True: pass
def grow(path):
    return bytearray(2 << 30)
def crash(path):
    raise KeyError("x")
kinds = {"hang": hang, "grow": grow, "crash": crash}
if sys.argv[1] == "hang":
    fuzzing.HANG_S = 0.2
def after_the_corpus(read):
    reads = [0]
    def one(path):
        reads[0] += 1
        return read(path) if reads[0] > len(fuzzing.corpus("pnml")) else None
    return one
fuzzing.TARGETS["pnml"] = ("x", after_the_corpus(kinds[sys.argv[1]]))
from pathlib import Path
fuzzing.fuzz("pnml", float(sys.argv[2]), 1, Path(sys.argv[4]))
"""


@pytest.mark.heavy
@pytest.mark.parametrize(("kind", "ended"), [("hang", -27), ("grow", 1), ("crash", 1)])
def test_a_reader_that_hangs_grows_or_crashes_is_found(kind, ended, tmp_path):
    done = fuzzed(kind, tmp_path, 1.0, ("-c", BROKEN))
    assert done.returncode == ended, done.stderr
    assert (tmp_path / "input").stat().st_size
