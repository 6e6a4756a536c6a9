"""Tests of malformed JSON that Python passes to the Rust core. Each error names the field and the
allowed values. No error names a type of Rust."""

import json
import re

import pytest
from dfslab import _core
from dfslab.core_errors import OTHER_VERSION, from_types, in_words, translated
from dfslab.nets import engine
from dfslab.spec.input_error import InputError
from dfslab.testbeds.hosts import delay_line

RUST = re.compile(
    r"\b(struct|[ui](8|16|32|64|128)|usize|f64|Option|map|sequence|enum|variant|tuple|column)\b|`"
)
STREAM = {"seed": 1, "clients": 1, "file_size": {"fixed": 8}, "transfer_size_bytes": 4}
NET = {"name": "n", "places": [{"name": "p", "initial": []}], "transitions": []}


def stream(**changes):
    return json.dumps(STREAM | changes)


STREAMS = {
    "": "stream: the JSON text is empty",
    '{"seed": 1, "mix": [{"oper': "stream: the JSON text ends too early, in mix[0]",
    "[]": "stream: the document: must be an object",
    "{}": "stream: seed: is missing",
    "null": "stream: the document = null: must be an object",
    '{"seed": 1, "seed": 2}': "stream: seed: is given twice",
    stream(seed=-1): "stream: seed = -1: must be a whole number from 0 to 2^64 - 1",
    stream(clients="two"): 'stream: clients = "two": must be a whole number from 0 to 2^32 - 1',
    stream(clients=1.5): "stream: clients = 1.5: must be a whole number from 0 to 2^32 - 1",
    stream(clients=10**11): "stream: clients = 100000000000: must be a whole number from 0 to 2^32",
    stream(transfer_size_bytes=None): (
        "stream: transfer_size_bytes = null: must be a whole number from 0 to 2^64 - 1 (bytes)"
    ),
    stream(file_size="big"): 'stream: file_size = "big": must be one of fixed, uniform, lognormal',
    stream(file_size={"fixed": -1}): "stream: file_size.fixed = -1: must be a whole number from 0",
    stream(file_choice="up"): 'stream: file_choice = "up": must be one of sequential, uniform,',
    stream(mix=[{"operation": "stat"}, {"operation": "fly"}]): (
        'stream: mix[1].operation = "fly": must be one of read, write, '
    ),
    stream(mix=7): "stream: mix = 7: must be a list",
    stream(bogus=1): "stream: bogus: is unknown; the fields are ",
    stream(arrival={"open": {"rate_per_s": "x"}}): (
        'stream: arrival.open.rate_per_s = "x": must be a number (a rate per second)'
    ),
}
NETS = {
    "{": "net: the JSON text ends too early",
    '"x"': 'net: the document = "x": must be an object',
    json.dumps(NET | {"places": 1}): "net: places = 1: must be a list",
    json.dumps(NET | {"places": [{}]}): "net: places[0].name: is missing",
    json.dumps(NET | {"places": [{"name": 1}]}): "net: places[0].name = 1: must be a text",
    json.dumps(NET | {"places": [{"name": "p", "initial": -1}]}): (
        "net: places[0].initial = -1: must be a list"
    ),
    json.dumps(NET | {"places": [], "transitions": [{"name": "t", "inputs": 1}]}): (
        "net: transitions[0].inputs: is unknown; the fields are name, page, priority, "
    ),
    "{,}": "net: is no valid JSON at line 1, column 2: ",
}


def words_of_stream(text):
    with pytest.raises(_core.InputError) as error, translated(stream=text):
        _core.stream_operations(text, 0, 1)
    return str(error.value)


@pytest.mark.parametrize("text", STREAMS)
def test_a_malformed_stream_is_named_in_the_words_of_the_document(text):
    found = words_of_stream(text)
    assert STREAMS[text] in found
    assert not RUST.search(found.replace("at line 1, column", "")), found


@pytest.mark.parametrize("text", NETS)
def test_a_malformed_net_is_named_in_the_words_of_the_document(text):
    with pytest.raises(InputError) as error:
        engine.check_text(text, "given")
    found = str(error.value)
    assert NETS[text] in found
    assert "\n" not in found
    assert not RUST.search(found.replace("at line 1, column", "")), found


def test_a_core_of_another_version_is_named_in_one_line():
    with pytest.raises(_core.InputError) as error, from_types(plan='{"bogus": 1}'):
        _core.run_load('{"bogus": 1}', None)
    assert str(error.value).startswith(OTHER_VERSION)
    assert "\n" not in str(error.value)
    with pytest.raises(_core.InputError) as error, from_types(plan='{"stream": 1}'):
        _core.run_load('{"stream": 1}', None)
    assert "another version" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "plan: the JSON text is empty"),
        ("{}", "plan: stream: is missing"),
        ("[]", "plan: the document: must be an object"),
        ('{"stream": 1}', "plan: stream = 1: must be an object"),
    ],
)
def test_a_malformed_plan_is_named_in_the_words_of_the_document(text, reason):
    with pytest.raises(_core.InputError) as error, translated(plan=text):
        _core.run_load(text, None)
    assert str(error.value) == reason


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"ranking_limit": -1}', "ranking_limit = -1: must be a whole number from 0 to 2^64 - 1"),
        ('{"factor": []}', "factor: must be a number"),
        ('{"choice": {"keep": 1}}', "choice.keep = 1: must be a list"),
    ],
)
def test_malformed_options_of_a_trace_are_named_in_their_words(text, reason):
    with pytest.raises(_core.InputError) as error, translated(trace_options=text):
        _core.trace_profile([], text)
    assert str(error.value) == f"trace options: {reason}"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "the JSON text is empty"),
        ("{}", "the document: must be a list"),
        ("[{}]", "[0].netns: is missing"),
        ('[{"netns": 1}]', "[0].netns = 1: must be a text"),
        ('[{"netns": "n", "queue": 70000}]', "[0].queue = 70000: must be a whole number from 0 to"),
        ('[{"netns": "n", "queue": 1, "delay_s": "5 ms"}]', '= "5 ms": must be a number (seconds)'),
        ('[{"delay": 1}]', "[0].delay: is unknown; the fields are netns, queue, delay_s, jitter_s"),
    ],
)
def test_a_malformed_delay_line_is_named_in_its_words(text, reason, capsys):
    assert delay_line.main(text) == 1
    found = capsys.readouterr().err
    assert found.startswith("delay line: ")
    assert reason in found
    assert len(found.splitlines()) == 1
    assert not RUST.search(found), found


def test_a_field_on_a_later_line_is_found():
    text = json.dumps(STREAM | {"größe": "ü", "clients": "x"}, indent=2, ensure_ascii=False)
    message = 'stream: invalid type: string "x", expected u32 at line 3 column 16'
    assert in_words(message, {"stream": text}).startswith('stream: clients = "x": must be a whole')


def test_other_errors_are_unchanged():
    for message in ("client = 3: 0 to 1", "net: place p has no colour"):
        assert in_words(message, {"net": "{}"}) == message
    assert in_words("net: EOF while parsing at line 1 column 0", {}) == (
        "net: EOF while parsing at line 1 column 0"
    )
