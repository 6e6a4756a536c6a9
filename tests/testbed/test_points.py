"""Tests that every line of an instrumentation-points file names a class and a method that the jars
contain."""

from __future__ import annotations

import re
import subprocess
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from dfslab import discover
from dfslab.filesystems.alluxio import testbed as alluxio
from dfslab.filesystems.hdfs import testbed as hdfs
from dfslab.testbeds.cache import maven_jars

pytestmark = pytest.mark.testbed
ACTIONS = ("point", "capture", "resume", "advice")
JARS = {
    "hdfs": lambda: hdfs.Testbed.jars(hdfs.Testbed.parse({}), print),
    "alluxio": lambda: maven_jars(
        f"alluxio-{alluxio.VERSION}", alluxio.POM, {"alluxio.version": alluxio.VERSION}, print
    ),
}


def cuts(text: str) -> list[tuple[str, str]]:
    """Returns (class, method) of every line of an instrumentation-points file that names code to
    instrument. Comments are skipped."""
    lines = [re.sub(r"(^|\s)#.*", "", line).split() for line in text.splitlines()]
    return [(words[1], words[2]) for words in lines if words and words[0] in ACTIONS]


def declared(said: str, owner: str) -> set[str]:
    """Returns the methods of the class `owner` as a set of texts. Each method gives two texts:
    "name" and "name(types)". Types are shortened to their simple names, and a constructor is called
    <init>. `said` is the output of javap for this class."""
    found = set()
    while "<" in said:
        said = re.sub(r"<[^<>]*>", "", said)
    for name, types in re.findall(r"([\w$.]+)\(([^)]*)\)", said):
        words = [
            re.split(r"[.$]", word.strip().replace("...", "[]"))[-1]
            for word in types.split(",")
            if word.strip()
        ]
        name = "<init>" if name == owner else name
        found |= {name, f"{name}({','.join(words)})"}
    return found


def missing(jars: Path, text: str) -> list[str]:
    """Returns the instrumentation points that name an unknown class or method, as texts "CLASS
    METHOD". `text` is the content of an instrumentation-points file, and `jars` is the folder of
    the jar files that should contain the classes."""
    wanted = cuts(text)
    owners = sorted({owner for owner, _ in wanted})
    class_path = ":".join(str(jar) for jar in jars.glob("*.jar"))
    command = ["javap", "-p", "-cp", class_path, *owners]
    said = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120).stdout
    # In javap's output, each class ends with a brace in the first column.
    classes = {
        found[1]: declared(part[found.end() :], found[1])
        for part in said.split("\n}\n")
        if (found := re.search(r"class ([\w$.]+)", part))
    }
    return [
        f"{owner} {method}"
        for owner, method in wanted
        if not any(fnmatchcase(name, method.replace("[", "[[]")) for name in classes.get(owner, ()))
    ]


@pytest.mark.parametrize("system", JARS)
def test_what_a_points_file_names_is_in_the_jars(system):
    text = (discover.file_system(system).folder / "points.txt").read_text()
    assert len(cuts(text)) > 30
    owner, method = cuts(text)[0]
    # These classes and methods are in no jar. The check must report them, which shows that it can
    # fail.
    wrong = [f"{owner} {method}(NoSuchType)", f"{owner} noSuchMethod", f"{owner}2 {method}"]
    assert (
        missing(JARS[system](), text + "\n".join(f"point {line} x service" for line in wrong))
        == wrong
    )
