"""The root of the command line. This module imports the module of a command only when that command
is called, and prints an error as one line."""

from __future__ import annotations

import importlib
import inspect
import os
import re
import sys
from dataclasses import replace
from itertools import dropwhile
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, Protocol, get_args, runtime_checkable

import typer
from typer.core import TyperGroup

from dfslab.cli.command_table import ABOUT, COMMANDS, EXAMPLES, FORMER
from dfslab.cli.live.printing import printing_of
from dfslab.cli.live.version import text
from dfslab.discover import DiscoveryError, fault
from dfslab.extras import missing
from dfslab.spec.files import permissions
from dfslab.spec.files.answering import is_directory
from dfslab.spec.files.plain_number import PLAIN, is_odd_number
from dfslab.spec.input_error import InputError
from dfslab.spec.members.member_error import MemberValueError
from dfslab.spec.printable import printable
from dfslab.testbeds.errors import TestbedError

INTERRUPTED = 130
# The options that print the help of a command.
HELP = ["-h", "--help"]
# The options that may stand before the command.
BEFORE_COMMAND = frozenset({"-q", "--quiet", "--no-color"})


def module(name: str) -> ModuleType:
    """Imports the module `dfslab.cli.NAME`, which contains commands."""
    return importlib.import_module(f"dfslab.cli.{name}")


def command(name: str) -> Any:
    """Imports the command or group of commands with this name. Returns None if there is none."""
    entry = COMMANDS.get(FORMER.get(name, (name,))[0])
    if entry is None:
        return None
    found = typer.main.get_group(module(entry.module).app)
    if not entry.group:
        return _with_common_options(found.commands[entry.name], entry.name)
    found.name = entry.name
    for name, inner in found.commands.items():
        _with_common_options(inner, f"{entry.name} {name}")
    return _with_common_options(found, entry.name)


def _with_common_options(found: Any, name: str) -> Any:
    """Adds to a command what every command has: the options `--quiet` and `--no-color`, and an
    example in the help. Joins the lines of each paragraph of the help. Removes the type of value
    from the help of flags, because flags have no value. Makes the command refuse numbers that are
    not in plain digits. Returns the command."""
    found.params = [*found.params, *_common_options()]
    help_option = found.get_help_option(typer.Context(found, help_option_names=HELP))
    for option in found.params:
        _refuse_odd_numbers(option)
        _refuse_silent_paths(option)
    for option in [*found.params, help_option]:
        if option.param_type_name == "option" and option.is_flag:
            option.metavar = ""
    found.help = _unbroken(found.help or "")
    found.epilog = f"Example: {EXAMPLES[name]}" if name in EXAMPLES else None
    return found


def _unbroken(text: str) -> str:
    """Returns the help text of a command with each paragraph as one line, because Typer keeps the
    line ends of the source in all paragraphs but the first."""
    paragraphs = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(" ".join(one.split()) for one in paragraphs)


def _refuse_odd_numbers(option: Any) -> None:
    """Makes an option or argument refuse numbers such as "+3" and "1_0", which Typer would
    accept."""
    read = option.process_value

    def process(context: Any, given: Any) -> Any:
        found = read(context, given)
        texts, values = (one if isinstance(one, list | tuple) else (one,) for one in (given, found))
        for word, value in zip(texts, values, strict=False):
            if isinstance(word, str) and isinstance(value, int | float) and is_odd_number(word):
                raise InputError(option.opts[-1], word, PLAIN)
        return found

    option.process_value = process


def _refuse_silent_paths(option: Any) -> None:
    """Makes an option or argument that is a path fail with RunFailed if the path's file system does
    not answer. Typer itself would wait without a limit, because Typer looks every path up."""
    annotation = option.type_descriptor.annotation
    if Path not in (annotation, *get_args(annotation)):
        return
    read = option.process_value

    def process(context: Any, given: Any) -> Any:
        for word in given if isinstance(given, list | tuple) else (given,):
            if isinstance(word, str):
                is_directory(Path(word))
        return read(context, given)

    option.process_value = process


def _common_options() -> list[Any]:
    """Returns Typer's objects for the options `--quiet` and `--no-color`. The objects are taken
    from a command that Typer makes of `_only_common_options`, which has only these options."""
    bare = typer.Typer(add_completion=False)
    bare.command()(_only_common_options)
    options = typer.main.get_command(bare).params
    for option in options:
        option.expose_value = False
    return options


def _become_quiet(context: typer.Context, is_quiet: bool) -> None:
    """Stores in the context of the command that `--quiet` is given. The contexts of the commands of
    a group inherit this setting."""
    if is_quiet:
        context.obj = replace(printing_of(context), is_quiet=True)


def _become_colourless(context: typer.Context, is_colourless: bool) -> None:
    """Stores in the context of the command that `--no-color` is given."""
    if is_colourless:
        context.obj = replace(printing_of(context), is_colourless=True)


Quiet = Annotated[
    bool, typer.Option("-q", "--quiet", callback=_become_quiet, help="Print no progress.")
]
NoColor = Annotated[
    bool, typer.Option("--no-color", callback=_become_colourless, help="Print without colours.")
]


def _only_common_options(quiet: Quiet = False, no_color: NoColor = False) -> None:
    """A command that has only the options `--quiet` and `--no-color`, from which all commands copy
    them."""


class _OnDemand(TyperGroup):
    """A Typer group with the commands of the command table.

    The module of a command is imported when the command is called.
    """

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return command(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        # For a mistyped name, Typer suggests a similar name from the keys of this dictionary. The
        # dictionary therefore has all present names, although no module has been imported.
        self.commands = dict.fromkeys(COMMANDS)  # type: ignore[assignment]
        if args[0] in FORMER:
            present = FORMER[args[0]]
            print(f"dfslab: `{args[0]}` is now `{' '.join(present)}`", file=sys.stderr)
            args = [*present, *args[1:]]
        return super().resolve_command(ctx, args)


app = typer.Typer(
    help=ABOUT,
    cls=_OnDemand,
    no_args_is_help=True,
    context_settings={"help_option_names": HELP},
    pretty_exceptions_enable=False,
)


def _version(requested: bool) -> None:
    if requested:
        print(text())
        raise typer.Exit


@app.callback()
def _common(
    shown: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    """Options that every command has. `--quiet` and `--no-color` may stand before the command,
    too."""


def main() -> None:
    """Runs the command line.

    Exits with 0 (done), 1 (the run failed), 2 (wrong input) or 130 (interrupted).
    """
    try:
        code = app(standalone_mode=False, prog_name="dfslab")
        if code == INTERRUPTED:
            # Typer returns this exit code after Ctrl-C. Raise the interrupt again, so that it is
            # handled in one place.
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
        _stop_for_member(error)
        raise
    except Exception as error:
        _stop_for_usage(error)
        _stop_for_member(error)
        _stop_for_failure(error)
        raise


def _stop_for_member(error: Exception) -> None:
    """Prints "FILE:LINE: reason" and exits with code 2, if a member outside this package caused the
    exception. FILE and LINE are in the member's code.

    Returns without effect if no member's code caused `error`, or if `error` is an exception with
    which any code reports that a run failed.
    """
    from dfslab.method import RunFailed

    of_any_code = (RunFailed, DiscoveryError, TestbedError, OSError, MemoryError)
    is_unplaced = isinstance(error, MemberValueError) or not isinstance(error, of_any_code)
    if is_unplaced and (stated := fault(error)):
        _stop(f"dfslab: {stated}", 2)
    if isinstance(error, DiscoveryError):
        _stop("\n".join(f"dfslab: {line}" for line in str(error).splitlines() or [""]), 2)


def _stop_for_failure(error: Exception) -> None:
    """Prints the reason of a failure and exits, if the failure was not caused by the command line.
    The exit code is 1, or 2 if the input is nested too deeply or may not be read. Nothing is
    printed if the program that reads the output has closed the pipe.

    Returns without effect if `error` is not such a failure.
    """
    from dfslab.method import RunFailed

    if isinstance(error, RunFailed | TestbedError):
        _stop("\n".join(f"dfslab: {line}" for line in str(error).splitlines() or [""]), 1)
    if isinstance(error, BrokenPipeError):
        # The program that reads the output has closed the pipe. When Python exits, it writes the
        # rest of the output, which would fail. The output is therefore redirected to /dev/null.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    if isinstance(error, OSError):
        # The folder is full, read-only or has vanished. All files written so far are complete, so
        # the run can be resumed. If a file could not be renamed, the message has its intended name,
        # `filename2`.
        name = error.filename2 or error.filename
        if isinstance(error, PermissionError) and isinstance(name, str):
            found = permissions.barrier(Path(name))
            _stop(f"dfslab: {found}", 2 if found.is_input else 1)
        where = f"{name}: " if name else ""
        _stop(f"dfslab: {where}{error.strerror or error}", 1)
    if isinstance(error, RecursionError):
        _stop("dfslab: the input is nested too deeply", 2)
    if isinstance(error, MemoryError):
        _stop("dfslab: there is not enough memory for this input", 1)


# Phrases of the messages about wrong numbers, and the words that replace them.
PLAIN_WORDS = {
    "Input should be a valid integer, unable to parse string as an integer": "needs a whole number",
    "Input should be a valid number, unable to parse string as a number": "needs a number",
    "Input should be greater than or equal to": "must be at least",
    "Input should be less than or equal to": "must be at most",
}
# Click's message about a file or folder that this user may not read.
_UNREADABLE = re.compile(r"Invalid value for '([^']*)': path ('.*') is not readable\.$", re.I)
# Click's message about an unknown option.
_NO_OPTION = re.compile(r"No such option: (--[\w-]+)")
# For each command of dfslab: options of fio and of other tools, each with a hint about the option
# of dfslab that has the same meaning.
OTHER_TOOLS = {
    "measure": {
        "--blocksize": "here it is --bs",
        "--iodepth": "a client makes one transfer at a time; --clients sets the number",
        "--ioengine": "transfers are system calls; --direct passes by the page cache",
        "--numjobs": "here it is --clients",
        "--runtime": "here it is --time",
    },
    "export": {"--format": "here it is --as"},
    "report": {"--format": "here it is --as"},
}
# Click's message about one argument too many.
_SURPLUS = re.compile(r"unexpected extra argument(?:\(s\)|s)? \((\S+)\)$")
# Words that users type where an option of `dfslab` is meant, each with the option.
MEANT = {"help": "--help", "version": "--version"}


@runtime_checkable
class _Formatted(Protocol):
    """The interface of Click's errors. Their base class cannot be used here, because Typer does not
    export it."""

    def format_message(self) -> str:
        """Returns the error message as a sentence."""


def _stop_for_usage(error: Exception) -> None:
    """Prints Click's message about a wrong command line, on one line, and exits with code 2. The
    message states what is allowed.

    Returns without effect if Click did not raise `error`.
    """
    if isinstance(error, _Formatted):
        # The message is empty if no command was given. Typer has then printed the help, so nothing
        # is added.
        message = error.format_message()
        if unreadable := _UNREADABLE.match(message):
            user = f"user {os.geteuid()} may not read it; change its permissions, or use `sudo`"
            _stop(f"dfslab: {unreadable[1]} = {unreadable[2]}: {user}", 2)
        for technical, plain in PLAIN_WORDS.items():
            message = message.replace(technical, plain)
        words = _words()
        others = OTHER_TOOLS.get(words[0], {}) if words else {}
        if (wrong := _NO_OPTION.match(message)) and wrong[1] in others:
            message = f"{wrong[0]}: {others[wrong[1]]}"
        if rest := _SURPLUS.search(message):
            message += _unit_alone(rest[1])
        if MEANT.keys() & words[:1]:
            # The user means an option. Typer suggests a command with a similar name, so its
            # suggestion is removed.
            message = message.partition(" Did you mean")[0]
        _stop(f"dfslab: {message} {_where_to_look()}".replace("\n", " ") if message else "", 2)


def _words() -> list[str]:
    """Returns the words of the command line from the command on, without common options that stand
    before the command."""
    return list(dropwhile(BEFORE_COMMAND.__contains__, sys.argv[1:]))


def _unit_alone(word: str) -> str:
    """Returns a hint about the argument `word` if it is a unit, as in `--time 5 min`; else ""."""
    from dfslab.spec.units import is_unit

    return f": a value and its unit are one word, such as 5{word}" if is_unit(word) else ""


def _where_to_look() -> str:
    """Returns a hint for the end of an error message. The hint names the help of the called
    command, or the list of commands if no command was called. If the user named an unknown command
    of a group, the hint lists the commands of this group."""
    words = _words()[:2]
    if words[:1] and words[0] in MEANT:
        return f"(`dfslab {MEANT[words[0]]}`)"
    called = FORMER.get(words[0], (words[0],))[0] if words else ""
    if called not in COMMANDS:
        return "(`dfslab --help` lists the commands)"
    inner = [name.split()[1] for name in EXAMPLES if name.startswith(f"{called} ")]
    if not COMMANDS[called].group or not inner or len(words) < 2:
        return f"(`dfslab {called} --help`)"
    if words[1] in inner:
        return f"(`dfslab {called} {words[1]} --help`)"
    return f"(one of {', '.join(inner)}; `dfslab {called} --help`)"


def _stop(text: str, code: int) -> None:
    if text:
        print(printable(text), file=sys.stderr)
    sys.exit(code)
