"""Seven Spark jobs in the style of HiBench. Each writes its input to a file system, reads it and
writes its output.

Run as `spark_jobs.py JOB SIZE [FOLDER]` by a Python that has pyspark, with HADOOP_CONF_DIR set. JOB
may be several jobs, joined by commas. The input is written to FOLDER/JOB-SIZE/in and the output to
FOLDER/JOB-SIZE/out; FOLDER is /spark by default. Because every job writes its own input, a trace of
the job contains writes and reads. The random inputs have a fixed seed. The function of a job
returns the number of records of its output.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Callable, Iterator
from typing import Any

# SIZES has the number of records of an input for each size. The sizes are smaller than those of
# HiBench, which are for clusters. In HiBench, "huge" has ten times the records of "large". Here, it
# has only 10 * HUGE_SCALE times the records of "large", so that a job ends in minutes on two cores.
HUGE_SCALE = 0.2
SIZES = {
    "least": 80,
    "tiny": 2_000,
    "small": 50_000,
    "large": 500_000,
    "huge": int(HUGE_SCALE * 10 * 500_000),
}
PARTS = 4
SEED = 6
ROUNDS = 3
FEATURES = 10
Session = Any


def words(part: int, count: int) -> Iterator[str]:
    """Yields `count` lines of eight words each for the part `part` of an input. A few words are
    common and most are rare, as in a natural text (Pareto distribution)."""
    drawn = random.Random(f"{SEED} {part}")
    for _ in range(count):
        yield " ".join(f"w{int(drawn.paretovariate(0.8)) % 5000}" for _ in range(8))


def edges(part: int, count: int) -> Iterator[str]:
    """Yields `count` links "FROM TO" between pages. Few pages are the target of many links (Pareto
    distribution)."""
    drawn = random.Random(f"{SEED} {part}")
    for _ in range(count):
        yield f"{drawn.randrange(count // 4)} {int(drawn.paretovariate(0.8)) % (count // 4)}"


def points(part: int, count: int) -> Iterator[str]:
    """Yields `count` lines with a label, 0 or 1, and FEATURES features. The features are normally
    distributed around -1 for the label 0 and around 1 for the label 1."""
    drawn = random.Random(f"{SEED} {part}")
    for _ in range(count):
        label = drawn.randrange(2)
        told = " ".join(f"{drawn.gauss(2 * label - 1, 2):.4f}" for _ in range(FEATURES))
        yield f"{label} {told}"


def keyed(part: int, count: int) -> Iterator[str]:
    """Yields `count` records in the form of TeraSort: a key of ten digits and a value of 88
    characters."""
    drawn = random.Random(f"{SEED} {part}")
    for _ in range(count):
        yield f"{drawn.randrange(10**10):010}{'x' * 88}"


def _written(
    spark: Session, folder: str, make: Callable[[int, int], Iterator[str]], count: int
) -> Any:
    """Writes `count` records, which `make` yields in PARTS parts, to the folder `in`. Returns the
    Spark data set (RDD) that reads them from there."""
    context = spark.sparkContext
    each = count // PARTS
    made = context.parallelize(range(PARTS), PARTS).flatMap(lambda part: make(part, each))
    made.saveAsTextFile(f"{folder}/in")
    return context.textFile(f"{folder}/in", PARTS)


def wordcount(spark: Session, folder: str, count: int) -> int:
    """Counts how often each word occurs."""
    lines = _written(spark, folder, words, count)
    counted = lines.flatMap(str.split).map(lambda word: (word, 1)).reduceByKey(lambda a, b: a + b)
    counted.saveAsTextFile(f"{folder}/out")
    return counted.count()


def sort(spark: Session, folder: str, count: int) -> int:
    """Sorts the lines."""
    ordered = _written(spark, folder, words, count).sortBy(lambda line: line)
    ordered.saveAsTextFile(f"{folder}/out")
    return ordered.count()


def terasort(spark: Session, folder: str, count: int) -> int:
    """Sorts records by their keys. Each part of the output has one range of keys."""
    records = _written(spark, folder, keyed, count).map(lambda line: (line[:10], line[10:]))
    ordered = records.sortByKey(numPartitions=PARTS)
    ordered.map("".join).saveAsTextFile(f"{folder}/out")
    return ordered.count()


def pagerank(spark: Session, folder: str, count: int) -> int:
    """Computes the rank of each page in ROUNDS rounds, from the ranks of the pages that link to it.
    The links are not cached, so they are read again in every round."""
    links = _written(spark, folder, edges, count).map(lambda line: tuple(line.split())).groupByKey()
    ranks = links.mapValues(lambda _: 1.0)
    for _ in range(ROUNDS):
        shares = links.join(ranks).flatMap(
            lambda page: [(to, page[1][1] / len(page[1][0])) for to in page[1][0]]
        )
        ranks = shares.reduceByKey(lambda a, b: a + b).mapValues(lambda sum_: 0.15 + 0.85 * sum_)
    ranks.saveAsTextFile(f"{folder}/out")
    return ranks.count()


def logistic_regression(spark: Session, folder: str, count: int) -> int:
    """Fits the weights of a logistic regression by ROUNDS rounds of gradient descent. The points
    are not cached, so they are read again in every round."""
    told = _written(spark, folder, points, count).map(
        lambda line: [float(word) for word in line.split()]
    )
    weights = [0.0] * FEATURES
    for _ in range(ROUNDS):
        now = list(weights)

        def gradient(row: list[float], now: list[float] = now) -> list[float]:
            score = sum(w * x for w, x in zip(now, row[1:], strict=True))
            error = 1 / (1 + math.exp(-max(-30.0, min(30.0, score)))) - row[0]
            return [error * x for x in row[1:]]

        sums = told.map(gradient).reduce(lambda a, b: [x + y for x, y in zip(a, b, strict=True)])
        weights = [w - slope / count for w, slope in zip(weights, sums, strict=True)]
    spark.sparkContext.parallelize(weights, 1).saveAsTextFile(f"{folder}/out")
    return len(weights)


def nweight(spark: Session, folder: str, count: int) -> int:
    """Counts for each pair of pages how many paths of two links lead from the first page to the
    second."""
    links = _written(spark, folder, edges, count).map(lambda line: tuple(line.split())).distinct()
    back = links.map(lambda link: (link[1], link[0]))
    two = back.join(links).map(lambda ways: (ways[1], 1)).reduceByKey(lambda a, b: a + b)
    two.saveAsTextFile(f"{folder}/out")
    return two.count()


def bayes(spark: Session, folder: str, count: int) -> int:
    """Fits a naive Bayes model. For each pair of label and word, it computes ln(occurrences of the
    word in lines with the label / number of lines with the label)."""
    lines = _written(spark, folder, words, count)
    labelled = lines.map(lambda line: (len(line) % 5, line.split()))
    labels = labelled.mapValues(lambda _: 1).reduceByKey(lambda a, b: a + b).collectAsMap()
    pairs = labelled.flatMap(lambda one: [((one[0], word), 1) for word in one[1]])
    model = pairs.reduceByKey(lambda a, b: a + b).map(
        lambda pair: (pair[0], math.log(pair[1] / labels[pair[0][0]]))
    )
    model.saveAsTextFile(f"{folder}/out")
    return model.count()


JOBS = {
    job.__name__: job
    for job in (wordcount, sort, terasort, pagerank, logistic_regression, nweight, bayes)
}


def main() -> None:
    """Runs the jobs that the command line names, and prints the number of records in the output of
    each."""
    jobs, size, folder = [*sys.argv[1:], "/spark"][:3] if 3 <= len(sys.argv) <= 4 else ("", "", "")
    if not set(jobs.split(",")) <= set(JOBS) or size not in SIZES:
        print(f"usage: spark_jobs.py {'|'.join(JOBS)} {'|'.join(SIZES)} [FOLDER]", file=sys.stderr)
        sys.exit(2)
    from pyspark.sql import SparkSession

    told = {
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.sql.shuffle.partitions": str(PARTS),
    }
    builder = SparkSession.builder.master("local[2]").appName(f"{jobs}-{size}")
    for key, value in told.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    try:
        if size == "huge":
            print(f"huge: {HUGE_SCALE:g} of ten times large, {SIZES[size]} records", flush=True)
        for job in jobs.split(","):
            count = JOBS[job](spark, f"{folder}/{job}-{size}", SIZES[size])
            print(f"{job}: {count} records", flush=True)
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
