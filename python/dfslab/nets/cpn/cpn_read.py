"""Reads `.cpn` files, which are nets of CPN Tools, and returns flat net definitions. docs/nets.md
describes the supported subset of the format.

Raises InputError for anything outside of the subset. The message names the page, the node and the
inscription in one line.
"""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from dfslab.documents.net_definition import Cell, NetDefinition
from dfslab.documents.net_run import FileMonitors, NetFile
from dfslab.nets.build import Net, Place, Put, Take, with_equal_chances
from dfslab.nets.colour import UNIT, Colour
from dfslab.nets.cpn.choices.drawn_places import draw_tokens
from dfslab.nets.cpn.cpn_declarations import Declarations
from dfslab.nets.cpn.cpn_functions import add_functions
from dfslab.nets.cpn.cpn_inputs import FileArc
from dfslab.nets.cpn.cpn_ml import parse
from dfslab.nets.cpn.cpn_transition import UNTIMED_REFUSED, Inscriptions, TransitionReader
from dfslab.nets.cpn.cpn_values import CpnValue
from dfslab.nets.cpn.monitors.blocks import enabled_monitors, instance_paths
from dfslab.nets.cpn.monitors.levels import PlaceLevels
from dfslab.nets.cpn.monitors.subnet import (
    ReadNodes,
    ReadPlace,
    ReadTransition,
    constructor_name,
    mark_name,
)
from dfslab.nets.cpn.monitors.translate import MonitorTranslator
from dfslab.spec.input_error import InputError

CHARACTERS_MOST, PAGES_DEEP, NODES_MOST, TOKENS_MOST = 50_000_000, 20, 100_000, 100_000
# Recursion limit of Python in stack frames while a file is read. Each nested call of a function of
# the file takes about ten frames.
FRAMES_MOST = 10_000
PRIORITIES = {"P_HIGH": 100, "P_NORMAL": 1000, "P_LOW": 10000}
ORIENTATIONS = ("PtoT", "TtoP", "BOTHDIR", "Inhibitor", "Reset")


def read_file(text: str) -> NetFile:
    """Converts the text of a `.cpn` file to a flat net definition and the monitors of the file.
    Monitors that are not supported are named in the result. Raises InputError if the net contains
    anything that is not supported."""
    return _file_of_element(_parse(text))


def definition_of_element(net: ET.Element) -> NetDefinition:
    """Converts a `cpnet` element to a flat net definition. Raises InputError for anything that is
    not supported."""
    return _file_of_element(net).net


def _file_of_element(net: ET.Element) -> NetFile:
    limit = sys.getrecursionlimit()
    # The evaluator itself limits the depth of recursive functions in the file. Python's limit is
    # set so high that the evaluator's limit is reached first.
    sys.setrecursionlimit(max(limit, FRAMES_MOST))
    try:
        reader = _CpnReader(net)
        # Monitors are translated first, because functions that they call become functions of the
        # net definition.
        monitors = reader.monitors(net)
        return NetFile(
            net=reader.definition(), monitors=monitors, variables=reader.nodes.expressions()
        )
    except RecursionError:
        raise InputError("cpn", None, "its expressions are nested too deeply") from None
    finally:
        sys.setrecursionlimit(limit)


def _parse(text: str) -> ET.Element:
    if len(text) > CHARACTERS_MOST:
        raise InputError("cpn", len(text), f"at most {CHARACTERS_MOST} characters")
    # The document type declaration that CPN Tools writes only names a grammar, so the declaration
    # is removed. Files that declare XML entities are rejected.
    text = re.sub(r"<!DOCTYPE[^\[>]*>", "", text, count=1)
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise InputError("cpn", None, "entities are not read")
    text = re.sub(r"^\s*<\?xml[^>]*\?>", "", text)
    try:
        root = ET.fromstring(text)
    except (ET.ParseError, ValueError) as error:
        raise InputError("cpn", None, f"is no XML: {error}") from None
    if root.tag != "workspaceElements":
        raise InputError("cpn", root.tag[:60], "the outermost element must be workspaceElements")
    nets = root.findall("cpnet")
    if len(nets) != 1:
        raise InputError("cpn", len(nets), "must hold exactly one cpnet")
    return nets[0]


def words(element: ET.Element | None, path: str = "text") -> str:
    """Returns the text of the child element at `path`, with its lines joined by spaces. Returns ""
    if there is no such child."""
    return " ".join((element.findtext(path) or "").split()) if element is not None else ""


@dataclass
class _FilePlace:
    key: str
    name: str
    colour: str
    marking: str
    fusion: str
    # Whether the file gives the place no colour set. Such a place has the colour set UNIT.
    is_untyped: bool = False


@dataclass
class _FilePage:
    key: str
    name: str
    places: dict[str, _FilePlace] = field(default_factory=dict)
    transitions: dict[str, ET.Element] = field(default_factory=dict)
    arcs: list[ET.Element] = field(default_factory=list)


def _explained(error: InputError, page: _FilePage) -> InputError:
    """Returns an error. If it concerns a place for which the file states no colour set, the message
    says so."""
    untyped = [one.name for one in page.places.values() if one.is_untyped]
    for name in untyped:
        ends = (f"arc with {name}", f"place {name}")
        if any(f"{error.key},".find(f"{end},") >= 0 for end in ends):
            reason = (
                f"{error.allowed}; place {name} of page {page.name} has no colour set and is taken "
                "as UNIT: write its colour set next to it"
            )
            return InputError(error.key, error.value, reason)
    return error


class _CpnReader:
    """Reads the declarations and then the pages of a file. Wherever a page is used, a copy of the
    page is added to the net."""

    def __init__(self, net: ET.Element) -> None:
        self.known = Declarations(net)
        self.colours = self.known.colours
        self.pages = {page.key: page for page in map(self.page, net.findall("page"))}
        if not self.pages:
            raise InputError("cpn", None, "has no page")
        self.fusions = self.fusion_sets(net)
        self.places: dict[str, Place] = {}
        # The colour set of each place, by the place's name in the flat net.
        self.sets: dict[str, str] = {}
        self.laid: set[str] = set()
        # The nodes of all page instances, to which monitors refer.
        self.nodes = ReadNodes()
        # The names of the transitions that only delay initial tokens.
        self.delaying: set[str] = set()
        # The initial tokens that become available after time zero. The key is (place, time in
        # seconds), and the value has the tokens that become available there at this time.
        self.later: dict[tuple[str, float], list[list[Cell]]] = {}
        used = {
            key
            for page in self.pages.values()
            for one in page.transitions.values()
            for key in [self.subpage(one)]
            if key
        }
        tops = [page.name for key, page in self.pages.items() if key not in used]
        self.net = Net(next(iter([*tops, ""])) or "cpn")
        for key, page in self.pages.items():
            if key not in used:
                self.lay(page, "", {}, 0)
        for page in self.pages.values():
            if page.key not in self.laid:
                raise InputError(f"page {page.name}", None, "a page cannot contain itself")
        self.delay_first_tokens()

    def definition(self) -> NetDefinition:
        """Returns the flat net definition. All pages must have been read before, because only then
        all colour sets in use are known."""
        net = self.net
        for name, values in self.colours.enums.items():
            net.enum(name, *values)
        fields = self.colours.documents(set(self.sets.values()), "declarations")
        net.colours = {name: Colour(name, tuple(of)) for name, of in fields.items()}
        for name, value in self.constants().items():
            net.constant(name, value)
        for place in self.places.values():
            place.colour = net.colours[self.colours.colour_name(self.sets[place.name])]
        net.places = list(self.places.values())
        add_functions(self.known.functions, net)
        single = {name for name, values in self.colours.enums.items() if len(values) == 1}
        draw_tokens(net.places, net.transitions, single)
        net.transitions = with_equal_chances(net.transitions)
        return net.document()

    def monitors(self, net: ET.Element) -> FileMonitors:
        """Returns the monitors in the `cpnet` element `net`. The result has two groups: the
        monitors that were translated for the engine, and the other monitors, each with the reason
        why it could not be translated."""
        names = {
            key: words(node) or key
            for page in self.pages.values()
            for key, node in page.transitions.items()
        }
        self.nodes.paths = instance_paths(net, names)
        drawing = self.known.functions.drawing
        levels = PlaceLevels(self.places, self.net.transitions, self.delaying, drawing)
        return MonitorTranslator(enabled_monitors(net), self.nodes, self.known, levels).all()

    def constants(self) -> dict[str, float]:
        """Returns the declared constants by name. Constants that have the same name as a value of
        an enumeration are left out."""
        taken = {value for values in self.colours.enums.values() for value in values}
        return {key: one for key, one in self.known.constants.items() if key not in taken}

    def page(self, element: ET.Element) -> _FilePage:
        attributes = element.find("pageattr")
        name = attributes.get("name", "") if attributes is not None else ""
        page = _FilePage(element.get("id", ""), name or element.get("id", ""))
        names: set[str] = set()
        for node in element.iter("place"):
            key, named = self.node(node, page, names)
            context = f"page {page.name}, place {named}"
            page.places[key] = _FilePlace(
                key,
                named,
                self.colours.known(words(node, "type/text") or "UNIT", f"{context}, type").name,
                words(node, "initmark/text"),
                "",
                not words(node, "type/text"),
            )
        for node in element.iter("trans"):
            key, _ = self.node(node, page, names)
            page.transitions[key] = node
        page.arcs = list(element.iter("arc"))
        return page

    def node(self, node: ET.Element, page: _FilePage, names: set[str]) -> tuple[str, str]:
        """Returns the id of a node and a name for it that no other node of the page has. Raises
        InputError if the id is missing or repeated, or if the page has too many nodes."""
        key = node.get("id", "")
        if not key or key in page.places or key in page.transitions:
            raise InputError(
                f"page {page.name}, {node.tag}", key, "needs an id that no other node has"
            )
        name = words(node) or key
        name = f"{name} {key}" if name in names else name
        names.add(name)
        if len(names) > NODES_MOST:
            raise InputError(f"page {page.name}", len(names), f"at most {NODES_MOST} nodes")
        return key, name

    def subpage(self, transition: ET.Element) -> str:
        found = transition.find("subst")
        return found.get("subpage", "") if found is not None else ""

    def lay(self, page: _FilePage, path: str, sockets: Mapping[str, str], deep: int) -> None:
        """Adds one copy of a page to the net. Raises InputError if pages are nested too deeply, as
        for a page that contains itself.

        `path` is the prefix of the names in the copy. `deep` is the number of pages that contain
        the copy. `sockets` maps the id of each port of the page to the name of the place that
        replaces the port.
        """
        if deep > PAGES_DEEP:
            raise InputError(f"page {page.name}", path, "a page cannot contain itself")
        self.laid.add(page.key)
        names = dict(sockets)
        number = self.nodes.next_instance(page.key)
        for place in page.places.values():
            fused = self.fusions.get(place.key, "")
            names.setdefault(place.key, fused or self.free(path + place.name))
            mark = mark_name(page.name, place.name, number)
            self.nodes.places[path, place.key] = ReadPlace(names[place.key], place.colour, mark)
            if place.key not in sockets:
                try:
                    self.place(page, place, names[place.key])
                except InputError as error:
                    raise _explained(error, page) from None
        arcs = self.arcs(page, names)
        for key, node in page.transitions.items():
            name = words(node) or key
            if self.subpage(node):
                inner = self.inner(node, page, name)
                ports = self.ports(node, page, name, names)
                self.lay(inner, f"{path}{name}.", ports, deep + 1)
                continue
            try:
                values = self.transition(page, node, path + name, arcs.get(key, []))
            except InputError as error:
                raise _explained(error, page) from None
            own = constructor_name(page.name, name)
            self.nodes.transitions[path, key] = ReadTransition(path + name, own, number, values)

    def fusion_sets(self, net: ET.Element) -> dict[str, str]:
        """Returns the name of the fusion set of each place that is in a fusion set, by the id of
        the place. Raises InputError if a fusion set names an id that no place has."""
        known = {key for page in self.pages.values() for key in page.places}
        found = {}
        for fusion in net.findall("fusion"):
            name = fusion.get("name", "")
            for element in fusion.findall("fusion_elm"):
                key = element.get("idref", "")
                if key not in known:
                    raise InputError(f"fusion {name}, idref", key, "is the id of no place")
                found[key] = name
        return found

    def free(self, name: str) -> str:
        return name if name not in self.places else f"{name}'"

    def place(self, page: _FilePage, place: _FilePlace, name: str) -> None:
        context = f"page {page.name}, place {place.name}"
        rows = self.rows(place.marking, place.colour, f"{context}, initial marking")
        for delay, later in [one for one in rows.items() if one[0]]:
            self.later.setdefault((name, delay), []).extend(later)
        rows_now = rows.get(0, [])
        if name in self.places:
            if self.sets[name] != place.colour:
                raise InputError(context, place.colour, f"fusion {name} needs one colour")
            if not self.places[name].initial:
                self.places[name].initial = rows_now
            return
        self.places[name], self.sets[name] = Place(name, UNIT, rows_now), place.colour

    def rows(self, text: str, colour: str, context: str) -> dict[float, list[list[Cell]]]:
        """Evaluates an initial marking. The key of the result is a time in seconds, and the value
        has the tokens that become available at this time, as rows of field values.

        Raises InputError if there are too many tokens, or if a token or its time is not known while
        the file is read.
        """
        if not text:
            return {}
        value = self.known.evaluator.reading(context).value(parse(text, context), {})
        made: dict[float, list[list[Cell]]] = {}
        for entry in self.known.tokens(value, colour):
            time = entry.delay.constant if entry.delay is not None and entry.delay.known else 0
            unknown = entry.delay is not None and not entry.delay.known
            if not entry.count.known or entry.when or unknown or time < 0:
                reason = "a first token is known, and so is its time"
                raise InputError(context, text[:60], reason)
            if time and not self.colours.is_timed(colour):
                raise InputError(context, text[:60], UNTIMED_REFUSED.format(colour))
            row = self.colours.row(self.colours.fitted(entry.value, colour, context), context)
            rows = made.setdefault(time, [])
            rows += [list(row) for _ in range(entry.count.constant)]
            if len(rows) > TOKENS_MOST:
                raise InputError(context, len(rows), f"at most {TOKENS_MOST} tokens")
        return made

    def delay_first_tokens(self) -> None:
        """Delays initial tokens that become available after time zero. An additional place and an
        additional transition are added for each place and time. The additional place has the tokens
        at first. At time zero, the transition moves them to the original place with the delay."""
        for (name, delay), rows in self.later.items():
            own = self.free(f"{name} at {delay:g}")
            self.places[own], self.sets[own] = Place(own, UNIT, rows), self.sets[name]
            takes, puts = Take(self.places[own], "t"), Put(self.places[name], "t", delay)
            self.net.transition(own, [takes], [puts])
            self.delaying.add(own)

    def inner(self, node: ET.Element, page: _FilePage, name: str) -> _FilePage:
        key = self.subpage(node)
        if key not in self.pages:
            raise InputError(f"page {page.name}, transition {name}", key, "is no page of the net")
        return self.pages[key]

    def ports(
        self, node: ET.Element, page: _FilePage, name: str, names: Mapping[str, str]
    ) -> dict[str, str]:
        """Returns the name of the socket for the id of each port of a copied page. A port is a
        place of the copied page. Its socket is the place of `page` that replaces it.

        The file has pairs of ids: `(port,socket)(port,socket)`. `names` has the names of the places
        of `page` by their ids. Raises InputError if an id is unknown.
        """
        text = node.find("subst").get("portsock", "")  # type: ignore[union-attr]
        found = re.findall(r"\(([^,()]+),([^,()]+)\)", text)
        for port, socket in found:
            if socket not in names or port not in self.inner(node, page, name).places:
                raise InputError(
                    f"page {page.name}, transition {name}, portsock",
                    f"({port},{socket})",
                    "names no port and socket",
                )
        return {port: names[socket] for port, socket in found}

    def arcs(self, page: _FilePage, names: Mapping[str, str]) -> dict[str, list[FileArc]]:
        found: dict[str, list[FileArc]] = {}
        for arc in page.arcs:
            for one in self.arc(arc, page, names):
                found.setdefault(one.transition, []).append(one)
        return found

    def arc(self, arc: ET.Element, page: _FilePage, names: Mapping[str, str]) -> Iterator[FileArc]:
        context = f"page {page.name}, arc {arc.get('id', '')}"
        ends = {}
        for tag, allowed in (("transend", page.transitions), ("placeend", page.places)):
            end = arc.find(tag)
            ends[tag] = end.get("idref", "") if end is not None else ""
            if ends[tag] not in allowed:
                raise InputError(f"{context}, {tag}", ends[tag], "is no node of the page")
        place = page.places[ends["placeend"]]
        named = words(page.transitions[ends["transend"]]) or ends["transend"]
        context = f"page {page.name}, transition {named}, arc with {place.name}"
        kind = arc.get("orientation", "")
        if kind not in ORIENTATIONS:
            raise InputError(context, kind, f"the orientation is one of {', '.join(ORIENTATIONS)}")
        for one in ("PtoT", "TtoP") if kind == "BOTHDIR" else (kind,):
            yield FileArc(
                ends["transend"],
                names[place.key],
                place.colour,
                one,
                words(arc, "annot/text"),
                context,
            )

    def transition(
        self, page: _FilePage, node: ET.Element, name: str, arcs: list[FileArc]
    ) -> dict[str, CpnValue]:
        """Adds a transition to the net. Returns the values of its variables in a firing."""
        context = f"page {page.name}, transition {name}"
        one = TransitionReader(name, page.name, self.known, context)
        texts = Inscriptions(*(words(node, f"{part}/text") for part in ("cond", "time", "code")))
        priority = words(node, "priority/text")
        level = PRIORITIES.get(priority or "P_NORMAL")
        if level is None:
            constant = self.known.constants.get(priority, priority)
            if not re.fullmatch(r"\d{1,9}", str(constant)):
                raise InputError(f"{context}, priority", priority, "must be a whole number")
            level = int(constant)
        urgency = PRIORITIES["P_NORMAL"] - level
        for place, colour in one.add_to(self.net, self.places, arcs, texts, urgency):
            self.places[place.name], self.sets[place.name] = place, colour
        return {key: value for key, value in one.env.items() if key in self.known.variables}
