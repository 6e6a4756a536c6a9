"""Writes docs/errors.md, which lists every error message that a command can print. The messages are
extracted from the sources.

`python scripts/errors_table.py` writes the file. `tests/contract/test_errors_table.py` checks that
the file equals the messages of the sources.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "python" / "dfslab"
TABLE = ROOT / "docs" / "errors.md"
HOLE = "…"
# Largest number of texts that are listed for one variable of an error message. A variable may stand
# for several texts.
MOST_TEXTS = 12

KINDS = {
    "InputError": (
        2,
        "A file, option or key is wrong: the line names it, its value and what is allowed.",
        "Change the named key. Nothing was run or written.",
    ),
    "RunFailed": (
        1,
        "The input was accepted, and the system or the machine did something else.",
        "Remove the cause and repeat the command: finished results are kept, a run is resumed.",
    ),
    "TestbedError": (
        1,
        "A testbed could not be started, used or taken down; the end of a log follows.",
        "`dfslab testbed check`; `dfslab testbed down --stale`; `dfslab doctor`.",
    ),
    "DiscoveryError": (
        2,
        "A file of `DFSLAB_PATH` or of a package does not keep the interface of its room.",
        "Correct the named file and line; `dfslab doctor --members` checks all members.",
    ),
    "MemberValueError": (
        2,
        "A file of `DFSLAB_PATH` or of a package gives a value that is not allowed. The line "
        "begins with the file and the line of the value.",
        "Correct the value; `dfslab doctor --members` checks all members.",
    ),
    "DamagedResult": (
        1,
        "A stored result was changed, copied, cut off or comes from a later version. The line "
        "begins with the file and the place.",
        "Restore the file from a copy, or measure again with `--fresh`.",
    ),
}
# Errors that the command line reports (`cli/root.py`) and that are not exceptions of dfslab.
OTHERS = [
    (
        "PATH: REASON",
        1,
        "A file cannot be written or read: disk full, no permission, vanished.",
        "Make room or choose another folder; what was written is whole, and a run is resumed.",
    ),
    (
        "unknown option or argument",
        2,
        "The command line is not understood; the usage is shown.",
        "`dfslab COMMAND --help`.",
    ),
    (
        "EXTRA is not installed",
        2,
        "The command needs an optional library.",
        "Install the extra that the line names, such as `dfslab[fit]`.",
    ),
    (
        "the input is nested too deeply",
        2,
        "A file or option has thousands of nested levels.",
        "Flatten it.",
    ),
    (
        "there is not enough memory for this input",
        1,
        "An input is larger than the memory.",
        "Use a smaller input or a larger machine.",
    ),
    ("interrupted", 130, "Ctrl-C, SIGTERM or SIGHUP.", "Repeat the command: a run is resumed."),
    (
        "incomplete: N of M measured results",
        1,
        "A run ended, but operations failed, data was wrong, or a limit of time was reached.",
        "Read the reason; `--allow-incomplete` accepts it.",
    ),
]


@dataclass(frozen=True, order=True)
class Message:
    """One error message of the sources.

    `module`: path of the source file relative to the package. `key`: the key that an InputError
    names; empty for other kinds of errors.
    """

    module: str
    kind: str
    key: str
    text: str


class _Texts(ast.NodeVisitor):
    """Finds the errors that a module raises. A message may contain names of variables.

    `scopes`: one dictionary for the module, and one for each function around the message. Each maps
    the names of variables to the text expressions that are assigned to them.
    """

    def __init__(self, module: str, tree: ast.Module) -> None:
        self.module = module
        self.found: list[Message] = []
        self.scopes: list[dict[str, list[ast.expr]]] = [_assigned(tree)]
        self.visit(tree)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:  # noqa: N802
        self.scopes.append(_assigned(node))
        self.generic_visit(node)
        self.scopes.pop()

    def visit_Call(self, node: ast.Call) -> None:  # noqa: N802
        self.generic_visit(node)
        name = node.func.attr if isinstance(node.func, ast.Attribute) else _name(node.func)
        if name not in KINDS or any(isinstance(one, ast.Starred) for one in node.args):
            return
        given = [*node.args, *(word.value for word in node.keywords if word.arg != "file")]
        keys, texts = [""], given[:1]
        if name == "InputError":
            keys, texts = self.texts(given[0]) if given else [HOLE], given[2:3]
        if name == "TestbedError":
            texts = given[2:3]
        for key in keys:
            for text in self.texts(texts[0]) if texts else [HOLE]:
                self.found.append(Message(self.module, name, key, text))

    def texts(self, node: ast.expr, depth: int = 0) -> list[str]:
        """Returns the texts that an expression can evaluate to. Values that are known only at run
        time are written as `…`.
        """
        if isinstance(node, ast.Constant):
            return [str(node.value) if node.value is not None else HOLE]
        if isinstance(node, ast.JoinedStr):
            return [_join(self.texts(part, depth)[0] for part in node.values)]
        if isinstance(node, ast.IfExp):
            return [*self.texts(node.body, depth), *self.texts(node.orelse, depth)]
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return [_join([self.texts(one, depth)[0] for one in (node.left, node.right)])]
        if isinstance(node, ast.Name) and depth < 2:
            for scope in reversed(self.scopes):
                if node.id in scope:
                    said = [text for one in scope[node.id] for text in self.texts(one, depth + 1)]
                    return list(dict.fromkeys(said))[:MOST_TEXTS] or [HOLE]
        return [HOLE]


def _assigned(scope: ast.AST) -> dict[str, list[ast.expr]]:
    """Returns for each name in a module or function the text expressions that are assigned to the
    name."""
    found: dict[str, list[ast.expr]] = {}
    for node in ast.walk(scope):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant | ast.JoinedStr):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    found.setdefault(target.id, []).append(node.value)
    return found


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _join(parts: Iterator[str] | list[str]) -> str:
    """Returns the parts as one text, with several neighbouring `…` merged into one."""
    joined = "".join(parts)
    while HOLE * 2 in joined:
        joined = joined.replace(HOLE * 2, HOLE)
    return joined


def messages(package: Path = PACKAGE) -> list[Message]:
    """Returns every error message in the sources of `package` once, in sorted order."""
    found: set[Message] = set()
    for path in package.rglob("*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        found.update(_Texts(str(path.relative_to(package)), tree).found)
    return sorted(found)


def table(found: list[Message]) -> str:
    """Returns the text of docs/errors.md with the given messages."""
    lines = [
        "# Errors",
        "",
        "Every error is one line on standard error that begins with `dfslab:`. This table is made",
        "from the sources by `python scripts/errors_table.py`. `…` stands for a value or a reason",
        "that is known only when the error occurs. [Troubleshooting](troubleshooting.md) explains",
        "common errors.",
        "",
        "| kind | exit code | meaning | what to do |",
        "|---|---|---|---|",
    ]
    lines += [f"| {name} | {' | '.join(map(str, row))} |" for name, row in KINDS.items()]
    lines += [f"| {' | '.join(map(str, row))} |" for row in OTHERS]
    rooms = dict.fromkeys(_room(one) for one in found)
    for room in rooms:
        lines += ["", f"## {room}", "", "| file | kind | exit code | key | message |"]
        lines.append("|---|---|---|---|---|")
        lines += [_row(one) for one in found if _room(one) == room]
    return "\n".join(lines) + "\n"


def _room(message: Message) -> str:
    return Path(message.module).parts[0].removesuffix(".py")


def _row(message: Message) -> str:
    where = "/".join(Path(message.module).parts[1:]) or message.module
    code, _, _ = KINDS[message.kind]
    cells = (where, message.kind, str(code), message.key, message.text)
    return f"| {' | '.join(_cell(one) for one in cells)} |"


def _cell(text: str) -> str:
    """Returns a text as a cell of a Markdown table."""
    shown = " ".join(text.split())
    for sign in "\\|<>[]*_`":
        shown = shown.replace(sign, f"\\{sign}")
    return shown


if __name__ == "__main__":
    TABLE.write_text(table(messages()), encoding="utf-8")
