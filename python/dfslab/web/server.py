"""Runs the web application: binds the address, and serves until Ctrl-C."""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable
from dataclasses import replace

import uvicorn

from dfslab.spec.input_error import InputError
from dfslab.web.application import application
from dfslab.web.serve_settings import ServeSettings

BACKLOG = 128
# Seconds that open connections have to end after Ctrl-C.
ENDING_S = 2
_REASONS = {
    errno.EADDRINUSE: "is in use; name another one, or 0 for any free one",
    errno.EACCES: "needs root; name one from 1024 on",
}


def bind(settings: ServeSettings) -> tuple[socket.socket, ServeSettings]:
    """Binds the address of the settings. Returns (listening socket, settings with the port that is
    used). If the given port is 0, the system chooses the port.

    Raises InputError if the port is in use or needs root, or if the address is not one of this
    machine.
    """
    try:
        family, kind, _, _, address = socket.getaddrinfo(
            settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except OSError as error:
        allowed = f"is no address of this machine, such as 127.0.0.1: {error.strerror}"
        raise InputError("--host", settings.host, allowed) from error
    listening = socket.socket(family, kind)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        if error.errno in _REASONS:
            raise InputError("--port", settings.port, _REASONS[error.errno]) from error
        raise InputError("--host", settings.host, f"{error.strerror}") from error
    return listening, replace(settings, port=listening.getsockname()[1])


def server_of(settings: ServeSettings) -> uvicorn.Server:
    """Returns the server of the application, which does not run yet."""
    config = uvicorn.Config(
        application(settings),
        log_level="warning",
        access_log=False,
        lifespan="off",
        server_header=False,
        timeout_graceful_shutdown=ENDING_S,
    )
    return uvicorn.Server(config)


def serve(settings: ServeSettings, ready: Callable[[ServeSettings], None]) -> None:
    """Serves the application until Ctrl-C. `ready` is called once when the address is bound."""
    listening, bound = bind(settings)
    with listening:
        server = server_of(bound)
        ready(bound)
        server.run(sockets=[listening])
