"""Kills `dfslab` at random moments of a sweep, and checks what remains and whether the sweep
resumes.

Each trial starts a sweep and sends SIGKILL to its process after a random time. With
`--after-results`, the random time begins when a random number of results has been stored. The trial
then waits until every process of the sweep has ended, runs `dfslab doctor --clean`, and completes
the sweep. A trial fails in four cases: a process outlives the killed process by more than 15 s,
`dfslab doctor` leaves something behind, a stored result is damaged, or a complete result is lost or
measured again.

`python -m verification.kills --systems local,dask,ssh,moosefs --trials 50 --log kills.jsonl` runs
50 trials for each system. With `--log`, every outcome is appended to a file. Trials that the file
already has with the same seed are skipped, so a long series of trials can run in several parts. The
random times of a trial depend only on the seed, the system and the trial's number. Testbeds need
root and the daemons of the file systems.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

# Limit in seconds for the other processes of a sweep after one of its processes was killed. A
# process that lives longer is a fault.
OUTLIVES_LIMIT_S = 15.0
# Longest time in seconds from the start of a sweep to its kill. This time covers the start of a
# testbed and some runs.
KILL_WITHIN_S = {
    "local": 4.0,
    "dask": 10.0,
    "ssh": 14.0,
    "moosefs": 14.0,
    "glusterfs": 16.0,
    "hdfs": 25.0,
}
# Time limit in seconds, which a command or a wait for results exceeds only if it hangs.
HANGS_S = 600.0
POLL_S = 0.1
MARK = "DFSLAB_KILL_TRIAL"
DFSLAB = str(Path(sys.executable).with_name("dfslab"))
REPOSITORY = Path(__file__).resolve().parents[1]

HEAD = """
schema = 1
name = "killed"
"""
TAIL = """
[run]
methods = ["measure"]
repetitions = {repetitions}
{run}
[[sweep]]
"workload.file_size" = ["64 KiB", "128 KiB"]
"workload.clients" = [1, 2]
"""
WORKLOAD = """
[workload]
name = "sequential_write"
operations_per_client = {operations}
{nodes}
"""
MACHINE = """
[file_system]
name = "local"
access = { directory = "data" }
[[deployment.node]]
roles = { client = 1, storage = 1 }
"""
NODE = """
[[deployment.node]]
name = "{name}"
roles = {{ {role} = 1 }}
adapter = {{ bandwidth = "100 Mbit/s" }}
{disk}
"""
DISK = 'disk = { read_rate = "10 MB/s", write_rate = "10 MB/s", capacity = "2 GiB" }'
ROLES = {
    "moosefs": ("chunkserver", "master"),
    "glusterfs": ("brick", ""),
    "hdfs": ("datanode", "namenode"),
}
# POINTS is the number of points of the sweep, and REPETITIONS is how often each is measured. A
# testbed of HDFS or MooseFS starts slowly and is started twice in a trial. Sweeps on it therefore
# have fewer repetitions (SLOW_REPETITIONS).
POINTS = 4
REPETITIONS = 3
SLOW_REPETITIONS = {"hdfs": 1, "moosefs": 1}
# Longest time in seconds from a stored result to the kill with `--after-results`. One or two runs
# take this long.
KILL_AFTER_RESULT_S = 1.0
# Patterns for a line of results/records.jsonl, which is one record. The line begins with a checksum
# (_CHECKSUM). Then it has the key of the result and whether the result is complete (_KEY).
_CHECKSUM = re.compile(rb'\{"sha256":"([0-9a-f]{64})",')
_KEY = re.compile(rb'"key":(\[.*?\]),"complete":(true|false),')


@dataclass
class Trial:
    """The outcome of one kill.

    - `killed_after_s`: the seconds from the start of the sweep to the kill.
    - `waited_for`: if not 0, the kill came after this number of results was stored.
    - `had`: the number of complete results that the killed sweep had stored.
    - `ended_first`: if true, the sweep ended before the kill, so nothing was killed.
    - `faults`: one text for each fault; empty if the trial passed.
    """

    system: str
    number: int
    seed: int
    killed_after_s: float
    waited_for: int = 0
    had: int = 0
    ended_first: bool = False
    outlived_s: float = 0.0
    removed: int = 0
    faults: list[str] = field(default_factory=list)


def repetitions(system: str) -> int:
    """Returns how often a sweep of a system measures each point."""
    return SLOW_REPETITIONS.get(system, REPETITIONS)


def results_of(system: str) -> int:
    """Returns the number of results of a complete sweep of a system."""
    return POINTS * repetitions(system)


def scenario(system: str, ssh: str = "") -> str:
    """Returns the text of a scenario that has a sweep. `system` is a file system or a kind of
    cluster (such as ssh). In the second case, the workers of the cluster run the clients."""
    if system in ROLES:
        storage, master = ROLES[system]
        # The declared hardware is slow, because a busy machine cannot emulate fast hardware.
        nodes = [
            NODE.format(name=name, role=role, disk=DISK if name == "server" else "")
            for name, role in (("server", storage), ("master", master), ("client", "client"))
            if role
        ]
        choice = f'[file_system]\nname = "{system}"\naccess = {{ testbed = true }}\n'
        choice += {"moosefs": "goal = 1\n", "hdfs": "replication = 1\n"}.get(system, "")
        work = WORKLOAD.format(operations=20, nodes="")
        tail = TAIL.format(repetitions=repetitions(system), run="")
        return "\n".join([HEAD, *nodes, choice, work, tail])
    run = {"dask": 'fleet = "dask"', "ssh": ssh}.get(system, "")
    nodes_key = "" if system == "local" else "nodes = 2"
    work = WORKLOAD.format(operations=300, nodes=nodes_key)
    tail = TAIL.format(repetitions=repetitions(system), run=run)
    return "\n".join([HEAD, MACHINE, work, tail])


def marked(mark: str) -> list[str]:
    """Returns the command lines of all live processes that inherited the mark of a trial in their
    environment."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            dead = (entry / "stat").read_text().rpartition(")")[2].split()[0] in "ZX"
            environment = (entry / "environ").read_bytes().split(b"\0")
            if not dead and f"{MARK}={mark}".encode() in environment:
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                found.append(line.strip()[-100:])
    return found


def results(out: Path) -> dict[str, str]:
    """Returns a dictionary from the key of each complete result of a sweep to the checksum of its
    record.

    After a kill, the last line of a file may lack its newline. This line is no record and is
    skipped. Raises ValueError for any other line that is no record, and for a result that was
    stored twice.
    """
    found: dict[str, str] = {}
    for path in out.glob("killed/2*/results/records.jsonl"):
        # The first line describes the file. What follows the last newline was never stored.
        for number, line in enumerate(path.read_bytes().split(b"\n")[1:-1], start=2):
            checksum, key = _CHECKSUM.match(line), _KEY.search(line)
            if checksum is None or key is None:
                raise ValueError(f"{path.parent.parent.name}: line {number} is no record")
            if key[2] != b"true":
                continue
            name = f"{path.parent.parent.name} {key[1].decode()}"
            if name in found:
                raise ValueError(f"{name} was measured twice")
            found[name] = checksum[1].decode()
    return found


def records(out: Path) -> int:
    """Returns the number of results that a sweep has stored so far."""
    paths = out.glob("killed/2*/results/records.jsonl")
    return sum(max(path.read_bytes().count(b"\n") - 1, 0) for path in paths)


class Trials:
    """Runs all trials in a separate folder."""

    def __init__(self, folder: Path, seed: int, after_results: bool = False) -> None:
        """Sets the folder of all trials and the seed of random times. If `after_results` is true,
        each kill waits until a random number of results is stored."""
        self._folder, self._seed, self._after_results = folder, seed, after_results

    def one(self, system: str, number: int) -> Trial:
        """Kills the process of one sweep, completes the sweep, and returns the outcome."""
        place = self._folder / f"{system}-{number}"
        for name in ("data", "tmp", "state"):
            (place / name).mkdir(parents=True)
        longest_s = KILL_AFTER_RESULT_S if self._after_results else KILL_WITHIN_S[system]
        rng = random.Random(f"{self._seed} {system} {number}")
        trial = Trial(system, number, self._seed, rng.uniform(0.0, longest_s))
        if self._after_results:
            trial.waited_for = rng.randrange(1, results_of(system))
        mark = f"{os.getpid()}-{system}-{number}"
        environment = {**os.environ, MARK: mark, "TMPDIR": str(place / "tmp")}
        environment |= {"DFSLAB_STATE": str(place / "state")}
        with fleet(system, place, environment) as ssh:
            (place / "s.toml").write_text(scenario(system, ssh))
            before = self._kill(trial, place, environment)
            trial.outlived_s = self._outlived(trial, mark)
            self._clean(trial, place, environment)
            self._complete(trial, place, environment, before)
        shutil.rmtree(place, ignore_errors=bool(trial.faults))
        return trial

    def _kill(self, trial: Trial, place: Path, environment: dict[str, str]) -> dict[str, str]:
        with (place / "killed.log").open("wb") as log:
            words = [DFSLAB, "measure", "s.toml", "--out", "out"]
            child = subprocess.Popen(
                words, cwd=place, env=environment, stdout=log, stderr=log, start_new_session=True
            )
            began_s = time.monotonic()
            while records(place / "out") < trial.waited_for and child.poll() is None:
                if time.monotonic() > began_s + HANGS_S:
                    trial.faults.append(f"no result within {HANGS_S:g} s")
                    break
                time.sleep(POLL_S / 10)
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(trial.killed_after_s)
            trial.ended_first = child.poll() is not None
            child.send_signal(signal.SIGKILL)
            child.wait()
        try:
            before = results(place / "out")
        except ValueError as error:
            trial.faults.append(f"a result is damaged: {error}")
            before = {}
        trial.had = len(before)
        return before

    @staticmethod
    def _outlived(trial: Trial, mark: str) -> float:
        began_s = time.monotonic()
        while left := marked(mark):
            if time.monotonic() > began_s + OUTLIVES_LIMIT_S:
                trial.faults.append(f"alive after {OUTLIVES_LIMIT_S:g} s: {left[:3]}")
                break
            time.sleep(POLL_S)
        return time.monotonic() - began_s

    @staticmethod
    def _clean(trial: Trial, place: Path, environment: dict[str, str]) -> None:
        done = call("doctor", "--clean", "--json", place=place, environment=environment)
        if done.returncode != 0:
            trial.faults.append(f"doctor --clean: {done.stderr.strip()[-200:]}")
            return
        trial.removed = len(json.loads(done.stdout)["removed"])
        left = [path for name in ("data", "tmp") for path in (place / name).iterdir()]
        for name in ("beds", "loads", "parts"):
            left += [path for path in (place / "state" / name).glob("*") if path.is_dir()]
        # Dask stores a cache in this folder. The cache contains no data of a run, so the check
        # ignores the cache.
        left = [path for path in left if path.name != "dask-scratch-space"]
        left += [inside for path in left for inside in path.rglob("*")]
        mounts = Path("/proc/self/mounts").read_text().splitlines()
        held = [line for line in mounts if str(place) in line]
        if left or held:
            trial.faults.append(f"left: {[str(path) for path in left[:6]]} {held[:3]}")

    @staticmethod
    def _complete(
        trial: Trial, place: Path, environment: dict[str, str], before: dict[str, str]
    ) -> None:
        done = call("measure", "s.toml", "--out", "out", place=place, environment=environment)
        if done.returncode != 0:
            trial.faults.append(f"resuming: {done.returncode} {done.stderr.strip()[-200:]}")
        try:
            after = results(place / "out")
        except ValueError as error:
            trial.faults.append(f"after resuming: {error}")
            return
        folders = list((place / "out" / "killed").glob("2*"))
        # The sweep was already complete before the kill, so the next command starts a new sweep.
        wanted = results_of(trial.system)
        if len(before) == wanted:
            return
        if len(folders) != 1 or len(after) != wanted:
            trial.faults.append(f"{len(after)} of {wanted} results in {len(folders)} folders")
        again = [name for name, digest in before.items() if after.get(name) != digest]
        if again:
            trial.faults.append(f"lost or measured again: {again}")


def call(*words: str, place: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Runs `dfslab WORDS` to its end and returns the finished process."""
    return subprocess.run(
        [DFSLAB, *words],
        cwd=place,
        env=environment,
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        check=False,
    )


@contextlib.contextmanager
def fleet(system: str, place: Path, environment: dict[str, str]) -> Iterator[str]:
    """Yields the lines of a scenario that describe the cluster `system`. If the cluster needs an
    SSH server, this server runs until the end of the `with` block. The processes that the server
    starts inherit the trial's mark."""
    if system != "ssh":
        yield ""
        return
    sys.path.insert(0, str(REPOSITORY / "tests"))
    from support.ssh_host import SCENARIO, SshHost

    before = dict(os.environ)
    os.environ.update(environment)
    try:
        with SshHost(place) as host:
            text = SCENARIO.format(**host.options())
            cluster = text[text.index("[run.cluster]") :]
            yield f'fleet = "ssh"\n{cluster}'
    finally:
        os.environ.clear()
        os.environ.update(before)


def logged(log: Path | None) -> list[Trial]:
    """Returns the trials in a log, which has a JSON object in each line. If the last line has no
    newline, the program ended while it wrote this line. Such a line is skipped."""
    if log is None or not log.exists():
        return []
    lines = log.read_text().split("\n")[:-1]
    return [Trial(**json.loads(line)) for line in lines]


def cut_to_lines(log: Path) -> None:
    """Removes the text after the last newline of a log, so that the next entry is a separate
    line."""
    if log.exists():
        os.truncate(log, log.read_bytes().rfind(b"\n") + 1)


def remaining(
    systems: list[str], trials: int, seed: int, after_results: bool, done: list[Trial]
) -> list[tuple[str, int]]:
    """Returns the trials that are not yet in `done`, as (system, number of the trial). The systems
    alternate."""
    made = {
        (one.system, one.number)
        for one in done
        if one.seed == seed and bool(one.waited_for) == after_results
    }
    wanted = [(system, number) for number in range(trials) for system in systems]
    return [trial for trial in wanted if trial not in made]


def summary(trials: list[Trial]) -> str:
    """Returns a table with one line for each system. The table has these columns:

    - the number of all trials
    - the number of trials that killed after a number of results
    - the number of trials whose sweep ended before the kill
    - the number of trials with faults
    - the longest time in seconds that a process outlived the killed process
    - the number of removed leftovers
    """
    rows = [f"{'system':10} trials after_results ended_first failed outlived_s removed"]
    for system in sorted({one.system for one in trials}):
        of_system = [one for one in trials if one.system == system]
        waited = sum(bool(one.waited_for) for one in of_system)
        ended = sum(one.ended_first for one in of_system)
        failed = sum(bool(one.faults) for one in of_system)
        longest_s = max(one.outlived_s for one in of_system)
        removed = sum(one.removed for one in of_system)
        kills = f"{len(of_system):6} {waited:13} {ended:11} {failed:6}"
        rows.append(f"{system:10} {kills} {longest_s:10.1f} {removed:7}")
    return "\n".join(rows)


def main() -> None:
    """Runs the trials and prints one line of JSON for each, then a summary of the log. Exits with 1
    if a trial failed."""
    parser = argparse.ArgumentParser(prog="verification.kills", description=__doc__)
    parser.add_argument("--systems", default=",".join(KILL_WITHIN_S))
    parser.add_argument("--trials", type=int, default=20, help="kills of each system")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=None, help="where trials work")
    parser.add_argument("--log", type=Path, default=None, help="outcomes, to resume from")
    parser.add_argument("--most", type=int, default=None, help="end after this many trials")
    parser.add_argument(
        "--after-results", action="store_true", help="kill after some results are stored"
    )
    given = parser.parse_args()
    systems, done = given.systems.split(","), logged(given.log)
    if given.log is not None:
        cut_to_lines(given.log)
    left = remaining(systems, given.trials, given.seed, given.after_results, done)
    with tempfile.TemporaryDirectory(prefix="kills-", dir=given.folder) as folder:
        trials = Trials(Path(folder), given.seed, given.after_results)
        for system, number in left[: given.most]:
            trial = trials.one(system, number)
            done.append(trial)
            line = json.dumps(asdict(trial))
            print(line, flush=True)
            if given.log is not None:
                with given.log.open("a") as log:
                    log.write(line + "\n")
    print(summary(done), file=sys.stderr)
    sys.exit(1 if any(trial.faults for trial in done) else 0)


if __name__ == "__main__":
    main()
