"""Files that commands write. A file is written durably, and either completely or not at all. An
existing file is only replaced if the user permits this. "-" is standard output."""

from __future__ import annotations

import errno
import os
import stat
import sys
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from dfslab.spec.input_error import InputError, RunFailed

STANDARD_OUTPUT = "-"
EXISTS = "exists already; dfslab does not overwrite it"
# Errors that depend on the path, so that another path may help. Any other error, such as a full
# disk, means that the run fails.
_OF_THE_PATH = (
    errno.EACCES,
    errno.EISDIR,
    errno.ELOOP,
    errno.ENAMETOOLONG,
    errno.ENOENT,
    errno.ENOTDIR,
    errno.EPERM,
    errno.EROFS,
)


@dataclass(frozen=True)
class Output:
    """A file that a command writes for the user. `key` is the option that names the file, and
    `path` is its path.

    `replaces`: whether an existing regular file may be replaced (`--force`). Links, devices, pipes
    and folders are never replaced.
    """

    key: str
    path: Path
    replaces: bool = False

    @property
    def is_standard(self) -> bool:
        """Returns whether the path is "-", which is standard output."""
        return str(self.path) == STANDARD_OUTPUT

    def check(self, inputs: Iterable[Path] = ()) -> Output:
        """Checks that this output can be written, and returns it. Raises InputError if the output
        cannot be written or if its path is one of the `inputs`."""
        if self.is_standard:
            return self
        if not self.path.parent.is_dir():
            raise self._refused("its directory does not exist")
        check_writable(self.key, self.path.parent)
        found = _found(self.path)
        if found is None:
            return self
        if any(_is_same(found, one) for one in inputs):
            raise self._refused("is read by this command; name another file")
        if not stat.S_ISREG(found.st_mode):
            reason = f"is {_kind(found.st_mode)}, not a regular file; - is standard output"
            raise self._refused(reason)
        if not self.replaces:
            raise self._refused(EXISTS)
        return self

    def write(self, content: str | bytes) -> None:
        """Writes the complete content, or nothing. Raises InputError like `check`, and RunFailed if
        the disk is full or fails."""
        encoded = content.encode() if isinstance(content, str) else content
        if self.is_standard:
            sys.stdout.buffer.write(encoded)
            sys.stdout.buffer.flush()
            return
        self.check()
        self.fill(lambda temporary: _write_durably(temporary, encoded))

    def fill(self, write: Callable[[Path], object]) -> None:
        """Calls `write` with the path of a temporary file in the same folder, then renames the file
        to the path of this output.

        Raises InputError if the path cannot be written, RunFailed if the disk is full or fails.
        """
        temporary = _temporary(self.path)
        try:
            write(temporary)
            if self.replaces:
                os.replace(temporary, self.check().path)
            else:
                _name_new(temporary, self.path)
            sync_folder(self.path.parent)
        except FileExistsError:
            raise self._refused(EXISTS) from None
        except OSError as error:
            reason = f"cannot be written: {error.strerror}"
            if error.errno in _OF_THE_PATH:
                raise self._refused(reason) from error
            raise RunFailed(f"{self.path}: {reason}") from error
        finally:
            temporary.unlink(missing_ok=True)

    def _refused(self, reason: str) -> InputError:
        return InputError(self.key, str(self.path), reason)


def new_file(key: str, path: Path) -> Path:
    """Returns `path`, if a new file can be made there. Raises InputError for `key` if the path
    exists, if its folder does not exist, or if the path is "-" (standard output)."""
    output = Output(key, path)
    if output.is_standard:
        raise InputError(key, str(path), "must be a new file")
    return output.check().path


def new_folder(key: str, path: Path) -> Path:
    """Returns `path`, if it can be the folder of an output. Raises InputError for `key` if the path
    is a link, a file or a folder with content, or if its parent folder does not exist."""
    if path.is_symlink() or (path.exists() and (not path.is_dir() or any(path.iterdir()))):
        raise InputError(key, str(path), "must be a new or an empty folder")
    if not path.parent.is_dir():
        raise InputError(key, str(path), "its directory does not exist")
    check_writable(key, path if path.is_dir() else path.parent)
    return path


def check_writable(key: str, folder: Path) -> None:
    """Raises InputError for `key` if this process may not make files in an existing folder, because
    of its permissions or of a read-only mount."""
    if not os.access(folder, os.W_OK | os.X_OK):
        allowed = f"is not writable for user {os.geteuid()}; name another folder, or use `sudo`"
        raise InputError(key, str(folder), allowed)


def write_atomically(path: Path, content: str | bytes) -> None:
    """Writes or replaces one of dfslab's own files. After a crash or a power failure, the path has
    either the old or the new content. Text is encoded as UTF-8. Raises OSError if the file cannot
    be written."""
    temporary = _temporary(path)
    try:
        _write_durably(temporary, content.encode() if isinstance(content, str) else content)
        os.replace(temporary, path)
        sync_folder(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Makes the entries (names of files) of a folder durable. An error of the sync is ignored,
    because some file systems cannot sync folders and do not need it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError:
        return
    finally:
        os.close(descriptor)


def _write_durably(path: Path, content: bytes) -> None:
    """Writes a file that must not exist yet, and waits until it is on the disk. Raises OSError with
    the file's name if this fails."""
    try:
        with path.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        # The operating system's error for a write does not contain the name of the file.
        raise OSError(error.errno, error.strerror, str(path)) from error


def _name_new(temporary: Path, path: Path) -> None:
    """Renames a new file from `temporary` to `path`. Raises FileExistsError if `path` exists.

    The renaming uses a hard link, because a hard link never replaces a file. Where hard links are
    not possible, an empty new file first reserves `path`.
    """
    try:
        os.link(temporary, path, follow_symlinks=False)
    except FileExistsError:
        raise
    except OSError:
        flags = os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_WRONLY | os.O_CLOEXEC
        os.close(os.open(path, flags, 0o666))
        os.replace(temporary, path)


def _temporary(path: Path) -> Path:
    return path.with_name(f".{path.name[:100]}.{os.getpid()}-{uuid.uuid4().hex[:8]}.tmp")


def _found(path: Path) -> os.stat_result | None:
    try:
        return path.lstat()
    except FileNotFoundError:
        return None


def _is_same(found: os.stat_result, other: Path) -> bool:
    try:
        return os.path.samestat(found, other.stat())
    except OSError:
        return False


def _kind(mode: int) -> str:
    kinds = {
        stat.S_ISLNK: "a symbolic link",
        stat.S_ISDIR: "a folder",
        stat.S_ISFIFO: "a pipe",
        stat.S_ISSOCK: "a socket",
    }
    return next((name for holds, name in kinds.items() if holds(mode)), "a device")


def check_folder(key: str, folder: Path, *names: str) -> None:
    """Checks that the folder `folder`/names[0]/names[1]/… can be used. The folder must either exist
    with write access, or it must be possible to create the folder and its missing parents. Nothing
    is created. Raises InputError for `key`, the option that names `folder`, if neither is the
    case."""
    existing = folder.joinpath(*names)
    while not os.path.lexists(existing) and existing != existing.parent:
        existing = existing.parent
    if not existing.is_dir():
        reason = f"{existing} is no folder"
    elif not os.access(existing, os.W_OK | os.X_OK):
        reason = f"{existing} is not writable for user {os.geteuid()}"
    else:
        return
    raise InputError(key, str(folder), f"no folder can be made there: {reason}")
