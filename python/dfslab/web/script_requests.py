"""The requests that the scripts of the pages make. Requests and answers are JSON documents."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from dfslab.documents.document import Document, StrictDocument
from dfslab.spec.input_error import InputError
from dfslab.web import catalog, drops, live_view, state_spaces, whatif_board
from dfslab.web.games import FireRequest, Games
from dfslab.web.pages import net_file
from dfslab.web.serve_settings import ServeSettings
from dfslab.web.whatif_documents import WhatIfRequest

MOST_BODY_BYTES = 1 << 16
Requested = TypeVar("Requested", bound=BaseModel)


class GameRequest(StrictDocument):
    """The net of a game or of a state space: the name of a net that comes with dfslab, or the key
    of a dropped net."""

    file: str


class BackRequest(StrictDocument):
    """How far a game is taken back: by one firing, or to its start."""

    to_start: bool = False


class ScriptRequests:
    """Answers the requests of scripts. The runs are in the folder that the settings name."""

    def __init__(self, settings: ServeSettings) -> None:
        self._runs = settings.runs
        self._games = Games()

    def live(self, request: Request) -> Response:
        """Answers with the present live view of a run."""
        key = f"{request.path_params['name']}/{request.path_params['stamp']}"
        return _json(live_view.live_view(catalog.folder_of(self._runs, key)))

    async def whatif(self, request: Request) -> Response:
        """Answers with the prediction of the queueing model for the positions of the sliders."""
        requested = await _body(request, WhatIfRequest)
        return await _work(
            lambda: whatif_board.answer(
                whatif_board.board_of(self._runs, requested.source), requested
            )
        )

    async def net(self, request: Request) -> Response:
        """Answers with the simulation of the net for the positions of the sliders."""
        requested = await _body(request, WhatIfRequest)
        return await _work(
            lambda: whatif_board.net_answer(
                whatif_board.board_of(self._runs, requested.source), requested
            )
        )

    async def start_game(self, request: Request) -> Response:
        """Starts a token game."""
        requested = await _body(request, GameRequest)
        return await _work(lambda: self._games.start(net_file(self._runs, requested.file)))

    async def fire(self, request: Request) -> Response:
        """Fires a binding of a token game."""
        requested, key = await _body(request, FireRequest), request.path_params["key"]
        return await _work(lambda: self._games.fire(key, requested))

    async def back(self, request: Request) -> Response:
        """Takes firings of a token game back."""
        requested, key = await _body(request, BackRequest), request.path_params["key"]
        return await _work(lambda: self._games.back(key, requested.to_start))

    async def states(self, request: Request) -> Response:
        """Answers with the state space of a net."""
        requested = await _body(request, GameRequest)
        return await _work(lambda: state_spaces.view(net_file(self._runs, requested.file)))

    async def drop(self, request: Request) -> Response:
        """Takes a dropped file, whose name is in the address and whose content is the body."""
        name = request.query_params.get("name", "")
        path = await drops.keep(self._runs, name, request.stream())
        return await _work(lambda: drops.take(path, self._runs))


async def _body(request: Request, kind: type[Requested]) -> Requested:
    """Returns the document in the body of a request. Raises InputError if the body is too large or
    has a wrong key."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_BODY_BYTES:
            raise InputError("body", None, f"must be at most {MOST_BODY_BYTES} bytes")
    try:
        return kind.model_validate_json(bytes(body))
    except ValidationError as error:
        first = error.errors()[0]
        raise InputError(".".join(map(str, first["loc"])) or "body", None, first["msg"]) from error


async def _work(work: Callable[[], Document]) -> Response:
    """Calls `work` in another thread, so that other requests are answered meanwhile. Returns the
    document of `work` as the response."""
    return _json(await run_in_threadpool(work))


def _json(document: Document) -> Response:
    return Response(document.model_dump_json(), media_type="application/json")
