"""Compares statements of Kumar 2018 with predictions.

The statements are about four subjects:

- the choice of processors
- the transfer of an ocean model's data
- the importance of GlusterFS' parameters on fixed hardware
- the throughput by block size and by number of servers

All rates are predicted from the description of GlusterFS with its prior constants. Nothing is
fitted.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
from dfslab import discover
from dfslab.arrays import Floats
from dfslab.models.learnt import Priors
from dfslab.models.regression import first_order_indices
from dfslab.models.sequence import SequenceModel
from dfslab.spec.design import LevelValue
from dfslab.spec.scenario import Point, Scenario
from dfslab.spec.systems.filesystem import FileSystem
from dfslab.studies.energy import EnergyCost, chosen, costs

from verification import recordings
from verification.papers.obtained import Obtained, judged
from verification.reproductions import kumar

Values = Mapping[str, LevelValue]
# Hardware that is the same for all configurations of Kumar's second model, and a file that fits
# into memory.
FIXED: Values = {
    "deployment.node.server.count": 4,
    "deployment.node.client.count": 1,
    "workload.clients": 1,
    "file_system.copies": 1,
    "workload.file_size": "8 MiB",
    "workload.data_per_client": "32 MiB",
}
PARAMETERS: Mapping[str, Sequence[LevelValue]] = {
    "workload.transfer_size": ["2 KiB", "4 KiB", "32 KiB", "256 KiB", "2 MiB", "8 MiB"],
    "file_system.cache_size": ["4 MiB", "64 MiB"],
    "file_system.quick_read": [0, 1],
    "file_system.read_ahead": [0, 1],
    "file_system.write_behind": [0, 1],
    "file_system.io_cache": [0, 1],
}
BLOCKS = "workload.transfer_size"
LINKS = ("deployment.node.server.adapter.bandwidth", "deployment.node.client.adapter.bandwidth")
# The link of Kumar's clusters with Gigabit Ethernet (section 3.4), and the four operations whose
# speed Figure 4 shows.
GIGABIT = "993 Mbit/s"
OPERATIONS = ("sequential_write", "sequential_read", "random_write", "random_read")
# Table 8 of Kumar 2018. The values are the minutes that a transfer of data takes on each cluster.
# The name of a cluster has its processor, its link and its number of servers.
TABLE_8 = {
    "Atom, Gigabit, 4": 2311.0,
    "Gigabit, 4": 1916.0,
    "InfiniBand, 2": 478.0,
    "InfiniBand, 4": 282.0,
    "InfiniBand, 10": 144.0,
}
# Bytes that Kumar's run of the ocean model writes and reads.
OCEAN_BYTES = 500e9
# Ratio of the bandwidth of InfiniBand to that of Gigabit Ethernet, as Kumar 2018 measured it in
# section 3.4.1.
RATIO = 5.84
# Largest ratio of two rates that count as "about as fast". A curve counts as "level" if the ratio
# of its largest to its smallest value is at most this factor.
SIMILAR = 1.5
# Limits for the importances in Table 7 of Kumar 2018. ABOUT_ONE is the smallest importance that
# counts as "about 1". READS is the importance of the block size for reads.
ABOUT_ONE, READS = 0.9, 0.78


def _rates(scenario: Scenario, every: Sequence[Values]) -> Floats:
    """Returns the predicted bytes per second of all clients together, for each set of values."""
    points = [Point(scenario=scenario.with_values(dict(one)), labels=dict(one)) for one in every]
    rates: Floats = np.exp(Priors(None).matrix(points)[:, 0])
    return rates


def _study() -> Scenario:
    return recordings.scenario(kumar.STUDY)


def _state(operation: str, is_direct: bool) -> Values:
    cache_state = {"workload.cache": "direct"} if is_direct else {"workload.cache": "warm"}
    return {**FIXED, "workload.name": operation, "workload.fsync": False, **cache_state}


@cache
def _importance(operation: str, is_direct: bool) -> dict[str, float]:
    """Returns a dictionary from the name of each parameter of GlusterFS to its importance. The
    importance is the quantity VI of equation (7) of Kumar 2018. VI is computed over the full grid
    of all parameters."""
    rows = list(itertools.product(*PARAMETERS.values()))
    state = _state(operation, is_direct)
    every = [{**state, **dict(zip(PARAMETERS, row, strict=True))} for row in rows]
    rates = _rates(_study(), every)
    columns = {key: [str(row[i]) for row in rows] for i, key in enumerate(PARAMETERS)}
    found = first_order_indices(columns, rates)
    total = sum(found.values())
    return {key: value / total for key, value in found.items()}


def _listed(found: Mapping[str, float]) -> str:
    ordered = sorted(found.items(), key=lambda one: -one[1])[:2]
    return ", ".join(f"{key.rpartition('.')[2]} {value:.2f}" for key, value in ordered)


def table_7_direct() -> Obtained:
    """Judges whether block size has an importance of about 1 for writes and reads with direct I/O
    (Table 7 of Kumar 2018)."""
    found = {name: _importance(name, True) for name in ("sequential_write", "sequential_read")}
    text = "; ".join(f"{name}: {_listed(one)}" for name, one in found.items())
    return judged(min(one[BLOCKS] for one in found.values()) >= ABOUT_ONE, text)


def table_7_writes() -> Obtained:
    """Judges whether block size has an importance of about 1 for random writes with caches (Table 7
    of Kumar 2018)."""
    found = _importance("random_write", False)
    return judged(found[BLOCKS] >= ABOUT_ONE, _listed(found))


def table_7_reads() -> Obtained:
    """Judges two statements on reads with caches. The block size is the most important parameter.
    The two cache parameters together have an importance above 0.05."""
    found = _importance("sequential_read", False)
    caches = found["file_system.cache_size"] + found["file_system.io_cache"]
    text = f"{_listed(found)}; cache and its size {caches:.2f}"
    return judged(max(found, key=lambda key: found[key]) == BLOCKS and caches > 0.05, text)


def _curve(operation: str, is_direct: bool, link: str = "") -> Floats:
    """Returns the predicted bytes per second for each block size. `link`: bandwidth of clients and
    servers; "" means the bandwidth of the study's scenario."""
    links = dict.fromkeys(LINKS, link) if link else {}
    state = {**_state(operation, is_direct), **links}
    return _rates(_study(), [{**state, BLOCKS: size} for size in PARAMETERS[BLOCKS]])


def figure_4() -> Obtained:
    """Judges three statements on the throughput with direct I/O, for the four operations and the
    link of the paper's clusters:

    - The throughput never falls when the block size rises.
    - At 256 KiB, the throughput is more than twice as high as at the smallest block size.
    - From 256 KiB to 8 MiB, the throughput is level (see SIMILAR).
    """
    curves = {name: _curve(name, True, GIGABIT) for name in OPERATIONS}
    text = "; ".join(
        f"{name} {curve[0] / 1e6:.2g} to {curve[3] / 1e6:.3g} MB/s at 256 KiB, "
        f"{curve[-1] / 1e6:.3g} at 8 MiB"
        for name, curve in curves.items()
    )
    slow = _curve("sequential_write", True)
    text += f"; writes with the study's link gain a factor of {slow[3] / slow[0]:.1f} only"
    rises = all((np.diff(curve) > -1e-9).all() for curve in curves.values())
    level = all(curve[-1] <= SIMILAR * curve[3] for curve in curves.values())
    return judged(rises and level and all(c[3] > 2 * c[0] for c in curves.values()), text)


def figure_5() -> Obtained:
    """Judges whether the throughput of reads with caches is about level over block sizes."""
    curve = _curve("sequential_read", False)
    text = f"{curve[0] / 1e6:.3g} MB/s at 2 KiB, {curve[-1] / 1e6:.3g} at 8 MiB"
    return judged(float(curve.max() / curve.min()) <= SIMILAR, text)


def figure_3() -> Obtained:
    """Judges whether the throughput of five clients rises linearly with the number of servers. A
    straight line that is fitted to the rates must have R² of at least 0.8."""
    texts, least = [], 1.0
    for operation in ("sequential_write", "sequential_read"):
        state = {
            **_state(operation, False),
            "workload.cache": "cold",
            "workload.clients": 5,
            "deployment.node.client.count": 5,
        }
        counts = [1, 2, 3, 4, 5]
        rates = _rates(_study(), [{**state, "deployment.node.server.count": n} for n in counts])
        r2 = float(np.corrcoef(counts, rates)[0, 1] ** 2)
        texts.append(f"{operation} {r2:.2f}")
        least = min(least, r2)
    return judged(least >= 0.8, f"R² of a line over 1 to 5 servers: {', '.join(texts)}")


@cache
def ocean_minutes() -> dict[str, float]:
    """Returns the predicted minutes of a transfer of 500 GB for each cluster of Table 8 of Kumar
    2018, by name of the cluster.

    The minutes are computed from the bytes per second that `dfslab run scenarios/kumar-ocean.toml`
    prints. This rate is the bytes of writes and reads divided by the time. The time includes
    deletions of files between the iterations.
    """
    found = [SequenceModel().run(one) for one in recordings.scenario("kumar-ocean").points()]
    rates = [one.value("throughput_bytes_per_s") for one in found]
    return {name: OCEAN_BYTES / rate / 60 for name, rate in zip(TABLE_8, rates, strict=True)}


def table_8() -> Obtained:
    """Judges whether the predictions order the five clusters of Table 8 as Kumar 2018 does."""
    found = ocean_minutes()
    text = ", ".join(f"{name} {minutes:.1f} min" for name, minutes in found.items())
    order = sorted(found, key=lambda name: -found[name])
    return judged(order == list(TABLE_8), text)


def fewer_servers_on_infiniband() -> Obtained:
    """Judges whether two servers on InfiniBand are faster than four servers on Gigabit Ethernet
    (Table 8 of Kumar 2018)."""
    ratio = ocean_minutes()["Gigabit, 4"] / ocean_minutes()["InfiniBand, 2"]
    return judged(ratio > 1, f"2 servers on InfiniBand are {ratio:.1f} times as fast (paper: 4.0)")


def more_servers_on_infiniband() -> Obtained:
    """Judges whether throughput on InfiniBand rises from 2 to 4 and to 10 servers."""
    two, four, ten = (ocean_minutes()[f"InfiniBand, {count}"] for count in (2, 4, 10))
    text = f"2 to 4 servers {two / four:.2f} (paper: 1.70), 4 to 10 {four / ten:.2f} (1.96)"
    return judged(two > four > ten, text)


def atom_on_gigabit() -> Obtained:
    """Judges whether Atom servers are about as fast as Xeon servers on Gigabit Ethernet."""
    ratio = ocean_minutes()["Atom, Gigabit, 4"] / ocean_minutes()["Gigabit, 4"]
    return judged(ratio <= SIMILAR, f"Atom takes {ratio:.2f} times as long (paper: 1.21)")


def infiniband_ratio() -> Obtained:
    """Judges whether InfiniBand speeds four servers up by about the ratio of the two bandwidths."""
    ratio = ocean_minutes()["Gigabit, 4"] / ocean_minutes()["InfiniBand, 4"]
    text = f"{ratio:.2f} times as fast for a link {RATIO} times as fast (paper: 6.79)"
    return judged(RATIO / SIMILAR <= ratio <= RATIO * SIMILAR, text)


# The processors of Table 1 by their clock in the scenario, which stands for their points.
PROCESSORS = {
    "0.613 GHz": "Atom",
    "5.56 GHz": "Xeon E3-1265",
    "6.63 GHz": "Xeon E3-1280",
    "2.66 GHz": "Xeon E5430",
    "5.01 GHz": "Xeon X5650",
}


@cache
def _processors() -> dict[tuple[str, str], tuple[str, str]]:
    """Returns (name, power) of the processor that dfslab chooses for each (bandwidth, block size).
    Of the processors whose predicted rate is within 5 % of the highest predicted rate, dfslab
    chooses the processor with the lowest power."""
    scenario = recordings.scenario("kumar-processors")
    found = costs([SequenceModel().run(point) for point in scenario.points()])
    groups: dict[tuple[str, str], list[EnergyCost]] = {}
    for one in found:
        key = (one.labels["deployment.node.server.adapter.bandwidth"], one.labels[BLOCKS])
        groups.setdefault(key, []).append(one)
    best = {key: chosen(own).labels for key, own in groups.items()}
    server = "deployment.node.server"
    return {
        key: (PROCESSORS[labels[f"{server}.frequency"]], labels[f"{server}.power"])
        for key, labels in best.items()
    }


def table_1() -> Obtained:
    """Judges whether dfslab chooses the processor of 45 W on Gigabit Ethernet for requests of 4
    KiB. Kumar 2018 chooses it in Table 1. The chosen processor has the least power of all
    processors that are not the bottleneck. Small requests are judged because they need the most
    processor time."""
    found = _processors()
    small, large = (found[GIGABIT, block] for block in ("4 KiB", "128 KiB"))
    text = f"Gigabit, requests of 4 KiB: {small[0]} ({small[1]}); of 128 KiB: {large[0]} "
    text += f"({large[1]})"
    return judged(small == ("Xeon E3-1265", "45 W"), text)


def infiniband_needs_processors() -> Obtained:
    """Judges whether InfiniBand needs a processor of at least as much power as Gigabit Ethernet
    does, and of more power for large or for small requests."""
    pairs, texts = [], []
    for block in ("128 KiB", "4 KiB"):
        gigabit, infiniband = (_processors()[link, block] for link in (GIGABIT, "5.8 Gbit/s"))
        pairs.append([float(power.partition(" ")[0]) for _, power in (gigabit, infiniband)])
        texts.append(
            f"requests of {block}: {gigabit[0]} ({gigabit[1]}) on Gigabit, "
            f"{infiniband[0]} ({infiniband[1]}) on InfiniBand"
        )
    holds = all(b >= a for a, b in pairs) and any(b > a for a, b in pairs)
    return judged(holds, "; ".join(texts))


def _glusterfs() -> FileSystem:
    return discover.file_system("glusterfs")


def figure_1() -> Obtained:
    """Judges whether the description of GlusterFS has the roles of figure 1 of Kumar 2018: client
    and brick."""
    names = [role.name for role in _glusterfs().roles]
    return judged(set(names) == {"client", "brick"}, f"roles {', '.join(names)}")


def figure_2() -> Obtained:
    """Judges whether the description of GlusterFS has no metadata server and at least five
    parameters of translators."""
    system = _glusterfs()
    names = {role.name for role in system.roles}
    translators = sum(one.source.startswith("performance.") for one in system.parameters)
    text = f"roles {', '.join(sorted(names))}; {translators} settings of translators"
    return judged(names == {"client", "brick"} and translators >= 5, text)
