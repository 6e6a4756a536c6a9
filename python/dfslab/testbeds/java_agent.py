"""Builds the jar of the tracing agent once from agent/, and composes the Java option that starts
the agent."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

from dfslab.notify import Notify, silent
from dfslab.spec.files import checksums
from dfslab.spec.files.homes import locked
from dfslab.testbeds.cache import cache_folder, program
from dfslab.testbeds.daemon import run_to_end
from dfslab.testbeds.errors import TestbedError

SOURCES = Path(__file__).parents[3] / "agent"
# The path of the jar in an installed package, relative to the package's folder.
PACKAGED_JAR = Path("agent") / "dfslab-agent.jar"
BUILD_LIMIT_S = 600.0
# The file with the checksums of the jars that the build of the agent uses, including Maven's
# plugins. The paths in the file are relative to Maven's local repository.
CHECKSUMS = SOURCES / "jars.sha256"
SUFFIXES = (".java", ".xml")


def agent_jar(notify: Notify = silent) -> Path:
    """Returns the path of the agent's jar. An installed package contains the jar. In a checkout,
    the jar is built from the sources if it is missing or if the sources have changed.

    Raises TestbedError if the build fails.
    """
    packaged = Path(__file__).parents[1] / PACKAGED_JAR
    if packaged.is_file():
        return packaged
    sources = sorted(
        path
        for path in SOURCES.rglob("*")
        if path.suffix in SUFFIXES and "target" not in path.parts
    )
    if not sources:
        raise TestbedError("download", "building the tracing agent", f"no sources in {SOURCES}")
    digest = hashlib.sha256()
    for path in sources:
        digest.update(str(path.relative_to(SOURCES)).encode() + b"\0" + path.read_bytes() + b"\0")
    jar = cache_folder() / "agent" / f"dfslab-agent-{digest.hexdigest()[:12]}.jar"
    if jar.is_file():
        return jar
    maven = program("mvn", "maven")
    program("javac", "openjdk-17-jdk-headless")
    try:
        jar.parent.mkdir(parents=True, exist_ok=True)
        with locked(jar.with_suffix(".lock")):
            if not jar.is_file():
                notify("building the tracing agent with Maven (only this once)")
                _build(maven, sources, jar)
    except OSError as error:
        raise TestbedError("download", "building the tracing agent", str(error)) from error
    return jar


def _build(maven: str, sources: list[Path], jar: Path) -> None:
    """Builds the agent from a copy of its sources in a folder next to `jar`. Then moves the new jar
    to the path `jar`."""
    partial = jar.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    for source in sources:
        copy = partial / source.relative_to(SOURCES)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, copy)
    command = [
        maven,
        "-B",
        "-q",
        "-f",
        str(partial / "pom.xml"),
        f"-Dmaven.repo.local={cache_folder() / 'm2'}",
        "-DskipTests",
        "package",
    ]
    log = jar.with_suffix(".log")
    log.write_bytes(b"")
    try:
        run_to_end("building the tracing agent", command, log, os.environ, partial, BUILD_LIMIT_S)
        check_used_jars(cache_folder() / "m2", CHECKSUMS)
        (partial / "hadoop" / "target" / "dfslab-agent.jar").rename(jar)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def check_used_jars(repository: Path, listed: Path) -> None:
    """Compares the jars of the agent's build with the list of their checksums.

    A listed jar may be absent, because another version of Maven uses other jars. Raises
    TestbedError if a jar differs. The error names the first such jar.
    """
    wrong = checksums.difference(repository, checksums.read(listed))
    if wrong:
        advice = f"no agent was built; remove {repository} and build again"
        raise TestbedError("download", "checking the agent's jars", f"{wrong}; {advice}")


def java_option(
    jar: Path,
    points: Path,
    folder: Path,
    service: str,
    instance: str = "",
    interval_s: float = 10.0,
) -> str:
    """Returns the option of `java` with which a JVM is traced. The JVM then writes its profile to
    `folder` every `interval_s` seconds.

    `points`: the file that lists the methods that the agent instruments. `service` and `instance`:
    the names of the process in profiles.
    """
    options = {
        "points": points,
        "out": folder,
        "service": service,
        "instance": instance or service,
        "interval_s": interval_s,
    }
    return f"-javaagent:{jar}=" + ",".join(f"{key}={value}" for key, value in options.items())


if __name__ == "__main__":
    agent_jar(print)
