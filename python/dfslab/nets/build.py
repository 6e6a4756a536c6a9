"""Nets in Python: colours, places, transitions, arcs, pages and monitors; one flat definition.

A page is a piece of net with ports. Substituting it puts a copy into another page, its ports
joined to places there (sockets); fusing joins places anywhere. Both are resolved here, when the
net is built, so that hierarchy costs nothing while the net fires.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from pydantic import ValidationError

from dfslab.documents.net_definition import Cell, FunctionDefinition, NetDefinition, TableDefinition
from dfslab.documents.net_run import MonitorDefinition
from dfslab.nets.colour import UNIT, Colour, Enumeration, FieldKind, TokenValue, fields_of
from dfslab.nets.inscription import Inscription, text, written
from dfslab.spec.errors import InputError
from dfslab.spec.steps.expression import Condition, Expr, symbol


@dataclass(eq=False)
class Place:
    """Holds tokens of one colour; `discipline` says which waiting token is taken first."""

    name: str
    colour: Colour = UNIT
    initial: Sequence[TokenValue] = ()
    discipline: str = "fifo"


@dataclass(frozen=True)
class Take:
    """An arc that takes `count` tokens; a variable names the one token it takes."""

    place: Place
    variable: str = ""
    count: int = 1


@dataclass(frozen=True)
class Put:
    """An arc that makes tokens: `count` of them, which an inscription may compute.

    `token`: the name of a variable, whose whole token is put, or an inscription for each field.
    `delay`: seconds until the token is available.
    """

    place: Place
    token: str | Sequence[Inscription] | None = None
    delay: Inscription | None = None
    count: int | Expr | str = 1


@dataclass(frozen=True)
class Local:
    """A value that a transition computes once a firing, and its type as colours name it."""

    name: str
    kind: str
    value: Inscription


@dataclass(frozen=True)
class Transition:
    """What may happen, and what it takes and makes; `page` is the one that it is drawn on."""

    name: str
    takes: tuple[Take, ...]
    puts: tuple[Put, ...]
    guard: Condition | str | None = None
    delay: Inscription | None = None
    priority: int = 0
    weight: float | None = None
    inhibit: tuple[tuple[Place, int], ...] = ()
    reset: tuple[Place, ...] = ()
    page: str = ""
    locals: tuple[Local, ...] = ()


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
        initial: Sequence[TokenValue] = (),
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
        guard: Condition | str | None = None,
        delay: Inscription | None = None,
        priority: int = 0,
        weight: float | None = None,
        inhibit: Iterable[Place | tuple[Place, int]] = (),
        reset: Iterable[Place] = (),
        page: str = "",
        locals: Iterable[Local] = (),
    ) -> Transition:
        """Add a transition; a bare place stands for an arc without inscription.

        `page` is the name of the page that it is drawn on, where that is not this one.
        """
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
            page,
            tuple(locals),
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
    """A whole net: its top page, its colours, its constants and its monitors."""

    def __init__(self, name: str) -> None:
        super().__init__("main")
        self.title = name
        self.colours: dict[str, Colour] = {UNIT.name: UNIT}
        self.enums: dict[str, Enumeration] = {}
        self.constants: dict[str, float] = {}
        self.tables: dict[str, TableDefinition] = {}
        self.functions: dict[str, FunctionDefinition] = {}
        self.fusions: list[tuple[str, tuple[Place, ...]]] = []
        self.monitors: dict[str, MonitorDefinition] = {}

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

    def constant(self, name: str, value: float) -> Expr:
        """Name a number for all inscriptions; the name as an expression."""
        self.constants[name] = value
        return symbol(name)

    def table(self, name: str, edges: Sequence[float], weights: Sequence[float]) -> None:
        """Name a histogram that `empirical(name)` draws from."""
        self.tables[name] = TableDefinition(edges=list(edges), weights=list(weights))

    def function(
        self, name: str, parameters: Mapping[str, str], result: str, body: Inscription
    ) -> None:
        """Name an expression over parameters, given with their types, for all inscriptions."""
        if name in self.functions:
            raise InputError(f"function {name}", None, "is declared twice")
        self.functions[name] = FunctionDefinition(
            parameters=list(parameters.items()), result=result, body=str(written(body))
        )

    def fuse(self, name: str, *places: Place) -> None:
        """Make several places one; the tokens of all are its first tokens."""
        if len({place.colour for place in places}) != 1:
            raise InputError(f"fusion {name}", [p.name for p in places], "needs one colour")
        self.fusions.append((name, places))

    def watch(self, name: str, monitor: MonitorDefinition) -> None:
        """Observe the net in every run; reports have the monitor's figures by its name."""
        if name in self.monitors:
            raise InputError(f"monitor {name}", None, "is declared twice")
        self.monitors[name] = monitor

    def document(self) -> NetDefinition:
        """The flat net as the engine reads it. InputError where the building is wrong."""
        try:
            with _no_cycles_sought():
                return _Flat(self).document()
        except ValidationError as error:
            first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise InputError(f"net {self.title}, {where}", first["input"], first["msg"])


@contextmanager
def _no_cycles_sought() -> Iterator[None]:
    """Pauses Python's search for cyclic garbage, as the parts of a flat net form no cycles.

    The search walks all parts again and again: two thirds of the time of a net of 10,000 stations.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def definition_of(net: Net | NetDefinition) -> NetDefinition:
    """The flat net, whichever way it is given."""
    return net.document() if isinstance(net, Net) else net


# A place, a transition or an arc by the keys of its type in documents/net_definition.
Part = Mapping[str, object]


@dataclass
class _Laid:
    """A place of the flat net with its first rows."""

    name: str
    colour: Colour
    discipline: str
    initial: list[list[Cell]]


class _Flat:
    """Pages laid out into one list of places and one of transitions."""

    def __init__(self, net: Net) -> None:
        self.net = net
        self.places: dict[str, _Laid] = {}
        self.transitions: list[Part] = []
        self.fused = {place: name for name, places in net.fusions for place in places}
        self.active: list[Page] = []
        self.lay(net, "", {})

    def document(self) -> NetDefinition:
        """Parts that the net does not have are left out."""
        net = self.net
        used = {one.colour for one in self.places.values()}
        optional = {"constants": net.constants, "tables": net.tables, "functions": net.functions}
        colours = {
            one.name: list(one.fields)
            for one in net.colours.values()
            if one is not UNIT or UNIT in used
        }
        # One validation of the whole net costs a fifth of one for each of its parts.
        return NetDefinition.model_validate(
            {
                "name": net.title,
                "enums": {one.name: list(one.values) for one in net.enums.values()},
                "colours": colours,
                "places": [
                    {
                        "name": one.name,
                        "colour": one.colour.name,
                        "discipline": one.discipline,
                        "initial": one.initial,
                    }
                    for one in self.places.values()
                ],
                "transitions": self.transitions,
                **{key: value for key, value in optional.items() if value},
            }
        )

    def lay(self, page: Page, path: str, sockets: Mapping[Place, str]) -> None:
        """Add one copy of a page; `sockets` names what stands for its ports."""
        if page in self.active:
            raise InputError(f"page {page.name}", path, "a page cannot contain itself")
        self.active.append(page)
        names: dict[Place, str] = dict(sockets)
        for place in page.places:
            names[place] = self.fused.get(place, path + place.name)
            self.add_place(place, names[place], page)
        for transition in page.transitions:
            self.transitions.append(_Named(names, page, path, transition).document())
        for one in page.substitutions:
            ports = {port.name: port for port in one.page.ports}
            inner = {
                ports[port]: _named(names, socket, page, one.name)
                for port, socket in one.sockets.items()
            }
            self.lay(one.page, f"{path}{one.name}.", inner)
        self.active.pop()

    def add_place(self, place: Place, name: str, page: Page) -> None:
        rows = [place.colour.row(token) for token in place.initial]
        if place in self.fused and name in self.places:
            self.places[name].initial += rows
            return
        if name in self.places:
            raise InputError(f"page {page.name}, place {place.name}", None, "is defined twice")
        self.places[name] = _Laid(name, place.colour, place.discipline, rows)


def _named(names: Mapping[Place, str], place: Place, page: Page, by: str) -> str:
    if place not in names:
        raise InputError(f"page {page.name}, {by}", place.name, "is no place of this page")
    return names[place]


@dataclass(frozen=True)
class _Named:
    """A transition of one copy of a page, and the names of the page's places there."""

    names: Mapping[Place, str]
    page: Page
    path: str
    one: Transition

    @property
    def context(self) -> str:
        """The transition in messages."""
        return f"transition {self.one.name}"

    def document(self) -> Part:
        one = self.one
        optional: dict[str, object] = {
            "guard": text(one.guard) if isinstance(one.guard, Expr) else one.guard or None,
            "delay": None if one.delay is None else written(one.delay),
            "priority": one.priority or None,
            "weight": one.weight,
            "inhibit": [{"place": self.of(place), "at_least": most} for place, most in one.inhibit]
            or None,
            "reset": [{"place": self.of(place)} for place in one.reset] or None,
            "locals": [
                {"name": local.name, "type": local.kind, "value": written(local.value)}
                for local in one.locals
            ]
            or None,
        }
        return {
            "name": self.path + one.name,
            "page": one.page or self.path.rstrip(".") or self.page.name,
            "in": [arc for take in one.takes for arc in self.inputs(take)],
            "out": [arc for put in one.puts for arc in self.outputs(put)],
            **{key: value for key, value in optional.items() if value is not None},
        }

    def of(self, place: Place) -> str:
        """The name of a place in this copy."""
        return _named(self.names, place, self.page, self.context)

    def inputs(self, take: Take) -> list[Part]:
        arc: Part = {"place": self.of(take.place)}
        if take.variable:
            if take.count != 1:
                raise self.wrong(take.count, "a variable names one token")
            arc = {**arc, "var": take.variable}
        return [arc] * self.counted(take.count)

    def outputs(self, put: Put) -> list[Part]:
        arc: dict[str, object] = {"place": self.of(put.place)}
        if put.token is not None:
            whole = isinstance(put.token, str)
            arc["token"] = put.token if whole else [written(one) for one in put.token]
        if put.delay is not None:
            arc["delay"] = written(put.delay)
        if not isinstance(put.count, int):
            return [{**arc, "count": written(put.count)}]
        return [arc] * self.counted(put.count)

    def counted(self, count: int) -> int:
        if count < 1:
            raise self.wrong(count, "an arc moves at least one token")
        return count

    def wrong(self, value: int, allowed: str) -> InputError:
        return InputError(f"page {self.page.name}, {self.context}", value, allowed)
