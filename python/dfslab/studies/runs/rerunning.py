"""Commands that repeat a run, and the name of the run's folder in the commands of printed
sentences."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

from pydantic import JsonValue

from dfslab.method import MEASURE

# The word that names the run's folder in the commands of stored sentences. Stored sentences do not
# contain the folder's path, because the folder can be moved.
FOLDER = "RUN"
# Matches the word FOLDER as the first argument of a command of dfslab.
_ARGUMENT = re.compile(rf"(\bdfslab [a-z]+ ){FOLDER}\b")


def rerun_command(methods: Sequence[str], folder: str = FOLDER) -> str:
    """Returns the command that executes the scenario of a run again: `dfslab measure` if the run
    only measured, otherwise `dfslab run`. `methods`: names of the methods of the run. `folder`: the
    run's folder, quoted for a shell."""
    command = "measure" if list(methods) == [MEASURE] else "run"
    return f"dfslab {command} {folder}/scenario.toml"


def with_folder(
    folder: Path, sentences: Sequence[str], written: Callable[[str], str] = str
) -> list[str]:
    """Returns the sentences of a run for reading: their commands name the folder `folder` instead
    of the word RUN. The sentences are returned unchanged if `folder` is no folder, as for a
    scenario file. `written`: converts the path, which is quoted for a shell, to the form of the
    sentences, such as HTML."""
    if not folder.is_dir():
        return list(sentences)
    named = written(shlex.quote(str(folder)))
    return [_ARGUMENT.sub(lambda found: f"{found[1]}{named}", one) for one in sentences]


def document_with_folder(folder: Path, document: JsonValue) -> JsonValue:
    """Returns a JSON document, in which the commands of all texts name the folder `folder` instead
    of the word RUN."""
    if isinstance(document, str):
        return with_folder(folder, [document])[0]
    if isinstance(document, dict):
        return {key: document_with_folder(folder, value) for key, value in document.items()}
    if isinstance(document, list):
        return [document_with_folder(folder, value) for value in document]
    return document
