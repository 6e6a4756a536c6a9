"""Compares statements of Wu 2013, section 4.1, with the recordings. The statements are about the
paper's three phases and its deployments.

- The total time of a step is its mean time multiplied by the number of files, as in the paper's
  Figures 4 and 5.
- Only recordings that began after the models of HDFS were chosen are used, so no choice depends on
  them.
- "Level" means within a factor of two, which is one unit of the paper's logarithmic axis.
- "Rises" means a rank correlation of file size and total time of at least 0.8. "Falls" means a rank
  correlation of at most -0.8.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from dfslab.result import Result
from dfslab.spec import units
from dfslab.studies.runs.means import geometric_mean
from scipy.stats import spearmanr

from verification import recordings
from verification.papers.obtained import Obtained, judged

LEVEL = 2.0
TREND = 0.8
# Network latencies that identify the recorded deployments. EVEN stands for the cluster of equal
# machines in Wu 2013 (Tansuo), UNEVEN for the cluster of different machines (Inspur), and VIRTUAL
# for the virtual machines (EC2).
EVEN, UNEVEN, VIRTUAL = "50 us", "200 us", "1 ms"
KIB, MIB = 2.0**10, 2.0**20
# Smallest and largest file size in bytes of each of Wu's phases. All sizes are 1/64 of those in Wu
# 2013.
PHASE_1 = (16.0, KIB)
PHASE_2 = (16 * KIB, 512 * KIB)
PHASE_3 = (MIB, 64 * MIB)
Curve = list[tuple[float, float]]


@cache
def _runs(operation: str) -> list[Result]:
    return recordings.runs(f"wu-{operation}", f"wu-{operation}-anew")


def curve(
    operation: str, steps: Sequence[str], phase: tuple[float, float], latency: str = EVEN
) -> Curve:
    """Returns the curve of one phase: (file size in bytes, total seconds of the steps) for each
    file size. Runs with the same file size are combined by their geometric mean.

    `steps` has the names of the steps whose times are added. If a name begins with "-", the time of
    the step is subtracted. `phase` is the smallest and the largest file size in bytes. `latency` is
    the network latency of the deployment.

    The curves of Phases I and II use the tests with several clients and add the seconds of all
    files. The curve of Phase III uses the tests with one client and one file.
    """
    times: dict[float, list[float]] = {}
    for result in _runs(operation):
        labels = result.point.labels
        size = units.parse(str(labels["workload.file_size"]), "B")
        one_client = labels["workload.clients"] == 1
        if labels["deployment.network.latency"] != latency or not phase[0] <= size <= phase[1]:
            continue
        if one_client != (phase == PHASE_3):
            continue
        times.setdefault(size, []).append(_total_s(result, steps, one_client))
    return [(size, geometric_mean(found).value) for size, found in sorted(times.items())]


def _total_s(result: Result, steps: Sequence[str], one_file: bool) -> float:
    """Returns the total seconds of some steps in one run. The total is over all files, or for one
    file if `one_file` is true."""
    found = {one.step: one for one in result.steps}
    total_s = 0.0
    for name in steps:
        step = found[name.removeprefix("-")]
        count = 1 if one_file else step.count
        total_s += (-1 if name.startswith("-") else 1) * step.time_s_mean * count
    return total_s


def _factor(found: Curve) -> float:
    totals = [total for _, total in found]
    return max(totals) / min(totals)


def _trend(found: Curve) -> float:
    return float(spearmanr([size for size, _ in found], [total for _, total in found]).statistic)


def _seconds(time_s: float) -> str:
    """Returns a time with three digits: 2.93 s or 220 ms."""
    return f"{time_s:.3g} s" if time_s >= 1 else f"{1e3 * time_s:.3g} ms"


def _level(curves: Mapping[str, Curve]) -> Obtained:
    """Judges whether each curve is level. The keys of `curves` are the paper's names of the
    operations."""
    texts = []
    for name, found in curves.items():
        totals = [total for _, total in found]
        least, most = _seconds(min(totals)), _seconds(max(totals))
        texts.append(f"{name} {least} to {most}, a factor of {_factor(found):.2g}")
    level = all(_factor(found) <= LEVEL for found in curves.values())
    return judged(level, f"shortest and longest total over the sizes: {'; '.join(texts)}")


def _rises(curves: Mapping[str, Curve], sign: int = 1) -> Obtained:
    """Judges whether each curve rises with the file size, or falls if `sign` is -1. The keys of
    `curves` are the paper's names of the operations."""
    texts = [
        f"{name} {_seconds(found[0][1])} to {_seconds(found[-1][1])}, "
        f"rank correlation {_trend(found):+.2f}"
        for name, found in curves.items()
    ]
    holds = all(sign * _trend(found) >= TREND for found in curves.values())
    return judged(holds, f"totals of the smallest and the largest size: {'; '.join(texts)}")


def _longest_in_phase_1(operation: str, steps: Mapping[str, Sequence[str]]) -> Obtained:
    texts, holds = [], True
    for name, parts in steps.items():
        firsts, *others = [
            [total for _, total in curve(operation, parts, phase)]
            for phase in (PHASE_1, PHASE_2, PHASE_3)
        ]
        longest = max(max(other) for other in others)
        holds &= min(firsts) > longest
        first, later = _seconds(min(firsts)), _seconds(longest)
        texts.append(f"{name} at least {first}, later at most {later}")
    return judged(holds, "; ".join(texts))


def _curves(
    operation: str, steps: Mapping[str, Sequence[str]], phase: tuple[float, float]
) -> dict[str, Curve]:
    return {name: curve(operation, parts, phase) for name, parts in steps.items()}


# The paper's names of operations, and the recorded steps of which each consists.
LOOKUPS = {"open": ["open"], "getBlockLocations": ["open/getBlockLocations"]}
READ_BLOCK = {"readBlock": ["read"]}
WRITE_REQUEST = {"writeRequest": ["write", "-write/addBlock", "close", "-close/complete"]}
ADD_BLOCK = {"addBlock": ["write/addBlock"]}
NAMENODE_CALLS = {"create": ["create"], "rpc create": ["create/create"], **ADD_BLOCK}


def read_phase_1_level() -> Obtained:
    """Judges whether the times of open and getBlockLocations are level over the smallest files
    (Phase I of Wu 2013)."""
    return _level(_curves("read", LOOKUPS, PHASE_1))


def read_phase_1_longest() -> Obtained:
    """Judges whether open and getBlockLocations take longer with the smallest files (Phase I of Wu
    2013) than in the later phases."""
    return _longest_in_phase_1("read", LOOKUPS)


def read_phase_1_blocks() -> Obtained:
    """Judges whether the time of readBlock rises with the file size over the smallest files (Phase
    I of Wu 2013)."""
    return _rises(_curves("read", READ_BLOCK, PHASE_1))


def read_phase_2_level() -> Obtained:
    """Judges whether the time of readBlock is level over files of medium size (Phase II of Wu
    2013)."""
    return _level(_curves("read", READ_BLOCK, PHASE_2))


def read_phase_2_lookups() -> Obtained:
    """Judges whether the times of open and getBlockLocations fall when the file size rises, over
    files of medium size (Phase II of Wu 2013)."""
    return _rises(_curves("read", LOOKUPS, PHASE_2), sign=-1)


def read_phase_3() -> Obtained:
    """Judges whether the times of readBlock and getBlockLocations rise with the file size over the
    largest files (Phase III of Wu 2013)."""
    return _rises(
        _curves("read", {**READ_BLOCK, "getBlockLocations": LOOKUPS["getBlockLocations"]}, PHASE_3)
    )


def read_blocks_dominate() -> Obtained:
    """Judges two statements on reads of the largest files (Phase III of Wu 2013). In every test,
    readBlock takes longer than open. The ratio of these two times is larger for the largest file of
    the phase than for the smallest file."""
    reads, opens = (dict(curve("read", [step], PHASE_3)) for step in ("read", "open"))
    ratios = [reads[size] / opens[size] for size in sorted(reads)]
    text = f"readBlock over open: {ratios[0]:.3g} at the smallest size of Phase III, "
    text += f"{ratios[-1]:.3g} at the largest"
    return judged(min(ratios) > 1 and ratios[-1] > ratios[0], text)


def _slower(operation: str, steps: Sequence[str], latency: str, other: str) -> Obtained:
    """Judges whether steps take longer on one deployment than on another in at least 90 % of the
    tests of all phases. `latency` is the network latency of the deployment that should be slower,
    and `other` is that of the deployment that should be faster."""
    ratios = []
    for phase in (PHASE_1, PHASE_2, PHASE_3):
        slow, fast = (dict(curve(operation, steps, phase, one)) for one in (latency, other))
        ratios += [slow[size] / fast[size] for size in sorted(slow.keys() & fast.keys())]
    longer = sum(ratio > 1 for ratio in ratios)
    text = f"longer in {longer} of {len(ratios)} tests, "
    text += f"{min(ratios):.2f} to {max(ratios):.3g} times as long"
    return judged(longer >= 0.9 * len(ratios), text)


def read_slow_network() -> Obtained:
    """Judges whether getBlockLocations takes longer on the deployment "uneven", which has a slower
    network than the deployment "even"."""
    return _slower("read", ["open/getBlockLocations"], UNEVEN, EVEN)


def read_virtual() -> Obtained:
    """Judges whether whole reads take longer on the deployment "virtual", which has the slowest
    network, than on the deployment "even"."""
    return _slower("read", ["open", "read"], VIRTUAL, EVEN)


def write_phase_1_level() -> Obtained:
    """Judges whether the times of create, its remote call and addBlock are level over the smallest
    files (Phase I of Wu 2013)."""
    return _level(_curves("write", NAMENODE_CALLS, PHASE_1))


def write_phase_1_longest() -> Obtained:
    """Judges whether create, its remote call and addBlock take longer with the smallest files
    (Phase I of Wu 2013) than in the later phases."""
    return _longest_in_phase_1("write", NAMENODE_CALLS)


def write_phase_1_request() -> Obtained:
    """Judges whether the time of writeRequest rises with the file size over the smallest files
    (Phase I of Wu 2013)."""
    return _rises(_curves("write", WRITE_REQUEST, PHASE_1))


def write_phase_2_level() -> Obtained:
    """Judges whether the time of writeRequest is level over files of medium size (Phase II of Wu
    2013)."""
    return _level(_curves("write", WRITE_REQUEST, PHASE_2))


def write_phase_2_calls() -> Obtained:
    """Judges whether the times of create, its remote call and addBlock fall when the file size
    rises, over files of medium size (Phase II of Wu 2013)."""
    return _rises(_curves("write", NAMENODE_CALLS, PHASE_2), sign=-1)


def write_phase_3() -> Obtained:
    """Judges whether the times of writeRequest and addBlock rise with the file size over the
    largest files (Phase III of Wu 2013)."""
    return _rises(_curves("write", {**WRITE_REQUEST, **ADD_BLOCK}, PHASE_3))


def write_slow_network() -> Obtained:
    """Judges whether writes take longer on the deployment "uneven", which has a slower network than
    the deployment "even"."""
    return _slower("write", ["create", "write", "close"], UNEVEN, EVEN)


def write_virtual() -> Obtained:
    """Judges whether whole writes take longer on the deployment "virtual", which has the slowest
    network, than on the deployment "even"."""
    return _slower("write", ["create", "write", "close"], VIRTUAL, EVEN)


def table_4() -> Obtained:
    """Judges whether each deployment has Wu's 23 tests: seven, nine and seven in the three
    phases."""
    found = {
        (str(labels["deployment.network.latency"]), str(labels["workload.file_size"]))
        for result in _runs("read")
        for labels in [result.point.labels]
        if labels["workload.clients"] != 1 or _size(labels["workload.file_size"]) >= MIB
    }
    counts = {
        latency: sum(one == latency for one, _ in found) for latency in (EVEN, UNEVEN, VIRTUAL)
    }
    listed = ", ".join(map(str, counts.values()))
    return judged(set(counts.values()) == {23}, f"{listed} sizes on the three deployments")


def _size(text: object) -> float:
    return units.parse(str(text), "B")
