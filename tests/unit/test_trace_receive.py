"""Tests that the OTLP receiver counts messages, refuses invalid ones, and leaves valid files after
Ctrl-C."""

from __future__ import annotations

import gzip
import http.client
import json
import os
import signal
import socket
import struct
import subprocess

import pytest
from dfslab import _core
from dfslab.cli.root import app
from dfslab.documents.traces.plain import plain
from dfslab.instruments import trace
from dfslab.instruments.tracing import receive
from support.clock import ManualClock
from support.command import DFSLAB, dfslab
from support.rows import span_table
from typer.testing import CliRunner

PROTOBUF = "application/x-protobuf"


def message(folder, first, form):
    spans = [("write", 10, 5000 + n, n, 0, 1, 64) for n in range(first, first + 40)]
    path = folder / "message"
    _core.trace_write(span_table(spans), f"client-{first}", str(path), form)
    return path.read_bytes()


def post(port, body, kind=PROTOBUF, path="/v1/traces", **headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    reported = {"content-type": kind, **{key.replace("_", "-"): v for key, v in headers.items()}}
    connection.request("POST", path, body, reported)
    answer = connection.getresponse()
    return answer.status, answer.read()


def test_both_encodings_and_gzip_are_counted_exactly(tmp_path):
    receiver = receive.Receiver()
    with receive.serving(receiver, 0) as port:
        sent = message(tmp_path, 1, "protobuf")
        assert post(port, sent) == (200, b"")
        text = message(tmp_path, 100, "json")
        assert post(port, text, "application/json; charset=utf-8") == (200, b"{}")
        packed = gzip.compress(message(tmp_path, 200, "protobuf"))
        assert post(port, packed, content_encoding="gzip")[0] == 200
        assert post(port, b"")[0] == 200
        receiver.snapshot()
        assert receiver.snapshot().spans == 120
    found = receiver.finish()
    assert (found.spans, found.trees, found.roots[0].bytes) == (120, 120, 120 * 64)
    assert found.received.messages == 4


def test_what_is_wrong_is_refused_and_counted(tmp_path):
    receiver = receive.Receiver()
    sent = message(tmp_path, 1, "protobuf")
    bomb = gzip.compress(bytes(receive.MOST_BYTES + 10))
    cases = [
        (400, {"body": sent[:-5]}),
        (400, {"body": b"hello"}),
        (415, {"kind": "text/plain"}),
        (404, {"path": "/v1/metrics"}),
        (415, {"content_encoding": "zstd"}),
        (400, {"content_encoding": "gzip"}),
        (413, {"body": bomb, "content_encoding": "gzip"}),
        (400, {"body": gzip.compress(sent)[:-9], "content_encoding": "gzip"}),
    ]
    with receive.serving(receiver, 0) as port:
        for status, changed in cases:
            answer = post(port, changed.pop("body", sent), **changed)
            assert answer[0] == status, (status, answer)
        assert post(port, sent)[0] == 200
    assert receiver.counts.refused == len(cases)


def test_for_so_long_it_receives(tmp_path):
    """If a duration is given, the receiver ends after this duration.

    The test's clock advances only when the receiver waits until it writes the next profile. Spans
    are sent before the second profile is written, so every profile except the first contains these
    spans.
    """
    clock, texts = ManualClock(), []
    sent = message(tmp_path, 1, "protobuf")
    found = receive.receive(0, 0.4, 1.0, texts.append, lambda port: post(port, sent), clock)
    assert clock.sleeps == pytest.approx([0.4, 0.4, 0.2])
    reported = [json.loads(text) for text in texts]
    assert [(one["received"]["messages"], one["ended"]) for one in reported] == [
        (0, False),
        (1, False),
        (1, False),
        (1, False),
        (1, True),
    ]
    assert reported[-1]["spans"] == 40
    assert plain(found) == reported[-1]
    words = ["trace", "receive", "--port", "0", "--into", str(tmp_path / "none"), "--for", "1 s"]
    assert "no span came" in str(CliRunner().invoke(app, words).exception)


def test_the_command_leaves_valid_results(tmp_path):
    into = tmp_path / "received"
    words = ["--interval", "0.2 s"]
    child = subprocess.Popen(
        [DFSLAB, "trace", "receive", "--port", "0", "--into", into, "--json", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stderr is not None
    port = int(child.stderr.readline().rsplit(":", 1)[1].split("/")[0])
    assert post(port, message(tmp_path, 1, "protobuf"))[0] == 200
    look = dfslab("trace", "top", into, "--once", "--json")
    assert "received" in json.loads(look.stdout)
    os.kill(child.pid, signal.SIGINT)
    said, errors = child.communicate(timeout=120)
    assert child.returncode == 0, errors
    assert json.loads(said)["spans"] == 40
    whole = json.loads((into / "received.json").read_text())
    assert (whole["spans"], whole["ended"], whole["savings"]["trees"]) == (40, True, 40)
    rows = dfslab("trace", "query", into, "select sum(count) n from calls", "--json")
    assert json.loads(rows.stdout) == [{"n": 40}]
    shown = dfslab("trace", "top", into)
    assert "40 spans" in shown.stdout, shown


def test_a_message_after_the_end_is_refused_and_not_lost_in_silence(tmp_path):
    receiver = receive.Receiver()
    sent = message(tmp_path, 1, "protobuf")
    with receive.serving(receiver, 0) as port:
        assert post(port, sent)[0] == 200
        whole = receiver.finish()
        status, text = post(port, sent)
    assert (status, whole.spans, receiver.counts.messages) == (503, 40, 1)
    assert text == b"the receiver has ended; send the message to another"


STUCK = (
    b"",
    b"POST /v1/traces HTTP/1.1\r\nhost: localhost\r\n",
    b"POST /v1/traces HTTP/1.1\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{",
    b"POST /v1/traces HTTP/1.1\r\ncontent-type: application/json\r\n"
    b"transfer-encoding: chunked\r\n\r\n10\r\nabc",
)


def test_clients_in_the_middle_of_a_message_do_not_delay_the_end(tmp_path, monkeypatch):
    """The receiver ends although connections are idle or in the middle of a message, before the
    time limit of silent connections."""
    monkeypatch.setattr(receive.Handler, "timeout", 600.0)
    receiver, open_connections = receive.Receiver(), []
    with receive.serving(receiver, 0) as port:
        for raw in STUCK:
            connection = socket.create_connection(("127.0.0.1", port), 60)
            connection.sendall(raw)
            open_connections.append(connection)
        assert post(port, message(tmp_path, 1, "protobuf"))[0] == 200
    assert receiver.finish().spans == 40
    for connection in open_connections:
        connection.close()


def test_a_folder_with_something_in_it_is_left_alone(tmp_path):
    (tmp_path / "mine").write_text("mine")
    answer = dfslab("trace", "receive", "--into", tmp_path)
    assert (answer.returncode, answer.stderr.count("\n")) == (2, 1)
    assert os.listdir(tmp_path) == ["mine"]


def test_threads_share_a_stream(tmp_path):
    from concurrent.futures import ThreadPoolExecutor

    stream = trace.ProfileStream()
    bodies = [message(tmp_path, 1 + 100 * n, "protobuf") for n in range(20)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda body: stream.push("message", body), bodies))
    assert stream.finish().spans == 20 * 40


def talk(port, request):
    """Sends raw bytes, which need not be valid HTTP, to the receiver and returns its answer."""
    with socket.create_connection(("127.0.0.1", port), 120) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(65536), b""))


def chunked(body, size=100):
    head = (
        b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-protobuf\r\n"
    )
    parts = [body[at : at + size] for at in range(0, len(body), size)]
    lines = [b"%x;extension\r\n%s\r\n" % (len(part), part) for part in parts]
    return (
        head
        + b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
        + b"".join(lines)
        + b"0\r\nTrailer: x\r\n\r\n"
    )


def test_a_message_in_chunks_is_taken(tmp_path):
    receiver = receive.Receiver()
    with receive.serving(receiver, 0) as port:
        whole = chunked(message(tmp_path, 1, "protobuf"))
        assert talk(port, whole).startswith(b"HTTP/1.1 200 ")
        assert talk(port, whole.replace(b"\r\n64;", b"\r\nzz;", 1)).startswith(b"HTTP/1.1 400 ")
        assert talk(port, whole[:-40]).startswith(b"HTTP/1.1 400 ")
        large = whole.partition(b"\r\n\r\n")[0] + b"\r\n\r\nfffffff\r\n"
        assert talk(port, large).startswith(b"HTTP/1.1 413 ")
    assert receiver.finish().spans == 40


@pytest.mark.parametrize(
    ("header", "status"),
    [
        ({"host": "evil.example"}, 403),
        ({"host": "evil.example:4318"}, 403),
        ({"origin": "http://evil.example"}, 403),
        ({"host": "localhost:4318"}, 200),
        ({"host": "[::1]:4318"}, 200),
        ({"origin": "http://localhost:8080"}, 200),
        ({"content-length": "9" * 5000}, 413),
    ],
)
def test_other_hosts_and_origins_are_refused(tmp_path, header, status):
    with receive.serving(receive.Receiver(), 0) as port:
        assert post(port, message(tmp_path, 1, "protobuf"), **header)[0] == status


def test_clients_together_hold_no_more_than_the_budget(tmp_path):
    budget = receive.MessageMemory()
    with budget.held(receive.MOST_BYTES), budget.held(receive.MOST_BYTES):
        with pytest.raises(receive.Refused) as refused, budget.held(receive.SMALL_BYTES + 1):
            pass
        assert refused.value.status == 503
        with budget.held(receive.SMALL_BYTES):
            pass
    with budget.held(receive.MOST_LARGE_BYTES):
        pass


def test_clients_that_hang_up_are_counted_and_print_nothing(tmp_path, capfd):
    receiver = receive.Receiver()
    with receive.serving(receiver, 0) as port:
        for _ in range(5):
            with socket.create_connection(("127.0.0.1", port)) as connection:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                connection.sendall(b"POST /v1/traces HTTP/1.1\r\nContent-Length: 9\r\n\r\n1")
        assert post(port, message(tmp_path, 1, "protobuf"))[0] == 200
    assert capfd.readouterr().err == ""
