"""A net as the engine reads it; generated from core/net/schema.json."""

from __future__ import annotations

from pydantic import AliasChoices, Field
from typing_extensions import TypeAliasType

from dfslab.documents.document import StrictDocument

# The value of a token's field; lists contain single values or records.
Cell = TypeAliasType("Cell", "bool | int | float | str | list[Cell]")


# A named number.
Constant = TypeAliasType("Constant", "int | float")


class FunctionDefinition(StrictDocument):
    """A function as it is written in a net definition, with types given by name."""

    # An inscription over the parameters, whose value is the function's result.
    body: str
    # Names and types of the parameters, in the order of the arguments.
    parameters: list[tuple[str, str]]
    # Name of the type of the function's value.
    result: str


class InhibitDefinition(StrictDocument):
    """An inhibitor arc: blocks the transition while the place holds at least `at_least` available
    tokens.
    """

    # Number of available tokens that blocks the transition; default 1.
    at_least: int = 1
    # The place whose tokens are counted.
    place: str


class InputDefinition(StrictDocument):
    """An input arc: takes one token from a place and binds it to a variable."""

    # The place from which the token is taken.
    place: str
    # Name of the variable that is bound to the token; optional when no inscription reads the
    # token.
    var: str | None = None


# A number, a truth value, or an expression as text.
WrittenInscription = TypeAliasType("WrittenInscription", "bool | int | float | str")


class LocalDefinition(StrictDocument):
    """A local: a value that a transition computes once per firing. It may use the previous locals
    and random draws.
    """

    # Name of the value in later inscriptions.
    name: str
    # Name of the value's type, as in the fields of a colour.
    type: str
    # An expression over the bound tokens and the previous locals.
    value: WrittenInscription


# The name of a variable, whose whole token is copied, or an inscription for each field.
WrittenToken = TypeAliasType("WrittenToken", "str | list[WrittenInscription]")


class OutputDefinition(StrictDocument):
    """An output arc: puts tokens into a place."""

    # Number of tokens, 0 or more; default 1. In the arc's expressions, `turn` numbers these
    # tokens from 0.
    count: WrittenInscription | None = None
    # Seconds until the token becomes available; an expression or a number.
    delay: WrittenInscription | None = None
    # The place that receives the tokens.
    place: str
    # A list with one expression for each field, or the name of a variable whose token is copied.
    token: WrittenToken | None = None


class PlaceDefinition(StrictDocument):
    """A place of the net."""

    # Name of the colour of the place's tokens.
    colour: str
    # Order in which waiting tokens are taken: `fifo` (default), `lifo`, `random` or
    # `min:<field>`.
    discipline: str = "fifo"
    # Field values of the tokens that are available at time zero, one row for each token. The
    # tokens arrive in this order.
    initial: list[list[Cell]] = Field(default_factory=list)
    # Name of the place, unique in the net.
    name: str
    # The page on whose border the place is drawn; without effect on a run.
    port: str | None = None


class ResetDefinition(StrictDocument):
    """A reset arc: removes every available token of the place."""

    # The place that is emptied.
    place: str


class TableDefinition(StrictDocument):
    """A histogram: ascending edges, and a weight for each bin between two edges."""

    # Edges of the bins, one more than there are bins.
    edges: list[float]
    # Weight of each bin: a count or a share. The sum need not be one.
    weights: list[float]


class TransitionDefinition(StrictDocument):
    """A transition of the net."""

    # Delay in seconds that is added to the delay of every output arc, evaluated once per firing.
    delay: WrittenInscription | None = None
    # A condition on the tokens that the input arcs bind (the guard). The transition can fire only
    # if the condition is true.
    guard: str | None = None
    # Input arcs.
    in_: list[InputDefinition] = Field(
        default_factory=list, validation_alias=AliasChoices("in_", "in"), serialization_alias="in"
    )
    # Inhibitor arcs.
    inhibit: list[InhibitDefinition] = Field(default_factory=list)
    # Values computed once per firing, for the delay and the output arcs.
    locals: list[LocalDefinition] = Field(default_factory=list)
    # Name of the transition, unique in the net.
    name: str
    # Output arcs.
    out: list[OutputDefinition] = Field(default_factory=list)
    # The page on which the transition is drawn; used in messages.
    page: str = "main"
    # Priority: among transitions that are enabled at the same instant, the highest fires first.
    priority: int = 0
    # Reset arcs.
    reset: list[ResetDefinition] = Field(default_factory=list)
    # Relative frequency with which the transition fires when transitions with weights compete for
    # the same token.
    weight: float | None = None


class NetDefinition(StrictDocument):
    """A net as it is written in a document, before the types that it names are resolved. Times are
    in seconds; rows are lists of field values.
    """

    # The colours by name, each with the names and types of its fields in order; `[]` is the unit
    # colour.
    colours: dict[str, list[tuple[str, str]]]
    # Constants by name, which every inscription may use.
    constants: dict[str, Constant] = Field(default_factory=dict)
    # The enumerations by name, each with the list of its values.
    enums: dict[str, list[str]] = Field(default_factory=dict)
    # Functions by name, which inscriptions may call.
    functions: dict[str, FunctionDefinition] = Field(default_factory=dict)
    # The name of the net, used in messages.
    name: str
    # The places with their initial tokens.
    places: list[PlaceDefinition]
    # Histograms by name, from which `empirical` draws.
    tables: dict[str, TableDefinition] = Field(default_factory=dict)
    # The transitions with their arcs.
    transitions: list[TransitionDefinition]
