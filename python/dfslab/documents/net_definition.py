"""A net as the engine reads it; generated from core/net/schema.json."""

from __future__ import annotations

from pydantic import AliasChoices, Field
from typing_extensions import TypeAliasType

from dfslab.documents.document import StrictDocument

# The value of a token's field; lists hold single values or records.
Cell = TypeAliasType("Cell", "bool | int | float | str | list[Cell]")


# A named number.
Constant = TypeAliasType("Constant", "int | float")


class FunctionDefinition(StrictDocument):
    """A function as the document has it."""

    # An expression over the parameters.
    body: str
    # Names and types, in the order of the arguments.
    parameters: list[tuple[str, str]]
    # The type of its value.
    result: str


class InhibitDefinition(StrictDocument):
    """An inhibitor arc: blocks while the place holds `at_least` available tokens."""

    # How many available tokens block; 1 when left out.
    at_least: int = 1
    # The place looked at.
    place: str


class InputDefinition(StrictDocument):
    """An arc from a place: takes one token and binds it to a variable."""

    # The place taken from.
    place: str
    # The variable that stands for the token; may be left out when nothing reads it.
    var: str | None = None


# A number, a truth value, or an expression as text.
WrittenInscription = TypeAliasType("WrittenInscription", "bool | int | float | str")


class LocalDefinition(StrictDocument):
    """A value that a transition computes once a firing, in order; it may draw."""

    # What the inscriptions of outputs call it.
    name: str
    # The name of its type, as colours name those of fields.
    type: str
    # An expression over the tokens taken and the locals before it.
    value: WrittenInscription


# The name of a variable, whose whole token is meant, or an inscription for each field.
WrittenToken = TypeAliasType("WrittenToken", "str | list[WrittenInscription]")


class OutputDefinition(StrictDocument):
    """An arc to a place: makes one token."""

    # How many tokens it makes, 0 or more; 1 when left out. `turn` is 0 at the first of them.
    count: WrittenInscription | None = None
    # Seconds until the token is available; an expression or a number.
    delay: WrittenInscription | None = None
    # The place put into.
    place: str
    # A list with one expression a field, or the name of a variable (its whole token).
    token: WrittenToken | None = None


class PlaceDefinition(StrictDocument):
    """One place."""

    # A colour of the net.
    colour: str
    # `fifo` (default), `lifo`, `random` or `min:<field>`: which waiting token is taken first.
    discipline: str = "fifo"
    # Rows available at time zero, in this order.
    initial: list[list[Cell]] = Field(default_factory=list)
    # Unique in the net.
    name: str
    # The page on whose border the place lies; for drawings, without effect on a run.
    port: str | None = None


class ResetDefinition(StrictDocument):
    """A reset arc: takes every available token of the place, however many there are."""

    # The place emptied.
    place: str


class TableDefinition(StrictDocument):
    """A histogram: bins between rising edges, with the weight of each."""

    # One more than there are bins.
    edges: list[float]
    # Counts or shares; they need not add up to one.
    weights: list[float]


class TransitionDefinition(StrictDocument):
    """One transition."""

    # Seconds added to the delay of every output arc, drawn once a firing.
    delay: WrittenInscription | None = None
    # A condition on the bound tokens.
    guard: str | None = None
    # The tokens taken.
    in_: list[InputDefinition] = Field(
        default_factory=list, validation_alias=AliasChoices("in_", "in"), serialization_alias="in"
    )
    # The places that block it while they hold tokens.
    inhibit: list[InhibitDefinition] = Field(default_factory=list)
    # Values computed once a firing, for the delay and the output arcs.
    locals: list[LocalDefinition] = Field(default_factory=list)
    # Unique in the net.
    name: str
    # The tokens made.
    out: list[OutputDefinition] = Field(default_factory=list)
    # The page it is drawn on; named in messages.
    page: str = "main"
    # The higher goes first where several are enabled at one instant.
    priority: int = 0
    # The places that it empties.
    reset: list[ResetDefinition] = Field(default_factory=list)
    # Share of the firings where transitions with weights compete for the same token.
    weight: float | None = None


class NetDefinition(StrictDocument):
    """A whole net as a document has it, before the types that it names are resolved. Times are
    seconds, rows are lists of field values.
    """

    # Colour name to its fields in order, each a name and a type; `[]` is the unit colour.
    colours: dict[str, list[tuple[str, str]]]
    # Named numbers that every inscription may use.
    constants: dict[str, Constant] = Field(default_factory=dict)
    # Enumerations by name, each with its values.
    enums: dict[str, list[str]] = Field(default_factory=dict)
    # Functions that inscriptions may call, by name.
    functions: dict[str, FunctionDefinition] = Field(default_factory=dict)
    # What the net is called in messages.
    name: str
    # The places, with their first tokens.
    places: list[PlaceDefinition]
    # Histograms that `empirical` draws from, by name.
    tables: dict[str, TableDefinition] = Field(default_factory=dict)
    # The transitions, with their arcs.
    transitions: list[TransitionDefinition]
