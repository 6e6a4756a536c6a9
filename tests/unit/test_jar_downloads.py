"""Tests of downloads of jars: progress on a terminal, and failed and interrupted downloads. A shell
script stands in for Maven."""

import io
import os
import signal
import subprocess
import sys
import threading

import pytest
from dfslab.notify import progress_line
from dfslab.testbeds import cache
from dfslab.testbeds.errors import TestbedError
from support.waiting import wait_until

NAMES = ("a.jar", "b.jar", "c.jar", "d.jar")


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def maven(tmp_path, monkeypatch):
    """Provides a function that replaces Maven by a shell script. In the script, the variable `$o`
    has the path of the folder to which the jars are copied."""
    monkeypatch.setenv("DFSLAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    (tmp_path / "pom.xml").write_text("<project/>")

    def replace(script):
        outputs = 'for i in "$@"; do case $i in -DoutputDirectory=*) o=${i#*=};; esac; done'
        (tmp_path / "mvn").write_text(f"#!/bin/sh\n{outputs}\nmkdir -p $o\n{script}\n")
        (tmp_path / "mvn").chmod(0o755)
        return tmp_path / "pom.xml"

    return replace


def folders(tmp_path):
    """Returns the folders of jars, complete or not, in the cache."""
    return [path.name for path in (tmp_path / "cache/jars").iterdir() if path.is_dir()]


def test_the_progress_has_number_size_and_time_left(tmp_path):
    listed = tmp_path / "thing.sha256"
    listed.write_text("".join(f"{'0' * 64}  {name}\n" for name in NAMES))
    (tmp_path / "m2/x").mkdir(parents=True)
    now_s = [10.0]
    download = cache.Download("thing", listed, tmp_path / "m2", lambda: now_s[0])
    assert download.progress() == "downloading thing: 0 of 4 jars, 0 MB"
    (tmp_path / "m2/x/a.jar").write_bytes(bytes(3_000_000))
    (tmp_path / "m2/x/plugin.jar").write_bytes(b"of Maven itself")
    now_s[0] = 15.0
    assert download.progress() == "downloading thing: 1 of 4 jars, 3 MB, about 15 s left"
    later = cache.Download("thing", listed, tmp_path / "m2", lambda: now_s[0])
    assert later.progress() == "downloading thing: 1 of 4 jars, 3 MB"


def test_a_line_is_shown_on_a_terminal_and_removed():
    terminal, shown = Terminal(), threading.Event()

    def text():
        shown.set()
        return "1 of 4 jars"

    with progress_line(text, terminal, every_s=0.001):
        assert shown.wait(60)
    written = terminal.getvalue()
    assert written.startswith("\r\x1b[K1 of 4 jars")
    assert written.endswith("\r\x1b[K")


def test_nothing_is_shown_in_a_pipe():
    pipe = io.StringIO()
    with progress_line(lambda: pytest.fail("it is no terminal"), pipe, every_s=0.001):
        pass
    assert pipe.getvalue() == ""


def test_a_failed_download_leaves_nothing_and_says_how_to_go_on(tmp_path, maven):
    pom = maven("touch $o/half.jar; echo no network; exit 1")
    heard: list[str] = []
    with pytest.raises(TestbedError) as error:
        cache.maven_jars("thing", pom, {}, heard.append)
    assert error.value.kind == "download"
    assert "nothing was installed; the same command continues with" in str(error.value)
    assert "no network" in str(error.value)
    assert folders(tmp_path) == []
    assert heard == ["downloading thing from Maven (only this once)"]


def test_an_interrupted_download_leaves_nothing_and_continues(tmp_path, maven):
    pom = maven(f"touch $o/half.jar {tmp_path}/begun; exec sleep 60")
    program = (
        "import sys; from pathlib import Path; from dfslab.testbeds import cache\n"
        "cache.maven_jars('thing', Path(sys.argv[1]), {}, lambda text: print(text, flush=True))"
    )
    command = [sys.executable, "-c", program, str(pom)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "downloading thing from Maven (only this once)\n"
        assert wait_until((tmp_path / "begun").exists)
        os.kill(process.pid, signal.SIGINT)
        assert "was interrupted: nothing was installed" in process.stdout.readline()
    assert process.returncode != 0
    assert folders(tmp_path) == []
    maven("touch $o/a.jar")
    assert [path.name for path in cache.maven_jars("thing", pom, {}, str).iterdir()] == ["a.jar"]
