"""Runs an external program as the workload: a Spark job, a Hadoop benchmark, any script.

The command may contain placeholders in braces:

- `{here}`: the scenario file's folder
- `{uri}`: the address of the file system
- `{directory}`: the file system's path on clients
- `{folder}`: a name that is new in every run
- `{seed}`, `{clients}`
- the name of any other key of the workload

On a testbed of HDFS, the command finds `hadoop` in its PATH, and HADOOP_CONF_DIR is set. With
`says_ready`, the command first creates its inputs and warms up. Then it prints the line "ready" and
waits. When it reads a line, it starts the timed part.
"""

from __future__ import annotations

import re
from dataclasses import asdict

from pydantic import ConfigDict, Field

from dfslab.spec.input_error import InputError, unknown
from dfslab.spec.streams.workload import FileParameters, Program, ProgramCommand, RunValues

TITLE = "An external program: any command that works on the file system"
PLACE = re.compile(r"\{([a-z_]+)\}")
# Keys of the workload that must not be used as placeholders in the command.
OWN = {"command", "install", "says_ready"}


class Parameters(FileParameters):
    """Parameters of the workload `command`. Every key that is not declared here is a placeholder of
    the command.
    """

    model_config = ConfigDict(extra="allow", frozen=True, validate_default=True)

    command: list[str] = Field(
        [], description="The program and its arguments, with places in braces"
    )
    install: str = Field("", description="What puts the program there, for whom lacks it")
    says_ready: bool = Field(
        False, description='Whether it says "ready" and waits for a line before what counts'
    )


def command(parameters: Parameters, run: RunValues) -> ProgramCommand:
    """Returns the command with its placeholders replaced. `run` has values of the run by name, such
    as `seed`. A placeholder is replaced by the value in `run` that has its name. If `run` has no
    such value, the placeholder is replaced by the value of the workload's key of this name.

    Raises InputError for an empty command and for an unknown placeholder. Also raises InputError
    for a key of the workload that `Parameters` does not declare and no word of the command uses.
    """
    if not parameters.command:
        raise InputError("workload.command", [], "needs a program and its arguments")
    own = dict(parameters.__pydantic_extra__ or {})
    declared = {key: value for key, value in parameters if key in FileParameters.model_fields}
    values = {**declared, **own, **asdict(run)}
    used: set[str] = set()

    def filled(match: re.Match[str]) -> str:
        name = match[1]
        if name not in values or name in OWN:
            allowed = unknown(name, sorted(values.keys() - OWN))
            raise InputError("workload.command", match[0], allowed)
        used.add(name)
        value = values[name]
        return f"{value:.15g}" if isinstance(value, float) else str(value)

    words = [PLACE.sub(filled, word) for word in parameters.command]
    for key in own:
        if key not in used:
            raise InputError(f"workload.{key}", own[key], "is no word of the command")
    return ProgramCommand(words, parameters.install, parameters.says_ready)


WORKLOAD = Program(TITLE, Parameters, command)
