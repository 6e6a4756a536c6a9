"""Writes the Python types of the documents whose types are defined in Rust, from their JSON
Schemas.

`python scripts/document_types.py` writes the modules; a contract test compares them with the
schemas. Only the schemas that are derived from plain Rust structs are supported; other schemas
raise ValueError.
"""

from __future__ import annotations

import json
import keyword
import re
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

HOME = Path(__file__).resolve().parents[1]
# The keys are files of JSON Schemas. Each value is (module that is generated from the schema, first
# sentence of the module's docstring).
DOCUMENTS = {
    "core/load/schema.json": (
        "python/dfslab/documents/load_report.py",
        "What the load generator reports of one run; generated from core/load/schema.json.",
    ),
    "core/trace/schema.json": (
        "python/dfslab/documents/traces/trace_profile.py",
        "Call trees, compressed and ranked; generated from core/trace/schema.json.",
    ),
    "core/trace/merged_schema.json": (
        "python/dfslab/documents/traces/merged_calls.py",
        "Merged calls, of which a trace profile is made; generated from "
        "core/trace/merged_schema.json.",
    ),
    "core/net/schema.json": (
        "python/dfslab/documents/net_definition.py",
        "A net as the engine reads it; generated from core/net/schema.json.",
    ),
    "core/net/state_schema.json": (
        "python/dfslab/documents/net_state.py",
        "What the engine answers about a net; generated from core/net/state_schema.json.",
    ),
    "core/net/report_schema.json": (
        "python/dfslab/documents/net_report.py",
        "The engine's report on a run of a net; generated from core/net/report_schema.json.",
    ),
}
# Classes that replace `str` in the generated modules. The keys are values of `format` of a string
# in a schema. Each value is (module of the class, name of the class).
FORMATS = {"call-path": ("dfslab.documents.traces.call_path", "CallPath")}
# Types that a generated module does not define but imports from another generated module. For each
# importing module: {type: module that defines it}.
IMPORTED = {"net_state": {"Cell": "dfslab.documents.net_definition"}}
PLAIN = {"integer": "int", "number": "float", "string": "str", "boolean": "bool"}
COLUMNS = 100
REFERENCE = re.compile(r'"#/\$defs/(\w+)"')


def python_type(schema: Mapping[str, Any]) -> str:
    """Returns the Python annotation for a schema. Raises ValueError if the schema is not
    supported.
    """
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "anyOf" in schema:
        return " | ".join(python_type(one) for one in schema["anyOf"])
    kind = schema.get("type")
    if isinstance(kind, list):
        return " | ".join(python_type({**schema, "type": one}) for one in kind)
    if kind == "null":
        return "None"
    if kind == "array" and "prefixItems" in schema:
        return f"tuple[{', '.join(python_type(one) for one in schema['prefixItems'])}]"
    if kind == "array":
        return f"list[{python_type(schema['items'])}]"
    if kind == "object" and "additionalProperties" in schema:
        return f"dict[str, {python_type(schema['additionalProperties'])}]"
    if kind == "string" and schema.get("format") in FORMATS:
        return FORMATS[str(schema["format"])][1]
    if kind == "string" and "const" in schema:
        return f"Literal[{json.dumps(schema['const'])}]"
    if kind in PLAIN:
        return PLAIN[str(kind)]
    raise ValueError(f"no type for {schema}")


def default_of(kind: str, schema: Mapping[str, Any]) -> str:
    """Returns the source text of the default of an optional field with the annotation `kind`: a
    value, or `default_factory=` with the type of a new list or dictionary.
    """
    if kind.endswith("| None"):
        return "None"
    if isinstance(schema.get("default"), int | str):
        return json.dumps(schema["default"]) if kind != "bool" else str(schema["default"])
    # The factory creates a new list or dictionary for each document. If it were a default value,
    # pydantic would copy the value, which is slower.
    made = {"list": "default_factory=list", "dict": "default_factory=dict", "bool": "False"}
    return made[kind.partition("[")[0]]


def field_lines(key: str, kind: str, default: str | None) -> Iterator[str]:
    """Yields the source lines of the field `key` of a class. `kind` is the field's annotation.
    `default` is the source text of its default, or None for a required field.

    If `key` is a Python keyword, the name of the field is `key` and an underscore. The field keeps
    the name `key` in documents.
    """
    if not keyword.iskeyword(key):
        if default is not None and default.startswith("default_factory"):
            default = f"Field({default})"
        yield f"    {key}: {kind}" + ("" if default is None else f" = {default}")
        return
    names = f'validation_alias=AliasChoices("{key}_", "{key}"), serialization_alias="{key}"'
    yield f"    {key}_: {kind} = Field("
    yield f"        {default or '...'}, {names}"
    yield "    )"


def base_of(schema: Mapping[str, Any]) -> str:
    """Returns the name of the base class for a struct's class: `StrictDocument`, which refuses
    unknown keys, or `Document`.
    """
    return "StrictDocument" if schema.get("additionalProperties") is False else "Document"


def is_struct(schema: Mapping[str, Any]) -> bool:
    """Returns whether the schema describes a struct, from which a class is made. From any other
    schema, an alias is made.
    """
    return "properties" in schema


def is_enumeration(schema: Mapping[str, Any]) -> bool:
    """Returns whether the schema describes an enum without fields, each of whose variants has a
    description: a choice of texts."""
    return all("const" in one for one in schema.get("oneOf", ())) and "oneOf" in schema


def is_tagged(schema: Mapping[str, Any]) -> bool:
    """Returns whether the schema describes a tagged union: an enum of structs, each of which has a
    field (the tag) whose value names the struct."""
    return all("$ref" in one for one in schema.get("oneOf", ())) and "oneOf" in schema


def with_tags(structs: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Returns the structs by name. The schema has the tag of a tagged union in the union and not in
    its structs. Each such struct therefore gets the tag as an additional required field."""
    found = dict(structs)
    for union in filter(is_tagged, structs.values()):
        for one in union["oneOf"]:
            struct = found[python_type(one)]
            found[python_type(one)] = {
                **struct,
                "properties": {**one["properties"], **struct["properties"]},
                "required": [*one["required"], *struct.get("required", ())],
            }
    return found


def comment_lines(schema: Mapping[str, Any], indent: str = "") -> list[str]:
    """Returns the description of a schema as the lines of a comment."""
    return textwrap.wrap(
        text_of(schema), COLUMNS - 2, initial_indent=f"{indent}# ", subsequent_indent=f"{indent}# "
    )


def alias_lines(name: str, schema: Mapping[str, Any]) -> Iterator[str]:
    """Yields the source lines of the type alias `name` for a schema that is a union of types or a
    choice of texts. The schema's description comes first, as a comment. A union may refer to
    itself."""
    yield from comment_lines(schema)
    if is_enumeration(schema):
        yield f"{name} = Literal["
        for one in schema["oneOf"]:
            yield from comment_lines(one, "    ")
            yield f"    {json.dumps(one['const'])},"
        yield "]"
    elif is_tagged(schema):
        (tag,) = schema["oneOf"][0]["properties"]
        yield f"{name} = Annotated["
        types = f"    {' | '.join(python_type(one) for one in schema['oneOf'])},"
        field = f'Field(discriminator="{tag}")'
        # The formatter joins the two lines if they fit.
        is_short = len(f"{types} {field}") <= COLUMNS
        yield from [f"{types} {field}"] if is_short else [types, f"    {field},"]
        yield "]"
    else:
        yield f'{name} = TypeAliasType("{name}", "{python_type(schema)}")'


def text_of(schema: Mapping[str, Any]) -> str:
    """Returns the description of a schema as one paragraph."""
    return " ".join(str(schema["description"]).split())


def class_lines(name: str, schema: Mapping[str, Any]) -> Iterator[str]:
    """Yields the source lines of the class that is generated for a struct."""
    yield f"class {name}({base_of(schema)}):"
    said = textwrap.wrap(text_of(schema), COLUMNS - 8)
    yield from (
        textwrap.wrap(
            f'"""{text_of(schema)}"""', COLUMNS - 4, initial_indent="    ", subsequent_indent="    "
        )
        if len(said) == 1
        else [f'    """{said[0]}', *(f"    {line}" for line in said[1:]), '    """']
    )
    yield ""
    for key, one in schema["properties"].items():
        if "description" in one:
            yield from comment_lines(one, "    ")
        kind = python_type(one)
        yield from field_lines(
            key, kind, None if key in schema.get("required", ()) else default_of(kind, one)
        )


def in_order(structs: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Returns the names of the structs, each after the structs to which it refers."""
    found: list[str] = []

    def add(name: str, above: tuple[str, ...]) -> None:
        inner = sorted(
            (set(REFERENCE.findall(json.dumps(structs[name]))) & structs.keys()) - {name}
        )
        for one in inner:
            if one not in (*above, name):
                add(one, (*above, name))
        if name not in found:
            found.append(name)

    for name in structs:
        add(name, ())
    return found


def module_text(
    schema: Mapping[str, Any], sentence: str, imported_types: Mapping[str, str] | None = None
) -> str:
    """Returns the source text of a module with a class for each struct of a document. The class of
    the whole document is last. `sentence` is the module's docstring. `imported_types` maps types
    that are not generated to the modules from which they are imported.
    """
    elsewhere = imported_types or {}
    structs = {**schema["$defs"], schema["title"]: schema}
    structs = with_tags({name: one for name, one in structs.items() if name not in elsewhere})
    text = json.dumps(structs)
    imports = [f"from {home} import {kind}" for key, (home, kind) in FORMATS.items() if key in text]
    imports += [f"from {home} import {kind}" for kind, home in elsewhere.items()]
    lines = [f'"""{sentence}"""', "", "from __future__ import annotations", ""]
    bodies: list[str] = []
    for name in in_order(structs):
        make = class_lines if is_struct(structs[name]) else alias_lines
        # The numbers of empty lines are those of the formatter: one between the imports and an
        # alias, two before any other definition.
        gap = [""] if make is alias_lines and not bodies else ["", ""]
        bodies += [*gap, *make(name, structs[name])]
    pydantic = [
        word for word in ("AliasChoices", "Field") if any(f"{word}(" in one for one in bodies)
    ]
    typing = [word for word in ("Annotated", "Literal") if any(f"{word}[" in one for one in bodies)]
    if typing:
        lines += [f"from typing import {', '.join(typing)}", ""]
    imported = [f"from pydantic import {', '.join(pydantic)}"] if pydantic else []
    if any("TypeAliasType(" in one for one in bodies):
        imported.append("from typing_extensions import TypeAliasType")
    lines += [*imported, *([""] if imported else [])]
    bases = sorted({base_of(one) for one in structs.values() if is_struct(one)})
    lines += sorted([*imports, f"from dfslab.documents.document import {', '.join(bases)}"])
    return "\n".join([*lines, *bodies]) + "\n"


def modules() -> dict[Path, str]:
    """Returns the text of each generated module by its path."""
    return {
        HOME / module: module_text(
            json.loads((HOME / schema).read_text("utf-8")),
            sentence,
            IMPORTED.get(Path(module).stem),
        )
        for schema, (module, sentence) in DOCUMENTS.items()
    }


if __name__ == "__main__":
    for path, text in modules().items():
        path.write_text(text, encoding="utf-8")
