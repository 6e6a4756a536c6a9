"""A process that runs one of two clients which observe each other's changes. The process makes a
change, or polls until it observes a change.

Commands and answers are JSON documents, one per line. Each command has an `id`, which its answers
repeat. The commands, with their answers:

- `{"act": change, "path": ..., "turn": n}`: `{"began_ns": ..., "acknowledged_ns": ...}`.
- `{"watch": change, "path": ..., "turn": n, "poll_s": ..., "limit_s": ...}`: `{"watching": true}`
  once the client has observed the old state, then `{"seen_ns": ..., "polls": [...], "torn": n}`.
- `{"do": name, "with": arguments}`, where `name` is that of the function `before` or `clear`:
  `{"done": true}`.

If a call fails, the answer is `{"error": ...}`.

`polls` has the start times of all polls that did not return the new state, and `torn` is the number
of polls that returned neither the old nor the new state. `seen_ns` is null if the change was not
observed within the limit. Times are in ns of CLOCK_MONOTONIC. Both clients access only the paths in
their commands.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TypedDict

from dfslab.spec.clock import REAL, Clock

# A command to an observer, with the keys of either `act`, `watch` or `do`.
ObserverCommand = TypedDict(
    "ObserverCommand",
    {
        "id": int,
        "act": str,
        "watch": str,
        "path": str,
        "turn": int,
        "poll_s": float,
        "limit_s": float,
        "do": str,
        "with": tuple[str, str, int] | tuple[str],
    },
    total=False,
)


class Answered(TypedDict, total=False):
    """The answer of an observer to a command. `id` is the id of that command."""

    id: int
    watching: bool
    seen_ns: int | None
    polls: list[int]
    torn: int
    began_ns: int
    acknowledged_ns: int
    done: bool
    error: str


BLOCK = 4096
CHANGES = ("create", "append", "overwrite", "rename", "delete")


def content(turn: int) -> bytes:
    """Returns a block of file content that is different for each trial. `turn` is the number of the
    trial.
    """
    return f"{turn:016d}".encode() * (BLOCK // 16)


def before(change: str, path: str, turn: int) -> None:
    """Creates the file that must exist before a change can be made. Before the change "create", no
    file is needed, and nothing is created.

    `turn` is the number of the trial, which determines the content of the file.
    """
    if change == "create":
        return
    with open(path, "xb") as file:
        file.write(content(turn))


def act(change: str, path: str, turn: int) -> None:
    """Makes the change of kind `change`, such as "append", to the file at `path`. The change is
    acknowledged when the last call for it (such as close) returns."""
    if change == "create":
        with open(path, "xb") as file:
            file.write(content(turn))
    elif change == "append":
        with open(path, "ab") as file:
            file.write(content(turn + 1))
    elif change == "overwrite":
        with open(path, "r+b") as file:
            file.write(content(turn + 1))
    elif change == "rename":
        os.rename(path, f"{path}-new")
    else:
        os.unlink(path)


def clear(path: str) -> None:
    """Removes the files at a path that `before` and `act` have created."""
    for left in (path, f"{path}-new"):
        with suppress(FileNotFoundError):
            os.unlink(left)


def look(change: str, path: str, turn: int) -> str:
    """Returns the state of the file at `path` that this client observes: "old" before the change
    `change`, "new" after it, or "torn" if the observed state is neither the old nor the new
    state."""
    if change in ("create", "delete"):
        return "new" if os.path.exists(path) == (change == "create") else "old"
    if change == "rename":
        there, gone = os.path.exists(f"{path}-new"), not os.path.exists(path)
        return "new" if there and gone else "old" if not there and not gone else "torn"
    try:
        with open(path, "rb") as file:
            content_read = file.read()
    except FileNotFoundError:
        return "torn"
    if content_read == content(turn):
        return "old"
    new = content(turn + 1) if change == "overwrite" else content(turn) + content(turn + 1)
    return "new" if content_read == new else "torn"


def watch(
    request: ObserverCommand, say: Callable[[Answered], object], clock: Clock = REAL
) -> Answered:
    """Polls until the old state is observed, reports this by `say`, then polls for the change. When
    the change is observed or the limit is reached, returns the answer to the command `request`."""
    change, path, turn = request["watch"], request["path"], request["turn"]
    polls: list[int] = []
    torn, deadline_s = 0, clock.monotonic_s() + request["limit_s"]
    while clock.monotonic_s() < deadline_s:
        began_ns = _ns(clock)
        state = look(change, path, turn)
        if state == "old" and not polls:
            say({"watching": True})
        if polls and state == "new":
            return {"seen_ns": _ns(clock), "polls": polls, "torn": torn}
        if polls or state == "old":
            polls.append(began_ns)
            torn += state == "torn"
        clock.sleep(request["poll_s"])
    return {"seen_ns": None, "polls": polls, "torn": torn}


def _ns(clock: Clock) -> int:
    return round(clock.monotonic_s() * 1e9)


def acted(request: ObserverCommand) -> Answered:
    """Makes the requested change. Returns the times of its start and of its acknowledgement in ns
    of CLOCK_MONOTONIC."""
    began_ns = _ns(REAL)
    act(request["act"], request["path"], request["turn"])
    return {"began_ns": began_ns, "acknowledged_ns": _ns(REAL)}


def _say(number: int, document: Answered) -> None:
    print(json.dumps({**document, "id": number}), flush=True)


def main() -> None:
    """Reads and executes commands until the input ends."""
    for line in sys.stdin:
        request = json.loads(line)
        say = partial(_say, request["id"])
        try:
            if "watch" in request:
                say(watch(request, say))
            elif "act" in request:
                say(acted(request))
            elif request["do"] == "before":
                before(*request["with"])
                say({"done": True})
            else:
                clear(*request["with"])
                say({"done": True})
        except OSError as error:
            say({"error": f"{type(error).__name__}: {error}"})


if __name__ == "__main__":
    main()
