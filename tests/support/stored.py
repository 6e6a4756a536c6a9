"""What a run folder stores, changed by tests: records, and files of earlier formats."""

import json
from pathlib import Path

from dfslab.studies.runs.records import result_file
from dfslab.studies.runs.records.record import key_of
from dfslab.studies.runs.records.record_log import INDEX, RecordLog
from dfslab.studies.runs.store import Store, load_results
from dfslab.studies.runs.stored import RECORDS


def records(folder):
    """The file of records of a run folder."""
    return folder / "results" / RECORDS


def index(folder):
    """The index of the records of a run folder."""
    return folder / "results" / INDEX


def keys(folder):
    """The keys of the stored results, in the order in which they were first stored."""
    return RecordLog(folder).keys()


def store_only(folder, results):
    """Replace all stored results of a run folder by others."""
    for name in (records(folder), index(folder), folder / "complete"):
        name.unlink(missing_ok=True)
    if results:
        Store(folder).add(*results)


def keep_only(folder, chosen):
    """Drop the stored results that `chosen` refuses."""
    store_only(folder, [one for one in load_results(folder) if chosen(one)])


def lines(folder):
    """The lines of the records without the first one of the file."""
    return records(folder).read_bytes().splitlines(keepends=True)[1:]


def damage_line(folder, number, change):
    """Change the record `number` (from 1) by a function of its bytes; the index stays."""
    all_lines = records(folder).read_bytes().splitlines(keepends=True)
    all_lines[number] = change(all_lines[number])
    records(folder).write_bytes(b"".join(all_lines))


def as_format_1(folder):
    """Store the results of a run folder as an earlier version did: one file each."""
    for result in load_results(folder):
        document = json.loads(result.model_dump_json())
        head = {"format": 1, "sha256": result_file.checksum_of(document)}
        path = Path(folder, "results", result_file.name(key_of(result)))
        path.write_text(json.dumps({**head, **document}, separators=(",", ":")))
    store_only(folder, [])
