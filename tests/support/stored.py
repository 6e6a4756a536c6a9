"""Functions that read and change the files of a run folder. Tests use these functions to damage
records, or to store results in an earlier format."""

import json
from pathlib import Path

from dfslab.studies.runs.records import result_file
from dfslab.studies.runs.records.record import key_of
from dfslab.studies.runs.records.record_log import INDEX, RecordLog
from dfslab.studies.runs.store import Store, load_results
from dfslab.studies.runs.stored import RECORDS


def records(folder):
    """Returns the path of the file with the records of a run folder. A record is one line with one
    result."""
    return folder / "results" / RECORDS


def index(folder):
    """Returns the path of the file that indexes a run folder's records."""
    return folder / "results" / INDEX


def keys(folder):
    """Returns the keys of the stored results, in the order in which they were first stored."""
    return RecordLog(folder).keys()


def store_only(folder, results):
    """Replaces all stored results of a run folder by `results`."""
    for name in (records(folder), index(folder), folder / "complete"):
        name.unlink(missing_ok=True)
    if results:
        Store(folder).add(*results)


def keep_only(folder, chosen):
    """Removes the stored results for which `chosen` returns false."""
    store_only(folder, [one for one in load_results(folder) if chosen(one)])


def lines(folder):
    """Returns the lines of the file of records, except the first line, which is its header."""
    return records(folder).read_bytes().splitlines(keepends=True)[1:]


def damage_line(folder, number, change):
    """Replaces the record with the number `number` (from 1) by `change(record)`, both as bytes. The
    index is not changed."""
    all_lines = records(folder).read_bytes().splitlines(keepends=True)
    all_lines[number] = change(all_lines[number])
    records(folder).write_bytes(b"".join(all_lines))


def as_format_1(folder):
    """Stores the results of a run folder as an earlier version did, with one file for each
    result."""
    for result in load_results(folder):
        document = json.loads(result.model_dump_json())
        head = {"format": 1, "sha256": result_file.checksum_of(document)}
        path = Path(folder, "results", result_file.name(key_of(result)))
        path.write_text(json.dumps({**head, **document}, separators=(",", ":")))
    store_only(folder, [])
