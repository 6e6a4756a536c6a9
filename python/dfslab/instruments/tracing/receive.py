"""Receives OTLP over HTTP on the loopback address, and writes a growing profile to a folder."""

from __future__ import annotations

import json
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from dfslab.documents.traces.plain import plain
from dfslab.documents.traces.trace_analysis import Received, ReceivedProfile, given
from dfslab.documents.traces.trace_profile import TraceProfile
from dfslab.instruments.trace import ProfileStream, StreamEnded
from dfslab.spec.clock import REAL, Clock
from dfslab.spec.input_error import InputError

LOOPBACK = "127.0.0.1"
PATH = "/v1/traces"
PROTOBUF, JSON = "application/x-protobuf", "application/json"
MOST_BYTES = 64 * 2**20
# Messages of more than SMALL_BYTES bytes are called large. All large messages that are being read
# may take MOST_LARGE_BYTES of memory in total, and all small messages MOST_SMALL_BYTES. With
# separate limits, large messages never block small ones.
SMALL_BYTES = 2**20
MOST_LARGE_BYTES, MOST_SMALL_BYTES = 128 * 2**20, 64 * 2**20
# MOST_CLIENTS is the largest number of clients that are served at the same time. BACKLOG is the
# largest number of clients that wait to be accepted.
MOST_CLIENTS, BACKLOG = 512, 256
# MOST_DIGITS is the largest number of digits in the length of a message. MOST_LINE_BYTES is the
# largest number of bytes in the line before a chunk.
MOST_DIGITS, MOST_LINE_BYTES = 12, 1024
# Names of this machine that a request may have in its Host header. Requests with other names are
# refused. Otherwise a web page could use DNS rebinding: it would send requests to the loopback
# address under the name of its server.
HOSTS = ("localhost", "127.0.0.1", "[::1]")
SILENCE_S = 10.0
NOTHING = ("holds no spans", "file is empty")


class Refused(Exception):
    """The error of a rejected request. `status` is the HTTP status of the answer; the error's text
    is the reason.
    """

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class Receiver:
    """Merges the spans of all messages into one profile, and counts accepted and rejected
    messages.
    """

    def __init__(self) -> None:
        self.stream = ProfileStream()
        self._lock = threading.Lock()
        self.counts = Received(messages=0, bytes=0, refused=0)

    def take(self, body: bytes) -> None:
        """Adds one message to the profile.

        Raises Refused if the message is not OTLP, or if the receiver has ended. A message without
        spans is accepted as a keep-alive.
        """
        try:
            if body:
                self.stream.push("message", body)
        except InputError as error:
            if not str(error).endswith(NOTHING):
                raise Refused(400, str(error)) from error
        except StreamEnded as error:
            raise Refused(503, "the receiver has ended; send the message to another") from error
        self.count(messages=1, size_bytes=len(body))

    def count(self, messages: int = 0, size_bytes: int = 0, refused: int = 0) -> None:
        """Adds to three counts: accepted messages, their bytes, and rejected messages. A lock
        protects the counts, because request handlers run in several threads."""
        with self._lock:
            self.counts = Received(
                messages=self.counts.messages + messages,
                bytes=self.counts.bytes + size_bytes,
                refused=self.counts.refused + refused,
            )

    def snapshot(self) -> ReceivedProfile:
        """Returns the profile of the spans received so far."""
        profile, waiting = self.stream.snapshot()
        return self._received(profile, ended=False).model_copy(update={"waiting": waiting})

    def finish(self) -> ReceivedProfile:
        """Ends the stream of spans. Returns the profile of all spans."""
        return self._received(self.stream.finish(), ended=True)

    def _received(self, profile: TraceProfile, ended: bool) -> ReceivedProfile:
        return ReceivedProfile(**given(profile), received=self.counts, ended=ended)


def inflated(body: bytes, encoding: str) -> bytes:
    """Returns the body of a request, decompressed by the method that its header Content-Encoding
    names. Raises Refused if the decompressed body exceeds the largest size of a message.
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


class MessageMemory:
    """Limits the bytes that the messages of all clients take in memory; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._left = {True: MOST_LARGE_BYTES, False: MOST_SMALL_BYTES}

    @contextmanager
    def held(self, size_bytes: int) -> Iterator[None]:
        """Returns a context in which `size_bytes` of memory are reserved for a message. Raises
        Refused if too little memory is free, because the messages of other clients have reserved
        it."""
        is_large = size_bytes > SMALL_BYTES
        with self._lock:
            if size_bytes > self._left[is_large]:
                raise Refused(503, "other messages take all memory; send the message again")
            self._left[is_large] -= size_bytes
        try:
            yield
        finally:
            with self._lock:
                self._left[is_large] += size_bytes


def is_local(host: str) -> bool:
    """Returns whether a Host header, or the part of an Origin header after "http://", names this
    machine."""
    name, colon, port = host.rpartition(":")
    is_port = bool(colon) and port.isascii() and port.isdigit()
    return (name if is_port else host).lower() in HOSTS


class Handler(BaseHTTPRequestHandler):
    """Handles one HTTP connection. An exporter keeps its connection open for many requests."""

    protocol_version = "HTTP/1.1"
    timeout = SILENCE_S
    receiver: Receiver
    budget: MessageMemory

    def do_POST(self) -> None:
        """Accepts a message with spans. If the message is rejected, the answer has the reason."""
        try:
            kind = self.headers.get("content-type", "").partition(";")[0].strip().lower()
            self._check_sender()
            if self.path.partition("?")[0] != PATH:
                raise Refused(404, f"spans are taken at {PATH}")
            if kind not in (PROTOBUF, JSON):
                raise Refused(415, f"content-type {kind}: must be {PROTOBUF} or {JSON}")
            self._take(self.headers.get("content-encoding", "").lower())
        except Refused as refused:
            self.receiver.count(refused=1)
            # Close the connection. Otherwise, unread bytes of the body would be parsed as the next
            # request.
            self.close_connection = True
            self._answer(refused.status, "text/plain", str(refused).encode())
        else:
            self._answer(200, kind, b"{}" if kind == JSON else b"")

    def _check_sender(self) -> None:
        """Raises Refused for requests of web pages, which can reach the loopback address by another
        host name."""
        host, origin = self.headers.get("host"), self.headers.get("origin")
        if host is not None and not is_local(host):
            raise Refused(403, "the host must be this machine's loopback")
        if origin is not None and not is_local(origin.removeprefix("http://")):
            raise Refused(403, "pages of other origins send no spans")

    def _take(self, encoding: str) -> None:
        """Reads one message, for which memory is reserved, and adds its spans to the stream."""
        if self.headers.get("transfer-encoding", "").lower() == "chunked":
            self.receiver.take(inflated(self._chunks(), encoding))
            return
        length = self._length()
        with self.budget.held(length):
            self.receiver.take(inflated(self._bytes(length), encoding))

    def _length(self) -> int:
        text = self.headers.get("content-length", "")
        if not (text.isascii() and text.isdigit()):
            raise Refused(411, "content-length must say how long the message is")
        if len(text) > MOST_DIGITS or int(text) > MOST_BYTES:
            raise Refused(413, f"more than {MOST_BYTES} bytes")
        return int(text)

    def _bytes(self, length: int) -> bytes:
        body = self.rfile.read(length)
        if len(body) < length:
            raise Refused(400, "truncated")
        return body

    def _chunks(self) -> bytes:
        """Reads a message in chunks (RFC 9112, section 7.1). Extensions and trailers are skipped.

        The length of the message is known only at its end, so memory is reserved for one chunk
        after the other.
        """
        parts, size_bytes = [], 0
        with ExitStack() as held:
            while length := self._chunk_length():
                size_bytes += length
                if size_bytes > MOST_BYTES:
                    raise Refused(413, f"more than {MOST_BYTES} bytes")
                held.enter_context(self.budget.held(length))
                parts.append(self._bytes(length))
                if self._line():
                    raise Refused(400, "a chunk is longer than it says")
            while self._line():
                pass
            return b"".join(parts)

    def _chunk_length(self) -> int:
        text = self._line().partition(b";")[0].strip()
        if not text or len(text) > MOST_DIGITS or not set(text) <= set(b"0123456789abcdefABCDEF"):
            raise Refused(400, "a chunk does not say its length")
        return int(text, 16)

    def _line(self) -> bytes:
        line = self.rfile.readline(MOST_LINE_BYTES)
        if not line.endswith(b"\n"):
            raise Refused(400, "truncated")
        return line.rstrip(b"\r\n")

    def _answer(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Logs nothing. Rejected requests are counted, and the client gets the reason as answer."""


class SpanServer(ThreadingHTTPServer):
    """An HTTP server for at most MOST_CLIENTS clients at the same time. A client that closes its
    connection early is not reported as an error."""

    daemon_threads = True
    request_queue_size = BACKLOG

    def __init__(self, port: int, receiver: Receiver) -> None:
        self._free = threading.BoundedSemaphore(MOST_CLIENTS)
        self._receiver = receiver
        handler = type("Handler", (Handler,), {"receiver": receiver, "budget": MessageMemory()})
        super().__init__((LOOPBACK, port), handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serves a client in a new thread, or closes the connection if there are too many
        clients."""
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serves a client until the client closes its connection."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Counts a client that closed its connection in the middle of a message."""
        self._receiver.count(refused=1)


@contextmanager
def serving(receiver: Receiver, port: int) -> Iterator[int]:
    """Returns a context in which a server receives requests on the loopback address. The context
    yields the server's port. If `port` is 0, the operating system chooses a free port. Raises
    InputError if the port is in use.
    """
    try:
        server = SpanServer(port, receiver)
    except (OSError, OverflowError) as error:
        raise InputError("--port", port, f"cannot be listened on: {error}") from error
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
    """Receives spans for `duration_s` seconds, or until Ctrl-C if `duration_s` is None. Returns the
    profile of all spans.

    `write` is called at the start, every `interval_s` seconds, and at the end. Its argument is the
    profile of the spans received until then, as JSON. `ready` is called once with the port.
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
