"""Tests of `dfslab predict TABLE`: predictions from a table of rates, and errors of its content."""

from __future__ import annotations

import json

import pytest
from support.command import dfslab

MIX = """clients,operation,rate_per_s,latency_s_mean,latency_s_p99
1,read,62.48,0.00904,0.02
1,write,27.49,0.01575,
16,read,140.36,0.06617,0.12
16,write,60.41,0.11101,
"""
STORES = "servers,operation,rate_per_s\n10,read,1000\n30,read,2900\n30,write,900\n"


@pytest.fixture
def table(tmp_path):
    """Provides a function that writes a table to a file and returns its path."""

    def written(text):
        path = tmp_path / "table.csv"
        path.write_text(text)
        return path

    return written


def test_a_mix_is_predicted_at_other_numbers_of_clients(table):
    path = table(MIX)
    done = dfslab("predict", path, "--clients", "4,64", "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert [(row["clients"], row["operation"]) for row in rows] == [
        (4, "read"),
        (4, "write"),
        (64, "read"),
        (64, "write"),
    ]
    assert rows[1]["latency_s_p99"] is None
    first = rows[0]
    assert 62.48 < first["rate_per_s"]["value"] < 140.36
    assert 0.00904 < first["latency_s_mean"]["value"] < 0.06617
    assert first["latency_s_p99"]["low"] < first["latency_s_p99"]["value"]
    shown = dfslab("predict", path, "--clients", "4").stdout
    assert max(map(len, shown.splitlines())) <= 80
    assert "90 % intervals" in shown


def test_servers_are_scaled_from_the_largest_measured_number(table):
    done = dfslab("predict", table(STORES), "--servers", "100", "--json")
    assert done.returncode == 0, done.stderr
    read, write = json.loads(done.stdout)
    assert read["proportional_per_s"] == pytest.approx(2900 * 100 / 30)
    assert read["rate_per_s"] < read["proportional_per_s"] <= read["high_per_s"]
    assert write["operation"] == "write"


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        (MIX, [], "--clients: needs whole numbers from 1"),
        (MIX, ["--clients", "0"], "--clients"),
        (MIX, ["--clients", "4,x"], "--clients"),
        (MIX, ["--servers", "4"], "use --clients"),
        (STORES, ["--clients", "4"], "use --servers"),
        (STORES.replace("2900", "-1"), ["--servers", "9"], "rate_per_s in line 3"),
        (MIX.replace("rate_per_s", "iops"), ["--clients", "4"], "rate_per_s: no such column"),
        (MIX.replace("0.02", "nan"), ["--clients", "4"], ""),
        (MIX.replace("16,", "1.5,"), ["--clients", "4"], "clients in line 4 = '1.5'"),
        (MIX.replace("16,", "1,"), ["--clients", "4"], "occurs twice"),
        (MIX.replace("16,write", "16,list"), ["--clients", "4"], "must be read, write"),
        ("\n".join(MIX.splitlines()[:3]), ["--clients", "4"], "two numbers of clients"),
        (MIX.splitlines()[0], ["--clients", "4"], "no measurement"),
        ("", ["--clients", "4"], "no such column"),
        (MIX + "32,read\n", ["--clients", "4"], "fewer values"),
    ],
)
def test_wrong_input_is_one_line(table, text, options, said):
    done = dfslab("predict", table(text), *options)
    if not said:
        assert done.returncode == 0, done.stderr
        return
    assert done.returncode == 2, done.stdout
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not done.stdout


def test_options_of_a_table_do_not_go_with_a_scenario(tmp_path):
    done = dfslab("predict", "quickstart", "--clients", "4")
    assert done.returncode == 2
    assert "goes with a CSV table" in done.stderr
