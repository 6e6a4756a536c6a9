"""Translates the monitors of a `.cpn` file to value monitors of the engine. A monitor that cannot
be translated is left out with a reason, and the net runs with the other monitors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from dfslab.documents.net_run import (
    FileMonitor,
    FileMonitors,
    FiringObservation,
    LevelChange,
    ValueLevel,
    ValueMonitor,
)
from dfslab.nets.cpn.cpn_declarations import Declarations
from dfslab.nets.cpn.cpn_evaluate import Evaluator
from dfslab.nets.cpn.cpn_values import (
    BOOL,
    INT,
    REAL,
    Builtin,
    CpnValue,
    Leaf,
    ListType,
    Plain,
    clean,
    constant,
)
from dfslab.nets.cpn.monitors.blocks import (
    BREAKPOINT,
    DATA_COLLECTION,
    LIST_LENGTH,
    MARKING_SIZE,
    OCCURRENCES,
    WrittenMonitor,
)
from dfslab.nets.cpn.monitors.functions import (
    MonitorFunction,
    binding_element,
    declare_binding_elements,
    is_false,
    is_true,
    marking_of_size,
    without_draws,
)
from dfslab.nets.cpn.monitors.levels import PlaceLevel, PlaceLevels
from dfslab.nets.cpn.monitors.subnet import ReadNodes, ReadPlace, Subnet, subnet_of
from dfslab.spec.input_error import InputError

# For each kind of monitor that is not translated, the text by which the error message suggests a
# replacement.
INSTEAD: Mapping[str, str] = {
    "Write in file": "writes a file; a Data collection monitor is reported, and "
    "dfslab.nets.engine.collect returns time and value of each firing",
    "User defined": "runs the user's CPN ML; use a Data collection monitor",
    "Place content break point": "use a Breakpoint that compares the size of the marking",
    "Transition enabled break point": "use a Breakpoint at the firing of a transition",
}


@dataclass
class _Draft:
    """The parts of a value monitor that have been translated so far."""

    levels: list[ValueLevel] = field(default_factory=list)
    observations: list[FiringObservation] = field(default_factory=list)
    initial: float | None = None

    def monitor(self) -> ValueMonitor:
        return ValueMonitor(
            levels=self.levels, observations=self.observations, initial=self.initial
        )


@dataclass(frozen=True)
class _Functions:
    """The functions of a monitor, and the evaluator that reads these functions. The evaluator knows
    the counts of all monitors as levels of this monitor."""

    monitor: WrittenMonitor
    evaluator: Evaluator

    def of(self, name: str) -> MonitorFunction:
        """Returns the function `name`. Raises InputError if the file has no function of this
        name."""
        text = self.monitor.functions.get(name, "")
        if not text:
            raise InputError(self.monitor.context, name, "is missing")
        return MonitorFunction(text, f"{self.monitor.context}, {name}", self.evaluator)


class MonitorTranslator:
    """Translates the monitors of one file, given by name."""

    def __init__(
        self,
        written: Sequence[WrittenMonitor],
        nodes: ReadNodes,
        known: Declarations,
        levels: PlaceLevels,
    ) -> None:
        self.written, self.nodes, self.known, self.levels = written, nodes, known, levels
        self.undrawn = without_draws(lambda: known.functions.drawing)
        self.evaluator = known.evaluator.hoisting(self.undrawn)
        self.number_of_levels = 0
        # Names of the monitors whose translation has begun but not ended. If a function of a
        # monitor uses the count of another monitor, that other monitor is translated first. If that
        # monitor is already in this list, it depends on its own count, which is an error.
        self.active: list[str] = []
        declare_binding_elements(
            [one.constructor for one in nodes.transitions.values()], self.evaluator
        )

    def all(self) -> FileMonitors:
        """Translates all monitors."""
        measured: dict[str, FileMonitor] = {}
        breakpoints: dict[str, ValueMonitor] = {}
        refused: dict[str, str] = {}
        for one in self.written:
            try:
                monitor = self.draft(one).monitor()
            except InputError as error:
                refused[one.name] = str(error)
                continue
            if one.kind == BREAKPOINT:
                breakpoints[one.name] = monitor
                continue
            is_timed = one.is_timed or one.kind in (MARKING_SIZE, LIST_LENGTH)
            subnet = subnet_of(one, self.nodes)
            nodes = [place.name for place in subnet.places]
            nodes += [transition.name for transition in subnet.transitions]
            measured[one.name] = FileMonitor(
                kind=one.kind, is_timed=is_timed, monitor=monitor, nodes=nodes
            )
        return FileMonitors(measured=measured, breakpoints=breakpoints, refused=refused)

    def draft(self, one: WrittenMonitor) -> _Draft:
        """Translates a monitor. If this is impossible, raises InputError, whose message suggests a
        replacement."""
        if one.name in self.active:
            raise InputError(one.context, one.name, "depends on its own count")
        self.active.append(one.name)
        try:
            subnet = subnet_of(one, self.nodes)
            if one.kind in (MARKING_SIZE, LIST_LENGTH):
                return self.level_of_place(one, subnet)
            if one.kind == OCCURRENCES:
                return self.occurrences(one, subnet)
            if one.kind in (DATA_COLLECTION, BREAKPOINT):
                return self.functions(one, subnet)
            instead = INSTEAD.get(one.kind, "is no kind of monitor that is read; see docs/cpn.md")
            raise InputError(one.context, one.kind, instead)
        finally:
            self.active.pop()

    def level_of_place(self, one: WrittenMonitor, subnet: Subnet) -> _Draft:
        """Translates a monitor of the number of tokens of a place, or of the length of its list."""
        if len(subnet.places) != 1:
            raise InputError(one.context, len(subnet.places), "observes exactly one place")
        (place,) = subnet.places
        is_list = isinstance(self.known.colours.sets[place.colour].kind, ListType)
        if one.kind == LIST_LENGTH and not is_list:
            raise InputError(one.context, place.colour, "is no list colour set; use Marking size")
        length = one.kind == LIST_LENGTH
        found = self.levels.list_length(place.name) if length else self.levels.tokens(place.name)
        draft = _Draft(initial=float(found.initial))
        name = self.level(draft, found.initial, found.changes)
        draft.observations = [
            FiringObservation(transition=transition, value=name) for transition in found.touching
        ]
        return draft

    def occurrences(self, one: WrittenMonitor, subnet: Subnet) -> _Draft:
        """Translates a monitor that counts the firings of transitions."""
        if not subnet.transitions:
            raise InputError(one.context, len(subnet.places), "observes at least one transition")
        return _Draft(
            observations=[
                FiringObservation(transition=each.name, value="1") for each in subnet.transitions
            ]
        )

    def functions(self, one: WrittenMonitor, subnet: Subnet) -> _Draft:
        """Translates a monitor with a predicate and, if it collects data, an observer. A monitor
        without transitions is called at every firing of the net, as in CPN Tools."""
        draft = _Draft()
        known = {**self.evaluator.globals, **self.counts(draft)}
        own = _Functions(one, replace(self.evaluator, globals=known))
        marks = {place.mark: self.mark(draft, place) for place in subnet.places}
        if one.kind == DATA_COLLECTION:
            self.check_stop(own)
            draft.initial = self.initial(own, subnet)
        callers: list[tuple[str, CpnValue | None]] = [
            (each.name, binding_element(each)) for each in subnet.transitions
        ]
        if not subnet.transitions:
            callers = [(each.name, None) for each in self.nodes.transitions.values()]
        for transition, element in callers:
            found = self.observation(own, transition, element, marks)
            draft.observations += [found] if found is not None else []
        return draft

    def observation(
        self,
        own: _Functions,
        transition: str,
        element: CpnValue | None,
        marks: Mapping[str, CpnValue],
    ) -> FiringObservation | None:
        """Evaluates the predicate and the observer of a monitor for the firings of one transition.
        Returns None if the predicate is false for all these firings."""
        when = self.leaf(own, "Predicate", (BOOL,), element, marks)
        if is_false(when):
            return None
        value = constant(1, INT)
        if own.monitor.kind == DATA_COLLECTION:
            value = self.leaf(own, "Observer", (INT, REAL), element, marks)
        return FiringObservation(
            transition=transition, value=value.text, when=None if is_true(when) else when.text
        )

    def leaf(
        self,
        own: _Functions,
        name: str,
        kinds: tuple[Plain, ...],
        element: CpnValue | None,
        marks: Mapping[str, CpnValue],
    ) -> Leaf:
        """Evaluates the function `name` of a monitor, whose value must be of a type in `kinds`.
        Raises InputError if the value draws at random."""
        function = own.of(name)
        found = function.leaf(kinds, element, marks)
        return self.undrawn(found, function.context) if found.draws else found

    def check_stop(self, own: _Functions) -> None:
        """Raises InputError if a monitor has a stop function that observes a value at the end of a
        run."""
        if not own.monitor.functions.get("Stop"):
            return
        bodies = own.of("Stop").bodies
        if len(bodies) != 1 or bodies[0].word != "NONE":
            reason = (
                "values at the end of a run are not computed; compute them from the counts, sums "
                "and means of the other monitors (dfslab net run --json)"
            )
            raise InputError(own.monitor.context, "Stop", reason)

    def initial(self, own: _Functions, subnet: Subnet) -> float | None:
        """Returns the value of a data collector at time zero; None if it has no such value."""
        if not own.monitor.functions.get("Init function"):
            return None
        sizes = {
            place.mark: marking_of_size(constant(self.levels.tokens(place.name).initial, INT))
            for place in subnet.places
        }
        return own.of("Init function").optional(sizes)

    # Levels: numbers that the monitor keeps up to date.

    def level(self, draft: _Draft, initial: int, changes: Sequence[LevelChange]) -> str:
        """Adds a level to a monitor and returns its name."""
        self.number_of_levels += 1
        name = f"level_{self.number_of_levels}"
        draft.levels.append(ValueLevel(name=name, initial=initial, changes=list(changes)))
        return name

    def mark(self, draft: _Draft, place: ReadPlace) -> CpnValue:
        """Adds the number of tokens of a place to a monitor as a level. Returns the place's marking
        as a value for functions of monitors. The value is a multiset whose number of tokens is
        known, but not their values."""
        found: PlaceLevel = self.levels.tokens(place.name)
        return marking_of_size(Leaf(self.level(draft, found.initial, found.changes), INT))

    def counts(self, draft: _Draft) -> Mapping[str, CpnValue]:
        """Returns a function `NAME.count` for each monitor NAME. `NAME.count` returns the number of
        observations of NAME so far. A call of `NAME.count` adds this number as a level to the
        monitor in `draft`."""
        found: dict[str, CpnValue] = {}
        for one in self.written:

            def count(context: str, given: object, one: WrittenMonitor = one) -> CpnValue:
                return Leaf(self.level_of_count(draft, one), INT)

            name = f"{clean(one.name)}.count"
            found[name] = Builtin(name, 1, count)
        return found

    def level_of_count(self, draft: _Draft, one: WrittenMonitor) -> str:
        """Adds a level to the monitor in `draft`: the number of observations of the monitor `one`.
        Returns the level's name. Raises InputError if the observations of `one` depend on
        markings."""
        counted = self.draft(one)
        if counted.levels:
            reason = "counts observations that depend on markings; count firings of transitions"
            raise InputError(one.context, f"{one.name}.count", reason)
        changes = [
            LevelChange(
                transition=each.transition,
                by="1" if each.when is None else f"if({each.when}, 1, 0)",
            )
            for each in counted.observations
        ]
        return self.level(draft, int(counted.initial is not None), changes)
