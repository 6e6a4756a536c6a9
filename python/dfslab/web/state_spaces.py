"""State spaces of nets in the browser: their properties, and a picture of the graph of their
strongly connected components."""

from __future__ import annotations

from pathlib import Path

from dfslab.documents.document import Document
from dfslab.documents.net_state import StateSpace
from dfslab.nets import engine, files, scc_graph
from dfslab.spec.input_error import InputError

# Largest number of markings that one request explores. `dfslab net states` explores larger state
# spaces.
MARKINGS_MOST = 20_000


class StateSpaceView(Document):
    """A state space for the browser.

    `facts`: properties of the state space in sentences. `picture`: the graph of its strongly
    connected components as SVG; empty if there is no picture. `no_picture`: the reason why there is
    no picture.
    """

    facts: list[str]
    picture: str
    no_picture: str


def view(path: Path) -> StateSpaceView:
    """Explores the state space of the net in a file. Raises InputError if the file contains no net,
    or if the net has no state space."""
    space = engine.state_space(files.read(path), MARKINGS_MOST)
    try:
        picture, reason = scc_graph.written(space, "svg"), ""
    except InputError as error:
        picture, reason = "", str(error)
    return StateSpaceView(facts=facts(space), picture=picture, no_picture=reason)


def facts(space: StateSpace) -> list[str]:
    """Returns the properties of a state space in sentences."""
    if not space.complete:
        return [
            f"More than {space.markings:,} markings; the first {space.markings:,} were explored."
        ]
    live, dead = space.live_transitions or [], space.dead_transitions or []
    return [
        f"Markings: {space.markings:,}, with {space.arcs:,} firings between them.",
        f"Strongly connected components: {space.components:,}.",
        f"Home markings, which can be reached from every marking: {space.home_markings:,}.",
        f"Dead markings, in which nothing is enabled: {space.dead_markings:,}.",
        f"Live transitions: {', '.join(live) or 'none'}.",
        f"Transitions that never fire: {', '.join(dead) or 'none'}.",
    ]
