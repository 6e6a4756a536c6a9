"""Tests of `dfslab compat iozone`. Every option of iozone is applied, or refused with its name, and
the run prints a summary in iozone's format."""

from __future__ import annotations

import re

import pytest
from dfslab.cli import commands_work, compat
from dfslab.cli.exchange import iozone_arguments
from dfslab.imports.results import iozone_text
from dfslab.laboratory import Laboratory
from dfslab.spec.input_error import InputError

# All options in the help text of iozone 3.506 (`iozone -h`), except options that begin with -+
# and exist only in some builds.
OPTIONS = """
-a -A -b -B -c -C -d -D -e -E -f -F -g -G -h -H -i -I -j -J -k -K -l -L -m -M -n -N -o -O
-p -P -q -Q -r -R -s -S -t -T -u -U -v -V -w -W -x -X -y -Y -z -Z -+b -+B -+D -+d -+f -+h
-+i -+k -+K -+l -+L -+m -+n -+N -+O -+p -+q -+r -+s -+S -+t -+T -+u -+v -+V -+w -+x -+X
-+y -+Z
"""


def of(*words):
    return compat.iozone(words).workload


def test_options_become_the_workload():
    found = of("-t", "3", "-r", "64k", "-s", "2m", "-i", "0", "-i", "1", "-I", "-+n")
    parameters = found.parameters
    assert (found.name, found.clients, found.processes, found.cache) == ("iozone", 3, 3, "direct")
    assert parameters["file_size"] == "2097152 B"
    assert parameters["transfer_size"] == "65536 B"
    assert parameters["tests"] == ["write", "read"]


def test_sizes_without_a_letter_are_kib_and_defaults_are_iozones():
    parameters = of("-r", "8", "-s", "100").parameters
    assert (parameters["transfer_size"], parameters["file_size"]) == ("8192 B", "102400 B")
    default = of()
    assert default.parameters["file_size"] == "524288 B"
    assert default.parameters["transfer_size"] == "4096 B"
    assert default.clients == 1
    assert default.parameters["tests"][:4] == ["write", "rewrite", "read", "reread"]
    assert len(default.parameters["tests"]) == 9


@pytest.mark.parametrize(
    ("words", "key", "value"),
    [
        (["-o"], "sync_io", "all"),
        (["-+D"], "sync_io", "data"),
        ([], "sync_io", "none"),
        (["-e"], "fsync", True),
        (["-B"], "mmap", True),
        (["-j", "7"], "stride", 7),
        (["-j7"], "stride", 7),
    ],
)
def test_single_options(words, key, value):
    workload = of("-r", "4k", "-s", "64k", *words)
    assert {**workload.parameters, **workload.model_dump()}[key] == value


def test_threads_are_no_processes():
    assert of("-t", "4", "-T").processes == 0
    assert of("-l", "2", "-u", "2").clients == 2


def test_files_and_nodes_name_the_directory(tmp_path):
    files = [f"{tmp_path}/a", f"{tmp_path}/b"]
    found = compat.iozone(["-t", "2", "-i", "0", "-F", *files])
    assert found.file_system.access.directory == str(tmp_path)
    nodes = tmp_path / "iozone.config"
    nodes.write_text(
        f"localhost /usr/bin/iozone {tmp_path}\nlocalhost {tmp_path} /usr/bin/iozone\n"
    )
    found = compat.iozone(["-+m", str(nodes), "-t", "2", "-i", "0"])
    assert found.file_system.access.directory == str(tmp_path)
    nodes.write_text(f"node1 /usr/bin/iozone {tmp_path}\n")
    with pytest.raises(InputError, match="node1.*must be localhost"):
        compat.iozone(["-+m", str(nodes), "-t", "1", "-i", "0"])
    nodes.write_text("localhost\n")
    with pytest.raises(InputError, match="must have three words"):
        compat.iozone(["-+m", str(nodes), "-t", "1", "-i", "0"])


@pytest.mark.parametrize("option", OPTIONS.split())
def test_every_option_is_honoured_or_refused_by_name(option):
    honoured = (*iozone_arguments.VALUED, iozone_arguments.LISTED, *iozone_arguments.PLAIN)
    if option in honoured:
        assert option not in iozone_arguments.REFUSED
        return
    with pytest.raises(InputError) as raised:
        compat.iozone(["-i", "0", option])
    assert f"'{option}'" in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["-a"], "iozone = '-a': is not honoured: -a: sizes are not varied"),
        (["-p", "-U", "/mnt"], "iozone = '-p -U': is not honoured: -p: caches"),
        (["-y4k"], "iozone = '-y': is not honoured"),
        (["-r", "x"], "iozone.-r = 'x': must be a number of KiB"),
        (["-r", "0"], "iozone.-r = '0'"),
        (["-s"], "iozone.-s: needs a value"),
        (["-r", "64k", "-s", "4k"], "iozone.-s = '4k': must be at least the record"),
        (["-i", "1"], "iozone.-i = '1': needs -i 0 as well"),
        (["-i", "6"], "iozone.-i = '6': must be one of 0, 1, 2, 3, 4, 5, 8, 9, 10 (6 and 7 use"),
        (["-t", "0"], "iozone.-t = '0': must be a number from 1 on"),
        (["-l", "1", "-u", "4"], "one number of processes is run at a time"),
        (["-t", "2", "-F", "/a/x"], "must name one file for each of the 2 processes"),
        (["-t", "2", "-F", "/a/x", "/b/x"], "must be one directory"),
        (["--records"], "is no option; honoured are -r -s -i"),
    ],
)
def test_what_cannot_be_honoured_is_one_line(words, shown):
    with pytest.raises(InputError) as raised:
        compat.read("iozone", words)
    assert shown in str(raised.value)
    assert "\n" not in str(raised.value)


def test_iozone_runs_and_prints_its_summary(tmp_path):
    words = ["-t", "2", "-r", "16k", "-s", "64k", "-i", "0", "-i", "2", "-T", "-f", f"{tmp_path}/x"]
    chosen, summary = compat.read("iozone", words)
    results = commands_work.measure(Laboratory(), chosen)
    text = summary(results)
    found = re.findall(r"throughput for +2 ([a-z -]+?) +\t= +([\d.]+) kB/sec", text)
    assert [name for name, _ in found] == [
        "initial writers",
        "rewriters",
        "random readers",
        "random writers",
    ]
    assert all(float(rate) > 0 for _, rate in found)
    assert len(iozone_text.CHILDREN.findall(text)) == 4
    assert list(tmp_path.iterdir()) == []
