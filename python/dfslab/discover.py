"""Discovers members of a room (file systems, workloads, models, …); errors name the file.

Members live in this package and in the folders of DFSLAB_PATH, which are laid out like it
(`filesystems/NAME/`, `workloads/NAME.py`, `models/NAME.py`, `studies/NAME.py`,
`report/sections/NAME.py`). A study may also come from an entry point of an installed package.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import os
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from dfslab.spec.errors import InputError, unknown

if TYPE_CHECKING:
    from dfslab.method import Method, Model
    from dfslab.spec.streams.workload import Workload
    from dfslab.spec.systems.filesystem import FileSystem

PACKAGE = Path(__file__).parent
Kind = TypeVar("Kind")
STUDIES = "dfslab.studies"


class DiscoveryError(Exception):
    """A member's file breaks the room's contract; the message names file and reason."""


def roots() -> list[Path]:
    """This package, then the folders of DFSLAB_PATH."""
    extra = os.environ.get("DFSLAB_PATH", "")
    return [PACKAGE, *(Path(part).resolve() for part in extra.split(os.pathsep) if part)]


def members(room: str, folders: bool = False) -> dict[str, Path]:
    """Name -> file (or folder) of every member of `room`, sorted; later roots may not shadow."""
    places = tuple((root / room, _changed(root / room)) for root in roots())
    return dict(_listed(room, folders, places))


def _changed(folder: Path) -> int:
    """Modification time of a folder in ns; 0 if there is no folder."""
    try:
        return folder.stat().st_mtime_ns
    except OSError:
        return 0


@lru_cache(maxsize=64)
def _listed(room: str, folders: bool, places: tuple[tuple[Path, int], ...]) -> dict[str, Path]:
    """The members in these folders, cached by the folders' modification times."""
    found: dict[str, Path] = {}
    for place, _ in places:
        for path in sorted(place.glob("*")):
            is_member = (path / "facts.py").exists() if folders else path.suffix == ".py"
            if not is_member or path.name.startswith("_"):
                continue
            name = path.name if folders else path.stem
            if name in found:
                raise DiscoveryError(f"{path}: {room} already has a member {name}: {found[name]}")
            found[name] = path
    return dict(sorted(found.items()))


def load(path: Path) -> ModuleType:
    """Import the module in `path`, under its package name when it lies in this package."""
    root = next(root for root in roots() if path.is_relative_to(root))
    parts = path.relative_to(root).with_suffix("").parts
    name = ".".join(("dfslab", *parts))
    if root == PACKAGE or name in sys.modules:
        return importlib.import_module(name)
    return _load_foreign(name, path, parts)


def _load_foreign(name: str, path: Path, parts: tuple[str, ...]) -> ModuleType:
    """A member from DFSLAB_PATH joins its room under the room's own package name."""
    room = importlib.import_module(".".join(("dfslab", parts[0])))
    if len(parts) > 2:
        folder = path.parent.parent
        if str(folder) not in room.__path__:
            room.__path__.append(str(folder))
        importlib.invalidate_caches()
        return importlib.import_module(name)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def declared(path: Path, name: str, kind: type[Kind]) -> Kind:
    """The attribute `name` of the module in `path`. DiscoveryError if missing or not a `kind`."""
    found = vars(load(path)).get(name)
    if not isinstance(found, kind):
        what = "lacks" if found is None else f"gives {type(found).__name__} for"
        raise DiscoveryError(f"{path}: {what} {name}, which must be of type {kind.__name__}")
    return found


@lru_cache(maxsize=64)
def _file_system(name: str, folder: Path) -> FileSystem:
    from dfslab.spec.systems.filesystem import Facts, FileSystem

    facts = declared(folder / "facts.py", "FACTS", Facts)
    trees = declared(folder / "operations.py", "OPERATIONS", dict)
    try:
        return FileSystem(**vars(facts), name=name, operations=trees, folder=folder)
    except AssertionError as error:
        raise DiscoveryError(f"{folder}: {error}") from error


def file_system(name: str) -> FileSystem:
    """The description of that name; InputError with the known names otherwise."""
    found = members("filesystems", folders=True)
    if name not in found:
        raise InputError("file_system.name", name, unknown(name, list(found)))
    return _file_system(name, found[name])


@lru_cache(maxsize=64)
def _workload(name: str, path: Path) -> Workload:
    from dfslab.spec.streams.workload import Definition, Program, Streams, Workload, no_stream

    found = declared(path, "WORKLOAD", Definition)
    if isinstance(found, Program):
        return Workload(name, found.title, found.parameters, no_stream(name), path, found.argv)
    if isinstance(found, Streams):
        return Workload(name, found.title, found.parameters, found.stream, path)
    raise DiscoveryError(f"{path}: WORKLOAD must be Streams or a Program")


def workload(name: str) -> Workload:
    """The workload of that name; InputError with the known names otherwise."""
    found = members("workloads")
    if name not in found:
        raise InputError("workload.name", name, unknown(name, list(found)))
    return _workload(name, found[name])


def methods() -> Iterator[tuple[str, str, Path]]:
    """(name, "instrument" or "model", file) of every method, without importing any."""
    for room, kind in (("instruments", "instrument"), ("models", "model")):
        for path in members(room).values():
            for name in _declared_names(path, path.stat().st_mtime_ns):
                yield name, kind, path


@dataclass(frozen=True)
class Member:
    """A member that is found but not imported: where it comes from, and how to import it."""

    source: str
    load: Callable[[], ModuleType]


def studies() -> dict[str, Member]:
    """Name -> module of every study: files of the room, then entry points of `dfslab.studies`."""
    found: dict[str, Member] = {}
    for path in members("studies").values():
        for name in _declared_names(path, path.stat().st_mtime_ns):
            _add_study(found, name, Member(str(path), partial(load, path)))
    for entry in metadata.entry_points(group=STUDIES):
        _add_study(found, entry.name, Member(f"entry point {entry.value}", entry.load))
    return found


def _add_study(found: dict[str, Member], name: str, member: Member) -> None:
    """Later members may not shadow earlier ones."""
    if name in found:
        text = f"{member.source}: there is already a study {name}: {found[name].source}"
        raise DiscoveryError(text)
    found[name] = member


def title(path: Path) -> str:
    """The TITLE that a member's file declares, without importing it."""
    found = _declared(path, path.stat().st_mtime_ns, "TITLE")
    if found is None:
        raise DiscoveryError(f"{path}: lacks TITLE")
    return str(found)


def checked(path: Path, *names: str) -> bool:
    """Whether a member's file defines all these names at top level; not imported."""
    text = path.read_text(encoding="utf-8")
    return all(
        re.search(rf"^(?:def |class )?{name}\b|^from \S+ import .*\b{name}\b", text, re.MULTILINE)
        for name in names
    )


def has_testbed(folder: Path) -> bool:
    """Whether real daemons can be started for the file system of that folder."""
    return (folder / "testbed.py").exists()


def _declared_names(path: Path, changed_ns: int) -> tuple[str, ...]:
    """The file's NAMES; a file of the room that declares none is no method."""
    return tuple(_declared(path, changed_ns, "NAMES") or ())


@lru_cache(maxsize=512)
def _declared(path: Path, changed_ns: int, name: str) -> Any:
    """The literal value that a file assigns to `name`; None without one."""
    text = path.read_text(encoding="utf-8")
    # Parse only the line of the declaration: the whole file takes a hundred times as long.
    found = re.search(rf"^{name}\b.*$", text, re.MULTILINE)
    if found is None:
        return None
    try:
        body = ast.parse(found[0]).body
    except SyntaxError:
        body = ast.parse(text).body
    for node in body:
        if isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == name for target in node.targets
        ):
            return ast.literal_eval(node.value)
    return None


def model(name: str) -> Model:
    """A fresh model of that name; InputError where there is none or it measures."""
    from dfslab.method import Model

    found = method(name)
    if not isinstance(found, Model):
        raise InputError("--method", name, "measures; a model predicts")
    return found


def method(name: str) -> Method:
    """A fresh method of that name; InputError with the known names otherwise."""
    known = {found: path for found, _, path in methods()}
    if name not in known:
        raise InputError("run.methods", name, unknown(name, sorted(known)))
    make: Callable[[str], Method] = vars(load(known[name]))["make"]
    return make(name)
