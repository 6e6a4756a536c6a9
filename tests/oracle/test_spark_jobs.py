"""Tests that the Spark jobs of scenarios/liu-spark.toml give, on a small input, the results of
plain Python."""

from __future__ import annotations

import ast
import math
import os
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv" / "spark" / "bin" / "python"
sys.path.insert(0, str(ROOT / "scenarios" / "programs"))

import spark_jobs as jobs  # noqa: E402

SIZE = "least"
EACH = jobs.SIZES[SIZE] // jobs.PARTS


def made(make: Any) -> list[str]:
    """Returns all lines that the generator `make` writes as a job's input, over all of its
    parts."""
    return [line for part in range(jobs.PARTS) for line in make(part, EACH)]


def links() -> Iterator[tuple[str, str]]:
    for line in made(jobs.edges):
        page, to = line.split()
        yield page, to


def wordcount() -> dict[str, int]:
    return Counter(word for line in made(jobs.words) for word in line.split())


def pagerank() -> dict[str, float]:
    linked = defaultdict(list)
    for page, to in links():
        linked[page].append(to)
    ranks = dict.fromkeys(linked, 1.0)
    for _ in range(jobs.ROUNDS):
        got: dict[str, float] = defaultdict(float)
        for page, pages in linked.items():
            for to in pages:
                # As after Spark's join, a page without incoming links has no rank and contributes
                # none.
                if page in ranks:
                    got[to] += ranks[page] / len(pages)
        ranks = {page: 0.15 + 0.85 * share for page, share in got.items()}
    return ranks


def logistic_regression() -> list[float]:
    rows = [[float(word) for word in line.split()] for line in made(jobs.points)]
    weights = [0.0] * jobs.FEATURES
    for _ in range(jobs.ROUNDS):
        slopes = [0.0] * jobs.FEATURES
        for label, *features in rows:
            score = sum(w * x for w, x in zip(weights, features, strict=True))
            error = 1 / (1 + math.exp(-score)) - label
            slopes = [s + error * x for s, x in zip(slopes, features, strict=True)]
        weights = [w - s / len(rows) for w, s in zip(weights, slopes, strict=True)]
    return weights


def nweight() -> dict[tuple[str, str], int]:
    known = set(links())
    return Counter((a, c) for a, b in known for other, c in known if b == other)


def bayes() -> dict[tuple[int, str], float]:
    lines = [(len(line) % 5, line.split()) for line in made(jobs.words)]
    labels = Counter(label for label, _ in lines)
    pairs = Counter((label, word) for label, said in lines for word in said)
    return {pair: math.log(count / labels[pair[0]]) for pair, count in pairs.items()}


@pytest.fixture(scope="module")
def answers(tmp_path_factory) -> dict[str, list[str]]:
    """Returns the lines of output of each job by the job's name. All jobs run in one local Spark
    with one folder."""
    if not PYTHON.exists():
        pytest.skip("no Spark here: `make spark` installs it")
    folder = tmp_path_factory.mktemp("spark")
    command = [PYTHON, jobs.__file__, ",".join(jobs.JOBS), SIZE, f"file://{folder}"]
    reported = {key: value for key, value in os.environ.items() if key != "HADOOP_CONF_DIR"}
    done = subprocess.run(command, env=reported, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stderr[-3000:]
    return {
        job: [
            line
            for part in sorted((folder / f"{job}-{SIZE}" / "out").glob("part-*"))
            for line in part.read_text().splitlines()
        ]
        for job in jobs.JOBS
    }


def pairs(lines: list[str]) -> dict[Any, Any]:
    found = [ast.literal_eval(line) for line in lines]
    assert len(dict(found)) == len(found), "a key came twice"
    return dict(found)


def test_words_are_counted(answers):
    assert pairs(answers["wordcount"]) == wordcount()


def test_lines_and_records_are_in_order(answers):
    assert answers["sort"] == sorted(made(jobs.words))
    assert answers["terasort"] == sorted(made(jobs.keyed))


def test_ranks_are_those_of_the_links(answers):
    assert pairs(answers["pagerank"]) == pytest.approx(pagerank())


def test_weights_are_those_of_gradient_descent(answers):
    assert [float(line) for line in answers["logistic_regression"]] == pytest.approx(
        logistic_regression()
    )


def test_ways_of_two_steps_are_counted(answers):
    assert pairs(answers["nweight"]) == nweight()


def test_words_under_labels_have_their_likelihood(answers):
    assert pairs(answers["bayes"]) == pytest.approx(bayes())
