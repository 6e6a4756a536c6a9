"""Discovers plug-ins (members) of every type: file systems, workloads, models, studies and others.
Error messages name the file that is wrong.

The members of one type are modules with a common interface. Members are found in three places:
- This package. Each type has a folder.
- The folders of DFSLAB_PATH, which have the same layout (`filesystems/NAME/`, `workloads/NAME.py`,
  `models/NAME.py`, `studies/NAME.py`, `report/sections/NAME.py`, `exports/formats/NAME.py`,
  `imports/formats/NAME.py`, `imports/results/NAME.py`, `nets/formats/NAME.py`,
  `studies/checks/rules/NAME.py`).
- The entry points of installed packages. There is one group of entry points for each type.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, TypeVar

from dfslab import extras
from dfslab.spec.input_error import InputError, unknown
from dfslab.spec.members import folders, installed, literals, member_error
from dfslab.spec.members.member_error import DiscoveryError as DiscoveryError
from dfslab.spec.members.member_error import MemberValueError

if TYPE_CHECKING:
    from dfslab.method import Method, Model
    from dfslab.spec.streams.workload import Workload
    from dfslab.spec.systems.filesystem import FileSystem

PACKAGE = Path(__file__).parent
Kind = TypeVar("Kind")


@dataclass(frozen=True)
class Room:
    """A type of member, such as workloads, and the places in which members of this type are found.

    `noun`: the word for a member in messages. `folder`: the subfolder with the members, in this
    package and in each folder of DFSLAB_PATH. `group`: name of the group of entry points, each of
    which leads to a member's module. `of_folders`: whether a member is a folder (or package) with a
    file `facts.py`. Otherwise a member is in a Python file. `by_names`: whether a file lists its
    members as NAMES. A file without NAMES then has no members.
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
NET_FORMATS = Room("net format", "nets/formats", "dfslab.net_formats")
RULES = Room("rule", "studies/checks/rules", "dfslab.rules", by_names=True)
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
    NET_FORMATS,
    RULES,
)


def roots() -> list[Path]:
    """Returns the folders in which members are searched: this package, then the folders that
    DFSLAB_PATH names."""
    extra = os.environ.get("DFSLAB_PATH", "")
    return [PACKAGE, *(Path(part).resolve() for part in extra.split(os.pathsep) if part)]


def members(room: Room) -> dict[str, Path]:
    """Returns a dictionary with the file (or folder) of every member of the type `room`, including
    members in installed packages. The keys are the members' names.

    The keys are in ascending order. For a type with `by_names`, they are in the order of the files
    and their NAMES instead. Raises DiscoveryError if two members have the same name.
    """
    found = _in_files(room)
    for one in _entries(room, tuple(sys.path)):
        _add(room, found, one.name, one.path)
    return found if room.by_names else dict(sorted(found.items()))


def _in_files(room: Room) -> dict[str, Path]:
    """Returns a dictionary from the name of every member of the type `room` to its file. The
    dictionary has the members in this package and in DFSLAB_PATH.

    Installed packages are not searched.
    """
    return _with_members(room, _own(room), roots()[1:])


@lru_cache(maxsize=len(ROOMS))
def _own(room: Room) -> dict[str, Path]:
    """Returns a dictionary like that of `_in_files`, with the members of the type `room` in this
    package only. The caller must not change the dictionary.

    The package's files are read once per process, because they do not change while it runs. Checks
    of a large design ask for members more than 100,000 times.
    """
    return _with_members(room, {}, [PACKAGE])


def _with_members(room: Room, known: dict[str, Path], places: list[Path]) -> dict[str, Path]:
    """Returns a new dictionary with the members `known` and those in `places`, which are folders of
    `roots`."""
    found = dict(known)
    for path in folders.entries(room.of_folders, [place / room.folder for place in places]):
        for name in _names(room, path):
            _add(room, found, name, path)
    return found


def _add(room: Room, found: dict[str, Path], name: str, path: Path) -> None:
    if name in found:
        text = f"there is already a {room.noun} {name}: {source(found[name])}"
        raise DiscoveryError(f"{source(path)}: {text}")
    found[name] = path


def _names(room: Room, path: Path) -> tuple[str, ...]:
    """Returns the names of the members in the file (or folder) `path`.

    - For a type with `by_names`, these are the names that the file declares as NAMES. A file with
      neither NAMES nor `make` only helps other files and has no members.
    - For other types, the only name is that of the folder, or of the file without its extension.

    Raises DiscoveryError for a file with `make` and without NAMES.
    """
    if not room.by_names:
        return (path.name if room.of_folders else path.stem,)
    found = literals.names(path)
    if not found and literals.makes(path):
        raise DiscoveryError(f"{path}: lacks NAMES, the names of what it makes")
    return found


@dataclass(frozen=True)
class _Entry:
    """An entry point of an installed package, which leads to a member.

    `name`: name of the member. `module`: the module of the member. `path`: the file of this module
    (or the folder, if it is a package).
    """

    name: str
    module: str
    path: Path


def entries() -> list[metadata.EntryPoint]:
    """Returns the entry points in installed packages for members of all types."""
    groups = {room.group for room in ROOMS}
    return [one for one in installed.entry_points(tuple(sys.path)) if one.group in groups]


# Which packages are installed depends on the module search path, so this path is the key of the
# cache.
@lru_cache(maxsize=64)
def _entries(room: Room, search_path: tuple[str, ...]) -> tuple[_Entry, ...]:
    """Returns the entry points in installed packages for members of the type `room`.

    To find a member's file, the package that contains the member is imported, but the member itself
    is not.
    """
    found = [one for one in installed.entry_points(search_path) if one.group == room.group]
    return tuple(_Entry(one.name, one.module, _place(room, one)) for one in found)


def _place(room: Room, entry: metadata.EntryPoint) -> Path:
    """Returns the file of the module to which an entry point leads.

    If the module is a package, the result is its folder.
    """
    text = f"entry point {entry.value} of {room.group}"
    find = installed.folder if room.of_folders else installed.file
    try:
        found = find(entry.module)
    except Exception as error:
        # The packages around the module are imported, and their code may raise any exception.
        raise DiscoveryError(f"{text}: {member_error.reason(error)}") from error
    if found is None:
        raise DiscoveryError(f"{text}: no such module")
    return found


def _behind(path: Path) -> tuple[_Entry, str] | None:
    """Finds the member of an installed package to which the file `path` belongs. The file is the
    member's file or is in the member's folder. Returns a pair: the member's entry point, and the
    import name of the module in `path`. Returns None if there is no such member."""
    for room in ROOMS:
        for one in _entries(room, tuple(sys.path)):
            if path == one.path:
                return one, one.module
            if room.of_folders and path.is_relative_to(one.path):
                parts = path.relative_to(one.path).with_suffix("").parts
                return one, ".".join((one.module, *parts))
    return None


def source(path: Path) -> str:
    """Returns a text that says where the member in `path` comes from. The text names the entry
    point if the member is in an installed package. Otherwise the text is the path."""
    if any(path.is_relative_to(root) for root in roots()):
        return str(path)
    behind = _behind(path)
    return str(path) if behind is None else f"entry point {behind[0].module}"


def is_ours(path: Path) -> bool:
    """Whether the file `path` is part of this package."""
    return path.is_relative_to(PACKAGE)


def outside(room: Room) -> dict[str, Path]:
    """Returns the members of the type `room` that are not part of this package: their files by
    their names. Raises DiscoveryError if two members have the same name."""
    return {name: path for name, path in members(room).items() if not is_ours(path)}


def places_outside() -> tuple[Path, ...]:
    """Returns the files and folders, outside this package, that have the code of members. For an
    installed package, this is the whole package."""
    places = [root / room.folder for root in roots()[1:] for room in ROOMS]
    packages = sorted({one.module.partition(".")[0] for one in entries()})
    found = [installed.folder(name) or installed.file(name) for name in packages]
    return (*places, *(place for place in found if place is not None))


def fault(error: BaseException) -> str | None:
    """Returns "FILE:LINE: reason" for an exception in which code of a member outside this package
    took part; None for any other exception."""
    return member_error.fault(error, places_outside())


@contextmanager
def blamed(path: Path) -> Iterator[None]:
    """A context for code of the member in the file `path`. An exception in the context is converted
    to a DiscoveryError with the file, the line and the reason.

    An InputError, a DiscoveryError that names its file, and the error about a missing optional
    library are raised unchanged.
    """
    try:
        yield
    except Exception as error:
        if isinstance(error, DiscoveryError) and not isinstance(error, MemberValueError):
            raise
        if isinstance(error, InputError):
            raise
        if isinstance(error, ModuleNotFoundError) and extras.missing(error):
            raise
        raise member_error.located(error, path, places_outside()) from error


def load(path: Path) -> ModuleType:
    """Imports the module in the file `path` and returns it.

    A module of this package or of an installed package has its usual import name. A module in a
    folder of DFSLAB_PATH gets the name that it would have in this package, such as
    `dfslab.workloads.NAME`. Raises DiscoveryError, with file and line, if the module cannot be
    imported.
    """
    with blamed(path):
        return _imported(path)


def _imported(path: Path) -> ModuleType:
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
    """Imports a member from a folder of DFSLAB_PATH, and returns its module.

    `name`: the import name that the module gets, such as `dfslab.workloads.NAME`. `parts`: the
    parts of the file's path below the folder of DFSLAB_PATH.
    """
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
    """Returns the attribute `name` of the module in the file `path`.

    Raises DiscoveryError if the attribute is missing or not of the type `kind`.
    """
    found = vars(load(path)).get(name)
    if not isinstance(found, kind):
        what = "lacks" if found is None else f"gives {type(found).__name__} for"
        raise DiscoveryError(f"{path}: {what} {name}, which must be of type {kind.__name__}")
    return found


def made(path: Path, name: str) -> object:
    """Imports the module in the file `path` and returns what its function `make` returns for the
    member `name`.

    Raises DiscoveryError if the module has no function `make`.
    """
    make = vars(load(path)).get("make")
    if not callable(make):
        raise DiscoveryError(f"{source(path)}: lacks make")
    with blamed(path):
        found: object = make(name)
    return found


def named(room: Room, name: str, key: str) -> Path:
    """Returns the file of the member `name` of the type `room`.

    If there is no such member, raises InputError, which names the setting `key` and lists the known
    names.
    """
    # Members of this package and of DFSLAB_PATH are searched first. Only if the member is not among
    # them are the entry points of installed packages searched, because this search is the slowest
    # and few members are there.
    if name in (found := _in_files(room)) or name in (found := members(room)):
        return found[name]
    raise InputError(key, name, unknown(name, sorted(found)))


@lru_cache(maxsize=64)
def _file_system(name: str, folder: Path) -> FileSystem:
    from dfslab.spec.systems.filesystem import Facts, FileSystem

    facts = declared(folder / "facts.py", "FACTS", Facts)
    trees = declared(folder / "operations.py", "OPERATIONS", dict)
    with blamed(folder / "operations.py"):
        found = FileSystem(**vars(facts), name=name, operations=trees, folder=folder)
        if not is_ours(folder) and found.idle:
            idle = ", ".join(found.idle)
            raise MemberValueError(f"no operation uses the parameters {idle} of facts.py")
    return found


def file_system(name: str) -> FileSystem:
    """Returns the description of the file system `name`.

    Raises InputError, which lists the known names, if there is no such file system.
    """
    return _file_system(name, named(FILE_SYSTEMS, name, "file_system.name"))


@lru_cache(maxsize=64)
def _workload(name: str, path: Path) -> Workload:
    from dfslab.spec.streams.workload import Definition, Program, Streams, Workload, no_stream

    found = declared(path, "WORKLOAD", Definition)
    if isinstance(found, Program):
        return Workload(name, found.title, found.parameters, no_stream(name), path, found.command)
    if isinstance(found, Streams):
        return Workload(
            name, found.title, found.parameters, found.stream, path, for_clients=found.for_clients
        )
    raise DiscoveryError(f"{path}: WORKLOAD must be Streams or a Program")


def workload(name: str) -> Workload:
    """Returns the workload `name`. Raises InputError, which lists the known names, if there is no
    such workload."""
    return _workload(name, named(WORKLOADS, name, "workload.name"))


def methods() -> Iterator[tuple[str, str, Path]]:
    """Yields the name, the kind ("instrument" or "model") and the file of every method. No method
    is imported."""
    for room, kind in ((INSTRUMENTS, "instrument"), (MODELS, "model")):
        for name, path in members(room).items():
            yield name, kind, path


def studies() -> dict[str, Path]:
    """Returns the file of every study, by the study's name. No study is imported."""
    return members(STUDIES)


def title(path: Path) -> str:
    """Returns the title that the file of a member declares as TITLE.

    The file is not imported. Raises DiscoveryError if it declares no TITLE.
    """
    found = literals.assigned(path, "TITLE")
    if found is None:
        raise DiscoveryError(f"{path}: lacks TITLE")
    return str(found)


def has_testbed(folder: Path) -> bool:
    """Whether the file system in `folder` has a testbed, that is, code that starts the file
    system's real daemons."""
    return (folder / "testbed.py").exists()


def model(name: str) -> Model:
    """Returns a new object of the model `name`.

    Raises InputError if there is no such model, or if `name` is an instrument.
    """
    from dfslab.method import Model

    found = method(name)
    if not isinstance(found, Model):
        raise InputError("--method", name, "measures; a model predicts")
    return found


def method(name: str) -> Method:
    """Returns a new object of the method `name`.

    Raises InputError, which lists the known names, if there is no such method.
    """
    from dfslab.method import Method

    path = method_file(name)
    found = made(path, name)
    if not isinstance(found, Method):
        raise DiscoveryError(f"{source(path)}: makes no method {name}")
    return found


def is_instrument(name: str) -> bool:
    """Whether the method `name` is an instrument; false for a model and for an unknown name."""
    return name in _in_files(INSTRUMENTS) or (
        name not in _in_files(MODELS) and name in members(INSTRUMENTS)
    )


def method_file(name: str) -> Path:
    """The file of the method `name`. Raises InputError, which lists the known names, if there is no
    such method."""
    found = _in_files(INSTRUMENTS) | _in_files(MODELS)
    if name not in found:
        found = {known: path for known, _, path in methods()}
    if name not in found:
        raise InputError("run.methods", name, unknown(name, sorted(found)))
    return found[name]
