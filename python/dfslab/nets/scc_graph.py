"""Draws the graph of the strongly connected components (SCCs) of a state space, as SVG or as text
for Graphviz.

Terminal components have a double border, trivial components a dashed border. Home components are
green. Component 0, which contains the initial marking, has a thick border.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from dfslab.documents.net_state import SccArc, SccGraph, SccNode, StateSpace
from dfslab.spec.input_error import InputError

FORMS = ("svg", "dot", "json")
# Largest number of components in a picture. The JSON form has up to 2,000.
DRAWN_MOST = 200
COLUMN, ROW, WIDTH, HEIGHT, MARGIN = 190, 84, 120, 52, 24
HOME, OTHER = "#d7f0d7", "#f4f4f4"
NAMES_SHOWN = 3


def written(space: StateSpace, form: str) -> str:
    """Returns the SCC graph of a state space in the format `form`, which is one of `FORMS`.

    Raises InputError for another format, if the state space was not explored completely, or if the
    graph has too many components for the format.
    """
    if form not in FORMS:
        raise InputError("--as", form, f"must be one of {', '.join(FORMS)}")
    graph = graph_of(space)
    if form == "json":
        return graph.model_dump_json(indent=1) + "\n"
    if len(graph.nodes) > DRAWN_MOST:
        reason = f"a picture has at most {DRAWN_MOST} components; the JSON form has 2,000"
        raise InputError(f"net {space.net}", len(graph.nodes), reason)
    return svg(graph) if form == "svg" else dot(graph)


def graph_of(space: StateSpace) -> SccGraph:
    """Returns the SCC graph of a state space. Raises InputError if the exploration did not reach
    all markings, or if the graph has more than 2,000 components and was therefore not recorded."""
    key = f"net {space.net}"
    if not space.complete:
        reason = (
            "the net has more markings, and components need all of them; give a larger number, or "
            "see with `dfslab net check` which place grows"
        )
        raise InputError("--markings", space.markings, reason)
    if space.scc_graph is None:
        raise InputError(key, space.components, "has more components than the 2,000 of a graph")
    return space.scc_graph


def described(number: int, node: SccNode) -> str:
    """Returns the properties of a component in words, such as "3: 1 marking, terminal, trivial"."""
    unit = "marking" if node.markings == 1 else "markings"
    marks = {
        "initial": number == 0,
        "terminal": node.terminal,
        "trivial": node.trivial,
        "home": node.home,
    }
    return ", ".join(
        [f"{number}: {node.markings:,} {unit}", *(word for word, holds in marks.items() if holds)]
    )


def dot(graph: SccGraph) -> str:
    """Returns the graph as text in the language of Graphviz."""
    lines = ["digraph scc {", "  rankdir=LR;", '  node [shape=box, style="filled"];']
    for number, node in enumerate(graph.nodes):
        style = "filled,dashed" if node.trivial else "filled"
        lines.append(
            f'  c{number} [label="{_quoted(described(number, node))}", style="{style}", '
            f'fillcolor="{HOME if node.home else OTHER}", '
            f"peripheries={2 if node.terminal else 1}, penwidth={2 if number == 0 else 1}];"
        )
    lines += [
        f'  c{arc.source} -> c{arc.target} [label="{_quoted(_arc_words(arc))}"];'
        for arc in graph.arcs
    ]
    return "\n".join([*lines, "}"]) + "\n"


def svg(graph: SccGraph) -> str:
    """Returns a picture of the graph as SVG. If a firing leads from one component to another, the
    second component is drawn to the right of the first."""
    at = _layout(graph)
    width = max(x for x, _ in at) + WIDTH + MARGIN
    height = max(y for _, y in at) + HEIGHT + MARGIN
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" font-family="sans-serif" font-size="11" role="img" '
        'aria-label="Strongly connected components of the state space">',
        '<defs><marker id="scc-tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" '
        'markerHeight="8" orient="auto"><path d="M0 0L8 4L0 8z" fill="#444"/></marker></defs>',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    lines += [line for arc in graph.arcs for line in _svg_arc(arc, at)]
    lines += [
        line
        for number, node in enumerate(graph.nodes)
        for line in _svg_node(number, node, at[number])
    ]
    return "\n".join([*lines, "</svg>"]) + "\n"


def _layout(graph: SccGraph) -> list[tuple[int, int]]:
    """Returns the upper left corner of each component in pixels. Its column is the length of the
    longest path to it from component 0."""
    depth = _depths(graph)
    rows: dict[int, int] = {}
    found = []
    for column in depth:
        row = rows[column] = rows.get(column, -1) + 1
        found.append((MARGIN + column * COLUMN, MARGIN + row * ROW))
    return found


def _depths(graph: SccGraph) -> list[int]:
    """Returns for each component the number of arcs on the longest path that ends there. The graph
    of components has no cycle, so components are visited in topological order."""
    following: dict[int, list[int]] = {}
    missing = [0] * len(graph.nodes)
    for arc in graph.arcs:
        following.setdefault(arc.source, []).append(arc.target)
        missing[arc.target] += 1
    depth = [0] * len(graph.nodes)
    ready = [number for number, count in enumerate(missing) if count == 0]
    for source in ready:
        for target in following.get(source, ()):
            depth[target] = max(depth[target], depth[source] + 1)
            missing[target] -= 1
            if missing[target] == 0:
                ready.append(target)
    return depth


def _svg_arc(arc: SccArc, at: list[tuple[int, int]]) -> Iterator[str]:
    (x1, y1), (x2, y2) = at[arc.source], at[arc.target]
    sx, sy, tx, ty = x1 + WIDTH, y1 + HEIGHT // 2, x2, y2 + HEIGHT // 2
    middle = (sx + tx) // 2
    yield (
        f'<path d="M{sx} {sy}C{middle} {sy} {middle} {ty} {tx} {ty}" fill="none" stroke="#444" '
        f'marker-end="url(#scc-tip)"><title>{escape(_arc_words(arc))}</title></path>'
    )
    yield (
        f'<text x="{middle}" y="{(sy + ty) // 2 - 4}" fill="#06c" text-anchor="middle">'
        f"{arc.firings:,}</text>"
    )


def _svg_node(number: int, node: SccNode, at: tuple[int, int]) -> Iterator[str]:
    x, y = at
    dashes = ' stroke-dasharray="5 3"' if node.trivial else ""
    yield f"<g><title>{escape(described(number, node))}</title>"
    yield (
        f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="6" '
        f'fill="{HOME if node.home else OTHER}" stroke="black" '
        f'stroke-width="{2.5 if number == 0 else 1}"{dashes}/>'
    )
    if node.terminal:
        yield (
            f'<rect x="{x + 3}" y="{y + 3}" width="{WIDTH - 6}" height="{HEIGHT - 6}" rx="4" '
            'fill="none" stroke="black"/>'
        )
    first, *properties = described(number, node).split(", ")
    yield f'<text x="{x + WIDTH // 2}" y="{y + 20}" text-anchor="middle">{escape(first)}</text>'
    yield (
        f'<text x="{x + WIDTH // 2}" y="{y + 36}" text-anchor="middle" fill="#444" '
        f'font-size="9">{escape(", ".join(properties))}</text></g>'
    )


def _arc_words(arc: SccArc) -> str:
    names = ", ".join(arc.transitions[:NAMES_SHOWN])
    more = ", …" if len(arc.transitions) > NAMES_SHOWN else ""
    unit = "firing" if arc.firings == 1 else "firings"
    return f"{arc.firings:,} {unit}: {names}{more}"


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
