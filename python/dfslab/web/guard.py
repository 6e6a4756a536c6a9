"""Refuses requests that do not come from the user.

Three kinds of requests are refused:

- requests to a host name that an attacker's DNS resolves to this machine
- requests by forms of other web sites
- requests by browsers without the token
"""

from __future__ import annotations

import hmac
import ipaddress
import json
from urllib.parse import urlencode, urlsplit

from starlette.datastructures import URL, Headers
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dfslab.web.serve_settings import LOCALHOST, ServeSettings, is_loopback

COOKIE = "dfslab-token"
READING = ("GET", "HEAD")
# The beginning of the paths that only scripts request.
API = "/api/"
# Headers of every response, unless it has a header of the same name. Pages of the application load
# nothing from other sites, and other sites cannot show them in a frame.
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; style-src 'self' 'unsafe-inline'; script-src 'self'; "
        "img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}


class Guard:
    """The outermost layer of the application, which also encloses the code that handles errors. It
    checks every request before any other code runs."""

    def __init__(self, app: ASGIApp, settings: ServeSettings) -> None:
        self._app, self._settings = app, settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a refused request, and passes any other request to the application."""
        if scope["type"] != "http":
            return
        request = Request(scope)
        refused = self._refusal(request)
        await (refused or self._app)(scope, receive, _with_headers(send))

    def _refusal(self, request: Request) -> Response | None:
        """Returns the response to a request that is refused, or None if the request is allowed."""
        host = request.headers.get("host", "")
        if not is_own_name(host, self._settings.host):
            return _refused(request, "this address is not served: wrong Host header", 403)
        if request.method not in READING and not _is_own_origin(request.headers, host):
            return _refused(request, "refused: the request comes from another web site", 403)
        return self._without_token(request) if self._settings.token else None

    def _without_token(self, request: Request) -> Response | None:
        """Checks the token of a request. Returns None if the request has the token in a cookie or
        in its Authorization header. If the address of the request contains the token, returns a
        redirection that stores the token in a cookie. Otherwise, returns a refusal."""
        if self._is_token(request.cookies.get(COOKIE, "")):
            return None
        if self._is_token(request.headers.get("authorization", "").removeprefix("Bearer ")):
            return None
        if not self._is_token(request.query_params.get("token", "")):
            return _refused(request, "needs the token that `dfslab serve` printed", 401)
        kept = [(key, value) for key, value in request.query_params.multi_items() if key != "token"]
        address = URL(path=request.url.path, query=urlencode(kept))
        found = RedirectResponse(str(address), 303)
        found.set_cookie(COOKIE, self._settings.token, httponly=True, samesite="strict")
        return found

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self._settings.token.encode())


def script_error(request: Request, text: str, status: int) -> Response | None:
    """Returns the answer to a script's request that was refused or has failed. The answer is one
    line as JSON. Returns None if the request does not come from a script."""
    if not request.url.path.startswith(API):
        return None
    return Response(json.dumps({"error": text}), status, media_type="application/json")


def _refused(request: Request, text: str, status: int) -> Response:
    return script_error(request, text, status) or PlainTextResponse(text, status)


def is_own_name(host: str, served: str) -> bool:
    """Returns whether the Host header `host` names this application, which is served at `served`.

    The only allowed names are localhost and `served`, because an attacker's DNS can make any other
    name resolve to this machine. An IP address in the header cannot be forged in this way. If
    `served` can be reached by other machines, any IP address is allowed; otherwise, only loopback
    addresses are.
    """
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    # `urlsplit` returns `name` in lower case, and names of hosts ignore case.
    if name in (LOCALHOST, served.lower()):
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return is_loopback(name) or not is_loopback(served)


def _is_own_origin(headers: Headers, host: str) -> bool:
    """Returns whether a request that may change something was made by a page of this application,
    or by a program that is no browser."""
    origin = headers.get("origin")
    return origin is None or urlsplit(origin).netloc == host


def _with_headers(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            known = {name for name, _ in message["headers"]}
            extra = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
            message["headers"] = [*message["headers"], *(h for h in extra if h[0] not in known)]
        await send(message)

    return sent
