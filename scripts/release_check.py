"""Tries a built wheel as a newcomer would, in an empty environment and an empty folder.

    python scripts/release_check.py WHEEL [--report FOLDER]

It installs the wheel, runs the commands of the tutorial at 80 columns, and checks their exit codes,
widths and words. With `--report`, a software bill of materials (CycloneDX) and a licence report of
the installed packages are written to a folder. Packages are fetched by `uv`, which keeps them.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
UV = str(Path(sys.executable).with_name("uv"))
COLUMNS = 80
# Largest number of seconds that the whole check may take: a newcomer's first ten minutes.
LIMIT_S = 600.0
TOOLS = ROOT / "scripts" / "requirements-release.txt"
# The last lines of a command begin with one of these words and a path. The path makes such a line
# longer than the terminal's width, which is allowed.
PATHS = ("run: ", "page: ", "trace: ")


@dataclass(frozen=True)
class Try:
    """A command of the tutorial (`words`), and the texts that its output must contain (`expected`).

    `is_wrapped` tells whether the lines of the output must fit the terminal. It is False for TOML,
    whose lines are not wrapped.
    """

    words: tuple[str, ...]
    expected: tuple[str, ...]
    is_wrapped: bool = True


# Commands that must work with the wheel alone, without any extra.
BASE = (
    Try(("--version",), ("dfslab ",)),
    Try(("doctor",), ("measure a directory", "page of a run", "jinja2 is missing")),
    Try(
        ("measure", "data", "--bs", "4k", "--rw", "read,randwrite", "--clients", "1", "--size")
        + ("1m", "--time", "200ms", "--repetitions", "2", "-q"),
        ("Measured: highest", "reads/s"),
    ),
    Try(("whatif", "glusterfs", "servers +1", "-q"), ("servers +1: write", "How sure")),
    Try(("replay", "app.strace", "data", "-q"), ("Replayed 4 of 4 calls", "These calls took")),
)
# Commands that need the extras which the tutorial installs.
WITH_EXTRAS = (
    Try(("run", "quickstart", "-q"), ("Measured: highest", "report.html")),
    Try(("trace", "record", "quickstart", "-o", "trace.json", "-q"), ("trace: trace.json",)),
    Try(
        ("trace", "report", "trace.json", "--page", "trace.html"),
        ("2 times faster would save", "page: trace.html"),
    ),
    Try(("show", "scenario", "quickstart"), ("quickstart",), is_wrapped=False),
)
STRACE = """\
10 09:00:00.000000 openat(AT_FDCWD, "/app/out", O_WRONLY|O_CREAT, 0666) = 3 <0.000400>
10 09:00:00.100000 write(3, "x"..., 8192) = 8192 <0.000200>
10 09:00:00.200000 fsync(3) = 0 <0.010000>
10 09:00:00.300000 close(3) = 0 <0.000050>
"""


class Environment:
    """An empty Python environment, and an empty folder in which its commands run."""

    def __init__(self, folder: Path) -> None:
        self.python = folder / "environment" / "bin" / "python"
        self.work = folder / "work"
        (self.work / "data").mkdir(parents=True)
        (self.work / "app.strace").write_text(STRACE)
        _run([UV, "venv", "--quiet", str(self.python.parents[1])], ROOT)

    def install(self, *packages: str) -> None:
        """Installs packages with their dependencies."""
        _run([UV, "pip", "install", "--quiet", "--python", str(self.python), *packages], ROOT)

    def dfslab(self, one: Try) -> str:
        """Runs dfslab with the words of `one` and returns its output. Raises SystemExit with a
        message if the exit code or the output is wrong.
        """
        own = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        own |= {"COLUMNS": str(COLUMNS), "HOME": str(self.work)}
        command = [str(self.python.with_name("dfslab")), *one.words]
        done = subprocess.run(
            command, cwd=self.work, env=own, capture_output=True, text=True, timeout=LIMIT_S
        )
        shown = f"dfslab {' '.join(one.words)}"
        if done.returncode:
            raise SystemExit(f"{shown}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        flat = " ".join(done.stdout.split())
        if lacking := [text for text in one.expected if text not in flat]:
            raise SystemExit(f"{shown}: lacks {lacking}\n{done.stdout}")
        wide = [line for line in done.stdout.splitlines() if len(line) > COLUMNS]
        wide = [line for line in wide if not line.startswith(PATHS)]
        if wide and one.is_wrapped:
            raise SystemExit(f"{shown}: wider than {COLUMNS} columns:\n{wide[0]}")
        return done.stdout


def _run(command: list[str], folder: Path) -> None:
    subprocess.run(command, cwd=folder, check=True, timeout=LIMIT_S)


def check(wheel: Path, folder: Path, report: Path | None) -> None:
    """Tries the wheel by all commands, and prints the seconds that each takes."""
    began_s = time.monotonic()
    environment = Environment(folder)
    steps = ((str(wheel), BASE), (f"{wheel}[fit,page,tables]", WITH_EXTRAS))
    for package, tries in steps:
        installed_s = time.monotonic()
        environment.install(package)
        print(f"{time.monotonic() - installed_s:6.1f} s  install {Path(package).name}", flush=True)
        for one in tries:
            started_s = time.monotonic()
            environment.dfslab(one)
            print(
                f"{time.monotonic() - started_s:6.1f} s  dfslab {' '.join(one.words)}", flush=True
            )
    took_s = time.monotonic() - began_s
    print(f"{took_s:6.1f} s  in all, at most {LIMIT_S:.0f} s")
    if took_s > LIMIT_S:
        raise SystemExit("the first steps took longer than ten minutes")
    if report is not None:
        write_report(environment.python, folder / "tools", report)


def write_report(python: Path, tools: Path, report: Path) -> None:
    """Writes the bill of materials and the licences of an environment's packages."""
    report.mkdir(parents=True, exist_ok=True)
    _run([UV, "venv", "--quiet", str(tools)], ROOT)
    own = str(tools / "bin" / "python")
    _run([UV, "pip", "install", "--quiet", "--python", own, "-r", str(TOOLS)], ROOT)
    bill, licences = report / "dfslab.cdx.json", report / "licences.md"
    made = [str(tools / "bin" / "cyclonedx-py"), "environment", str(python)]
    _run([*made, "--output-file", str(bill)], ROOT)
    listed = [str(tools / "bin" / "pip-licenses"), f"--python={python}", "--format=markdown"]
    _run([*listed, "--with-urls", f"--output-file={licences}"], ROOT)
    print(bill, licences, sep="\n")


def main() -> None:
    """Checks the wheel that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--report", type=Path, help="folder for bill of materials and licences")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dfslab-release-") as name:
        check(options.wheel.resolve(), Path(name), options.report)


if __name__ == "__main__":
    main()
