"""Serves a folder of runs to tests. The web application runs in a thread of the test's process."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from dfslab.web.serve_settings import ServeSettings
from dfslab.web.server import bind, server_of

from support.waiting import wait_until

# Time limit of a request in seconds, which is reached only if the request hangs.
LONGEST_S = 60.0


@dataclass(frozen=True)
class Answer:
    """The answer to a request: its status, headers (names in lower case) and body."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        """Returns the body as text."""
        return self.body.decode()

    @property
    def document(self) -> Any:
        """Returns the body as JSON."""
        return json.loads(self.body)


@dataclass(frozen=True)
class Served:
    """A running web application."""

    settings: ServeSettings

    @property
    def address(self) -> str:
        """Returns the URL of the application without a slash at its end."""
        return f"http://127.0.0.1:{self.settings.port}"

    def get(self, path: str, **headers: str) -> Answer:
        """Returns the answer to a GET request. In the names of `headers`, "_" stands for "-"."""
        return self._answer("GET", path, b"", headers)

    def post(self, path: str, body: Any, **headers: str) -> Answer:
        """Returns the answer to a POST request, whose body is bytes or a JSON document."""
        sent = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self._answer("POST", path, sent, headers)

    def _answer(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        place = urlsplit(self.address)
        assert place.hostname is not None
        connection = http.client.HTTPConnection(place.hostname, place.port, timeout=LONGEST_S)
        try:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body or None, named)
            found = connection.getresponse()
            kept = {name.lower(): value for name, value in found.getheaders()}
            return Answer(found.status, kept, found.read())
        finally:
            connection.close()


@contextmanager
def served(runs: Path, token: str = "", host: str = "127.0.0.1") -> Iterator[Served]:
    """Yields the web application, which serves the folder `runs` on a free port until the end of
    the `with` block. `token` and `host` are settings of the application."""
    listening, settings = bind(ServeSettings(runs, host, 0, token))
    server = server_of(settings)
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    with listening:
        thread.start()
        assert wait_until(lambda: server.started)
        try:
            yield Served(settings)
        finally:
            server.should_exit = True
            thread.join(LONGEST_S)
            assert not thread.is_alive()
