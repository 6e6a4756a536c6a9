"""Tests of the documents. The files and `dfslab` commands that documents show are executed, and the
error messages that they show are compared with the real ones."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from support.command import DFSLAB, dfslab
from support.recorded import copied

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
GUIDES = sorted(path.relative_to(ROOT) for path in (ROOT / "docs").glob("**/*.md"))
TEXTS = {str(path): (ROOT / path).read_text() for path in [Path("README.md"), *GUIDES]}
# The words with which documents start a command: in a checkout, and in an installed package.
COMMANDS = (".venv/bin/dfslab", "dfslab")
# First words of shell lines that this test does not execute, because other tests cover them.
ELSEWHERE = ("make ", "java ", "cd ", "git ", "pip install -e .")
# Commands that judge how this machine behaved during a run. The exit code of these commands is 1
# instead of 0 if other programs used the processors during the run.
JUDGING = ("check",)
# Exit code of a command that Ctrl-C has ended.
INTERRUPTED = 130
BLOCK = re.compile(r"^ *```([^\n`]*)\n(.*?)^ *```", flags=re.MULTILINE | re.DOTALL)
# The languages that blocks of code may have. Commands in blocks of the language "sh" are executed
# and must succeed. Commands in blocks of the language "console" are executed and must fail with the
# error message that the block shows.
LANGUAGES = {"sh", "console", "python", "toml", "json", "text", "{toctree}"}
# Commands that documents show in blocks of languages other than "sh" and "console" and that no test
# executes. Each key is (document, first words of the command), and the value is the reason.
NOT_EXECUTED = {
    ("docs/guide/expecting.md", "expect /mnt/x"): "needs a mounted file system",
    ("docs/guide/replaying.md", "measure my.toml --record"): "the scenario is the reader's own",
    ("docs/guide/serving.md", "serve --host 0.0.0.0"): "answers on all network addresses",
    ("docs/howto/my-mount.md", "expect ."): "takes a minute; guide/expecting.md has a short one",
    ("docs/howto/my-mount.md", "init ."): "probes the disk; guide/expecting.md runs it in memory",
    ("docs/howto/my-mount.md", "whatif found.toml"): "guide/expecting.md asks such a scenario",
    ("docs/howto/batch-systems.md", "measure fleet.toml --scheduler"): "needs the nodes of a job",
    ("docs/howto/server-or-network.md", "init /mnt/gluster"): "needs a mounted file system",
    ("docs/kumar.md", "calibrate scenarios/kumar-glusterfs.toml"): "root; replaces recorded data",
    ("docs/tutorial.md", "run quickstart"): "takes minutes; `make demo` runs it",
}


def blocks(text, *languages):
    return [body for language, body in BLOCK.findall(text) if language in languages]


def commands(text):
    """Returns (environment variables that the line sets, words of the command) for each `dfslab`
    command in a document, in the order of the document."""
    found = []
    for line in "".join(blocks(text, "sh")).splitlines():
        words = shlex.split(line, comments=True)
        if not words or line.startswith(ELSEWHERE):
            continue
        own = {}
        while "=" in words[0]:
            name, _, own[name] = words.pop(0).partition("=")
        assert words[0] in COMMANDS, line
        found.append((own, words[1:]))
    return found


EXECUTED = [name for name, text in TEXTS.items() if commands(text)]


@pytest.fixture
def place(tmp_path):
    """Creates a folder with the scenarios that come with dfslab, the files that the README shows,
    and a finished run of the README's scenario. Returns the path of the folder."""
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    write_files(README, tmp_path)
    copied(tmp_path / "runs" / "mine")
    (tmp_path / "runs" / "mine" / "latest").symlink_to("run")
    return tmp_path


def write_files(text, folder):
    """Writes the files that a document shows into `folder`. A block of code is such a file if its
    first line is a comment with a file name. Formats without comments, such as JSON, are written
    without that line."""
    for body in blocks(text, "toml", "python", "text", "json"):
        named = re.match(r"# ([\w./-]+\.(toml|py|strace|json|txt|csv))\n", body)
        if named:
            path = folder / named[1]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(body if named[2] in ("toml", "py") else body[named.end() :])
    if (folder / "pyproject.toml").exists():
        install(folder)


def install(folder):
    """Writes the metadata that `pip install -e .` makes of the `pyproject.toml` in `folder`. The
    package is installed while `folder` is on the module search path."""
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    metadata = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    groups = [
        "\n".join([f"[{group}]", *(f"{name} = {module}" for name, module in entries.items())])
        for group, entries in project["entry-points"].items()
    ]
    (metadata / "entry_points.txt").write_text("\n\n".join(groups) + "\n")


# A program that runs several commands one after the other in one process. This program reads the
# words of each command from its input, and writes exit codes and outputs to its output.
IN_TURN = """
import json, sys
sys.path.insert(0, sys.argv[1])
from support.command import dfslab
answers = [dfslab(*words) for words in json.load(sys.stdin)]
json.dump([[one.returncode, one.stdout, one.stderr] for one in answers], sys.stdout)
"""


def ended_by_ctrl_c(*words, cwd, env):
    """Starts a command that serves a page until Ctrl-C, on a free port and without a browser. Sends
    Ctrl-C after the first line of the command's output. Returns 0 if the command's exit code is
    INTERRUPTED, otherwise the exit code."""
    command = [DFSLAB, *words, "--port", "0", "--no-browser"]
    with subprocess.Popen(
        command,
        cwd=cwd,
        env={**os.environ, **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        first = running.stdout.readline()
        running.send_signal(signal.SIGINT)
        _, said = running.communicate()
    code = 0 if first and running.returncode == INTERRUPTED else running.returncode
    return subprocess.CompletedProcess(words, code, first, said)


def answers_of(requested, folder):
    """Runs the commands of a document in `folder`, one after the other. Yields (words of the
    command, its exit code and outputs) for each."""
    # `testbed down --all` must not take down testbeds of other users of this machine. The commands
    # therefore get a separate state folder.
    state = {"DFSLAB_STATE": str(folder / "state")}
    (own,) = {tuple(own.items()) for own, _ in requested}
    environment = {**state, **dict(own)}
    lines = [words for _, words in requested]
    if (folder / "pyproject.toml").exists():
        path = [str(folder), os.environ.get("PYTHONPATH", "")]
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, path))
    if not environment.keys() & {"DFSLAB_PATH", "PYTHONPATH"}:
        for words in lines:
            run = ended_by_ctrl_c if words[0] == "serve" and "--runs" in words else dfslab
            yield words, run(*words, cwd=folder, env=environment)
        return
    # A module of a member stays imported until its process ends. Commands with members outside
    # dfslab therefore run in a separate process.
    done = subprocess.run(
        [sys.executable, "-c", IN_TURN, str(Path(__file__).parents[1])],
        input=json.dumps(lines),
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for words, answer in zip(lines, json.loads(done.stdout), strict=True):
        yield words, subprocess.CompletedProcess(words, *answer)


def test_what_was_executed_is_executed():
    assert {"README.md", "docs/load.md"} <= set(EXECUTED)
    assert len(commands(README)) >= 5
    assert len(commands(TEXTS["docs/load.md"])) >= 5
    assert sum(len(commands(text)) for text in TEXTS.values()) >= 37


def test_a_command_of_another_program_is_noticed():
    with pytest.raises(AssertionError):
        commands("```sh\ncurl example.org\n```\n")


def unexecuted(text):
    """Returns each `dfslab` command, as one text, in those blocks of a document whose commands no
    test executes."""
    lines = [
        line.strip().removeprefix("$ ")
        for language, body in BLOCK.findall(text)
        if language not in ("sh", "console")
        for line in body.splitlines()
    ]
    return [line.partition(" ")[2] for line in lines if line.partition(" ")[0] in COMMANDS]


def test_every_command_that_is_not_executed_is_listed_with_a_reason():
    unlisted = [
        f"{name}: {command}"
        for name, text in TEXTS.items()
        for command in unexecuted(text)
        if not any(name == one and command.startswith(start) for one, start in NOT_EXECUTED)
    ]
    assert not unlisted
    for name, start in NOT_EXECUTED:
        assert any(one.startswith(start) for one in unexecuted(TEXTS[name])), f"{name}: {start}"


@pytest.mark.parametrize("language", ["", "bash", "text"])
def test_a_command_that_is_not_executed_is_noticed(language):
    assert unexecuted(f"```{language}\n$ dfslab list --wide\n```\n") == ["list --wide"]
    assert unexecuted("```sh\ndfslab list\n```\n") == []


def test_blocks_have_known_languages():
    found = {language for text in TEXTS.values() for language, _ in BLOCK.findall(text)}
    assert found <= LANGUAGES


def programs():
    """Returns test parameters: one for each block of Python code in the documents that is not the
    content of a file."""
    return [
        pytest.param(body, id=name)
        for name, text in TEXTS.items()
        for body in blocks(text, "python")
        if not body.startswith("# ")
    ]


def test_programs_are_shown():
    assert {one.id for one in programs()} >= {"docs/nets.md", "docs/guide/tracing.md"}


@pytest.mark.parametrize("program", programs())
def test_every_program_runs(program, place, monkeypatch):
    monkeypatch.chdir(place)
    exec(compile(program, "<document>", "exec"), {"__name__": "__main__"})


def needs_root(words):
    """Returns whether a command starts a testbed."""
    return words[:2] == ["testbed", "up"] or "--verify" in words


@pytest.mark.heavy
@pytest.mark.parametrize("name", EXECUTED)
def test_every_command_does_its_job(name, place):
    write_files(TEXTS[name], place)
    requested = [one for one in commands(TEXTS[name]) if not (needs_root(one[1]) and os.geteuid())]
    for words, answer in answers_of(requested, place):
        command = shlex.join(words)
        codes = (0, 1) if words[0] in JUDGING else (0,)
        assert answer.returncode in codes, f"{command}\n{answer.stdout[-2000:]}\n{answer.stderr}"
        assert answer.stdout.strip(), command
        if words[:2] == ["run", "mine.toml"] and "--json" in words:
            judge(json.loads(answer.stdout))


def judge(document):
    """Asserts, for the JSON output of a run of the README's scenario, that each of four methods has
    scores on the two held-out configurations."""
    for method in ("sequence", "petri", "regression", "mean"):
        score = document["held_out"][method]
        assert set(score) >= {"n", "median_abs_error", "p90_abs_error", "coverage_90"}
        assert score["n"] == 2


def errors():
    """Returns test parameters (words of the command, line of the error), one for each command that
    a document shows together with its error message."""
    found = []
    for name, text in TEXTS.items():
        for body in blocks(text, "console"):
            command, _, line = body.strip().partition("\n")
            words = shlex.split(command)
            assert words[0] == "$", f"{name}: {command}"
            assert words[1] in COMMANDS, f"{name}: {command}"
            found.append(pytest.param(words[2:], line, id=line[:40]))
    return found


@pytest.mark.parametrize(("words", "line"), errors())
def test_every_error_is_reported_as_shown(words, line, place):
    ((_, answer),) = answers_of([({}, words)], place)
    assert answer.returncode in (1, 2), answer.stderr
    assert answer.stderr.startswith(line), answer.stderr


def test_errors_are_shown():
    assert len(errors()) >= 8


def test_the_readme_fits_two_screens():
    lines = README.splitlines()
    assert len(lines) <= 90
    assert max(map(len, lines)) <= 120


def test_the_make_targets_that_documents_name_are_there():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    assert {"demo", "test", "help"} <= set(re.findall(r"`?make ([a-z-]+)", README))
    for name, text in {**TEXTS, **documents()}.items():
        named = set(re.findall(r"`make ([a-z-]*[a-z])\b(?![*-])", text))
        assert named <= targets, f"{name}: {sorted(named - targets)}"


def documents():
    """Returns the text of each document in the repository's root folder by the document's file
    name."""
    return {path.name: path.read_text() for path in ROOT.glob("*.md")}


def test_every_file_that_the_documents_name_is_there():
    for document, text in {**TEXTS, **documents()}.items():
        if document == "CHANGELOG.md" or "decisions" in document:
            continue  # dated records keep names that have changed since
        for name in re.findall(r"`((?:[\w-]+/)+[\w.-]+\.\w+)`", text):
            candidates = [ROOT / name, ROOT / "python" / "dfslab" / name, ROOT / "core" / name]
            known = any(path.exists() for path in candidates)
            assert known or "NAME" in name or "*" in name, f"{document} names {name}"


def test_every_link_leads_somewhere():
    for document, text in {**TEXTS, **documents()}.items():
        folder = (ROOT / document).parent
        for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", text):
            assert (folder / target).exists(), f"{document} links to {target}"


def test_the_change_log_goes_by_version():
    text = (ROOT / "CHANGELOG.md").read_text()
    heads = re.findall(r"^## (.*)$", text, flags=re.MULTILINE)
    assert heads[0] == "[Unreleased]"
    versions = [
        re.fullmatch(r"\[(\d+)\.(\d+)\.(\d+)\] - (\d{4}-\d\d-\d\d).*", h) for h in heads[1:]
    ]
    assert all(versions), heads
    numbers = [tuple(map(int, found.groups()[:3])) for found in versions]
    assert numbers == sorted(numbers, reverse=True)
    newest = ".".join(map(str, numbers[0]))
    for name in ("pyproject.toml", "Cargo.toml"):
        assert f'\nversion = "{newest}"\n' in (ROOT / name).read_text(), name
    dates = [found[4] for found in versions]
    assert dates == sorted(dates, reverse=True)
    kinds = re.findall(r"^### (.*)$", text, flags=re.MULTILINE)
    assert set(kinds) <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_the_citation_has_what_its_format_requires():
    """CITATION.cff has the keys that the Citation File Format 1.2.0 requires, and one reference for
    each paper."""
    text = (ROOT / "CITATION.cff").read_text()
    top = dict(re.findall(r"^([a-z-]+):(.*)$", text, flags=re.MULTILINE))
    assert top["cff-version"].strip() == "1.2.0"
    assert {"message", "title", "authors", "version", "references"} <= set(top)
    assert f'version = "{top["version"].strip()}"' in (ROOT / "pyproject.toml").read_text()
    references = re.split(r"^  - type: ", text.partition("references:")[2], flags=re.MULTILINE)[1:]
    assert len(references) == 5
    for reference in references:
        assert {"title", "authors"} <= set(re.findall(r"^    ([a-z-]+):", reference, re.MULTILINE))


def test_decisions_are_numbered_short_records():
    records = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    assert [int(path.name[:3]) for path in records] == list(range(1, len(records) + 1))
    listed = (ROOT / "ARCHITECTURE.md").read_text()
    assert [path.name for path in records if f"docs/decisions/{path.name}" not in listed] == []
    for path in records:
        text = path.read_text()
        assert text.startswith(f"# {path.name[:3]} "), path
        for head in ("## Context", "## Decision", "## Consequence"):
            assert head in text, f"{path} lacks {head}"
        assert re.search(r"^\d{4}-\d\d-\d\d$", text, flags=re.MULTILINE), f"{path} has no date"
        assert len(text.splitlines()) <= 60, path
