"""The options for reading spans: the file format, the sampling rate, which calls are kept, and
which steps are renamed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from dfslab.spec.files import inputs
from dfslab.spec.input_error import InputError
from dfslab.spec.model import CheckedModel, build


class CallSelection(CheckedModel):
    """Rules that select and rename the calls of a trace.

    A rule is a pattern of step names ("read*") or a list of terms, all of which must match:
    "step=read*,service=datanode,host=node-?,kind=wait". A call is kept if two conditions are met:
    it matches a `keep` rule or there is none, and it matches no `drop` rule. `steps` merges calls
    whose names match a pattern into one step, for example the implementations of a method.
    """

    keep: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    steps: dict[str, tuple[str, ...]] = {}


class Reading(CheckedModel):
    """The options for reading the files of a profile.

    `sampled` is the probability with which calls were recorded. If `format` is empty, the format is
    recognised from the file. `choice` has the rules that select and rename calls.
    """

    sampled: float = 1.0
    format: str = ""
    choice: CallSelection = CallSelection()

    def options(self) -> str:
        """Returns the options as JSON text for the core.

        `steps` is a list, because the core applies its rules in their order.
        """
        choice = {**self.choice.model_dump(), "steps": list(self.choice.steps.items())}
        return json.dumps({"sampled": self.sampled, "format": self.format, "choice": choice})

    def refuse_for_sums(self) -> None:
        """Raises InputError if any option is set. The caller has files that contain only sums, such
        as JVM profiles. All options concern single calls, so they have no meaning for these files.
        """
        requested = {
            "--sampled": self.sampled if self.sampled != 1 else "",
            "--format": self.format,
            "--keep": ", ".join(self.choice.keep),
            "--drop": ", ".join(self.choice.drop),
            "--calls": ", ".join(self.choice.steps),
        }
        for option, value in requested.items():
            if value:
                raise InputError(option, value, "is for spans; these files have call profiles")


def reading(
    sampled: float = 1.0,
    form: str = "",
    keep: Sequence[str] = (),
    drop: Sequence[str] = (),
    calls: Path | None = None,
) -> Reading:
    """Returns the reading options that correspond to the options of the command line. `calls` is a
    TOML file with further rules, under the keys `keep`, `drop` and `steps`.
    """
    if not 0 < sampled <= 1:
        raise InputError("--sampled", sampled, "must be above 0 and at most 1")
    from_file = _file(calls) if calls else CallSelection()
    choice = CallSelection(
        keep=(*from_file.keep, *keep), drop=(*from_file.drop, *drop), steps=from_file.steps
    )
    return Reading(sampled=sampled, format=form, choice=choice)


def _file(path: Path) -> CallSelection:
    table = inputs.table("--calls", path)
    try:
        return build(CallSelection, table)
    except InputError as error:
        raise error.of(str(path)) from error
