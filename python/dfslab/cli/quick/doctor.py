"""The command `dfslab doctor`: reports what works on this machine, and finds what killed runs left
behind."""

from __future__ import annotations

import os
import pwd
from collections.abc import Callable, Iterable
from typing import Annotated, TypeVar

import typer

from dfslab.cli.live.printing import Printing, printing_of
from dfslab.cli.quick import checkup
from dfslab.cli.shared import AsJson, emit
from dfslab.fleet import leftovers
from dfslab.spec.files import scratch
from dfslab.spec.input_error import InputError

app = typer.Typer()
Found = TypeVar("Found")


@app.command()
def doctor(
    context: typer.Context,
    clean: Annotated[
        bool, typer.Option("--clean", help="Remove what killed runs left and dfslab marked.")
    ] = False,
    members: Annotated[
        bool, typer.Option("--members", help="Only check the members outside dfslab's package.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """What works here, what is missing, how quiet the machine is, and what killed runs left."""
    printing = printing_of(context, as_json)
    if members:
        if clean:
            raise InputError("--members", None, "checks plug-ins only; leave out --clean")
        _check_members(printing)
        return
    found = checkup.findings(checkup.inspect())
    from dfslab.cli import testbed_work as testbeds

    unread: list[str] = []
    folders, stale = scratch.abandoned(), _listed(testbeds.stale, unread)
    # Runs inside an abandoned temporary folder are not listed, because they are removed when the
    # folder is removed.
    tops = tuple(f"{one.path}/" for one in folders)
    runs = [one for one in _listed(leftovers.abandoned, unread) if not one.path.startswith(tops)]
    locks = _listed(leftovers.abandoned_locks, unread)
    empty = _listed(leftovers.empty_folders, unread)
    paths = [*(one.path for one in folders), *(one.path for one in runs)]
    users = {path: _user_of(path) for path in paths}
    removed: list[str] = []
    if clean:
        removed = [one.path for one in folders if scratch.remove(one)]
        removed += [one.path for one in runs if leftovers.remove(one)]
        removed += [one for one in locks if leftovers.remove_lock(one)]
        removed += [one for one in empty if leftovers.remove_empty(one)]
        removed += testbeds.down("--stale") if stale else []
    lines = [f"{one.path}: left by process {one.owner_pid}{users[one.path]}" for one in folders]
    lines += [f"{one.path}: files of {_owner_of(one)}{users[one.path]}" for one in runs]
    lines += [f"{one}: lock file of an agent that has ended" for one in locks]
    lines += [f"{one}: empty folder of agents that have ended" for one in empty]
    lines += [f"testbed {text}" for text in stale]
    if clean:
        lines += [f"removed {name}" for name in removed]
    elif lines:
        lines.append("`dfslab doctor --clean` removes all of these; what made them has ended")
    lines += unread[:1]
    document = {
        "findings": found,
        "folders": folders,
        "runs": runs,
        "locks": locks,
        "empty": empty,
        "testbeds": stale,
        "removed": removed,
    }
    emit(
        printing,
        document,
        checkup.table(found),
        *(map(one_line, lines) if lines else ["killed runs left nothing"]),
    )
    found_count = len(folders) + len(runs) + len(locks) + len(empty) + len(stale)
    if clean and len(removed) < found_count:
        raise typer.Exit(1)


def _check_members(printing: Printing) -> None:
    """Checks the members outside this package and prints the result. Exits with code 2 if a member
    violates the interface of its type."""
    from dfslab import discover
    from dfslab.cli.quick import member_check

    found = member_check.check_all()
    missing = [f"DFSLAB_PATH: {one}: no such folder" for one in member_check.missing_folders()]
    allowed = ", ".join(room.folder for room in discover.ROOMS)
    missing += [
        f"DFSLAB_PATH: {one}: has no folder of members; allowed: {allowed}"
        for one in member_check.folders_without_members()
    ]
    problems = [*missing, *member_check.problems(found)]
    if found:
        lines = [*problems, *member_check.notes(found)]
        emit(printing, found, member_check.table(found), *lines)
    elif missing:
        emit(printing, found, *missing)
    else:
        emit(printing, found, "no members: neither DFSLAB_PATH nor an installed package has any")
    if problems:
        raise typer.Exit(2)


def _owner_of(one: leftovers.AbandonedRun) -> str:
    """Returns a text that says what left a directory behind: a killed probe, or a run that was
    killed or given up."""
    return "a probe that was killed" if one.is_of_probe else "a run that was killed or given up"


def _user_of(path: str) -> str:
    """Returns a text with the user who owns a path; "" if the path has been removed."""
    try:
        user_id = os.stat(path, follow_symlinks=False).st_uid
    except OSError:
        return ""
    try:
        return f", of user {pwd.getpwuid(user_id).pw_name}"
    except KeyError:
        return f", of user {user_id}"


def one_line(text: str) -> str:
    """Returns a text with a symbol in place of each newline, which a path may contain."""
    return text.replace("\n", "\N{SYMBOL FOR NEWLINE}")


def _listed(work: Callable[[], Iterable[Found]], unread: list[str]) -> list[Found]:
    """Returns what `work` finds. If this user may not read the folder in which dfslab stores its
    state, returns an empty list. In this case, a line about this folder is appended to `unread`."""
    try:
        return list(work())
    except PermissionError as error:
        line = f"what killed runs left is not known: {error.filename}: {error.strerror}; "
        unread.append(f"{line}the variable DFSLAB_STATE names another folder")
        return []
