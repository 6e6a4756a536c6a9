"""Tries a built wheel as a newcomer would, in an empty environment and an empty folder.

python scripts/release_check.py WHEEL [--report FOLDER] [--record]

The check installs the wheel and runs the commands of the tutorial at 80 columns. Exit codes, and
the widths and words of the outputs, are checked. The outputs are also compared, except measured
numbers, with the files in `tests/golden/release` (`release_output.py`). With `--record`, these
files are written again instead.

With `--report`, three files are written to a folder: a software bill of materials (CycloneDX), a
licence report of the installed packages, and the oldest C library on which the wheel runs. `uv`
fetches packages and keeps them in its cache.
"""

from __future__ import annotations

import argparse
import difflib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from release_output import reduced, wide_lines

ROOT = Path(__file__).parents[1]
GOLDEN = ROOT / "tests" / "golden" / "release"
UV = str(Path(sys.executable).with_name("uv"))
COLUMNS = 80
# Largest number of seconds that the whole check may take: a newcomer's first ten minutes.
LIMIT_S = 600.0
# Largest number of processor seconds that the scenario quickstart may take between the end of its
# last measurement and the end of writing its page.
PAGE_LIMIT_S = 10.0
STAGE = re.compile(r"([a-z-]+) ([\d.]+)(?=,|$)", flags=re.MULTILINE)
MEASURING = "loading"
TOOLS = ROOT / "scripts" / "requirements-release.txt"
# The trace of an HDFS client that writes files. The check runs `trace report` on this trace.
TRACE = ROOT / "scenarios" / "data" / "hdfs-trace" / "client-13050.otlp.json"
# Two names of one platform: Linux with glibc 2.17 or newer. The wheel's file name must contain one
# of the names.
BASELINES = ("manylinux2014", "manylinux_2_17")
# Some last lines of a command's output begin with one of these words and a path. Such a line may be
# wider than the terminal, because paths are not wrapped.
PATHS = ("run: ", "page: ", "trace: ")


@dataclass(frozen=True)
class Try:
    """A command of the tutorial (`words`), and the texts that its output must contain (`expected`).

    If `is_wrapped` is true, the lines of the output must fit the terminal. `is_wrapped` is false
    for TOML, whose lines are not wrapped. `golden` is the name of the file with the recorded
    output, without ".txt", or "" if the output is not recorded.
    """

    words: tuple[str, ...]
    expected: tuple[str, ...]
    is_wrapped: bool = True
    golden: str = ""

    def __str__(self) -> str:
        return f"dfslab {' '.join(self.words)}"


# Commands that must work with the wheel alone, without any extra.
BASE = (
    Try(("--version",), ("dfslab ",)),
    Try(
        ("doctor",), ("measure a directory", "page of a run", "jinja2 is missing"), golden="doctor"
    ),
    Try(
        ("measure", "data", "--bs", "4k", "--rw", "read,randwrite", "--clients", "1", "--size")
        + ("1m", "--time", "200ms", "--repetitions", "2", "-q"),
        ("Measured: highest", "reads/s"),
        golden="measure",
    ),
    Try(("whatif", "glusterfs", "servers +1", "-q"), ("Gain of servers +1", "Certainty:")),
    Try(("replay", "app.strace", "data", "-q"), ("Replayed 4 of 4 calls", "These calls took")),
)
# Commands that need extras of the package, which the tutorial installs.
WITH_EXTRAS = (
    Try(("run", "quickstart", "-q"), ("Measured: highest", "report.html"), golden="quickstart"),
    Try(("trace", "record", "quickstart", "-o", "trace.json", "-q"), ("trace: trace.json",)),
    Try(
        ("trace", "report", "trace.json", "--page", "trace.html"),
        ("2 times faster would save", "page: trace.html"),
    ),
    Try(
        ("trace", "report", "write.otlp.json", "--page", "write.html"),
        ("2 times faster would save", "page: write.html"),
        golden="trace-report",
    ),
    Try(("show", "scenario", "quickstart"), ("quickstart",), is_wrapped=False),
)
STRACE = """\
10 09:00:00.000000 openat(AT_FDCWD, "/app/out", O_WRONLY|O_CREAT, 0666) = 3 <0.000400>
10 09:00:00.100000 write(3, "x"..., 8192) = 8192 <0.000200>
10 09:00:00.200000 fsync(3) = 0 <0.010000>
10 09:00:00.300000 close(3) = 0 <0.000050>
"""


@dataclass(frozen=True)
class Output:
    """The texts that a command wrote to its standard output and to its standard error."""

    text: str
    errors: str


class Environment:
    """A new Python environment, and a folder in which its commands run. At first, the folder
    contains only an empty folder `data` and two input files: a strace trace, and a trace of an HDFS
    client."""

    def __init__(self, folder: Path) -> None:
        self.python = folder / "environment" / "bin" / "python"
        self.work = folder / "work"
        self.temporary = folder / "temporary"
        self.temporary.mkdir()
        (self.work / "data").mkdir(parents=True)
        (self.work / "app.strace").write_text(STRACE)
        shutil.copy(TRACE, self.work / "write.otlp.json")
        _run([UV, "venv", "--quiet", str(self.python.parents[1])], ROOT)

    def install(self, *packages: str) -> None:
        """Installs packages with their dependencies, and compiles the packages to bytecode, as pip
        does."""
        command = [UV, "pip", "install", "--quiet", "--compile-bytecode"]
        _run([*command, "--python", str(self.python), *packages], ROOT)

    def dfslab(self, one: Try) -> Output:
        """Runs dfslab with the words of the command `one` and returns its output. Raises SystemExit
        with a message if the exit code or the output is wrong."""
        own = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        own |= {"COLUMNS": str(COLUMNS), "HOME": str(self.work), "TMPDIR": str(self.temporary)}
        command = [str(self.python.with_name("dfslab")), *one.words]
        done = subprocess.run(
            command, cwd=self.work, env=own, capture_output=True, text=True, timeout=LIMIT_S
        )
        if done.returncode:
            raise SystemExit(f"{one}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        if fault := fault_of(one, done.stdout):
            raise SystemExit(f"{one}: {fault}\n{done.stdout}")
        return Output(done.stdout, done.stderr)


def fault_of(one: Try, output: str) -> str:
    """Returns a text that describes the fault in the output of a command, or "" if the output has
    no fault. An output is wrong if an expected text is missing, or if a line is wider than the
    terminal."""
    flat = " ".join(output.split())
    if lacking := [text for text in one.expected if text not in flat]:
        return f"lacks {lacking}"
    wide = wide_lines(output, COLUMNS, PATHS)
    return f"wider than {COLUMNS} columns: {wide[0]}" if wide and one.is_wrapped else ""


def compare(one: Try, output: str, record: bool) -> None:
    """Compares the output of a command with the recorded output, apart from measured numbers. If
    `record` is true, the output is recorded instead. Raises SystemExit with the differing lines if
    the outputs differ. Does nothing for a command whose output is not recorded.
    """
    if not one.golden:
        return
    path = GOLDEN / f"{one.golden}.txt"
    if record:
        path.write_text(reduced(output))
        return
    known, found = path.read_text().splitlines(), reduced(output).splitlines()
    if known != found:
        lines = difflib.unified_diff(known, found, "recorded", "found", lineterm="", n=1)
        shown = "\n".join(lines)
        raise SystemExit(f"{one}: not as recorded in {path.relative_to(ROOT)}\n{shown}")


def page_s(errors: str) -> float:
    """Returns the processor seconds that a run took after its last measurement, until its page was
    written. This is the sum over all stages except the measurements. The stages are listed in the
    last line of the run's standard error, `errors`.
    """
    stages = STAGE.findall(errors.rpartition("processor seconds: ")[2])
    assert stages, errors
    return sum(float(seconds) for name, seconds in stages if name != MEASURING)


def _run(command: list[str], folder: Path) -> None:
    subprocess.run(command, cwd=folder, check=True, timeout=LIMIT_S)


def check(wheel: Path, folder: Path, report: Path | None, record: bool = False) -> None:
    """Installs the wheel without and then with extras, runs the commands of BASE and WITH_EXTRAS,
    and prints the seconds that each command takes. Writes the report if `report` is a folder.
    Raises SystemExit if a command fails or the check takes longer than LIMIT_S."""
    check_platform(wheel)
    began_s = time.monotonic()
    environment = Environment(folder)
    print(f"load of this machine at the start: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    steps = ((str(wheel), BASE), (f"{wheel}[fit,page,tables]", WITH_EXTRAS))
    for package, tries in steps:
        installed_s = time.monotonic()
        environment.install(package)
        print(f"{time.monotonic() - installed_s:6.1f} s  install {Path(package).name}", flush=True)
        for one in tries:
            _check_command(environment, one, record)
    took_s = time.monotonic() - began_s
    print(f"{took_s:6.1f} s  in all, at most {LIMIT_S:.0f} s; load {os.getloadavg()[0]:.1f}")
    if took_s > LIMIT_S:
        raise SystemExit("the first steps took longer than ten minutes")
    if report is not None:
        write_report(wheel, environment.python, folder / "tools", report)


def _check_command(environment: Environment, one: Try, record: bool) -> None:
    started_s = time.monotonic()
    found = environment.dfslab(one)
    print(f"{time.monotonic() - started_s:6.1f} s  {one}", flush=True)
    compare(one, found.text, record)
    if one.words[:2] == ("run", "quickstart"):
        spent_s = page_s(found.errors)
        print(f"          {spent_s:.1f} processor seconds from the last measurement to the page")
        if spent_s > PAGE_LIMIT_S:
            raise SystemExit(f"{one}: the page took more than {PAGE_LIMIT_S:.0f} processor seconds")


def check_platform(wheel: Path) -> None:
    """Raises SystemExit if the wheel's name does not say that it runs with glibc 2.17."""
    if not any(name in wheel.name for name in BASELINES):
        raise SystemExit(f"{wheel.name}: is not for {BASELINES[0]}; `make package` builds it")


def write_report(wheel: Path, python: Path, tools: Path, report: Path) -> None:
    """Writes three files to the folder `report`: the bill of materials and the licences of the
    packages in the environment of `python`, and the oldest platform on which the wheel's libraries
    run. auditwheel determines this platform from the symbols that the libraries use. The programs
    that write the files are installed in a new environment in the folder `tools`.

    Raises SystemExit if the wheel needs a newer platform than BASELINES.
    """
    report.mkdir(parents=True, exist_ok=True)
    _run([UV, "venv", "--quiet", str(tools)], ROOT)
    own = str(tools / "bin" / "python")
    _run([UV, "pip", "install", "--quiet", "--python", own, "-r", str(TOOLS)], ROOT)
    bill, licences = report / "dfslab.cdx.json", report / "licences.md"
    made = [str(tools / "bin" / "cyclonedx-py"), "environment", str(python)]
    _run([*made, "--output-file", str(bill)], ROOT)
    listed = [str(tools / "bin" / "pip-licenses"), f"--python={python}", "--format=markdown"]
    _run([*listed, "--with-urls", f"--output-file={licences}"], ROOT)
    shown = [str(tools / "bin" / "auditwheel"), "show", str(wheel)]
    audit = subprocess.run(shown, capture_output=True, text=True, check=True, timeout=LIMIT_S)
    platform = report / "platform.txt"
    platform.write_text(audit.stdout)
    if not any(f'"{name}_' in audit.stdout for name in BASELINES):
        raise SystemExit(f"{wheel.name}: needs a newer platform\n{audit.stdout}")
    print(bill, licences, platform, sep="\n")


def main() -> None:
    """Checks the wheel that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--report", type=Path, help="folder for bill of materials and licences")
    parser.add_argument("--record", action="store_true", help="record the outputs again")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dfslab-release-") as name:
        check(options.wheel.resolve(), Path(name), options.report, options.record)


if __name__ == "__main__":
    main()
