"""Builds coloured Petri nets in Python from colours, places, transitions, arcs, pages and monitors.
The result is one flat net definition.

A page is a part of a net. A substitution puts a copy of one page into another page. Ports are
places of the copied page that stand for places of the other page (sockets). In the copy, each port
is replaced by its socket. A fusion merges places of any pages. Substitutions and fusions are
resolved when the net is built, so they cost nothing while the net fires.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from pydantic import ValidationError

from dfslab.documents.net_definition import Cell, FunctionDefinition, NetDefinition, TableDefinition
from dfslab.documents.net_run import MonitorDefinition
from dfslab.nets.colour import UNIT, Colour, Enumeration, FieldKind, TokenValue, fields_of
from dfslab.nets.flat_parts import InputPart, OutputPart, TransitionPart
from dfslab.nets.inscription import Inscription, text, written
from dfslab.spec.input_error import InputError
from dfslab.spec.steps.expression import Condition, Expr, symbol


@dataclass(eq=False)
class Place:
    """A place with tokens of one colour. `initial` lists its tokens at time zero. `discipline` is
    the order in which waiting tokens are taken: fifo, lifo, random, or `min:<field>` (the smallest
    value of a field first)."""

    name: str
    colour: Colour = UNIT
    initial: Sequence[TokenValue] = ()
    discipline: str = "fifo"


@dataclass(frozen=True)
class Take:
    """An input arc, which takes `count` tokens from a place. If the arc takes one token,
    inscriptions can use that token under the name `variable`."""

    place: Place
    variable: str = ""
    count: int = 1


@dataclass(frozen=True)
class Put:
    """An output arc, which puts `count` tokens into a place. The count may be an inscription.

    `token` is the name of a variable whose token is copied, or a sequence with one inscription for
    each field of a new token. `delay` is the number of seconds until the tokens are available.
    """

    place: Place
    token: str | Sequence[Inscription] | None = None
    delay: Inscription | None = None
    count: int | Expr | str = 1


@dataclass(frozen=True)
class Local:
    """A value that a transition computes once per firing. `name` is the name by which later
    inscriptions use the value. `kind` is the name of the value's type, such as "int"."""

    name: str
    kind: str
    value: Inscription


@dataclass(frozen=True)
class Transition:
    """A transition with its arcs and inscriptions. `page` is the name of the page on which it is
    drawn."""

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
    """A copy of a page within another page. `sockets` maps the name of each port of the page to
    the place that replaces it."""

    name: str
    page: Page
    sockets: Mapping[str, Place]


@dataclass(eq=False)
class Page:
    """A part of a net, with places, transitions and copies of other pages."""

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
        """Adds a place and returns it. `initial` lists its tokens at time zero. `discipline` is the
        order in which waiting tokens are taken."""
        made = Place(name, colour, initial, discipline)
        self.places.append(made)
        return made

    def port(self, name: str, colour: Colour = UNIT) -> Place:
        """Adds a port and returns it. A port is a placeholder for a place of another page. In a
        copy of this page within the other page, that place replaces the port."""
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
        """Adds a transition and returns it. A `Place` in `takes` or `puts` stands for an arc
        without inscription.

        `page` is the name of the page on which the transition is drawn; "" is this page.
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
        """Adds a copy of `page` to this page. `sockets` maps the name of each port of `page` to the
        place of this page that replaces the port. Raises InputError if the names in `sockets` are
        not those of the ports, or if the colours of a socket and its port differ."""
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


def with_equal_chances(transitions: Sequence[Transition]) -> list[Transition]:
    """Returns the transitions, with equal weights for those that may compete for a token. Two
    transitions may compete if they have the same priority and take tokens from the same place. The
    engine draws with equal chances which of the competing transitions fires, as tools such as CPN
    Tools do. Without weights, the transition fires whose tokens were complete first."""
    takers = Counter(
        (one.priority, place)
        for one in transitions
        for place in {id(take.place) for take in one.takes}
    )
    return [
        replace(one, weight=1.0)
        if any(takers[one.priority, id(take.place)] > 1 for take in one.takes)
        else one
        for one in transitions
    ]


class Net(Page):
    """A complete net. The net is its own top page, and also contains the colours, constants,
    functions and monitors of the net."""

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
        """Declares and returns a colour (a type of tokens) whose tokens are records, as in
        `net.colour("job", id=int, size=float)`. Raises InputError if the name is already
        declared."""
        if name in self.colours:
            raise InputError(f"colour {name}", None, "is declared twice")
        made = Colour(name, fields_of(fields))
        self.colours[name] = made
        return made

    def enum(self, name: str, *values: str) -> Enumeration:
        """Declares an enumeration with these values and returns it. Raises InputError if the name
        is already declared."""
        if name in self.enums:
            raise InputError(f"enumeration {name}", None, "is declared twice")
        self.enums[name] = Enumeration(name, values)
        return self.enums[name]

    def constant(self, name: str, value: float) -> Expr:
        """Declares a constant that all inscriptions may use. Returns its name as an expression."""
        self.constants[name] = value
        return symbol(name)

    def table(self, name: str, edges: Sequence[float], weights: Sequence[float]) -> None:
        """Declares a histogram, from which the inscription `empirical(name)` draws random values.
        `edges` are the bounds of the bins in ascending order. `weights` are the relative
        frequencies of the bins. There is one more edge than there are weights."""
        self.tables[name] = TableDefinition(edges=list(edges), weights=list(weights))

    def function(
        self, name: str, parameters: Mapping[str, str], result: str, body: Inscription
    ) -> None:
        """Declares a function that all inscriptions may call. `parameters` maps parameter names to
        type names; `result` is a type name. Raises InputError if the function is already
        declared."""
        if name in self.functions:
            raise InputError(f"function {name}", None, "is declared twice")
        self.functions[name] = FunctionDefinition(
            parameters=list(parameters.items()), result=result, body=str(written(body))
        )

    def fuse(self, name: str, *places: Place) -> None:
        """Merges places of one colour into one place, which has the tokens of all these places.
        Raises InputError if the colours of the places differ."""
        if len({place.colour for place in places}) != 1:
            raise InputError(f"fusion {name}", [p.name for p in places], "needs one colour")
        self.fusions.append((name, places))

    def watch(self, name: str, monitor: MonitorDefinition) -> None:
        """Adds a monitor that observes every run of the net. Reports of a run contain the monitor's
        values under `name`. Raises InputError if the name is already used."""
        if name in self.monitors:
            raise InputError(f"monitor {name}", None, "is declared twice")
        self.monitors[name] = monitor

    def document(self) -> NetDefinition:
        """Returns the flat net definition that the engine reads. Raises InputError if the net is
        not well formed."""
        try:
            with _no_cycles_sought():
                return _Flat(self).document()
        except ValidationError as error:
            first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise InputError(f"net {self.title}, {where}", first["input"], first["msg"])


@contextmanager
def _no_cycles_sought() -> Iterator[None]:
    """A context in which Python does not search for cyclic garbage, for building a flat net. The
    parts of the net form no cycles, so the search finds nothing.

    The search would visit all parts repeatedly. For a net of 10,000 groups of servers, the search
    would take two thirds of the build time.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def definition_of(net: Net | NetDefinition) -> NetDefinition:
    """Returns the flat definition of a net, which may be given as a `Net` or as a definition."""
    return net.document() if isinstance(net, Net) else net


@dataclass
class _Laid:
    """A place of the flat net. `initial` has the field values of its initial tokens."""

    name: str
    colour: Colour
    discipline: str
    initial: list[list[Cell]]


class _Flat:
    """Flattens the pages of a net into one list of places and one list of transitions."""

    def __init__(self, net: Net) -> None:
        self.net = net
        self.places: dict[str, _Laid] = {}
        self.transitions: list[TransitionPart] = []
        self.fused = {place: name for name, places in net.fusions for place in places}
        self.active: list[Page] = []
        self.lay(net, "", {})

    def document(self) -> NetDefinition:
        """Returns the flat net definition. Keys without content are left out: the unit colour if no
        place has it, and the keys for constants, tables and functions if none are declared."""
        net = self.net
        used = {one.colour for one in self.places.values()}
        optional = {"constants": net.constants, "tables": net.tables, "functions": net.functions}
        colours = {
            one.name: list(one.fields)
            for one in net.colours.values()
            if one is not UNIT or UNIT in used
        }
        # Validating the whole net in one call takes a fifth of the time of validating its parts one
        # by one.
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
        """Adds one copy of a page to the flat net. `path` is the prefix of all names in the copy.
        `sockets` maps ports of the page to names of flat places."""
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


def _condition(guard: Condition | str) -> str:
    return text(guard) if isinstance(guard, Expr) else guard


def _named(names: Mapping[Place, str], place: Place, page: Page, by: str) -> str:
    if place not in names:
        raise InputError(f"page {page.name}, {by}", place.name, "is no place of this page")
    return names[place]


@dataclass(frozen=True)
class _Named:
    """A transition of one copy of a page. `names` maps the places of the page to their names in
    the flat net."""

    names: Mapping[Place, str]
    page: Page
    path: str
    one: Transition

    @property
    def context(self) -> str:
        """Returns the text by which error messages name the transition."""
        return f"transition {self.one.name}"

    def document(self) -> TransitionPart:
        one = self.one
        part: TransitionPart = {
            "name": self.path + one.name,
            "page": one.page or self.path.rstrip(".") or self.page.name,
            "in": [arc for take in one.takes for arc in self.inputs(take)],
            "out": [arc for put in one.puts for arc in self.outputs(put)],
        }
        if one.guard is not None and (guard := _condition(one.guard)):
            part["guard"] = guard
        if one.delay is not None:
            part["delay"] = written(one.delay)
        if one.priority:
            part["priority"] = one.priority
        if one.weight is not None:
            part["weight"] = one.weight
        if one.inhibit:
            part["inhibit"] = [
                {"place": self.of(place), "at_least": most} for place, most in one.inhibit
            ]
        if one.reset:
            part["reset"] = [{"place": self.of(place)} for place in one.reset]
        if one.locals:
            part["locals"] = [
                {"name": local.name, "type": local.kind, "value": written(local.value)}
                for local in one.locals
            ]
        return part

    def of(self, place: Place) -> str:
        """Returns the name that a place of this copy of the page has in the flat net."""
        return _named(self.names, place, self.page, self.context)

    def inputs(self, take: Take) -> list[InputPart]:
        arc: InputPart = {"place": self.of(take.place)}
        if take.variable:
            if take.count != 1:
                raise self.wrong(take.count, "a variable names one token")
            arc["var"] = take.variable
        return [arc] * self.counted(take.count)

    def outputs(self, put: Put) -> list[OutputPart]:
        arc: OutputPart = {"place": self.of(put.place)}
        if isinstance(put.token, str):
            arc["token"] = put.token
        elif put.token is not None:
            arc["token"] = [written(one) for one in put.token]
        if put.delay is not None:
            arc["delay"] = written(put.delay)
        if not isinstance(put.count, int):
            arc["count"] = written(put.count)
            return [arc]
        return [arc] * self.counted(put.count)

    def counted(self, count: int) -> int:
        if count < 1:
            raise self.wrong(count, "an arc moves at least one token")
        return count

    def wrong(self, value: int, allowed: str) -> InputError:
        return InputError(f"page {self.page.name}, {self.context}", value, allowed)
