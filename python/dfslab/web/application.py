"""The web application: its addresses, and its answers to wrong requests."""

from __future__ import annotations

from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from dfslab.extras import missing
from dfslab.method import RunFailed
from dfslab.spec.input_error import InputError
from dfslab.web.guard import Guard, script_error
from dfslab.web.pages import Pages, rendered
from dfslab.web.script_requests import ScriptRequests
from dfslab.web.serve_settings import ServeSettings

STATIC = Path(__file__).parent / "static"
WRONG_INPUT, FAILED, NOT_FOUND, CRASHED = 400, 422, 404, 500


def application(settings: ServeSettings) -> ASGIApp:
    """Returns the web application that shows the runs in the folder of `settings` and accepts
    requests to the address of `settings`."""
    pages, api = Pages(settings), ScriptRequests(settings)
    routes = [
        Route("/", pages.runs),
        Route("/runs/{name}/{stamp}", pages.run),
        Route("/live/{name}/{stamp}", pages.live),
        Route("/compare", pages.compare),
        Route("/whatif", pages.whatif),
        Route("/nets", pages.nets),
        Route("/net", pages.net),
        Route("/dropped/{key}", pages.dropped),
        Route("/api/live/{name}/{stamp}", api.live),
        Route("/api/whatif", api.whatif, methods=["POST"]),
        Route("/api/whatif/net", api.net, methods=["POST"]),
        Route("/api/games", api.start_game, methods=["POST"]),
        Route("/api/games/{key}/fire", api.fire, methods=["POST"]),
        Route("/api/games/{key}/back", api.back, methods=["POST"]),
        Route("/api/states", api.states, methods=["POST"]),
        Route("/api/drop", api.drop, methods=["POST"]),
        Route("/static/page.css", pages.style),
        Route("/static/tables.js", pages.tables),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]
    app = Starlette(
        routes=routes,
        exception_handlers={
            InputError: _wrong_input,
            RunFailed: _failed,
            OSError: _failed,
            ModuleNotFoundError: _not_installed,
            Exception: _crashed,
            HTTPException: _http_error,
        },
    )
    # The guard is the outermost layer, because it adds the security headers. Answers to errors then
    # have these headers too.
    return Guard(app, settings)


def _wrong_input(request: Request, error: Exception) -> Response:
    return _error(request, str(error), WRONG_INPUT)


def _failed(request: Request, error: Exception) -> Response:
    return _error(request, str(error), FAILED)


def _not_installed(request: Request, error: Exception) -> Response:
    """Returns a response that names the extra of dfslab that has to be installed. This extra
    provides the missing module.

    If no extra provides the module, dfslab itself is faulty. The error is then raised again, so
    that the server prints it.
    """
    assert isinstance(error, ModuleNotFoundError)
    reason = missing(error)
    if reason is None:
        raise error
    return _error(request, reason, FAILED)


def _crashed(request: Request, error: Exception) -> Response:
    return _error(request, "an error in dfslab; the terminal of dfslab serve shows it", CRASHED)


def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    text = "there is no such page" if error.status_code == NOT_FOUND else error.detail
    return _error(request, text, error.status_code)


def _error(request: Request, text: str, status: int) -> Response:
    """Returns a response with the status code `status` and one line that describes the error.
    Scripts get the line as JSON, and browsers get a page."""
    return script_error(request, text, status) or rendered("error.html", status, text=text)
