"""Receives OTLP over HTTP on the loopback address, and writes a growing profile to a folder."""

from __future__ import annotations

import json
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from dfslab.documents.traces.plain import plain
from dfslab.documents.traces.trace_analysis import Received, ReceivedProfile, given
from dfslab.documents.traces.trace_profile import TraceProfile
from dfslab.instruments.trace import ProfileStream
from dfslab.spec.clock import REAL, Clock
from dfslab.spec.model import InputError

LOOPBACK = "127.0.0.1"
PATH = "/v1/traces"
PROTOBUF, JSON = "application/x-protobuf", "application/json"
MOST_BYTES = 64 * 2**20
SILENCE_S = 10.0
NOTHING = ("holds no spans", "file is empty")


class Refused(Exception):
    """A request is rejected. `status`: HTTP status of the answer; its text is the reason."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class Receiver:
    """Merges the received spans, and counts accepted and rejected messages."""

    def __init__(self) -> None:
        self.stream = ProfileStream()
        self._lock = threading.Lock()
        self.counts = Received(messages=0, bytes=0, refused=0)

    def take(self, body: bytes) -> None:
        """Adds one message to the profile.

        Raises Refused if it is not OTLP. A message without spans is accepted as a keep-alive.
        """
        try:
            if body:
                self.stream.push("message", body)
        except InputError as error:
            if not str(error).endswith(NOTHING):
                raise Refused(400, str(error)) from error
        self.count(messages=1, size_bytes=len(body))

    def count(self, messages: int = 0, size_bytes: int = 0, refused: int = 0) -> None:
        """Adds to the counts, under a lock, because request handlers run in several threads."""
        with self._lock:
            self.counts = Received(
                messages=self.counts.messages + messages,
                bytes=self.counts.bytes + size_bytes,
                refused=self.counts.refused + refused,
            )

    def snapshot(self) -> ReceivedProfile:
        """The profile of the spans received so far."""
        profile, waiting = self.stream.snapshot()
        return self._received(profile, ended=False).model_copy(update={"waiting": waiting})

    def finish(self) -> ReceivedProfile:
        """Ends the stream of spans. Returns the whole profile."""
        return self._received(self.stream.finish(), ended=True)

    def _received(self, profile: TraceProfile, ended: bool) -> ReceivedProfile:
        return ReceivedProfile(**given(profile), received=self.counts, ended=ended)


def inflated(body: bytes, encoding: str) -> bytes:
    """The body of a request, decompressed according to its content-encoding.

    Raises Refused if it exceeds the largest size of a message.
    """
    if encoding in ("", "identity"):
        return body
    if encoding != "gzip":
        raise Refused(415, f"content-encoding {encoding}: must be gzip or identity")
    unpacker = zlib.decompressobj(wbits=31)
    try:
        found = unpacker.decompress(body, MOST_BYTES + 1)
    except zlib.error as error:
        raise Refused(400, f"gzip: {error}") from error
    if len(found) > MOST_BYTES:
        raise Refused(413, f"more than {MOST_BYTES} bytes")
    if not unpacker.eof:
        raise Refused(400, "gzip: truncated")
    return found


class Handler(BaseHTTPRequestHandler):
    """Handles one HTTP connection. An exporter keeps its connection open for many requests."""

    protocol_version = "HTTP/1.1"
    timeout = SILENCE_S
    receiver: Receiver

    def do_POST(self) -> None:
        """Accepts a message with spans. If it is rejected, the answer has the reason."""
        try:
            kind = self.headers.get("content-type", "").partition(";")[0].strip().lower()
            if self.path.partition("?")[0] != PATH:
                raise Refused(404, f"spans are taken at {PATH}")
            if kind not in (PROTOBUF, JSON):
                raise Refused(415, f"content-type {kind}: must be {PROTOBUF} or {JSON}")
            body = inflated(self._body(), self.headers.get("content-encoding", "").lower())
            self.receiver.take(body)
        except Refused as refused:
            self.receiver.count(refused=1)
            # Close the connection. Otherwise, unread bytes of the body would be parsed as the next
            # request.
            self.close_connection = True
            self._answer(refused.status, "text/plain", str(refused).encode())
        else:
            self._answer(200, kind, b"{}" if kind == JSON else b"")

    def _body(self) -> bytes:
        length_text = self.headers.get("content-length", "")
        if not (length_text.isascii() and length_text.isdigit()):
            raise Refused(411, "content-length must say how long the message is")
        if int(length_text) > MOST_BYTES:
            raise Refused(413, f"more than {MOST_BYTES} bytes")
        body = self.rfile.read(int(length_text))
        if len(body) < int(length_text):
            raise Refused(400, "truncated")
        return body

    def _answer(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Logs nothing. Rejected requests are counted, and the client gets the reason as answer."""


@contextmanager
def serving(receiver: Receiver, port: int) -> Iterator[int]:
    """A context that receives requests on the loopback address. It yields the port; `port` 0 picks
    a free one.

    Raises InputError if the port is in use.
    """
    handler = type("Handler", (Handler,), {"receiver": receiver})
    try:
        server = ThreadingHTTPServer((LOOPBACK, port), handler)
    except (OSError, OverflowError) as error:
        raise InputError("--port", port, f"cannot be listened on: {error}") from error
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def receive(
    port: int,
    interval_s: float,
    duration_s: float | None,
    write: Callable[[str], None],
    ready: Callable[[int], None],
    clock: Clock = REAL,
) -> ReceivedProfile:
    """Receives spans for `duration_s` seconds or (None) until Ctrl-C. Returns the whole profile.

    `write` is called with the profile as JSON every `interval_s` seconds and at the end; `ready` is
    called with the port.
    """
    receiver = Receiver()
    ends = clock.monotonic_s() + duration_s if duration_s else None
    try:
        with serving(receiver, port) as found:
            write(json.dumps(plain(receiver.snapshot())))
            ready(found)
            while ends is None or clock.monotonic_s() < ends:
                left = interval_s if ends is None else min(interval_s, ends - clock.monotonic_s())
                clock.sleep(max(0.0, left))
                write(json.dumps(plain(receiver.snapshot())))
    except KeyboardInterrupt:
        pass  # Ctrl-C is the normal way to end a receiver
    whole = receiver.finish()
    write(json.dumps(plain(whole)))
    return whole
