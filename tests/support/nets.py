"""Functions for tests of Petri nets: a canonical form of nets, which does not depend on how a net
is written, and runs with a fixed seed."""

from __future__ import annotations

import ast
import json
import re

from dfslab import _core
from dfslab.documents.net_definition import NetDefinition
from dfslab.nets.build import Net
from dfslab.nets.cpn.cpn_read import read_file

DEFAULTS = [("discipline", "fifo"), *((name, []) for name in ("initial", "in", "out"))]
INSCRIBED = ("guard", "delay", "token", "count", "value", "body")


def read_cpn(text: str) -> NetDefinition:
    """Returns the flat net definition of the text of a `.cpn` file of CPN Tools."""
    return read_file(text).net


def plain(net):
    """Returns a net as JSON data. The net is a dictionary, a `Net`, or a net definition."""
    if isinstance(net, dict):
        return net
    definition = net.document() if isinstance(net, Net) else net
    return definition.model_dump(mode="json", by_alias=True, exclude_unset=True)


def tree(text: str) -> str:
    """Returns the syntax tree of an inscription as text. Redundant brackets do not change the text.
    An inscription that is no expression is returned unchanged.
    """
    # Inscriptions become Python expressions: their operators are replaced by Python's. `!` becomes
    # `~`, because `~` has the same precedence in Python.
    words = re.sub(r"!(?!=)", "~", text.replace("&&", " and ").replace("||", " or "))
    words = re.sub(r"\bif\(", "if_(", words)
    try:
        parsed = ast.parse(words.strip(), mode="eval")
    except SyntaxError:
        return text
    return ast.dump(_Greater().visit(parsed), annotate_fields=False)


class _Greater(ast.NodeTransformer):
    """Rewrites the comparison `a < b` as `b > a`, so that both spellings become equal."""

    def visit_Compare(self, node: ast.Compare) -> ast.AST:  # noqa: N802
        self.generic_visit(node)
        turned = {ast.Lt: ast.Gt, ast.LtE: ast.GtE}
        if len(node.ops) > 1 or type(node.ops[0]) not in turned:
            return node
        return ast.Compare(node.comparators[0], [turned[type(node.ops[0])]()], [node.left])


def canonical(net):
    """Returns a net as JSON data in canonical form: inscriptions are syntax trees, and empty
    fields, default values and an unused colour "unit" are omitted."""
    return _without(_canonical(plain(net)))


def _canonical(one, key=""):
    if isinstance(one, dict):
        made = {name: _canonical(value, name) for name, value in one.items()}
        return {name: value for name, value in made.items() if (name, value) not in DEFAULTS}
    if isinstance(one, list):
        return [_canonical(value, key) for value in one]
    return tree(one) if key in INSCRIBED and isinstance(one, str) else one


def _without(net):
    used = {place["colour"] for place in net["places"]}
    net["colours"] = {
        name: fields for name, fields in net["colours"].items() if name != "unit" or name in used
    }
    return {key: value for key, value in net.items() if value}


def fired(net, monitors=None, seed: int = 7, firings: int = 20_000):
    """Fires the transitions of a net in two replications with this seed. Returns the engine's
    reports as JSON data. Each replication ends after `firings` firings."""
    options = {
        "seed": seed,
        "replications": 2,
        "max_firings": firings,
        "laws": True,
        "monitors": [
            one.model_dump(by_alias=True, exclude_none=True) for one in (monitors or {}).values()
        ],
    }
    return json.loads(_core.net_run(json.dumps(plain(net)), json.dumps(options)))


def definition(document) -> NetDefinition:
    """Returns the net definition that JSON data describe, after validating them."""
    return NetDefinition.model_validate(document)
