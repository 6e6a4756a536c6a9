"""The command-line options for reading trace files, which several commands share."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from dfslab.instruments.tracing.reading import Reading, reading

Sampled = Annotated[
    float,
    typer.Option(
        "--sampled",
        metavar="P",
        help="Probability with which calls were recorded, if "
        "spans do not state it: counts and sums are scaled to all calls.",
    ),
]

Format = Annotated[
    str,
    typer.Option(
        "--format",
        metavar="NAME",
        help="Format of the files, if their beginnings do not "
        "show it: otlp-json, otlp-protobuf, chrome, jaeger, …",
    ),
]

Keep = Annotated[
    list[str] | None,
    typer.Option(
        "--keep",
        metavar="RULE",
        help="Keep only calls that match: 'read*', or "
        "'service=client,host=node-?,kind=wait'; may be repeated.",
    ),
]

Drop = Annotated[
    list[str] | None,
    typer.Option(
        "--drop",
        metavar="RULE",
        help="Leave out calls that match; their time counts as their callers'. May be repeated.",
    ),
]

CallsFile = Annotated[
    Path | None,
    typer.Option(
        "--calls",
        metavar="FILE",
        help="Rules in TOML: keep, drop, and steps, which gives calls of several names one name.",
    ),
]


def _read(
    sampled: Sampled = 1.0,
    form: Format = "",
    keep: Keep = None,
    drop: Drop = None,
    calls: CallsFile = None,
) -> Reading:
    """Returns the options for reading traces as one value. Raises InputError that names a wrong
    option."""
    return reading(sampled, form, keep or (), drop or (), calls)


SHARED = list(inspect.signature(_read, eval_str=True).parameters.values())


def with_reading(command: Callable[..., None]) -> Callable[..., None]:
    """A decorator for a command that has a parameter `how`. On the command line, the command then
    has the options of `_read` instead of this parameter.

    The command receives the values of these options as one `Reading`, in `how`.
    """
    wanted: list[inspect.Parameter] = []
    for one in inspect.signature(command, eval_str=True).parameters.values():
        wanted += SHARED if one.name == "how" else [one]

    @functools.wraps(command)
    def run(**given: object) -> None:
        read: Callable[..., Reading] = _read
        how = read(**{one.name: given.pop(one.name) for one in SHARED})
        command(how=how, **given)

    # Typer derives the options of a command from its signature, so the signature is replaced.
    named = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in wanted]
    run.__dict__["__signature__"] = inspect.Signature(named)
    return run
