"""Writes Python's types of the documents that Rust authors, from their JSON Schemas.

`python scripts/document_types.py` writes them again; a contract test compares. It knows what
serde's plain structs become and refuses everything else.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

HOME = Path(__file__).resolve().parents[1]
# Schema -> module, and its first sentence.
DOCUMENTS = {
    "core/load/schema.json": (
        "python/dfslab/documents/load_report.py",
        "What the load generator reports of one run; generated from core/load/schema.json.",
    ),
    "core/trace/schema.json": (
        "python/dfslab/documents/trace_profile.py",
        "Call trees, compressed and ranked; generated from core/trace/schema.json.",
    ),
}
# Formats of strings that have a type.
FORMATS = {"call-path": ("dfslab.documents.call_path", "CallPath")}
PLAIN = {"integer": "int", "number": "float", "string": "str", "boolean": "bool"}
COLUMNS = 100
REFERENCE = re.compile(r'"#/\$defs/(\w+)"')


def python_type(schema: Mapping[str, Any]) -> str:
    """The annotation of a value. ValueError for a schema that no struct here has."""
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
    if kind in PLAIN:
        return PLAIN[str(kind)]
    raise ValueError(f"no type for {schema}")


def default_of(kind: str) -> str:
    """What an absent value of a type stands for."""
    if kind.endswith("| None"):
        return "None"
    return {"list": "[]", "dict": "{}", "bool": "False"}[kind.partition("[")[0]]


def text_of(schema: Mapping[str, Any]) -> str:
    """Its description in one paragraph."""
    return " ".join(str(schema["description"]).split())


def class_lines(name: str, schema: Mapping[str, Any]) -> Iterator[str]:
    """One struct as a class."""
    yield f"class {name}(Document):"
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
            indent = "    # "
            yield from textwrap.wrap(
                text_of(one), COLUMNS - 2, initial_indent=indent, subsequent_indent=indent
            )
        kind = python_type(one)
        default = "" if key in schema.get("required", ()) else f" = {default_of(kind)}"
        yield f"    {key}: {kind}{default}"


def in_order(structs: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Their names, each behind those that it is made of."""
    found: list[str] = []

    def add(name: str, above: tuple[str, ...]) -> None:
        inner = sorted(set(REFERENCE.findall(json.dumps(structs[name]["properties"]))))
        for one in inner:
            if one not in (*above, name):
                add(one, (*above, name))
        if name not in found:
            found.append(name)

    for name in structs:
        add(name, ())
    return found


def module_text(schema: Mapping[str, Any], sentence: str) -> str:
    """A module with a class for each struct of a document, the whole one last."""
    structs = {**schema["$defs"], schema["title"]: schema}
    text = json.dumps(structs)
    imports = [f"from {home} import {kind}" for key, (home, kind) in FORMATS.items() if key in text]
    lines = [f'"""{sentence}"""', "", "from __future__ import annotations", ""]
    lines += sorted([*imports, "from dfslab.documents.document import Document"])
    for name in in_order(structs):
        lines += ["", "", *class_lines(name, structs[name])]
    return "\n".join(lines) + "\n"


def modules() -> dict[Path, str]:
    """The text of each generated module by its path."""
    return {
        HOME / module: module_text(json.loads((HOME / schema).read_text("utf-8")), sentence)
        for schema, (module, sentence) in DOCUMENTS.items()
    }


if __name__ == "__main__":
    for path, text in modules().items():
        path.write_text(text, encoding="utf-8")
