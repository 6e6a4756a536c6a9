"""Makes the scenario for `dfslab measure DIRECTORY`: transfers to and from files of one
directory."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from dfslab.spec import units
from dfslab.spec.design import LevelValue
from dfslab.spec.files.answering import is_directory
from dfslab.spec.input_error import InputError, unknown
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario
from dfslab.spec.toml import TomlTable
from dfslab.workloads.transfers import Mode

MODES: tuple[Mode, ...] = get_args(Mode)
# Largest proportion of the free space that the files of a measurement may occupy.
SPACE_SHARE = 0.8
# Number of transfers planned for each client. No client completes this number before the time
# limit, so the time limit ends the run.
ENDLESS = 1_000_000_000
# Direct I/O needs sizes that are multiples of the disk's sector size. 4096 B is a multiple of all
# common sector sizes.
SECTOR_BYTES = 4096


# The options whose values become keys of the scenario.
_OPTION_OF = {
    "run.time_limit": "--time",
    "run.repetitions": "--repetitions",
    "workload.clients": "--clients",
}


@dataclass(frozen=True)
class Transfers:
    """The transfers to measure, as the user wrote them in the options of `dfslab measure`. Each
    text may list several values, separated by commas.

    `size`: bytes of all files together; each client has one file, and all files have equal size.
    `cache`: "warm", "cold" or "direct", as in the scenario key `workload.cache`.
    """

    block_sizes: str = "4k,1m"
    modes: str = "read,randread,randwrite"
    clients: str = "1,8"
    size: str = "256m"
    time: str = "5s"
    cache: str = "warm"
    repetitions: int = 3


def scenario(directory: Path, wanted: Transfers) -> Scenario:
    """Returns the scenario that measures transfers in `directory`.

    Raises InputError if an option has a wrong value or if the directory cannot be used. The text of
    the error names the option or the reason.
    """
    check_directory(directory)
    blocks = [
        int(positive_quantity("--bs", text, "B")) for text in _listed("--bs", wanted.block_sizes)
    ]
    size_bytes = int(positive_quantity("--size", wanted.size, "B"))
    time_s = positive_quantity("--time", wanted.time, "s")
    _check_blocks(blocks, wanted)
    _check_room(directory, size_bytes, wanted.size)
    clients = [_clients(text) for text in _listed("--clients", wanted.clients)]
    modes = [_mode(text) for text in _listed("--rw", wanted.modes)]
    parts = [_part_bytes(size_bytes, number, blocks, wanted.size) for number in clients]
    return _built(
        {
            "schema": 1,
            "name": folder_name(directory),
            "title": f"How fast are transfers in {directory}?",
            "deployment": {"node": [this_machine()]},
            "file_system": {"name": "local", "access": {"directory": str(directory.resolve())}},
            "workload": {"name": "transfers", "cache": wanted.cache, **_length(wanted.cache)},
            "run": {
                "methods": ["measure"],
                "repetitions": wanted.repetitions,
                "timed": True,
                "time_limit": units.exact(time_s, "s"),
            },
            "sweep": [
                _grid(modes, blocks, number, part)
                for number, part in zip(clients, parts, strict=True)
            ],
        }
    )


def _length(cache: str) -> dict[str, LevelValue]:
    """Returns the workload's keys that set how much a timed part may transfer.

    Cold transfers end after one pass over the files, in which each place is transferred once,
    because the page cache would serve a second pass. Other transfers go on until the time limit.
    """
    if cache == "cold":
        return {"operations_per_client": 0, "once": True}
    return {"operations_per_client": ENDLESS}


def _built(table: object) -> Scenario:
    """Returns the scenario in `table`. Raises InputError, which names the option of the command
    instead of the scenario's key."""
    try:
        return build(Scenario, table)
    except InputError as error:
        option = _OPTION_OF.get(error.key, error.key)
        raise InputError(option, error.value, error.allowed) from error


def check_directory(directory: Path) -> None:
    """Raises InputError if no files can be made in the directory."""
    if not is_directory(directory):
        raise InputError("DIRECTORY", str(directory), "must be an existing directory")
    if not os.access(directory, os.W_OK | os.X_OK):
        user = f"user {os.geteuid()} may not make files here"
        raise InputError("DIRECTORY", str(directory), f"{user}; try another one or `sudo`")


def _grid(
    modes: Sequence[Mode], blocks: Sequence[int], clients: int, part_bytes: int
) -> dict[str, list[LevelValue]]:
    """Returns one grid of the scenario's sweep: a table from scenario keys to lists of values.
    Every combination of these values is measured.

    `clients` is the number of clients, and `part_bytes` the size of each client's file in bytes.
    """
    return {
        "workload.mode": list(modes),
        "workload.transfer_size": [units.exact(block, "B") for block in blocks],
        "workload.clients": [clients],
        "workload.file_size": [units.exact(part_bytes, "B")],
    }


def this_machine() -> TomlTable:
    """Returns the description of this machine for a scenario: a table of one node with its cores
    and its memory."""
    memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "name": "machine",
        "cores": os.cpu_count() or 1,
        "memory": units.exact(memory_bytes, "B"),
        "roles": {"client": 1, "storage": 1},
    }


def folder_name(place: Path, is_path: bool = True) -> str:
    """Makes a name for run folders from a path, such as `mnt-data`.

    The name is the last 64 characters of the path, with hyphens between its parts. The name is
    "root" if nothing remains. If `is_path` is true, the path is made absolute first."""
    shown = str(place.resolve() if is_path else place)
    words = re.sub(r"[^A-Za-z0-9_.]+", "-", shown).strip("-._")
    return words[-64:].lstrip("-._") or "root"


def _listed(option: str, text: str) -> list[str]:
    """Returns the items of a list separated by commas, without repetitions.

    Raises InputError with the name of the option if an item is empty. fio accepts empty items, as
    in "4k,,8k", because it has separate sizes for reads and writes. `dfslab measure` has no such
    separate sizes.
    """
    found = list(dict.fromkeys(one.strip() for one in text.split(",")))
    if not any(found):
        raise InputError(option, text, "needs at least one value")
    if not all(found):
        raise InputError(option, text, "has an empty value; write values such as 4k,1m")
    return found


def positive_quantity(option: str, text: str, unit: str) -> float:
    """Parses the text of an option and returns the quantity in `unit`, an SI unit. Raises
    InputError if the quantity is not positive."""
    try:
        found = units.parse(text, unit)
    except ValueError as error:
        raise InputError(option, text, str(error)) from error
    if found <= 0:
        raise InputError(option, text, "must be more than nothing")
    return found


def _clients(text: str) -> int:
    number = units.whole_number(text)
    if not number:
        raise InputError("--clients", text, "must be whole numbers from 1 on, such as 1,8")
    return number


def _mode(text: str) -> Mode:
    for mode in MODES:
        if text == mode:
            return mode
    raise InputError("--rw", text, unknown(text, list(MODES)))


def _part_bytes(size_bytes: int, clients: int, blocks: Sequence[int], written: str) -> int:
    """Returns the bytes of each client's file: an equal part of `size_bytes`, rounded down to a
    multiple of the largest block. Raises InputError that names the option --size if this part is
    smaller than the largest block."""
    largest = max(blocks)
    part = size_bytes // clients // largest * largest
    if part < largest:
        shown = units.text(largest, "B")
        allowed = f"must be at least one block of {shown} for each of {clients} clients"
        raise InputError("--size", written, allowed)
    return part


def _check_blocks(blocks: Sequence[int], wanted: Transfers) -> None:
    for block in blocks:
        if wanted.cache == "direct" and block % SECTOR_BYTES:
            allowed = f"with --direct must be multiples of {SECTOR_BYTES} B, such as 4k"
            raise InputError("--bs", wanted.block_sizes, allowed)


def _check_room(directory: Path, size_bytes: int, written: str) -> None:
    free_bytes = shutil.disk_usage(directory).free
    if size_bytes > SPACE_SHARE * free_bytes:
        shown = units.text(free_bytes, "B")
        if written == Transfers().size:
            written = f"{written} (the default)"
        allowed = (
            f"{directory} has {shown} free, of which {SPACE_SHARE:.0%} may be used; give a "
            "smaller --size"
        )
        raise InputError("--size", written, allowed)
