"""Nets in Python: colours, places, transitions, arcs and pages; the engine gets one flat net.

A page is a piece of net with ports. Substituting it puts a copy into another page, its ports
joined to places there (sockets); fusing joins places anywhere. Both are resolved here, when the
net is built, so that hierarchy costs nothing while the net fires.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dfslab.nets.colour import UNIT, Colour, Enumeration, FieldKind, fields_of
from dfslab.spec.model import InputError

Inscription = str | float


@dataclass(eq=False)
class Place:
    """Holds tokens of one colour; `discipline` says which waiting token is taken first."""

    name: str
    colour: Colour = UNIT
    initial: Sequence[Any] = ()
    discipline: str = "fifo"


@dataclass(frozen=True)
class Take:
    """An arc that takes `count` tokens; a variable names the one token it takes."""

    place: Place
    variable: str = ""
    count: int = 1


@dataclass(frozen=True)
class Put:
    """An arc that makes a token: a variable, or one expression for each field."""

    place: Place
    token: str | Sequence[Inscription | bool] | None = None
    delay: Inscription | None = None
    count: int = 1


@dataclass(frozen=True)
class Transition:
    """What may happen, and what it takes and makes."""

    name: str
    takes: tuple[Take, ...]
    puts: tuple[Put, ...]
    guard: str = ""
    delay: Inscription | None = None
    priority: int = 0
    weight: float | None = None
    inhibit: tuple[tuple[Place, int], ...] = ()
    reset: tuple[Place, ...] = ()


@dataclass(frozen=True)
class Substitution:
    """A copy of a page: its ports, by name, and the places that stand for them."""

    name: str
    page: Page
    sockets: Mapping[str, Place]


@dataclass(eq=False)
class Page:
    """A sheet of the net."""

    name: str
    places: list[Place] = field(default_factory=list)
    transitions: list[Transition] = field(default_factory=list)
    substitutions: list[Substitution] = field(default_factory=list)
    ports: list[Place] = field(default_factory=list)

    def place(
        self,
        name: str,
        colour: Colour = UNIT,
        initial: Sequence[Any] = (),
        discipline: str = "fifo",
    ) -> Place:
        """Add a place; `initial` lists its tokens at time zero."""
        made = Place(name, colour, initial, discipline)
        self.places.append(made)
        return made

    def port(self, name: str, colour: Colour = UNIT) -> Place:
        """A place that the page's user provides."""
        made = Place(name, colour)
        self.ports.append(made)
        return made

    def transition(
        self,
        name: str,
        takes: Iterable[Take | Place],
        puts: Iterable[Put | Place] = (),
        *,
        guard: str = "",
        delay: Inscription | None = None,
        priority: int = 0,
        weight: float | None = None,
        inhibit: Iterable[Place | tuple[Place, int]] = (),
        reset: Iterable[Place] = (),
    ) -> Transition:
        """Add a transition; a bare place stands for an arc without inscription."""
        made = Transition(
            name,
            tuple(one if isinstance(one, Take) else Take(one) for one in takes),
            tuple(one if isinstance(one, Put) else Put(one) for one in puts),
            guard,
            delay,
            priority,
            weight,
            tuple(one if isinstance(one, tuple) else (one, 1) for one in inhibit),
            tuple(reset),
        )
        self.transitions.append(made)
        return made

    def substitute(self, name: str, page: Page, sockets: Mapping[str, Place]) -> None:
        """Put a copy of another page here."""
        ports = {port.name: port for port in page.ports}
        context = f"page {self.name}, substitution {name}"
        if sorted(sockets) != sorted(ports):
            raise InputError(
                context,
                sorted(sockets),
                f"page {page.name} has the ports {', '.join(sorted(ports)) or '(none)'}",
            )
        for port, socket in sockets.items():
            if socket.colour != ports[port].colour:
                raise InputError(
                    f"{context}, port {port}",
                    socket.colour.name,
                    f"the port's colour is {ports[port].colour.name}",
                )
        self.substitutions.append(Substitution(name, page, dict(sockets)))


class Net(Page):
    """A whole net: its top page, its colours and its constants."""

    def __init__(self, name: str) -> None:
        super().__init__("main")
        self.title = name
        self.colours: dict[str, Colour] = {UNIT.name: UNIT}
        self.enums: dict[str, Enumeration] = {}
        self.constants: dict[str, float] = {}
        self.tables: dict[str, dict[str, list[float]]] = {}
        self.fusions: list[tuple[str, tuple[Place, ...]]] = []

    def colour(self, name: str, **fields: FieldKind) -> Colour:
        """Declare a record (or product) colour: `net.colour("job", id=int, size=float)`."""
        if name in self.colours:
            raise InputError(f"colour {name}", None, "is declared twice")
        made = Colour(name, fields_of(fields))
        self.colours[name] = made
        return made

    def enum(self, name: str, *values: str) -> Enumeration:
        """Declare an enumeration."""
        if name in self.enums:
            raise InputError(f"enumeration {name}", None, "is declared twice")
        self.enums[name] = Enumeration(name, values)
        return self.enums[name]

    def constant(self, name: str, value: float) -> None:
        """Name a number for all inscriptions."""
        self.constants[name] = value

    def table(self, name: str, edges: Sequence[float], weights: Sequence[float]) -> None:
        """Name a histogram that `empirical(name)` draws from."""
        self.tables[name] = {"edges": list(edges), "weights": list(weights)}

    def fuse(self, name: str, *places: Place) -> None:
        """Make several places one; the tokens of all are its first tokens."""
        if len({place.colour for place in places}) != 1:
            raise InputError(f"fusion {name}", [p.name for p in places], "needs one colour")
        self.fusions.append((name, places))

    def document(self) -> dict[str, Any]:
        """The flat net as the engine reads it."""
        return _Flat(self).document()


Document = Mapping[str, Any]


def document_of(net: Net | Document) -> Document:
    """The flat net, whichever way it is given."""
    return net.document() if isinstance(net, Net) else net


class _Flat:
    """Pages laid out into one list of places and one of transitions."""

    def __init__(self, net: Net) -> None:
        self.net = net
        self.places: dict[str, dict[str, Any]] = {}
        self.transitions: list[dict[str, Any]] = []
        self.fused = {place: name for name, places in net.fusions for place in places}
        self.active: list[Page] = []
        self.lay(net, "", {})

    def document(self) -> dict[str, Any]:
        net = self.net
        return {
            "name": net.title,
            "enums": {one.name: list(one.values) for one in net.enums.values()},
            "colours": {one.name: [list(f) for f in one.fields] for one in net.colours.values()},
            "constants": dict(net.constants),
            "tables": net.tables,
            "places": list(self.places.values()),
            "transitions": self.transitions,
        }

    def lay(self, page: Page, path: str, sockets: Mapping[Place, str]) -> None:
        """Add one copy of a page; `sockets` names what stands for its ports."""
        if page in self.active:
            raise InputError(f"page {page.name}", path, "a page cannot contain itself")
        self.active.append(page)
        names: dict[Place, str] = dict(sockets)
        for place in page.places:
            names[place] = self.fused.get(place, path + place.name)
            self.add_place(place, names[place], path, page)
        for transition in page.transitions:
            self.transitions.append(_transition(transition, path, page, names))
        for one in page.substitutions:
            ports = {port.name: port for port in one.page.ports}
            inner = {
                ports[port]: _named(names, socket, page, one.name)
                for port, socket in one.sockets.items()
            }
            self.lay(one.page, f"{path}{one.name}.", inner)
        self.active.pop()

    def add_place(self, place: Place, name: str, path: str, page: Page) -> None:
        rows = [place.colour.row(token) for token in place.initial]
        if place in self.fused and name in self.places:
            self.places[name]["initial"] += rows
            return
        if name in self.places:
            raise InputError(f"page {page.name}, place {place.name}", None, "is defined twice")
        self.places[name] = {
            "name": name,
            "colour": place.colour.name,
            "discipline": place.discipline,
            "initial": rows,
        }


def _named(names: Mapping[Place, str], place: Place, page: Page, by: str) -> str:
    if place not in names:
        raise InputError(f"page {page.name}, {by}", place.name, "is no place of this page")
    return names[place]


def _transition(
    one: Transition, path: str, page: Page, names: Mapping[Place, str]
) -> dict[str, Any]:
    context = f"transition {one.name}"
    made: dict[str, Any] = {
        "name": path + one.name,
        "page": path.rstrip(".") or page.name,
        "in": [arc for take in one.takes for arc in _take(take, names, page, context)],
        "out": [arc for put in one.puts for arc in _put(put, names, page, context)],
    }
    made |= {
        key: value
        for key, value in (
            ("guard", one.guard or None),
            ("delay", one.delay),
            ("priority", one.priority or None),
            ("weight", one.weight),
        )
        if value is not None
    }
    if one.inhibit:
        made["inhibit"] = [
            {"place": _named(names, place, page, context), "at_least": most}
            for place, most in one.inhibit
        ]
    if one.reset:
        made["reset"] = [{"place": _named(names, place, page, context)} for place in one.reset]
    return made


def _counted(count: int, page: Page, context: str) -> range:
    if count < 1:
        raise InputError(f"page {page.name}, {context}", count, "an arc moves at least one token")
    return range(count)


def _take(take: Take, names: Mapping[Place, str], page: Page, context: str) -> list[dict[str, str]]:
    arc = {"place": _named(names, take.place, page, context)}
    if take.variable:
        if take.count != 1:
            raise InputError(
                f"page {page.name}, {context}", take.count, "a variable names one token"
            )
        arc["var"] = take.variable
    return [dict(arc) for _ in _counted(take.count, page, context)]


def _put(put: Put, names: Mapping[Place, str], page: Page, context: str) -> list[dict[str, Any]]:
    arc: dict[str, Any] = {"place": _named(names, put.place, page, context)}
    if put.token is not None:
        arc["token"] = put.token if isinstance(put.token, str) else list(put.token)
    if put.delay is not None:
        arc["delay"] = put.delay
    return [dict(arc) for _ in _counted(put.count, page, context)]
