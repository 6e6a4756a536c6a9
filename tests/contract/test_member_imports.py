"""Tests that members (file systems, workloads, studies, …), which discovery finds, are not imported
by name. Code that several modules need is in a separate module outside the members' folder."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from dfslab import discover

PACKAGE = discover.PACKAGE.resolve()
# Members that other modules may import by name, with the reason. The classes of a study need no
# entry: they are the types of its result, which the page and other studies read
# (docs/decisions/015).
EXCEPTIONS = {
    "filesystems.hdfs": "alluxio stores in HDFS, and hadoop runs the same Java client",
    "instruments.measure": "the base of instruments, which run a load as it does",
    "instruments.trace": "the base of all readers of traces",
    "models.learnt": "the base of what designs of experiments learn",
    "models.petri": "pictures of its nets, and predictions of its own cost",
    "models.regression": "the base of the other models that are fitted to metrics",
    "models.sequence": "expectations on steps are predictions of this model",
    "report.sections.steps": "the first section shows its first chart",
    "report.sections.systems": "the first section shows its first chart",
    "report.sections.throughput": "the first section shows its chart",
    "report.sections.what_limits": "the first section shows its chart",
    "report.sections.traced_runs": "the page of a trace without a scenario has its parts",
    "studies.bottlenecks": "the base of the study of a merged trace",
    "studies.compare": "the base of all comparisons with measurements",
    "studies.crossval": "the base of learning curves",
    "studies.merged_profile": "the base of traces without a scenario",
    "studies.plausibility": "the command `check` prints its tables",
    "studies.server_law": "the section of its result draws its limits",
    "studies.step_times": "the section of its result draws its limits",
    "workloads.transfers": "the command `measure` has the words of its parameter",
}


def member_of_modules() -> dict[str, str]:
    """Returns, for each module of a member in the package, the member as `folder.name`."""
    found = {}
    for room in discover.ROOMS:
        for place in discover.members(room).values():
            path = place.resolve()
            member = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
            for file in path.rglob("*.py") if room.of_folders else [path]:
                found[".".join(file.relative_to(PACKAGE).with_suffix("").parts)] = member
    return found


def imported(source: str, members: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yields the imports of members in a module's source: the module of the member, and the
    imported name ("" for the module as a whole)."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            for one in node.names:
                if one.name.removeprefix("dfslab.") in members:
                    yield one.name.removeprefix("dfslab."), ""
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("dfslab"):
            module = str(node.module).removeprefix("dfslab").removeprefix(".")
            for one in node.names:
                inner = f"{module}.{one.name}".removeprefix(".")
                if module in members:
                    yield module, one.name
                elif inner in members:
                    yield inner, ""


def is_result_type(module: str, name: str) -> bool:
    """Returns whether an imported name is a class of a study."""
    return (
        module.count(".") == 1
        and module.startswith("studies.")
        and name[:1].isupper()
        and (not name.isupper())
    )


def wrong_imports(sources: dict[str, str], members: dict[str, str]) -> dict[str, list[str]]:
    """Returns a dictionary from each member that is imported by name to the modules that import the
    member. The member's own files are not listed. `sources` has the sources of modules by name."""
    found: dict[str, list[str]] = {}
    for module, source in sources.items():
        for target, name in imported(source, members):
            member = members[target]
            if members.get(module) != member and not is_result_type(target, name):
                found.setdefault(member, []).append(module)
    return found


def test_members_are_found_by_discovery_and_not_imported_by_name():
    members = member_of_modules()
    sources = {
        ".".join(path.relative_to(PACKAGE).with_suffix("").parts): path.read_text("utf-8")
        for path in sorted(Path(PACKAGE).rglob("*.py"))
    }
    found = wrong_imports(sources, members)
    assert {one: of for one, of in found.items() if one not in EXCEPTIONS} == {}
    assert EXCEPTIONS.keys() - found.keys() == set(), "nobody needs these exceptions any more"


def test_the_check_of_members_can_fail():
    members = {
        "studies.checks.rules.bounds": "studies.checks.rules.bounds",
        "studies.a": "studies.a",
    }
    for line in (
        "from dfslab.studies.checks.rules.bounds import SLACK",
        "from dfslab.studies.checks.rules import bounds",
        "import dfslab.studies.checks.rules.bounds",
        "def f():\n    from dfslab.studies.checks.rules.bounds import NAMES",
    ):
        assert wrong_imports({"x": line}, members) == {"studies.checks.rules.bounds": ["x"]}
    own = "from dfslab.studies.checks.rules.bounds import SLACK"
    assert wrong_imports({"studies.checks.rules.bounds": own}, members) == {}
    assert wrong_imports({"x": "from dfslab.studies.a import Result"}, members) == {}
    for name in ("LEAST", "tables"):
        assert wrong_imports({"x": f"from dfslab.studies.a import {name}"}, members)
