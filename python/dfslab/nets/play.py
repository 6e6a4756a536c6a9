"""Plays the token game of a net in a terminal. The game lists the enabled bindings, fires the
binding that the player chooses, and shows the next marking."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from dfslab.documents.net_definition import NetDefinition
from dfslab.documents.net_state import Binding, GameState, TokenRow
from dfslab.nets.engine import Game

TOKENS_SHOWN, CHOICES_SHOWN = 8, 40
HELP = "number: fire it · Enter: fire 1 · N steps: `+N` · q: end"


def play(
    net: NetDefinition, ask: Callable[[str], str], say: Callable[[str], None], seed: int = 0
) -> int:
    """Plays until no binding is enabled, the player enters `q`, or the input ends. `ask` prints a
    prompt and returns a line of input. `say` prints a line. Returns the number of firings."""
    game = Game(net, seed)
    say(HELP)
    while True:
        state = game.state
        for line in lines(state):
            say(line)
        if not state.enabled:
            say("dead: nothing is enabled and nothing is on its way")
            return state.steps
        try:
            answer = ask("> ").strip()
        except EOFError:
            return state.steps
        if answer in ("q", "quit"):
            return state.steps
        _follow(game, answer, len(state.enabled), say)


def _follow(game: Game, answer: str, enabled: int, say: Callable[[str], None]) -> None:
    if answer.startswith("+") and answer[1:].isdecimal() and len(answer) <= 6:
        for _ in range(int(answer[1:])):
            if not game.enabled():
                return
            game.step(0)
        return
    choice = answer or "1"
    if not (choice.isascii() and choice.isdigit() and 1 <= int(choice[:9]) <= enabled):
        say(f"'{answer[:20]}' is no choice: 1 to {enabled}, +N or q")
        return
    fired = game.enabled()[int(choice) - 1]
    game.step(int(choice) - 1)
    say(f"fired {binding(fired)}")


def lines(state: GameState) -> Iterator[str]:
    """Yields the lines that show a state of the game."""
    yield f"time {state.time_s:g} s, step {state.steps}"
    for place, rows in state.marking.items():
        yield f"  {place}: {tokens(rows)}"
    for token in state.coming[:TOKENS_SHOWN]:
        yield f"  {token.place}: {row(token.token)} from {token.time_s:g} s on"
    for number, choice in enumerate(state.enabled[:CHOICES_SHOWN], 1):
        yield f"  {number}) {binding(choice)}"
    more = len(state.enabled) - CHOICES_SHOWN
    if more > 0:
        yield f"  … and {more} more"


def binding(choice: Binding) -> str:
    """Returns a binding as text: the name of the transition, with the tokens that its variables
    stand for."""
    bound = ", ".join(f"{name} = {row(value)}" for name, value in choice.binding.items())
    return choice.transition + (f" with {bound}" if bound else "")


def row(cells: TokenRow) -> str:
    """Returns the field values of a token as text."""
    return (
        "("
        + ", ".join(str(cell).lower() if isinstance(cell, bool) else str(cell) for cell in cells)
        + ")"
    )


def tokens(rows: Sequence[TokenRow]) -> str:
    """Returns the tokens of a place as text. If there are many, the text has only the first tokens
    and the number of tokens that are left out."""
    shown = " ".join(row(one) for one in rows[:TOKENS_SHOWN])
    more = len(rows) - TOKENS_SHOWN
    return f"{shown} … {more} more" if more > 0 else shown
