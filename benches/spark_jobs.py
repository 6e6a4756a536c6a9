"""Seven Spark jobs in the style of HiBench on a file system: their inputs made, read, answered.

Run as `spark_jobs.py JOB SIZE` by a Python that has pyspark, with HADOOP_CONF_DIR set. Every job
first writes its input, so that what is traced holds both; all that is random has a seed.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Callable, Iterator
from typing import Any

# Records of an input; HiBench's sizes are for clusters.
SIZES = {"tiny": 2_000, "small": 50_000, "large": 500_000}
PARTS = 4
SEED = 6
ROUNDS = 3
FEATURES = 10
Session = Any


def words(part: int, count: int) -> Iterator[str]:
    """Lines of eight words, common and rare as in any text."""
    drawn = random.Random(f"{SEED} {part}")
    for _ in range(count):
        yield " ".join(f"w{int(drawn.paretovariate(0.8)) % 5000}" for _ in range(8))


def edges(part: int, count: int) -> Iterator[str]:
    """Links between pages, few of which are linked often."""
    drawn = random.Random(f"{SEED} {part}")
    for _ in range(count):
        yield f"{drawn.randrange(count // 4)} {int(drawn.paretovariate(0.8)) % (count // 4)}"


def points(part: int, count: int) -> Iterator[str]:
    """A label and features around its centre."""
    drawn = random.Random(f"{SEED} {part}")
    for _ in range(count):
        label = drawn.randrange(2)
        told = " ".join(f"{drawn.gauss(2 * label - 1, 2):.4f}" for _ in range(FEATURES))
        yield f"{label} {told}"


def keyed(part: int, count: int) -> Iterator[str]:
    """Records of TeraSort's shape: ten characters of key, ninety of value."""
    drawn = random.Random(f"{SEED} {part}")
    for _ in range(count):
        yield f"{drawn.randrange(10**10):010}{'x' * 88}"


def _folder(spark: Session) -> str:
    """Where a job's files are: under its own name."""
    return f"/spark/{spark.sparkContext.appName}"


def _written(spark: Session, make: Callable[[int, int], Iterator[str]], count: int) -> Any:
    """An input on the file system, read back."""
    context = spark.sparkContext
    each = count // PARTS
    made = context.parallelize(range(PARTS), PARTS).flatMap(lambda part: make(part, each))
    folder = f"{_folder(spark)}/in"
    made.saveAsTextFile(folder)
    return context.textFile(folder, PARTS)


def wordcount(spark: Session, count: int) -> int:
    """How often each word occurs."""
    lines = _written(spark, words, count)
    counted = lines.flatMap(str.split).map(lambda word: (word, 1)).reduceByKey(lambda a, b: a + b)
    counted.saveAsTextFile(f"{_folder(spark)}/out")
    return counted.count()


def sort(spark: Session, count: int) -> int:
    """Lines in order."""
    ordered = _written(spark, words, count).sortBy(lambda line: line)
    ordered.saveAsTextFile(f"{_folder(spark)}/out")
    return ordered.count()


def terasort(spark: Session, count: int) -> int:
    """Records in the order of their keys, in ranges."""
    records = _written(spark, keyed, count).map(lambda line: (line[:10], line[10:]))
    ordered = records.sortByKey(numPartitions=PARTS)
    ordered.map("".join).saveAsTextFile(f"{_folder(spark)}/out")
    return ordered.count()


def pagerank(spark: Session, count: int) -> int:
    """Ranks of pages by the ranks of those that link to them; links are read in every round."""
    links = _written(spark, edges, count).map(lambda line: tuple(line.split())).groupByKey()
    ranks = links.mapValues(lambda _: 1.0)
    for _ in range(ROUNDS):
        shares = links.join(ranks).flatMap(
            lambda page: [(to, page[1][1] / len(page[1][0])) for to in page[1][0]]
        )
        ranks = shares.reduceByKey(lambda a, b: a + b).mapValues(lambda sum_: 0.15 + 0.85 * sum_)
    ranks.saveAsTextFile(f"{_folder(spark)}/out")
    return ranks.count()


def logistic_regression(spark: Session, count: int) -> int:
    """Weights by gradient descent; the points are read in every round, as without a cache."""
    told = _written(spark, points, count).map(lambda line: [float(word) for word in line.split()])
    weights = [0.0] * FEATURES
    for _ in range(ROUNDS):
        now = list(weights)

        def gradient(row: list[float], now: list[float] = now) -> list[float]:
            score = sum(w * x for w, x in zip(now, row[1:], strict=True))
            error = 1 / (1 + math.exp(-max(-30.0, min(30.0, score)))) - row[0]
            return [error * x for x in row[1:]]

        sums = told.map(gradient).reduce(lambda a, b: [x + y for x, y in zip(a, b, strict=True)])
        weights = [w - slope / count for w, slope in zip(weights, sums, strict=True)]
    spark.sparkContext.parallelize(weights, 1).saveAsTextFile(f"{_folder(spark)}/out")
    return len(weights)


def nweight(spark: Session, count: int) -> int:
    """Who is reached in two steps, and by how many ways."""
    links = _written(spark, edges, count).map(lambda line: tuple(line.split())).distinct()
    back = links.map(lambda link: (link[1], link[0]))
    two = back.join(links).map(lambda ways: (ways[1], 1)).reduceByKey(lambda a, b: a + b)
    two.saveAsTextFile(f"{_folder(spark)}/out")
    return two.count()


def bayes(spark: Session, count: int) -> int:
    """How often each word occurs under each label, and the labels themselves."""
    lines = _written(spark, words, count)
    labelled = lines.map(lambda line: (len(line) % 5, line.split()))
    labels = labelled.mapValues(lambda _: 1).reduceByKey(lambda a, b: a + b).collectAsMap()
    pairs = labelled.flatMap(lambda one: [((one[0], word), 1) for word in one[1]])
    model = pairs.reduceByKey(lambda a, b: a + b).map(
        lambda pair: (pair[0], math.log(pair[1] / labels[pair[0][0]]))
    )
    model.saveAsTextFile(f"{_folder(spark)}/out")
    return model.count()


JOBS = {
    job.__name__: job
    for job in (wordcount, sort, terasort, pagerank, logistic_regression, nweight, bayes)
}


def main() -> None:
    """Run one job and say how many records its answer has."""
    if len(sys.argv) != 3 or sys.argv[1] not in JOBS or sys.argv[2] not in SIZES:
        print(f"usage: spark_jobs.py {'|'.join(JOBS)} {'|'.join(SIZES)}", file=sys.stderr)
        sys.exit(2)
    from pyspark.sql import SparkSession

    told = {
        "spark.ui.enabled": "false", "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1", "spark.driver.memory": "1g",
        "spark.sql.shuffle.partitions": str(PARTS),
    }  # fmt: skip
    builder = SparkSession.builder.master("local[2]").appName("-".join(sys.argv[1:]))
    for key, value in told.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    try:
        print(f"{sys.argv[1]}: {JOBS[sys.argv[1]](spark, SIZES[sys.argv[2]])} records")
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
