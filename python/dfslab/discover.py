"""Discovers the members of rooms (file systems, workloads, models, …); errors name the file.

A room is a folder of this package whose modules have one interface. Members are in this package, in
the folders of DFSLAB_PATH, which have the same layout (`filesystems/NAME/`, `workloads/NAME.py`,
`models/NAME.py`, `studies/NAME.py`, `report/sections/NAME.py`, `exports/formats/NAME.py`,
`imports/formats/NAME.py`, `imports/results/NAME.py`), and behind entry points of installed
packages, one group for each room.
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
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from dfslab.spec.input_error import InputError, unknown

if TYPE_CHECKING:
    from dfslab.method import Method, Model
    from dfslab.spec.streams.workload import Workload
    from dfslab.spec.systems.filesystem import FileSystem

PACKAGE = Path(__file__).parent
Kind = TypeVar("Kind")


class DiscoveryError(Exception):
    """A member's file breaks the interface of its room; the message names the file and the
    reason."""


@dataclass(frozen=True)
class Room:
    """The search locations of the members of one kind, which messages call `noun`.

    `folder`: subfolder of this package and of each folder of DFSLAB_PATH. `group`: group of entry
    points, whose values are modules. `of_folders`: each member is a folder (or package) with a
    `facts.py`. `by_names`: a file declares the names of its members as NAMES; a file without NAMES
    has no members.
    """

    noun: str
    folder: str
    group: str
    of_folders: bool = False
    by_names: bool = False


FILE_SYSTEMS = Room("file system", "filesystems", "dfslab.file_systems", of_folders=True)
WORKLOADS = Room("workload", "workloads", "dfslab.workloads")
INSTRUMENTS = Room("instrument", "instruments", "dfslab.instruments", by_names=True)
MODELS = Room("model", "models", "dfslab.models", by_names=True)
STUDIES = Room("study", "studies", "dfslab.studies", by_names=True)
SECTIONS = Room("section", "report/sections", "dfslab.sections")
EXPORTERS = Room("exporter", "exports/formats", "dfslab.exporters")
IMPORTERS = Room("importer", "imports/formats", "dfslab.importers")
RESULT_READERS = Room("result reader", "imports/results", "dfslab.result_readers")
ROOMS = (
    FILE_SYSTEMS,
    WORKLOADS,
    INSTRUMENTS,
    MODELS,
    STUDIES,
    SECTIONS,
    EXPORTERS,
    IMPORTERS,
    RESULT_READERS,
)


def roots() -> list[Path]:
    """The folder of this package, then the folders that DFSLAB_PATH names."""
    extra = os.environ.get("DFSLAB_PATH", "")
    return [PACKAGE, *(Path(part).resolve() for part in extra.split(os.pathsep) if part)]


def members(room: Room) -> dict[str, Path]:
    """Name -> file (or folder) of every member of a room, sorted by name or by file.

    Files that declare NAMES are sorted by file. DiscoveryError if two members have the same name.
    """
    found = _in_files(room)
    for one in _entries(room, tuple(sys.path)):
        _add(room, found, one.name, one.path)
    return found if room.by_names else dict(sorted(found.items()))


def _in_files(room: Room) -> dict[str, Path]:
    """Name -> file of the room's members in this package and in DFSLAB_PATH."""
    found: dict[str, Path] = {}
    for path in _files(room):
        for name in _names(room, path):
            _add(room, found, name, path)
    return found


def _add(room: Room, found: dict[str, Path], name: str, path: Path) -> None:
    if name in found:
        text = f"there is already a {room.noun} {name}: {source(found[name])}"
        raise DiscoveryError(f"{source(path)}: {text}")
    found[name] = path


def _files(room: Room) -> tuple[Path, ...]:
    """The room's files (or folders) in this package and in the folders of DFSLAB_PATH."""
    places = tuple((root / room.folder, _changed(root / room.folder)) for root in roots())
    return _listed(room.of_folders, places)


def _changed(folder: Path) -> int:
    """Modification time of a folder in ns; 0 if there is no folder."""
    try:
        return folder.stat().st_mtime_ns
    except OSError:
        return 0


@lru_cache(maxsize=64)
def _listed(of_folders: bool, places: tuple[tuple[Path, int], ...]) -> tuple[Path, ...]:
    """The members' files (or folders) in `places`, which are (folder, modification time in ns).

    The modification times are part of the cache key, so a changed folder is read again.
    """
    return tuple(
        path
        for place, _ in places
        for path in sorted(place.glob("*"))
        if not path.name.startswith("_")
        and ((path / "facts.py").exists() if of_folders else path.suffix == ".py")
    )


def _names(room: Room, path: Path) -> tuple[str, ...]:
    """The names of the members in a file (or folder)."""
    if not room.by_names:
        return (path.name if room.of_folders else path.stem,)
    return tuple(_declared(path, path.stat().st_mtime_ns, "NAMES") or ())


@dataclass(frozen=True)
class _Entry:
    """An entry point: the member's name, its module, and the module's file (or folder)."""

    name: str
    module: str
    path: Path


# The key of both caches is the module search path, which determines the installed packages.
@lru_cache(maxsize=1)
def _installed(search_path: tuple[str, ...]) -> tuple[metadata.EntryPoint, ...]:
    """The entry points of all rooms; if a package is installed twice, those of the first copy."""
    groups = {room.group for room in ROOMS}
    found: dict[str, list[metadata.EntryPoint]] = {}
    for package in metadata.distributions():
        if own := [one for one in package.entry_points if one.group in groups]:
            found.setdefault(package.name, own)
    return tuple(one for own in found.values() for one in own)


def installed() -> tuple[metadata.EntryPoint, ...]:
    """The entry points of all rooms in installed packages."""
    return _installed(tuple(sys.path))


@lru_cache(maxsize=64)
def _entries(room: Room, search_path: tuple[str, ...]) -> tuple[_Entry, ...]:
    """The entry points of a room.

    Only the packages around a member are imported, not the member.
    """
    found = [one for one in _installed(search_path) if one.group == room.group]
    return tuple(_Entry(one.name, one.module, _place(room, one)) for one in found)


def _place(room: Room, entry: metadata.EntryPoint) -> Path:
    """The file of an entry point's module, or the folder of its package."""
    try:
        spec = importlib.util.find_spec(entry.module)
    except ModuleNotFoundError:
        spec = None
    if spec is None or spec.origin is None:
        raise DiscoveryError(f"entry point {entry.value} of {room.group}: no such module")
    return Path(spec.origin).parent if room.of_folders else Path(spec.origin)


def _behind(path: Path) -> tuple[_Entry, str] | None:
    """(entry point, module name) of a member's file; None if no entry point leads to the file."""
    for room in ROOMS:
        for one in _entries(room, tuple(sys.path)):
            if path == one.path:
                return one, one.module
            if room.of_folders and path.is_relative_to(one.path):
                parts = path.relative_to(one.path).with_suffix("").parts
                return one, ".".join((one.module, *parts))
    return None


def source(path: Path) -> str:
    """The origin of a member for display: its file, or the entry point that names its module."""
    if any(path.is_relative_to(root) for root in roots()):
        return str(path)
    behind = _behind(path)
    return str(path) if behind is None else f"entry point {behind[0].module}"


def is_ours(path: Path) -> bool:
    """Whether a member is part of this package."""
    return path.is_relative_to(PACKAGE)


def load(path: Path) -> ModuleType:
    """Import and return the module in `path`.

    A module of this package keeps its import name. A module of DFSLAB_PATH is imported under the
    package name of its room.
    """
    for root in roots():
        if path.is_relative_to(root):
            parts = path.relative_to(root).with_suffix("").parts
            name = ".".join(("dfslab", *parts))
            if root == PACKAGE or name in sys.modules:
                return importlib.import_module(name)
            return _load_foreign(name, path, parts)
    behind = _behind(path)
    assert behind is not None, path
    return importlib.import_module(behind[1])


def _load_foreign(name: str, path: Path, parts: tuple[str, ...]) -> ModuleType:
    """Import a member from DFSLAB_PATH under the package name of its room, and return its
    module."""
    if parts[0] == FILE_SYSTEMS.folder:
        room = importlib.import_module(f"dfslab.{FILE_SYSTEMS.folder}")
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


def named(room: Room, name: str, key: str) -> Path:
    """The file of the room's member `name`.

    InputError for `key`, with the known names, if none exists.
    """
    # Most members are files, so look there first: a search for entry points is the slowest step.
    if name in (found := _in_files(room)) or name in (found := members(room)):
        return found[name]
    raise InputError(key, name, unknown(name, sorted(found)))


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
    """The description of the file system `name`. InputError with the known names if none exists."""
    return _file_system(name, named(FILE_SYSTEMS, name, "file_system.name"))


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
    """The workload `name`. InputError with the known names if none exists."""
    return _workload(name, named(WORKLOADS, name, "workload.name"))


def methods() -> Iterator[tuple[str, str, Path]]:
    """(name, "instrument" or "model", file) of every method, without importing any."""
    for room, kind in ((INSTRUMENTS, "instrument"), (MODELS, "model")):
        for name, path in members(room).items():
            yield name, kind, path


@dataclass(frozen=True)
class Member:
    """A member that was found but not imported: its origin, and a function that imports it."""

    source: str
    load: Callable[[], ModuleType]


def studies() -> dict[str, Member]:
    """Study name -> member of every study, without importing any."""
    return {
        name: Member(source(path), partial(load, path)) for name, path in members(STUDIES).items()
    }


def title(path: Path) -> str:
    """The TITLE that a member's file declares, without importing it."""
    found = _declared(path, path.stat().st_mtime_ns, "TITLE")
    if found is None:
        raise DiscoveryError(f"{path}: lacks TITLE")
    return str(found)


def has_testbed(folder: Path) -> bool:
    """Whether the file system in this folder has a testbed, which starts real daemons."""
    return (folder / "testbed.py").exists()


@lru_cache(maxsize=512)
def _declared(path: Path, changed_ns: int, name: str) -> Any:
    """The literal value that a file assigns to `name`; None if the file does not assign it."""
    text = path.read_text(encoding="utf-8")
    # Parse only the line of the declaration: parsing the whole file takes a hundred times as long.
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
    """A new instance of the model `name`.

    InputError if none exists or if `name` is an instrument.
    """
    from dfslab.method import Model

    found = method(name)
    if not isinstance(found, Model):
        raise InputError("--method", name, "measures; a model predicts")
    return found


def method(name: str) -> Method:
    """A new instance of the method `name`. InputError with the known names if none exists."""
    make: Callable[[str], Method] = declared(method_file(name), "make", FunctionType)
    return make(name)


def is_instrument(name: str) -> bool:
    """Whether the method `name` is an instrument; false for a model and for an unknown name."""
    return name in _in_files(INSTRUMENTS) or (
        name not in _in_files(MODELS) and name in members(INSTRUMENTS)
    )


def method_file(name: str) -> Path:
    """The file of the method `name`. InputError with the known names if none exists."""
    found = _in_files(INSTRUMENTS) | _in_files(MODELS)
    if name not in found:
        found = {known: path for known, _, path in methods()}
    if name not in found:
        raise InputError("run.methods", name, unknown(name, sorted(found)))
    return found[name]
