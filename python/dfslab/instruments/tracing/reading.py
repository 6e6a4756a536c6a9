"""Options for reading spans: file format, sampling rate, rules for calls to keep, renamed steps."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from dfslab.spec.files import inputs
from dfslab.spec.model import InputError, Model, build


class Choice(Model):
    """Rules for the calls to keep. A rule is a pattern of steps ("read*"), or terms that must all
    match: "step=read*,service=datanode,host=node-?,kind=wait".

    Without `keep` rules, all calls are kept that no `drop` rule matches. `steps` merges calls of
    several names into one step, by patterns of names (for example the classes that implement a
    method).
    """

    keep: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    steps: dict[str, tuple[str, ...]] = {}


class Reading(Model):
    """How the files of a profile are read; without a format, it is recognised from the file."""

    sampled: float = 1.0
    format: str = ""
    choice: Choice = Choice()

    def options(self) -> str:
        """The options as JSON for the core, which merges steps in the order of the rules."""
        choice = {**self.choice.model_dump(), "steps": list(self.choice.steps.items())}
        return json.dumps({"sampled": self.sampled, "format": self.format, "choice": choice})

    def refuse_for_sums(self) -> None:
        """InputError for options about single calls, when only sums are known."""
        requested = {
            "--sampled": self.sampled if self.sampled != 1 else "",
            "--format": self.format,
            "--keep": ", ".join(self.choice.keep),
            "--drop": ", ".join(self.choice.drop),
            "--calls": ", ".join(self.choice.steps),
        }
        for option, value in requested.items():
            if value:
                raise InputError(option, value, "is for spans; these files hold every call")


def reading(
    sampled: float = 1.0,
    form: str = "",
    keep: Sequence[str] = (),
    drop: Sequence[str] = (),
    calls: Path | None = None,
) -> Reading:
    """Options of the command line combined with a file of rules (TOML: keep, drop, steps)."""
    if not 0 < sampled <= 1:
        raise InputError("--sampled", sampled, "must be above 0 and at most 1")
    from_file = _file(calls) if calls else Choice()
    choice = Choice(
        keep=(*from_file.keep, *keep), drop=(*from_file.drop, *drop), steps=from_file.steps
    )
    return Reading(sampled=sampled, format=form, choice=choice)


def _file(path: Path) -> Choice:
    table = inputs.table("--calls", path)
    try:
        return build(Choice, table)
    except InputError as error:
        raise error.of(str(path)) from error
