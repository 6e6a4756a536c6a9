"""Reads the results of a run folder: its records, and the files of earlier formats.

If any result is damaged, an error names it, and no result is used. Otherwise a study would draw
conclusions from the remaining results without showing that a result is missing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from dfslab.method import RunFailed
from dfslab.result import Result
from dfslab.spec.files import regular
from dfslab.studies.runs import stored
from dfslab.studies.runs.records import result_file
from dfslab.studies.runs.records.record import DamagedResult, ResultKey, key_of
from dfslab.studies.runs.records.record_file import Damage
from dfslab.studies.runs.records.record_log import RecordLog

# The file that marks a run as finished. It contains the number of the run's results.
COMPLETE = "complete"


def read_all(folder: Path) -> list[Result]:
    """Returns all results of a run folder, ordered by method, configuration and repetition. Raises
    RunFailed if any record or file is not a usable result; the error names all of them."""
    return sorted(each(folder), key=lambda one: result_file.name(key_of(one)))


def each(folder: Path) -> Iterator[Result]:
    """Yields the results of a run folder one by one, so that they need not fit into memory.

    If any record or file is not a usable result, raises RunFailed after the last usable result. The
    error names all unusable records and files.
    """
    log, damaged = RecordLog(folder), list[str]()
    number = 0
    try:
        files = stored.result_files(folder)
        recorded = set(log.keys()) if files else set[ResultKey]()
        for one in log.read():
            if isinstance(one, Damage):
                damaged.append(f"{log.path}: {one.place}: {one.reason}")
            else:
                number += 1
                yield one
    except DamagedResult as error:
        raise RunFailed(f"{log.path}: {error}") from error
    replaced = log.replaced() if files and recorded else set[str]()
    for path in files:
        try:
            result = result_file.read(path)
        except DamagedResult as error:
            if path.name not in replaced:
                damaged.append(f"{path}: {error}")
            continue
        if key_of(result) not in recorded:
            number += 1
            yield result
    expected = _number_at_the_end(folder)
    if not damaged and expected is not None and number != expected:
        damaged.append(f"{log.path}: {number} results, but the run ended with {expected}")
    if damaged:
        raise RunFailed("\n".join(damaged))


def completed(number: int) -> str:
    """Returns the content of the file that marks a finished run. `number`: number of the run's
    results."""
    return json.dumps({"results": number})


def _number_at_the_end(folder: Path) -> int | None:
    """Returns the number of results that the run had when it ended. Returns None if the run has not
    ended, or if an earlier version of dfslab ran it and did not record the number."""
    try:
        found = json.loads(regular.content(folder / COMPLETE))
        return int(found["results"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
