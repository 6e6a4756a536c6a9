"""Compares Wu 2013, section 4.2, with dfslab's model of the metadata server. The compared
statements are about the memory, the benchmark scores and the response times of the server, and
about bursts of requests."""

from __future__ import annotations

from dfslab.models.fit import laws
from dfslab.models.queue import burst
from dfslab.models.queue.metadata_server import ServerLimits, limits
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario
from dfslab.studies.server_law import PAPER, ServerLaw, server_law

from verification import recordings
from verification.papers.obtained import Obtained, judged, not_judged

# Values of Wu 2013 for each NameNode. SCORES has the benchmark scores of Table 5. COEFFICIENTS has
# the coefficients k in milliseconds of Wu's law: response time = k x ln x for x clients. PER_MS has
# the values of 1 / k of Table 6.
SCORES = {"nn1": 7.7, "nn2": 27.0, "nn3": 48.0}
PER_MS = {"nn1": 0.90490, "nn2": 3.17521, "nn3": 6.04705}
COEFFICIENTS = {"nn1": 1.10509, "nn2": 0.31494, "nn3": 0.16537}


def _scenario(memory: str = "16 GiB", file_size: str = "64 MiB") -> Scenario:
    """Returns a scenario of HDFS with one NameNode. By default it has a memory of 16 GiB, as in
    Wu's example."""
    nodes = [
        {"name": "master", "memory": memory, "roles": {"namenode": 1}},
        {"name": "server", "count": 3, "roles": {"datanode": 1}},
        {"name": "client", "roles": {"client": 1}},
    ]
    return build(
        Scenario,
        {
            "name": "wu-memory",
            "deployment": {"node": nodes},
            "file_system": {"name": "hdfs", "block_size": "64 MiB"},
            "workload": {"name": "sequential_read", "file_size": file_size},
        },
    )


def _limits() -> ServerLimits:
    return limits(_scenario())


def memory() -> Obtained:
    """Judges whether a NameNode of 16 GiB holds Wu's 86 million files."""
    by_source = {one.source.split(":")[0]: one.files / 1e6 for one in _limits().files}
    others = ", ".join(
        f"{name} {files:.3g} M" for name, files in by_source.items() if "Wu" not in name
    )
    wu = next(files for name, files in by_source.items() if "Wu" in name)
    return judged(round(wu) == 86, f"{wu:.3g} M by 200 B a file; by other sources {others}")


def memory_by_blocks() -> Obtained:
    """Judges whether a NameNode of 16 GiB holds as many files of 200 blocks as files of one block.
    In the calculation, each file and each block takes 200 B of memory."""
    sizes = {1: "64 MiB", 200: "12.5 GiB"}
    found = {blocks: limits(_scenario(file_size=size)).files[0] for blocks, size in sizes.items()}
    texts = [f"{one.files / 1e6:.3g} M of {blocks} blocks" for blocks, one in found.items()]
    same = found[1].files == found[200].files
    return judged(same, f"{', '.join(texts)}, by 200 B for the file and for each block")


def several_servers() -> Obtained:
    """Judges whether two NameNodes count as one with the memory and the processors of both."""
    one, two = limits(_scenario()), limits(_scenario(), servers=2)
    files = two.files[0].files / one.files[0].files
    rate = two.capacity[0].rate_per_s / one.capacity[0].rate_per_s
    text = f"two NameNodes hold {files:.3g} times the files of one and serve {rate:.3g} times the "
    return judged(files == rate == 2, f"{text}{two.capacity[0].operation}s; {two.assumptions[-1]}")


def capacity() -> Obtained:
    """Judges whether the description of HDFS predicts the largest rates of reads, writes and
    metadata operations, in requests per second."""
    found = {one.operation: one for one in _limits().capacity}
    texts = [
        f"{name} {found[name].rate_per_s:,.0f}/s ({found[name].bottleneck})"
        for name in ("stat", "create")
    ]
    return judged(all(name in found for name in ("read", "write", "stat")), ", ".join(texts))


def mean_wait() -> Obtained:
    """Judges whether the formula of the mean wait in a burst agrees with a simulation of the
    queue."""
    printed = 5 * (1500 - 1000) / (2 * 1000)
    simulated = burst.simulated(1500, 1000, 5).mean_s
    text = f"p = 1500/s, q = 1000/s, t = 5 s: {printed:.3g} s by the formula, "
    text += f"{simulated:.3g} s simulated"
    return judged(abs(simulated / printed - 1) < 0.05, text)


def no_queue_below_capacity() -> Obtained:
    """Judges whether requests hardly wait if their rate is 90 % of the capacity."""
    waited = burst.waits(900, 1000, 5).mean_s
    text = f"at 0.9 of q a response takes {(waited + 0.001) / 0.001:.3g} service times"
    return judged(waited < 0.001, text)


def equation_12() -> Obtained:
    """Judges whether dfslab's largest burst within a bound on the mean response time equals that of
    equation (12) of Wu 2013."""
    q, length_s, bound_s, network_s = 10_000.0, 60.0, 1.0, 0.001
    printed = 2 * q * (bound_s - network_s) / length_s + q
    found = burst.largest_peak_per_s(q, bound_s, network_s, length_s)
    text = (
        f"q = 10,000/s, T = 60 s, B = 1 s, C = 1 ms: {found:.6g}/s, by the formula {printed:.6g}/s"
    )
    return judged(abs(found / printed - 1) < 1e-9, text)


def table_5() -> Obtained:
    """Returns two lists of ratios, which are not judged. The first list has the ratios of the
    NameNodes' benchmark scores in Wu 2013. The second list has the ratios of scores that dfslab
    measured at several processor shares."""
    ratios = [SCORES[name] / SCORES["nn1"] for name in ("nn2", "nn3")]
    law = _law()
    own = ", ".join(f"{one.share:g} of a core {one.score_ratio:.3g}" for one in law.ratios)
    paper = f"paper 1 : {ratios[0]:.4f} : {ratios[1]:.4f}"
    return not_judged(f"{paper}; own scores relative to the smallest share: {own}")


def _law() -> ServerLaw:
    found = server_law(recordings.runs("wu-namenode", "wu-namenode"))
    assert found is not None
    return found


def table_6() -> Obtained:
    """Judges whether Table 6 of Wu 2013 is consistent. The printed 1 / k must agree with the
    printed k. For each NameNode, two values of the capacity must agree within 10 %: one is computed
    from the score of the NameNode, and one from its law."""
    close = all(abs(1 / COEFFICIENTS[name] - PER_MS[name]) < 2e-4 for name in SCORES)
    off = {
        name: laws.capacity_from_score(SCORES[name], 99, SCORES["nn1"], PER_MS["nn1"])
        / laws.capacity_from_score(1, 99, 1, PER_MS[name])
        - 1
        for name in SCORES
    }
    texts = ", ".join(f"{name} {100 * one:+.1f} %" for name, one in off.items())
    text = f"1 / k agree with the coefficients; q by score against q by the law of each: {texts}"
    return judged(close and all(abs(one) < 0.1 for one in off.values()), text)


def printed_constant() -> Obtained:
    """Judges whether the divisor in Wu's formula of the capacity q is right. With the printed
    divisor, q of the NameNode nn1 must be within 10 % of the capacity that is computed from the law
    of nn1."""
    true = laws.capacity_from_score(1, 99, 1, PER_MS["nn1"])
    printed = laws.capacity_from_score(SCORES["nn1"], 99, 17, PER_MS["nn1"])
    return judged(
        abs(printed / true - 1) < 0.1,
        f"q of nn1 itself comes out {100 * (printed / true - 1):+.0f} %",
    )


def figure_6() -> Obtained:
    """Judges whether the law x ln x fits the recorded response times with R² above 0.99. The text
    also names the most likely law."""
    curves = [one for one in _law().curves if one.files == "each"]
    texts, holds = [], True
    for one in curves:
        paper = next(fit for fit in one.fits if fit.law == PAPER)
        best = one.fits[0]
        holds &= paper.r2 > 0.99
        texts.append(
            f"{one.share:g} of a core: x ln x R² {paper.r2:.2f}, weight {paper.weight:.0%}; "
            f"{best.law} R² {best.r2:.3f}"
        )
    return judged(holds, "; ".join(texts))


def throughput_falls() -> Obtained:
    """Judges whether the metadata server serves fewer requests per second with 128 clients than
    with 2, as the law x ln x predicts."""
    curves = [one for one in _law().curves if one.files == "each"]
    texts = [f"{one.share:g} of a core: {one.rates[-1] / one.rates[1]:.3g}" for one in curves]
    falls = all(one.rates[-1] < one.rates[1] for one in curves)
    text = f"rate at 128 clients over rate at 2: {', '.join(texts)}; the law: {0.693 / 4.852:.2f}"
    return judged(falls, text)


def law_at_constant_files() -> Obtained:
    """Judges whether the rate hardly depends on the number of clients if the number of files is
    constant. The rate may change by at most 10 %. By Wu's law, the response time is proportional to
    l ln c for l clients and c files. With a constant c, the rate is therefore constant."""
    curves = [one for one in _law().curves if one.files == "in all"]
    growths = [one.rates[-1] / one.rates[0] for one in curves]
    text = ", ".join(
        f"{one.share:g} of a core: {growth:.3g} from {one.clients[0]} to {one.clients[-1]} clients"
        for one, growth in zip(curves, growths, strict=True)
    )
    return judged(
        all(abs(one - 1) <= 0.1 for one in growths), f"the rate changes by a factor of {text}"
    )


def law_and_capacity() -> Obtained:
    """Judges whether one law of the server's capacity is best by two criteria. On the measurements
    of the fit, it must have the largest weight of evidence. On capacities that were left out of the
    fit, it must have the smallest median error."""
    law = _law()
    best = min(law.capacity, key=lambda one: one.median_abs_error)
    return judged(best.law == law.capacity[0].law, law.conclusion)
