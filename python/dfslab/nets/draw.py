"""Draws a net or one of its pages, together with a marking (the tokens in each place). The picture
is Mermaid text or SVG."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

from dfslab.documents.net_definition import NetDefinition, TransitionDefinition
from dfslab.documents.net_state import TokenRow
from dfslab.nets.build import Net, definition_of
from dfslab.spec.input_error import InputError

TokensByPlace = Mapping[str, Sequence[TokenRow]]
COLUMN, ROW, RADIUS, MARGIN = 170, 90, 24, 60
DOTS_MOST = 4


@dataclass
class _Arc:
    """An arc of the picture between two nodes, with its inscription. `kind` is "arc",
    "inhibitor" or "reset"."""

    source: str
    target: str
    label: str = ""
    kind: str = "arc"


@dataclass
class _Picture:
    """The nodes of a picture with their labels, and the arcs between the nodes. The keys of places
    begin with `p:`, the keys of transitions with `t:`."""

    places: dict[str, str] = field(default_factory=dict)
    transitions: dict[str, str] = field(default_factory=dict)
    arcs: list[_Arc] = field(default_factory=list)


def initial_marking(definition: NetDefinition) -> TokensByPlace:
    """Returns the initial tokens of every place, by the name of the place."""
    return {one.name: [list(row) for row in one.initial] for one in definition.places}


def pages(net: Net | NetDefinition) -> list[str]:
    """Returns the names of the pages of a net, in the order in which they first occur in the list
    of transitions."""
    named = [one.page for one in definition_of(net).transitions]
    return list(dict.fromkeys(named))


def mermaid(net: Net | NetDefinition, marking: TokensByPlace | None = None, page: str = "") -> str:
    """Returns a picture of a net as Mermaid text. Places are round and show the tokens of `marking`
    (None: the initial tokens). Transitions are boxes. `page` selects one page; "" draws all."""
    definition = definition_of(net)
    picture = _picture(definition, page)
    marking = initial_marking(definition) if marking is None else marking
    ids = {name: f"n{at}" for at, name in enumerate([*picture.places, *picture.transitions])}
    lines = ["flowchart LR"]
    for node, name in picture.places.items():
        count = len(marking.get(name, ()))
        tokens = f"<br>{'●' * count if count <= DOTS_MOST else f'● {count}'}" if count else ""
        lines.append(f'  {ids[node]}(("{escape(name)}{tokens}"))')
    lines += [f'  {ids[node]}["{escape(text)}"]' for node, text in picture.transitions.items()]
    for arc in picture.arcs:
        shape = {"arc": "-->", "inhibitor": "--o", "reset": "==>"}[arc.kind]
        label = f'|"{escape(arc.label)}"|' if arc.label else ""
        lines.append(f"  {ids[arc.source]} {shape}{label} {ids[arc.target]}")
    return "\n".join(lines) + "\n"


def svg(net: Net | NetDefinition, marking: TokensByPlace | None = None, page: str = "") -> str:
    """Returns a picture of a net as SVG that needs no other file. The picture shows the tokens of
    `marking` (None: the initial tokens). `page` selects one page; "" draws all."""
    definition = definition_of(net)
    picture = _picture(definition, page)
    marking = initial_marking(definition) if marking is None else marking
    at = _layout(picture)
    width = max(x for x, _ in at.values()) + MARGIN
    height = max(y for _, y in at.values()) + MARGIN
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" font-family="sans-serif" font-size="11">',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" '
        'markerHeight="8" orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    lines += [line for arc in picture.arcs for line in _svg_arc(arc, at)]
    lines += [
        line
        for node, name in picture.places.items()
        for line in _svg_place(name, marking.get(name, ()), at[node])
    ]
    lines += [
        line
        for node, text in picture.transitions.items()
        for line in _svg_transition(text, at[node])
    ]
    return "\n".join([*lines, "</svg>"]) + "\n"


def _picture(definition: NetDefinition, page: str) -> _Picture:
    known = pages(definition)
    if page and page not in known:
        raise InputError("page", page, f"known: {', '.join(known)}")
    picture = _Picture()
    for one in definition.transitions:
        if page and one.page != page:
            continue
        node = f"t:{one.name}"
        notes = [
            one.name,
            f"[{one.guard}]" if one.guard else "",
            f"@+{one.delay}" if one.delay is not None else "",
        ]
        picture.transitions[node] = " ".join(note for note in notes if note)
        picture.arcs += _merged(_arcs(one, node))
    for arc in picture.arcs:
        for end in (arc.source, arc.target):
            if end.startswith("p:"):
                picture.places[end] = end[2:]
    if not page:
        picture.places |= {f"p:{one.name}": one.name for one in definition.places}
    return picture


def _arcs(transition: TransitionDefinition, node: str) -> Iterator[_Arc]:
    for taken in transition.in_:
        yield _Arc(f"p:{taken.place}", node, taken.var or "")
    for blocking in transition.inhibit:
        most = blocking.at_least
        yield _Arc(f"p:{blocking.place}", node, "" if most == 1 else str(most), "inhibitor")
    for emptied in transition.reset:
        yield _Arc(f"p:{emptied.place}", node, "", "reset")
    for made in transition.out:
        token = made.token
        words = token if isinstance(token, str) else ", ".join(str(one) for one in token or ())
        delay = "" if made.delay is None else f" @+{made.delay}"
        yield _Arc(node, f"p:{made.place}", f"{words}{delay}".strip())


def _merged(arcs: Iterator[_Arc]) -> list[_Arc]:
    """Merges parallel arcs that have equal inscriptions. Each merged arc shows the number of arcs
    that it replaces."""
    counts: dict[tuple[str, str, str, str], int] = {}
    for arc in arcs:
        key = (arc.source, arc.target, arc.label, arc.kind)
        counts[key] = counts.get(key, 0) + 1
    return [
        _Arc(source, target, f"{n}`{label}" if n > 1 else label, kind)
        for (source, target, label, kind), n in counts.items()
    ]


def _layout(picture: _Picture) -> dict[str, tuple[int, int]]:
    """Returns the position (x, y) of each node in pixels.

    The column of a node is its distance in arcs from a start node. The first place is a start node
    in the leftmost column. A node that earlier start nodes do not reach is a further start node: a
    place is in the leftmost column, a transition in the next column. In a column, nodes are in the
    order in which they are reached.
    """
    following: dict[str, list[str]] = {}
    for arc in picture.arcs:
        following.setdefault(arc.source, []).append(arc.target)
    column: dict[str, int] = {}
    for start in [*picture.places, *picture.transitions]:
        if start in column:
            continue
        column[start] = 0 if start.startswith("p:") else 1
        queue = [start]
        for node in queue:
            for after in following.get(node, ()):
                if after not in column:
                    column[after] = column[node] + 1
                    queue.append(after)
    rows: dict[int, int] = {}
    at = {}
    for node, x in column.items():
        rows[x] = rows.get(x, -1) + 1
        at[node] = (MARGIN + x * COLUMN, MARGIN + rows[x] * ROW + (x % 2) * ROW // 3)
    return at or {"": (MARGIN, MARGIN)}


def _svg_arc(arc: _Arc, at: Mapping[str, tuple[int, int]]) -> Iterator[str]:
    (x1, y1), (x2, y2) = at[arc.source], at[arc.target]
    length: float = max(1.0, ((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5)
    ux, uy = (x2 - x1) / length, (y2 - y1) / length
    sx, sy, tx, ty = x1 + ux * RADIUS, y1 + uy * RADIUS, x2 - ux * RADIUS, y2 - uy * RADIUS
    # An arc is drawn as a curve, so that two arcs in opposite directions between the same nodes do
    # not overlap.
    mx, my = (sx + tx) / 2 - uy * 16, (sy + ty) / 2 + ux * 16
    style = ' stroke-dasharray="5 3"' if arc.kind == "reset" else ""
    tip = "" if arc.kind == "inhibitor" else ' marker-end="url(#tip)"'
    yield (
        f'<path d="M{sx:.1f} {sy:.1f}Q{mx:.1f} {my:.1f} {tx:.1f} {ty:.1f}" fill="none" '
        f'stroke="#444"{style}{tip}/>'
    )
    if arc.kind == "inhibitor":
        yield f'<circle cx="{tx:.1f}" cy="{ty:.1f}" r="4" fill="white" stroke="#444"/>'
    if arc.label:
        yield (
            f'<text x="{mx:.1f}" y="{my:.1f}" fill="#06c" text-anchor="middle">'
            f"{escape(arc.label)}</text>"
        )


def _svg_place(name: str, tokens: Sequence[TokenRow], at: tuple[int, int]) -> Iterator[str]:
    x, y = at
    yield f'<circle cx="{x}" cy="{y}" r="{RADIUS}" fill="white" stroke="black"/>'
    yield f'<text x="{x}" y="{y + RADIUS + 13}" text-anchor="middle">{escape(name)}</text>'
    if not tokens:
        return
    if len(tokens) > DOTS_MOST:
        yield f'<text x="{x}" y="{y + 4}" text-anchor="middle">● {len(tokens)}</text>'
        return
    title = escape(", ".join(str(token) for token in tokens))
    dots = "●" * len(tokens)
    yield (f'<text x="{x}" y="{y + 4}" text-anchor="middle"><title>{title}</title>{dots}</text>')


def _svg_transition(text: str, at: tuple[int, int]) -> Iterator[str]:
    x, y = at
    yield (
        f'<rect x="{x - 14}" y="{y - RADIUS}" width="28" height="{2 * RADIUS}" '
        'fill="#eee" stroke="black"/>'
    )
    yield f'<text x="{x}" y="{y + RADIUS + 13}" text-anchor="middle">{escape(text)}</text>'
