"""How a command prints: the options that all commands share."""

from __future__ import annotations

from dataclasses import dataclass, replace

import typer


@dataclass(frozen=True)
class Printing:
    """How a command prints. The options --quiet and --no-color are stored in the command's context
    before the command runs. The command passes this object to the functions that print.

    `as_json`: the command prints one JSON document (`--json`). `is_quiet`: the command prints no
    progress (`--quiet`). `is_colourless`: the command prints without colours (`--no-color`). The
    environment variable NO_COLOR switches colours off, too.
    """

    as_json: bool = False
    is_quiet: bool = False
    is_colourless: bool = False


def printing_of(context: typer.Context, as_json: bool = False) -> Printing:
    """Returns how the command with this context prints. `as_json`: whether --json is given."""
    given = context.obj if isinstance(context.obj, Printing) else Printing()
    return replace(given, as_json=as_json)


class SilentReporter:
    """A progress callback that prints nothing."""

    watch = None

    def __call__(self, done: float, total: float, text: str, *_: float) -> None:
        """Receives progress and ignores it."""
