"""The root of the commands: each is imported when it is called; errors become one line."""

from __future__ import annotations

import importlib
import os
import sys
from importlib.metadata import version
from typing import Annotated, Any, Protocol, runtime_checkable

import typer
from typer.core import TyperGroup

from dfslab.cli.table import ABOUT, COMMANDS, FORMER
from dfslab.extras import missing
from dfslab.spec.errors import InputError
from dfslab.spec.printable import printable

INTERRUPTED = 130


def module(name: str) -> Any:
    """The module of commands of that name."""
    return importlib.import_module(f"dfslab.cli.{name}")


def command(name: str) -> Any:
    """The command of that name, a group among them; None where there is none."""
    entry = COMMANDS.get(FORMER.get(name, name))
    if entry is None:
        return None
    found = typer.main.get_group(module(entry.module).app)
    if not entry.group:
        return found.commands[entry.name]
    found.name = entry.name
    return found


class _OnDemand(TyperGroup):
    """The commands of the table; a command's module is imported when the command is called."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return command(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        # A mistyped name is compared with the known names without importing any module.
        self.commands = dict.fromkeys((*COMMANDS, *FORMER))  # type: ignore[assignment]
        return super().resolve_command(ctx, args)


app = typer.Typer(
    help=ABOUT,
    cls=_OnDemand,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _version(requested: bool) -> None:
    if requested:
        print(f"dfslab {version('dfslab')}")
        raise typer.Exit


@app.callback()
def _common(
    shown: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Options of every command."""


def main() -> None:
    """Entry point: 0 done, 1 the run failed, 2 the input is wrong, 130 interrupted."""
    try:
        code = app(standalone_mode=False, prog_name="dfslab")
        if code == INTERRUPTED:
            # Typer turns Ctrl-C into its own exit code.
            raise KeyboardInterrupt
        if code:
            sys.exit(code)
    except InputError as error:
        _stop(f"dfslab: {error}", 2)
    except typer.Abort:
        raise KeyboardInterrupt from None
    except ModuleNotFoundError as error:
        if reason := missing(error):
            _stop(f"dfslab: {reason}", 2)
        raise
    except Exception as error:
        _stop_for_usage(error)
        _stop_for_failure(error)
        raise


def _stop_for_failure(error: Exception) -> None:
    """Exit after a failure that is not due to the input."""
    from dfslab.discover import DiscoveryError
    from dfslab.method import RunFailed
    from dfslab.testbeds.errors import TestbedError

    if isinstance(error, RunFailed | DiscoveryError | TestbedError):
        _stop("\n".join(f"dfslab: {line}" for line in str(error).splitlines() or [""]), 1)
    if isinstance(error, BrokenPipeError):
        # Nobody reads the output any more, so that Python must not write it at its exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    if isinstance(error, OSError):
        # A full, read-only or vanished folder: what was written is whole, and a run is resumed.
        where = f"{error.filename}: " if error.filename else ""
        _stop(f"dfslab: {where}{error.strerror or error}", 1)
    if isinstance(error, RecursionError):
        _stop("dfslab: the input is nested too deeply", 2)
    if isinstance(error, MemoryError):
        _stop("dfslab: there is not enough memory for this input", 1)


@runtime_checkable
class _Formatted(Protocol):
    """An error of Click, whose own class Typer does not export."""

    def format_message(self) -> str:
        """The error as a sentence."""


def _stop_for_usage(error: Exception) -> None:
    """Exit after a wrong command line; Click's message says what is allowed."""
    if isinstance(error, _Formatted):
        # Without a command the help was printed, and nothing is added.
        text = error.format_message()
        _stop(f"dfslab: {text}".replace("\n", " ") if text else "", 2)


def _stop(text: str, code: int) -> None:
    if text:
        print(printable(text), file=sys.stderr)
    sys.exit(code)
