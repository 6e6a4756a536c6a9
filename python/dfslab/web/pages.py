"""The pages of the web application, as HTML."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import get_args
from urllib.parse import quote, urlencode

import jinja2
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from dfslab.report import page
from dfslab.spec.input_error import InputError
from dfslab.web import catalog, drops, games, live_view, run_pages, whatif_board
from dfslab.web.serve_settings import ServeSettings
from dfslab.web.whatif_documents import WhatIfRequest

# Security policy of pages of the report: their scripts and styles are in the page itself, and they
# make no requests.
REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "img-src data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
DROPPED = "dropped:"
Links = list[tuple[str, str]]
# The links at the top of every page: (address, text).
LINKS: Links = [("/", "Runs"), ("/whatif", "What if"), ("/nets", "Token game")]
STATES = get_args(catalog.State)


@lru_cache(maxsize=1)
def environment() -> jinja2.Environment:
    """Returns the environment of the templates, which escapes all texts."""
    folder = Path(__file__).parent / "templates"
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def rendered(template: str, status: int = 200, **values: object) -> HTMLResponse:
    """Returns the page that a template gives with the variables `values`. `status`: status code of
    the response."""
    found = environment().get_template(template)
    return HTMLResponse(found.render(links=LINKS, **values), status)


def bar(*more: tuple[str, str]) -> Markup:
    """Returns the HTML of the links above a page of the report. `more`: further links, each as
    (address, text)."""
    shown = environment().get_template("bar.html").render(links=[*LINKS, *more])
    return Markup(shown)


def report(text: str) -> HTMLResponse:
    """Returns the HTML `text` as a page of the report, whose security policy forbids all
    requests."""
    return HTMLResponse(text, headers={"content-security-policy": REPORT_POLICY})


class Pages:
    """The pages of the application. They show the runs in the folder that the settings name."""

    def __init__(self, settings: ServeSettings) -> None:
        self._runs = settings.runs

    def runs(self, request: Request) -> Response:
        """Returns the list of the runs that contain all words of the search and are in the chosen
        state."""
        words = request.query_params.get("q", "").strip()
        state = request.query_params.get("state", "")
        every = catalog.entries(self._runs)
        found = [
            one
            for one in every
            if all(word in one.words for word in words.lower().split()) and state in ("", one.state)
        ]
        return rendered(
            "runs.html",
            runs=found,
            total=len(every),
            words=words,
            state=state,
            states=STATES,
            folder=str(self._runs),
            taken=drops.TAKEN,
        )

    def run(self, request: Request) -> Response:
        """Returns the page of a run. If the run is still being executed, redirects to its live
        view."""
        key, folder = self._run_of(request)
        if catalog.state_of(folder) == "running":
            return RedirectResponse(f"/live/{quote(key)}", 303)
        source = urlencode({"source": whatif_board.RUN + key})
        more = [(f"/live/{quote(key)}", "Live")]
        if not catalog.is_program(folder):
            more.insert(0, (f"/whatif?{source}", "What if, from this run"))
        return report(run_pages.run_page(folder, bar(*more)))

    def live(self, request: Request) -> Response:
        """Returns the live view of a run."""
        key, folder = self._run_of(request)
        return rendered("live.html", key=key, address=quote(key), view=live_view.live_view(folder))

    def compare(self, request: Request) -> Response:
        """Returns the page that compares two runs. Raises InputError unless the request names
        exactly two runs."""
        keys = request.query_params.getlist("run")
        if len(keys) != 2:
            raise InputError("run", None, f"choose two runs to compare; {len(keys)} are chosen")
        # The form sends the two runs in the order in which the page lists them, and the user can
        # sort the list by any column. The older run therefore becomes the first run of the
        # comparison here.
        earlier, later = sorted(keys, key=catalog.age_of)
        before, after = (catalog.folder_of(self._runs, key) for key in (earlier, later))
        return report(run_pages.comparison(before, after, (earlier, later), bar()))

    def whatif(self, request: Request) -> Response:
        """Returns the page with the sliders of a scenario or run. If the request names neither,
        returns the list of all scenarios and runs."""
        source = request.query_params.get("source", "")
        if not source:
            runs = catalog.entries(self._runs)
            return rendered("sources.html", sources=whatif_board.sources(runs))
        board = whatif_board.board_of(self._runs, source)
        point = _number(request.query_params.get("point", "0"))
        requested = WhatIfRequest(source=source, point=point)
        return rendered(
            "whatif.html",
            source=source,
            name=whatif_board.source_name(source),
            question=board.evidence.scenario.title,
            basis=board.evidence.basis,
            names=board.names,
            point=point,
            measured=board.measured_text(point),
            notes=board.evidence.notes,
            assumed=board.assumed(point),
            sliders=board.sliders(point),
            first=whatif_board.answer(board, requested),
        )

    def nets(self, request: Request) -> Response:
        """Returns the list of nets."""
        return rendered("nets.html", nets=sorted(games.ready_nets()), taken=drops.TAKEN)

    def net(self, request: Request) -> Response:
        """Returns the token game of a net."""
        file = request.query_params.get("file", "")
        return rendered("net.html", file=file, name=net_file(self._runs, file).name)

    def dropped(self, request: Request) -> Response:
        """Returns the page of a dropped trace or recording."""
        path = drops.find(self._runs, request.path_params["key"])
        return report(drops.shown(path, bar()))

    def style(self, request: Request) -> Response:
        """Returns the style sheet that the application shares with the pages of the report."""
        return Response(page.style(), media_type="text/css")

    def tables(self, request: Request) -> Response:
        """Returns the script that sorts and filters tables."""
        path = Path(page.__file__).parent / "templates" / "tables.js"
        return Response(path.read_text(encoding="utf-8"), media_type="text/javascript")

    def _run_of(self, request: Request) -> tuple[str, Path]:
        """Returns (key, folder) of the run that the request's address names."""
        key = f"{request.path_params['name']}/{request.path_params['stamp']}"
        return key, catalog.folder_of(self._runs, key)


def net_file(runs: Path, file: str) -> Path:
    """Returns the path of a net: a dropped file, or a net that comes with dfslab. Raises InputError
    if there is no net with the name `file`."""
    if file.startswith(DROPPED):
        return drops.find(runs, file.removeprefix(DROPPED))
    known = games.ready_nets()
    if file not in known:
        raise InputError("file", file, f"is no known net; there are {', '.join(known)}")
    return known[file]


def _number(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 6:
        raise InputError("point", text, "must be the number of a configuration")
    return int(text)
