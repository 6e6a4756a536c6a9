"""Tests of the append-only file of records in which a run stores its results. Damaged records are
reported by name. A crash loses only the result that was being written. If the index is damaged, the
records are read without it."""

import errno
import os
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from dfslab.method import RunFailed
from dfslab.spec.scenario import read
from dfslab.studies.runs import store
from dfslab.studies.runs.records import record_index, record_log
from dfslab.studies.runs.records.record import encoded, key_of
from dfslab.studies.runs.store import Store, load_results, open_run
from support import synthetic
from support.command import dfslab
from support.stored import as_format_1, damage_line, index, keys, lines, records

GRID = {"sizes": ["64 KiB"], "clients": (1, 2)}
PLANTED = synthetic.planted(**GRID)


@pytest.fixture
def folder(tmp_path):
    """Provides the folder of an unfinished run that has stored the planted results."""
    store = open_run(synthetic.scenario(**GRID), tmp_path)
    store.add(*PLANTED)
    return store.folder


def change_value(line):
    return line.replace(b'"value":', b'"value":1', 1)


def write_lines(folder, new):
    first = records(folder).read_bytes().splitlines(keepends=True)[0]
    records(folder).write_bytes(b"".join([first, *new]))


def replaced(folder, change):
    records(folder).write_bytes(change(records(folder).read_bytes()))


def with_value(folder, value):
    """Adds a record that is intact, but whose result has an impossible rate."""
    result = load_results(folder)[0]
    rate = result.metrics["rate_per_s"].model_copy(update={"value": value})
    Store(folder).add(result.model_copy(update={"metrics": {"rate_per_s": rate}}))


def of_another_run(folder):
    """Replaces a record of the run by a record of another run that has the same number and the same
    key."""
    result = next(one for one in load_results(folder) if key_of(one) == keys(folder)[1])
    damage_line(folder, 2, lambda _: encoded(result, "another", 2))


DAMAGE = {
    "value": (lambda f: damage_line(f, 2, change_value), "checksum"),
    "complete": (
        lambda f: damage_line(f, 2, lambda x: x.replace(b"true", b"false", 1)),
        "checksum",
    ),
    "empty line": (lambda f: damage_line(f, 2, lambda _: b"\n"), "checksum"),
    "bytes": (lambda f: damage_line(f, 2, lambda _: b"\xff\xfe\x00\n"), "checksum"),
    "copy": (lambda f: write_lines(f, [*lines(f), lines(f)[1]]), "copy of record 2"),
    "left out": (lambda f: write_lines(f, [lines(f)[0], *lines(f)[2:]]), "record 2 is missing"),
    "other order": (lambda f: write_lines(f, lines(f)[::-1]), "is missing before it"),
    "cut": (lambda f: write_lines(f, lines(f)[:-2]), "is missing: the file was cut"),
    "another run": (of_another_run, "checksum"),
    "not finite": (lambda f: with_value(f, float("nan")), "metrics.rate_per_s"),
    "negative": (lambda f: with_value(f, -5.0), "at least 0"),
    "first line": (lambda f: replaced(f, lambda b: b.replace(b'"run":"', b'"run":"0', 1)), "first"),
    "no first line": (lambda f: replaced(f, lambda b: b.split(b"\n", 1)[1]), "its first line"),
    "zeros": (lambda f: replaced(f, lambda b: b"\0" * 100 + b"\n" + b), "its first line"),
    "scenario": (lambda f: (f / "scenario.toml").open("a").write("\n# x\n"), "another scenario"),
    "link": (lambda f: shutil.move(records(f), f) and records(f).symlink_to("/x"), "no regular"),
    "pipe": (lambda f: records(f).unlink() or os.mkfifo(records(f)), "no regular file"),
    "folder": (lambda f: records(f).unlink() or records(f).mkdir(), "no regular file"),
}


@pytest.mark.parametrize("has_index", [True, False])
@pytest.mark.parametrize("kind", DAMAGE)
def test_damage_is_named_and_nothing_is_concluded(folder, kind, has_index):
    change, reason = DAMAGE[kind]
    change(folder)
    if not has_index and kind != "cut":  # only the index shows that the end is missing
        index(folder).unlink(missing_ok=True)
    with pytest.raises(RunFailed, match=reason):
        load_results(folder)


@pytest.mark.parametrize("command", ["report", "compare", "advise", "export", "fit"])
def test_commands_name_damage_in_one_line(folder, tmp_path, command):
    DAMAGE["value"][0](folder)
    extra = ("-o", tmp_path / "out.csv") if command == "export" else ()
    answer = dfslab(command, folder, *extra)
    failures = [line for line in answer.stderr.splitlines() if str(records(folder)) in line]
    assert (answer.returncode, answer.stdout, len(failures)) == (1, "", 1)


def test_the_end_of_a_run_counts_its_results(folder):
    Store(folder).finish({}, Store(folder).write_table())
    write_lines(folder, lines(folder)[:-2])
    index(folder).unlink()
    with pytest.raises(RunFailed, match="6 results, but the run ended with 8"):
        load_results(folder)
    records(folder).unlink()
    with pytest.raises(RunFailed, match="0 results, but the run ended with 8"):
        load_results(folder)


def test_results_come_back_as_they_were_stored(folder):
    expected = {key_of(one): one for one in PLANTED}
    assert {key_of(one): one for one in load_results(folder)} == expected
    assert {key: Store(folder).find(*key) for key in expected} == expected


def test_the_last_result_of_a_key_is_the_one_that_counts(folder):
    first = load_results(folder)[0]
    again = first.model_copy(update={"notes": ["again"]})
    Store(folder).add(again)
    assert len(load_results(folder)) == 8
    assert Store(folder).find(*key_of(first)) == again
    Store(folder).add(first.model_copy(update={"complete": False}))
    assert Store(folder).find(*key_of(first)) is None


@pytest.mark.parametrize("tail", [b"", b'{"sha256":"', b"\0" * 5000])
def test_a_record_that_a_crash_interrupted_is_cut_off_by_the_next_writer(folder, tail):
    whole = records(folder).read_bytes()
    lost = lines(folder)[-1]
    records(folder).write_bytes(whole[: -len(lost)] + (tail or lost[: len(lost) // 2]))
    index(folder).unlink()
    left = load_results(folder)
    assert len(left) == 7
    (missing,) = [one for one in PLANTED if one not in left]
    Store(folder).add(missing)
    assert records(folder).read_bytes() == whole
    assert len(load_results(folder)) == 8


def test_a_first_line_that_a_crash_interrupted_is_written_again(folder):
    records(folder).write_bytes(b'{"sha256":"00')
    index(folder).unlink()
    assert load_results(folder) == []
    Store(folder).add(*PLANTED)
    assert len(load_results(folder)) == 8


def test_damage_is_measured_again_and_stays_in_the_file(folder):
    key = keys(folder)[1]
    result = Store(folder).find(*key)
    damage_line(folder, 2, change_value)
    damaged = lines(folder)[1]
    store = Store(folder)
    assert store.find(*key) is None
    assert "checksum" in store.damage(*key)
    index(folder).unlink()
    assert "checksum" in Store(folder).damage(*key)
    store.add(result)
    assert lines(folder)[1] == damaged
    assert len(load_results(folder)) == 8
    assert (Store(folder).find(*key), Store(folder).damage(*key)) == (result, "")


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text[: len(text) // 2],
        lambda text: text.replace(b"true", b"false", 1),
        lambda text: b"",
        lambda text: b"\xff" + text,
        lambda text: text + b"rubbish\n",
    ],
)
def test_a_damaged_index_changes_nothing(folder, change):
    found = load_results(folder)
    index(folder).write_bytes(change(index(folder).read_bytes()))
    assert load_results(folder) == found
    assert all(Store(folder).find(*key_of(one)) == one for one in found)
    Store(folder).add(found[0])
    run = record_index.read(index(folder), "another run")
    assert run == []
    assert len(keys(folder)) == len(found)


def test_a_full_disk_leaves_the_records_as_they_were(folder, monkeypatch):
    before = records(folder).read_bytes()
    write = os.write

    def refuse(descriptor, data):
        write(descriptor, data[:100])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(record_log.os, "write", refuse)
    store = Store(folder)
    with pytest.raises(OSError, match=r"records\.jsonl"):
        store.add(load_results(folder)[0])
    monkeypatch.undo()
    assert records(folder).read_bytes() == before
    store.add(load_results(folder)[0])
    assert len(lines(folder)) == 9


def test_a_result_is_on_the_disk_before_it_counts(tmp_path, monkeypatch):
    """When `add` returns, the file has been synchronised with the disk and, if the file is new, its
    folder as well."""
    synced = []
    fsync = os.fsync

    def spy(descriptor):
        synced.append(os.path.basename(os.readlink(f"/proc/self/fd/{descriptor}")))
        fsync(descriptor)

    store = open_run(synthetic.scenario(**GRID), tmp_path)
    monkeypatch.setattr(os, "fsync", spy)
    first, second, *_ = synthetic.planted(**GRID)
    store.add(first)
    assert synced[:2] == ["records.jsonl", "results"]
    synced.clear()
    store.add(second)
    assert synced == ["records.jsonl"]


def test_a_run_of_an_earlier_version_is_resumed(folder):
    expected = {key_of(one): one for one in load_results(folder)}
    as_format_1(folder)
    opened = open_run(read(folder / "scenario.toml"), folder.parents[1])
    assert opened.resumed
    assert all(opened.find(*key) == one for key, one in expected.items())
    more = next(iter(expected.values())).model_copy(update={"repetition": 7})
    opened.add(more)
    found = {key_of(one): one for one in load_results(folder)}
    assert found == {**expected, key_of(more): more}
    opened.finish({}, opened.write_table())
    assert {key_of(one): one for one in load_results(folder)} == found


def test_processes_that_start_one_scenario_at_once_share_one_folder(tmp_path):
    """Several processes start the same scenario at the same time. All of them use the same run
    folder. Only one process may run the scenario in this folder. All other processes are
    refused."""
    scenario = synthetic.scenario(**GRID)
    starts = 8
    together = threading.Barrier(starts)

    def start():
        together.wait()
        return open_run(scenario, tmp_path)

    with ThreadPoolExecutor(starts) as pool:
        opened = [one.result() for one in [pool.submit(start) for _ in range(starts)]]
    assert len({store.folder for store in opened}) == 1
    assert [store.resumed for store in opened].count(False) == 1
    with opened[0].locked(), pytest.raises(RunFailed, match="is running it"), opened[1].locked():
        pass


def test_a_folder_that_is_being_created_is_waited_for(tmp_path, monkeypatch):
    """Two processes start the same scenario. The first has created the run folder but has not
    written the scenario into it yet. The second waits until the scenario is written."""
    scenario, made = synthetic.scenario(**GRID), threading.Event()
    may_write = threading.Event()
    write = store.write_atomically

    def write_late(path, text):
        made.set()
        assert may_write.wait(60)
        write(path, text)

    monkeypatch.setattr(store, "write_atomically", write_late)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(open_run, scenario, tmp_path)
        assert made.wait(60)
        second = pool.submit(open_run, scenario, tmp_path)
        with pytest.raises(TimeoutError):
            second.result(timeout=0.2)
        may_write.set()
        assert first.result().folder == second.result().folder
    assert second.result().resumed
