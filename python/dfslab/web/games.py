"""Token games in the browser. The server keeps the state of each game. The browser shows the state,
and the user chooses there which binding fires."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path

from dfslab.documents.document import Document, StrictDocument
from dfslab.documents.net_definition import NetDefinition
from dfslab.nets import draw, files, play
from dfslab.nets.engine import Game
from dfslab.spec.files import ready
from dfslab.spec.input_error import InputError

MOST_GAMES = 32
MOST_STEPS = 1000
MOST_CHOICES = 40
# Largest total number of places and transitions of a net that is shown. `dfslab net` shows larger
# nets.
MOST_NODES = 400


class FireRequest(StrictDocument):
    """A move of a game: the index of the enabled binding that fires first, and the number of
    firings. In each further firing, the first of the bindings that are then enabled fires."""

    choice: int = 0
    steps: int = 1


class GameView(Document):
    """The state of a token game for the browser.

    `choices`: the first MOST_CHOICES enabled bindings, as text. `waiting`: tokens that become
    available later. `fired`: the last bindings that fired, the newest first. `picture`: the net
    with its tokens, as SVG. `back`: whether there is a firing that can be taken back.
    """

    game: str
    time_s: float
    steps: int
    choices: list[str]
    more_choices: int
    tokens: dict[str, str]
    waiting: list[str]
    fired: list[str]
    picture: str
    back: bool


@dataclass
class _Played:
    """A game in progress. `choices`: the moves since the start. A move is the index of the fired
    binding among the bindings that were enabled at that time."""

    definition: NetDefinition
    game: Game
    choices: list[int] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)


class Games:
    """All games of the application. If there are more than MOST_GAMES, the game that was not used
    for the longest time is removed."""

    def __init__(self) -> None:
        self._games: OrderedDict[str, _Played] = OrderedDict()
        self._lock = threading.Lock()

    def start(self, path: Path) -> GameView:
        """Starts a game of the net in a file. Raises InputError if the file has no net, or if the
        net has more than MOST_NODES places and transitions."""
        definition = files.read(path)
        nodes = len(definition.places) + len(definition.transitions)
        if nodes > MOST_NODES:
            allowed = f"has {nodes} places and transitions; a game shows at most {MOST_NODES}"
            raise InputError("net", path.name, allowed)
        played = _Played(definition, Game(definition))
        key = secrets.token_urlsafe(12)
        with self._lock:
            self._games[key] = played
            while len(self._games) > MOST_GAMES:
                self._games.popitem(last=False)
        return _view(key, played)

    def fire(self, key: str, move: FireRequest) -> GameView:
        """Fires a binding of a game. Raises InputError for an unknown game or binding."""
        played = self._played(key)
        with played.lock:
            enabled = len(played.game.enabled())
            if not 0 <= move.choice < enabled:
                raise InputError("choice", move.choice, f"must be below {enabled} enabled bindings")
            _fire(played, move.choice)
            for _ in range(min(move.steps, MOST_STEPS) - 1):
                if not played.game.enabled():
                    break
                _fire(played, 0)
            return _view(key, played)

    def back(self, key: str, is_to_start: bool) -> GameView:
        """Takes the last firing of a game back, or all firings if `is_to_start`. The earlier state
        is computed by a new game with the same seed, in which the remaining firings are repeated.
        Raises InputError for an unknown game."""
        played = self._played(key)
        with played.lock:
            kept = [] if is_to_start else played.choices[:-1]
            played.game, played.choices = Game(played.definition), []
            for choice in kept:
                _fire(played, choice)
            return _view(key, played)

    def _played(self, key: str) -> _Played:
        with self._lock:
            found = self._games.get(key)
            if found is None:
                raise InputError("game", key, "is over; start it again")
            self._games.move_to_end(key)
            return found


def _fire(played: _Played, choice: int) -> None:
    played.game.step(choice)
    played.choices.append(choice)


def _view(key: str, played: _Played) -> GameView:
    state = played.game.state
    return GameView(
        game=key,
        time_s=state.time_s,
        steps=state.steps,
        choices=[play.binding(one) for one in state.enabled[:MOST_CHOICES]],
        more_choices=max(0, len(state.enabled) - MOST_CHOICES),
        tokens={place: play.tokens(rows) for place, rows in state.marking.items()},
        waiting=[
            f"{one.place}: {play.row(one.token)} from {one.time_s:g} s on"
            for one in state.coming[: play.TOKENS_SHOWN]
        ],
        fired=[play.binding(one) for one in played.game.history[: -play.TOKENS_SHOWN - 1 : -1]],
        picture=draw.svg(played.definition, state.marking),
        back=bool(played.choices),
    )


def ready_nets() -> dict[str, Path]:
    """Returns the files of the nets that come with dfslab, by the names of the nets."""
    found = (path for folder in ready.FOLDERS for path in sorted((folder / "nets").glob("*")))
    return {path.stem: path for path in found if path.suffix in files.suffixes()}
