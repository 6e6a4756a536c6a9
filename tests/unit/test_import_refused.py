"""Tests of the errors for files that are cut off, and for outputs of a tool that dfslab does not
read."""

from __future__ import annotations

import pytest
from dfslab.imports import tool_report
from dfslab.spec.input_error import InputError
from support import tool_texts, tool_texts_more

JSON_TEXTS = {
    "fio_json": tool_texts.FIO_3,
    "ior_json": tool_texts.IOR_JSON_3,
    "smallfile_json": tool_texts_more.SMALLFILE_3,
}
FIO_NORMAL = """rd: (g=0): rw=randread, bs=(R) 4096B-4096B, ioengine=psync, iodepth=1
fio-3.33
Starting 1 process

rd: (groupid=0, jobs=1): err= 0: pid=77: Fri Nov 27 22:22:44 2026
  read: IOPS=9053, BW=35.4MiB/s (37.1MB/s)(64.0MiB/1810msec)
"""
FIO_TERSE = "3;fio-3.33;rd;0;0;65536;36209;9052;1810;0;0\n"


@pytest.mark.parametrize(("form", "text"), JSON_TEXTS.items())
def test_json_that_ends_too_early_is_said_to_be_cut_off(tmp_path, form, text):
    path = tmp_path / "given"
    last = text.rstrip().rindex("}")
    for end in range(last // 2, last):
        path.write_text(text[:end])
        with pytest.raises(InputError) as refused:
            tool_report.read(path, form)
        assert str(refused.value).endswith(tool_report.CUT_OFF), text[:end][-30:]


@pytest.mark.parametrize(("form", "text"), JSON_TEXTS.items())
def test_malformed_json_within_a_file_is_not_said_to_be_cut_off(tmp_path, form, text):
    path = tmp_path / "given"
    place = text.index(",", len(text) // 3)
    path.write_text(text[:place] + ";" + text[place + 1 :])
    with pytest.raises(InputError) as refused:
        tool_report.read(path, form)
    line = text.count("\n", 0, place) + 1
    assert f"line {line} " in str(refused.value)
    assert tool_report.CUT_OFF not in str(refused.value)


@pytest.mark.parametrize("text", [FIO_NORMAL, FIO_TERSE])
@pytest.mark.parametrize("form", ["", "fio_json"])
def test_fio_s_text_is_refused_with_the_option_for_its_json(tmp_path, text, form):
    path = tmp_path / "given"
    path.write_text(text)
    with pytest.raises(InputError, match="run fio with --output-format=json"):
        tool_report.read(path, form)


def test_fio_s_json_that_follows_its_text_is_read(tmp_path):
    path = tmp_path / "given"
    path.write_text(FIO_NORMAL + tool_texts.FIO_FSYNC)
    assert tool_report.read(path).tool == "fio"
