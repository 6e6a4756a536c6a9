"""Tests that a changed figure in another tool's results is reported. The change is detected if the
same file states the figure twice, or states other figures from which the figure follows."""

from __future__ import annotations

import pytest
from dfslab.imports import tool_report
from dfslab.imports.redundant import comparing
from dfslab.imports.redundant.comparing import printed
from dfslab.spec.input_error import InputError
from support import tool_texts, tool_texts_dfsperf, tool_texts_more, tool_texts_tables
from support import tool_texts_redundant as texts
from support.command import dfslab

# For each format: a text in this format, and edits of the text. An edit is (text that is replaced,
# replacement, part of the expected reason). The reason names the place of a figure, the key and the
# value.
EDITS = {
    "fio_json": (
        texts.FIO,
        [
            ('"iops" : 2000.0', '"iops" : 2100.0', "All clients, read: iops = 2100: contradicts"),
            ('"iops" : 1000.0', '"iops" : 100.0', "j, read: iops = 100: contradicts total_ios /"),
            ('"bw" : 8000', '"bw" : 9000', "All clients, read: bw = 9000: contradicts bw_bytes"),
            ('"bw_bytes" : 8192000', '"bw_bytes" : 9192000', "bw = 8000: contradicts bw_bytes"),
            ('"io_kbytes" : 4000', '"io_kbytes" : 40', "j, read: io_kbytes = 40: contradicts io_"),
            (
                '"runtime" : 1000',
                '"runtime" : 2000',
                "iops = 1000: contradicts total_ios / runtime",
            ),
            ('"mean" : 900.5', '"mean" : 9000', "clat_ns: mean = 9000: must be at most max = 4000"),
            ('"mean" : 950.5', '"mean" : 9.5', "lat_ns: min = 100: must be at most mean = 9.5"),
            ('"90.000000" : 1500', '"90.000000" : 15', "50.000000 = 800: must be at most 90.00"),
            ('"99.000000" : 3000', '"99.000000" : 5000', "99.000000 = 5000: must be at most max"),
        ],
    ),
    "ior_text": (
        texts.IOR,
        [
            ("write     512.00", "write     612.00", "line 8: bw(MiB/s) = 612: contradicts IOPS"),
            ("write     256.00", "write     128.00", "line 9: bw(MiB/s) = 128: contradicts aggreg"),
            ("0.125000", "0.025000", "line 8: wr/rd(s) = 0.124: must be at most total(s) = 0.025"),
            ("Max Write: 512", "Max Write: 612", "line 11: Max Write = 612: contradicts the larg"),
            ("(536.87", "(636.87", "line 11: Max Write (MB/sec) = 636.87: contradicts Max Write"),
            ("384.00", "394.00", "line 15: write: Mean(MiB) = 394: contradicts the mean bandwidth"),
        ],
    ),
    "ior_json": (
        texts.IOR_JSON,
        [
            ('"bwMiB": 512.0', '"bwMiB": 612.0', "tests[0].Results[0]: bwMiB = 612: contradicts"),
            ('"bwMaxMIB": 512.0', '"bwMaxMIB": 51.2', "summary, write: bwMaxMIB = 51.2: contradi"),
            ('"totalTime": 0.25', '"totalTime": 0.1', "Results[1]: wrRdTime = 0.249: must be at"),
        ],
    ),
    "mdtest_text": (
        tool_texts.MDTEST_1,
        [
            ("1500.500", "15000.5", "line 13: Directory creation, Mean = 15000.5: must be at most"),
            ("100.000\n", "5000.0\n", "Directory creation, Std Dev = 5000: contradicts Max - Min"),
            (" 500.000  ", " 900.000  ", "line 16: Tree creation, Max = 900: contradicts"),
        ],
    ),
    "io500_summary": (
        texts.IO500,
        [
            ("4.000000 GiB/s", "8.000000 GiB/s", "line 14: Bandwidth = 1.41421: contradicts the g"),
            ("128.000000", "1280.00", "line 14: IOPS = 22.6274: contradicts the geometric mean of"),
            ("5.656854", "6.656854", "line 14: TOTAL = 6.65685: contradicts the geometric mean of"),
        ],
    ),
    "iozone_text": (
        texts.IOZONE,
        [
            ("204800", "304800", "line 6: Children see throughput for 4 initial writers = 304800"),
            (
                "51400",
                "50000",
                "Avg throughput per process = 51200: must be at most Max throughput",
            ),
        ],
    ),
    "elbencho_csv": (
        texts.ELBENCHO,
        [
            (",100,50,400", ",100,500,400", "line 2: entries/s [last] = 500: contradicts entries"),
            ("400,100,200", "400,150,200", "line 2: mib/s [last] = 150: contradicts mib / time ms"),
            ("20000,30000", "40000,30000", "line 2: io lat us [avg] = 40000: must be at most io"),
        ],
    ),
    "cosbench_csv": (
        tool_texts_tables.COSBENCH,
        [
            ("160.25", "320.5", "line 2: Bandwidth = 1.0256e+07: contradicts Throughput x Byte-Co"),
            ("20,40,90", "60,40,90", "line 2: 60%-ResTime = 60: must be at most 90%-ResTime = 40"),
            ("25.5,20.0", "15.5,20.0", "line 2: Avg-ProcTime = 20: must be at most Avg-ResTime ="),
        ],
    ),
    "darshan_text": (
        texts.DARSHAN,
        [
            (
                "64.000000",
                "74.000000",
                "line 23: agg_perf_by_slowest = 74: contradicts total_bytes",
            ),
            ("READS: 100", "READS: 110", "line 3: total_POSIX_READS = 110: contradicts the sum of"),
            ("0_100: 30", "0_100: 50", "line 3: total_POSIX_READS = 100: contradicts the sum of"),
            ("CONSEC_READS: 40", "CONSEC_READS: 140", "line 4: total_POSIX_CONSEC_READS = 140: mu"),
        ],
    ),
    "dfsperf_text": (
        tool_texts_dfsperf.DFSPERF_READ,
        [
            ("Total\t300.0", "Total\t400.0", "line 10: Total, ReadThroughput(MB/s) = 400: contrad"),
            ("0@node1\t150.5", "0@node1\t160.5", "line 8: 0@node1, ReadThroughput(MB/s) = 160.5"),
            ("[ 74.5 ]", "[ 94.5 ]", "line 9: 1@node2, ReadThroughput(MB/s) = 149.5: contradicts"),
        ],
    ),
    "smallfile_json": (
        texts.SMALLFILE,
        [
            (
                '"files-per-sec": 1500.5',
                '"files-per-sec": 150',
                "results: files-per-sec = 150: con",
            ),
            (
                '"MiBps": 93.75',
                '"MiBps": 193.75',
                "results: MiBps = 193.75: contradicts the sum ov",
            ),
            (
                '"IOPS": 1501.0',
                '"IOPS": 150.0',
                "results.in-thread.01: IOPS = 150: contradicts rec",
            ),
        ],
    ),
    "testdfsio_log": (
        tool_texts_more.DFSIO_2,
        [
            ("25.5", "51.5", "line 1: write: throughput mb/sec = 51.5: must be at most average io"),
            (
                "25.5",
                "2.5",
                "line 1: write: throughput mb/sec = 2.5: contradicts total mbytes proc",
            ),
        ],
    ),
    "warp_text": (
        texts.WARP,
        [
            ("50%: 110.0ms", "50%: 11.0ms", "line 1: GET: Fastest = 0.05: must be at most 50% = "),
            ("99%: 1.2s", "99%: 1.2ms", "line 1: GET: 90% = 0.1505: must be at most 99% = 0.0012"),
            ("Avg: 113.7ms", "Avg: 113.7s", "line 1: GET: Avg = 113.7: must be at most Slowest ="),
            ("605.61", "6056.1", "line 8: Total: obj/s = 6056.1: contradicts the sum over the op"),
        ],
    ),
}
CASES = [(name, edit) for name, (_, edits) in EDITS.items() for edit in edits]


def contradictions(path, text, name):
    path.write_text(text)
    return tool_report.read(path, name).contradictions


@pytest.mark.parametrize("name", EDITS)
def test_the_text_of_a_tool_contradicts_itself_nowhere(name, tmp_path):
    assert contradictions(tmp_path / "given", EDITS[name][0], name) == ()


@pytest.mark.parametrize(("name", "edit"), CASES)
def test_a_changed_figure_is_named_with_its_place(name, edit, tmp_path):
    before, after, stated = edit
    text = EDITS[name][0]
    assert before in text
    edited = text.replace(before, after, 1)
    found = contradictions(tmp_path / "given", edited, name)
    assert any(stated in one for one in found), found
    with pytest.raises(InputError) as raised:
        tool_report.consistent(tmp_path / "given", name)
    assert found[0] in str(raised.value)
    assert "\n" not in str(raised.value)


def test_quantiles_of_any_reader_are_judged(tmp_path):
    """A reader may not compare the figures of a file itself. dfslab then still checks that the
    quantiles that the reader returns are in ascending order."""
    edited = tool_texts.FIO_2.replace('"90.000000" : 12000', '"90.000000" : 1200')
    found = contradictions(tmp_path / "given", edited, "fio_json")
    assert found[0] == "seq, read: p50 = 0.0098 s: must be at most p90 = 0.0012 s"


def test_import_refuses_and_check_explains(tmp_path):
    path = tmp_path / "fio.json"
    path.write_text(texts.FIO.replace('"iops" : 2000.0', '"iops" : 2.0'))
    refused = dfslab("import", path, "--out", tmp_path / "runs")
    assert refused.returncode == 2
    assert not (tmp_path / "runs").exists()
    (line,) = refused.stderr.splitlines()
    assert "iops = 2: contradicts total_ios / runtime, 2000" in line
    explained = dfslab("check", path)
    assert (explained.returncode, "thousands_as_ones" in explained.stdout) == (1, True)


def test_check_refuses_what_no_rule_explains(tmp_path):
    path = tmp_path / "report"
    path.write_text(tool_texts_dfsperf.DFSPERF_READ.replace("Total\t300.0", "Total\t400.0"))
    refused = dfslab("check", path)
    assert refused.returncode == 2
    assert "line 10: Total, ReadThroughput(MB/s) = 400: contradicts the sum" in refused.stderr


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [("12", 11, 13), ("0.5", 0.4, 0.6), ("1e3", 0, 2000), (12.25, 12.24, 12.26), ("0", 0, 1)],
)
def test_the_last_printed_digit_is_the_error(text, low, high):
    found = printed("key", text)
    assert (found.low, found.high) == (pytest.approx(low), pytest.approx(high))


def test_rounding_is_no_contradiction():
    """Rounded figures do not contradict a rate that they allow. If 3 operations and 0.3 s are
    rounded to one digit, 3.4 operations in 0.26 s are possible, so 13 per second is accepted."""
    rate = printed("count", "3") / printed("time", "0.3")
    assert list(comparing.unequal(printed("rate", "13"), rate, "count / time")) == []
    assert list(comparing.unequal(printed("rate", "30"), rate, "count / time")) != []
