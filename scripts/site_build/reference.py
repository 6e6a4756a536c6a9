"""Generates the reference pages of the site from the code: commands, scenario keys, results and
Python.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Iterator
from typing import Any

import dfslab
from dfslab import api, discover
from dfslab.cli import root
from dfslab.cli.command_table import ABOUT, COMMANDS, EXAMPLES, PURPOSES
from dfslab.documents.metrics import REGISTRY
from dfslab.result import Result
from dfslab.spec.scenario import Scenario
from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from site_build.markdown import code, table

# Largest depth of nested scenario tables that the page of scenario keys describes.
MOST_DEPTH = 4


def commands() -> str:
    """Returns the page of all commands with their arguments, options and examples. The man page is
    built from this page."""
    parts = [f"# dfslab\n\n{ABOUT} `dfslab COMMAND -h` shows the help of a command."]
    parts.append(
        "Exit codes: 0 done, 1 the run failed or is incomplete, 2 the input is wrong (one line "
        "says which key, what value, and what is allowed), 130 interrupted."
    )
    for purpose, entries in PURPOSES.items():
        parts.append(f"## {purpose}")
        for entry in entries:
            made = root.command(entry.name)
            if not COMMANDS[entry.name].group:
                parts.append(_command(entry.name, made))
                continue
            parts += [_command(f"{entry.name} {name}", one) for name, one in made.commands.items()]
    return "\n\n".join(parts)


def _command(name: str, made: Any) -> str:
    """Returns the section of one command: its help, its usage, an example, and a table of its
    options.
    """
    arguments = [one for one in made.params if one.param_type_name == "argument"]
    options = [one for one in made.params if one.param_type_name == "option" and not one.hidden]
    words = " ".join(one.metavar or one.name.upper() for one in arguments)
    text = inspect.cleandoc(made.help or "").replace("\f", "")
    parts = [
        f"### dfslab {name}",
        text,
        f"```text\ndfslab {name} [OPTIONS] {words}".rstrip() + "\n```",
    ]
    rows = [[code(one.metavar or one.name.upper()), one.help or ""] for one in arguments]
    rows += [[code(_option(one)), one.help or ""] for one in options]
    parts.append(table(("argument or option", "meaning"), rows))
    if name in EXAMPLES:
        parts.append(f"Example: `{EXAMPLES[name]}`")
    return "\n\n".join(part for part in parts if part)


def _option(one: Any) -> str:
    names = ", ".join(one.opts)
    if one.is_flag:
        return names
    return f"{names} {one.metavar or one.name.upper()}"


def scenario_keys() -> str:
    """Returns the page of all keys of a scenario, each with its type, default and meaning."""
    parts = [
        "# Scenario keys\n\nA scenario is a TOML file. It needs `name`, one `deployment.node`, "
        "`file_system.name` and `workload.name`. Quantities are texts with a unit, such as "
        '`"64 MiB"`, `"1 Gbit/s"` and `"0.5 ms"`. `scenarios/reference.toml` has every key. '
        "Keys of a file system are on its page, keys of a workload below."
    ]
    parts += [f"## {name}\n\n{table(HEAD, rows)}" for name, rows in _sections(Scenario, "")]
    parts.append("## Workloads")
    for name in discover.members(discover.WORKLOADS):
        own = discover.workload(name)
        rows = list(_rows(own.parameters))
        parts.append(f"### {name}\n\n{own.title}\n\n{table(HEAD, rows)}")
    return "\n\n".join(parts)


HEAD = ("key", "type", "default", "meaning")


def _sections(model: type[BaseModel], path: str) -> Iterator[tuple[str, list[list[str]]]]:
    """Yields (name of the table, rows for its keys) for the TOML table of a model, and for the
    tables of nested models down to the depth MOST_DEPTH. `path` is the name of the model's own
    table, "" for the top level."""
    yield path or "Top level", list(_rows(model))
    for name, field in model.model_fields.items():
        inner, is_list = _model_in(field.annotation)
        if inner is not None and path.count(".") < MOST_DEPTH:
            where = f"{path}.{field.alias or name}" if path else (field.alias or name)
            yield from _sections(inner, f"{where}[]" if is_list else where)


def _rows(model: type[BaseModel]) -> Iterator[list[str]]:
    for name, field in model.model_fields.items():
        shown = "needed" if field.is_required() else _default(field.default)
        meaning = field.description or ""
        yield [code(field.alias or name), _type(field.annotation), shown, meaning]


def _default(value: object) -> str:
    if value is PydanticUndefined or value is None:
        return "none"
    return code(f'"{value}"' if isinstance(value, str) else str(value).lower())


def _type(annotation: Any) -> str:
    """Returns the type of a scenario key in words, such as "text". `annotation` is the key's Python
    type.
    """
    if typing.get_origin(annotation) is typing.Annotated:
        return _type(typing.get_args(annotation)[0])
    if typing.get_origin(annotation) is typing.Literal:
        return "one of " + ", ".join(code(str(one)) for one in typing.get_args(annotation))
    if typing.get_origin(annotation) in (list, tuple):
        return "list"
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        parts = [one for one in typing.get_args(annotation) if one is not type(None)]
        return " or ".join(dict.fromkeys(_type(one) for one in parts))
    if typing.get_origin(annotation) is dict:
        return "table"
    names = {str: "text", int: "whole number", float: "number or quantity", bool: "true or false"}
    return names.get(annotation, "table")


def _model_in(annotation: Any) -> tuple[type[BaseModel] | None, bool]:
    """Returns (model, whether the model is inside a list). `model` is the pydantic model that the
    type `annotation` contains; None if it contains none."""
    origin = typing.get_origin(annotation)
    if inspect.isclass(annotation) and issubclass(annotation, BaseModel):
        return annotation, False
    if origin in (typing.Union, types.UnionType, typing.Annotated):
        for one in typing.get_args(annotation):
            found, is_list = _model_in(one)
            if found is not None:
                return found, is_list
    if origin is list:
        return _model_in(typing.get_args(annotation)[0])[0], True
    return None, False


def results() -> str:
    """Returns the page of all metrics and of the fields of a result."""
    rows = [
        [code(one.name + (".OPERATION" if one.of_operation else "")), one.unit, one.label]
        for one in REGISTRY.values()
    ]
    fields = [[code(name), _type(field.annotation)] for name, field in Result.model_fields.items()]
    own = inspect.cleandoc(Result.__doc__ or "")
    return (
        "# Results\n\nEach configuration, method and repetition has one result: a file in the "
        "folder `runs/NAME/TIME/results`. Values are in SI units.\n\n## Metrics\n\n"
        f"{table(('metric', 'unit', 'meaning'), rows)}\n\n## Fields\n\n{own}\n\n"
        f"{table(('field', 'type'), fields)}"
    )


def python_names() -> str:
    """Returns the page of the public names of the module `dfslab`, with signatures and
    docstrings.
    """
    parts = [f"# Python\n\n{inspect.cleandoc(api.__doc__ or '')}"]
    for name in sorted(api.__all__, key=str.lower):
        value = getattr(dfslab, name)
        parts.append(f"## {name}\n\n{_signature(name, value)}\n\n{_documentation(value)}")
        if inspect.isclass(value) and value.__module__ == api.__name__:
            for own, member in vars(value).items():
                if own.startswith("_") or not (callable(member) or isinstance(member, property)):
                    continue
                doc = inspect.cleandoc(member.__doc__ or "")
                parts.append(f"**{name}.{own}**: {doc}")
    return "\n\n".join(parts)


def _signature(name: str, value: Any) -> str:
    if inspect.isclass(value) and issubclass(value, BaseModel | Exception):
        return f"```text\nclass {name}\n```"
    return f"```text\n{name}{inspect.signature(value)}\n```"


def _documentation(value: Any) -> str:
    return inspect.cleandoc(value.__doc__ or "")
