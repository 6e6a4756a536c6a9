//! The net as data: what a JSON document says, before anything is checked.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use schemars::JsonSchema;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde::Deserialize;
use serde_json::{Number, Value};

use crate::error::{known, NetError, Result};
use crate::functions::{self, FunctionDefinition, WrittenFunction};
use crate::written::{Cell, Constant, WrittenInscription, WrittenToken};

/// A whole net. Times in it are seconds, rows are lists of field values.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Written")]
pub struct NetDefinition {
    /// What the net is called in messages.
    pub name: String,
    /// Enumerations in order of their names, each with its values.
    pub enums: Vec<(String, Vec<String>)>,
    /// Colour name to its fields in order; `[]` is the unit colour.
    pub colours: BTreeMap<String, Vec<(String, FieldType)>>,
    /// Named numbers that every inscription may use.
    pub constants: BTreeMap<String, Number>,
    /// Histograms that `empirical` draws from, by name.
    pub tables: BTreeMap<String, TableDefinition>,
    /// Functions of the net's own, in order of their names.
    pub functions: Vec<FunctionDefinition>,
    /// The places, with their first tokens.
    pub places: Vec<PlaceDefinition>,
    /// The transitions, with their arcs.
    pub transitions: Vec<TransitionDefinition>,
}

/// A whole net as a document has it, before the types that it names are resolved. Times are
/// seconds, rows are lists of field values.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename = "net")]
#[schemars(rename = "NetDefinition")]
pub(crate) struct Written {
    /// What the net is called in messages.
    name: String,
    /// Enumerations by name, each with its values.
    #[serde(default, deserialize_with = "unique_map")]
    enums: BTreeMap<String, Vec<String>>,
    /// Colour name to its fields in order, each a name and a type; `[]` is the unit colour.
    #[serde(deserialize_with = "unique_map")]
    colours: BTreeMap<String, Vec<(String, String)>>,
    /// Named numbers that every inscription may use.
    #[serde(default, deserialize_with = "unique_map")]
    #[schemars(with = "BTreeMap<String, Constant>")]
    constants: BTreeMap<String, Number>,
    /// Histograms that `empirical` draws from, by name.
    #[serde(default, deserialize_with = "unique_map")]
    tables: BTreeMap<String, TableDefinition>,
    /// Functions that inscriptions may call, by name.
    #[serde(default, deserialize_with = "unique_map")]
    functions: BTreeMap<String, WrittenFunction>,
    /// The places, with their first tokens.
    places: Vec<PlaceDefinition>,
    /// The transitions, with their arcs.
    transitions: Vec<TransitionDefinition>,
}

/// A histogram: bins between rising edges, with the weight of each.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TableDefinition {
    /// One more than there are bins.
    pub edges: Vec<f64>,
    /// Counts or shares; they need not add up to one.
    pub weights: Vec<f64>,
}

/// The type of one field of a colour and of every expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FieldType {
    /// Signed 64-bit integer.
    Int,
    /// 64-bit floating point.
    Real,
    /// true or false.
    Bool,
    /// Characters, which lie among the lists of a run: equal texts are one word.
    Text,
    /// A value of the enumeration with that index.
    Enum(u16),
    /// A record of the colour with that index, as lists hold it; no field has it.
    Record(u16),
    /// Any number of elements of one type.
    List(Element),
}

/// The type of a list's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Element {
    /// Of `[]`, which fits every list; no colour has it.
    Nothing,
    /// Signed 64-bit integer.
    Int,
    /// 64-bit floating point.
    Real,
    /// true or false.
    Bool,
    /// Characters.
    Text,
    /// A value of the enumeration with that index.
    Enum(u16),
    /// A record of the colour with that index: single values, and lists of what lists may hold.
    Record(u16),
}

impl Element {
    /// The element type for a field's type; lists hold no lists.
    pub(crate) fn of(kind: FieldType) -> Option<Self> {
        match kind {
            FieldType::Int => Some(Element::Int),
            FieldType::Real => Some(Element::Real),
            FieldType::Bool => Some(Element::Bool),
            FieldType::Text => Some(Element::Text),
            FieldType::Enum(at) => Some(Element::Enum(at)),
            FieldType::Record(at) => Some(Element::Record(at)),
            FieldType::List(_) => None,
        }
    }

    /// The type of an element that is taken out; none where there can be no element.
    pub(crate) fn field_type(self) -> Option<FieldType> {
        match self {
            Element::Nothing => None,
            Element::Int => Some(FieldType::Int),
            Element::Real => Some(FieldType::Real),
            Element::Bool => Some(FieldType::Bool),
            Element::Text => Some(FieldType::Text),
            Element::Enum(at) => Some(FieldType::Enum(at)),
            Element::Record(at) => Some(FieldType::Record(at)),
        }
    }
}

/// How deep lists may lie within records within lists.
const NESTING_MAX: u32 = 8;

/// Whether lists may hold a colour's records: no value contains itself, however deep.
fn fits(
    name: &str,
    colours: &BTreeMap<String, Vec<(String, String)>>,
    is_single: &impl Fn(&str) -> bool,
    depth: u32,
) -> bool {
    let Some(fields) = colours.get(name).filter(|_| depth < NESTING_MAX) else {
        return false;
    };
    fields
        .iter()
        .all(|(_, kind)| match kind.strip_prefix("list ") {
            Some(inner) => is_single(inner) || fits(inner, colours, is_single, depth + 1),
            None => is_single(kind),
        })
}

impl TryFrom<Written> for NetDefinition {
    type Error = String;

    fn try_from(written: Written) -> std::result::Result<Self, String> {
        let enums: Vec<(String, Vec<String>)> = written.enums.into_iter().collect();
        let single = |name: &str| match name {
            "int" => Some(FieldType::Int),
            "real" => Some(FieldType::Real),
            "bool" => Some(FieldType::Bool),
            "text" => Some(FieldType::Text),
            other => {
                let at = enums.iter().position(|entry| entry.0 == other)?;
                Some(FieldType::Enum(at as u16))
            }
        };
        let record = |name: &str| {
            let at = written.colours.keys().position(|colour| colour == name)?;
            let fits = fits(name, &written.colours, &|name| single(name).is_some(), 0);
            fits.then_some(Element::Record(at as u16))
        };
        let kind = |name: &str| match name.strip_prefix("list ") {
            Some(element) => single(element)
                .and_then(Element::of)
                .or_else(|| record(element))
                .map(FieldType::List),
            None => single(name),
        };
        let mut colours = BTreeMap::new();
        for (colour, fields) in &written.colours {
            let mut typed = Vec::with_capacity(fields.len());
            for (field, name) in fields {
                let Some(kind) = kind(name) else {
                    let names = enums.iter().map(|entry| entry.0.as_str());
                    let names = known(names.chain(["int", "real", "bool", "text"]));
                    return Err(format!(
                        "colour {colour}, field {field}: unknown type '{name}' ({names}, and \
                         lists of these, as in 'list int', or of a colour of them)"
                    ));
                };
                typed.push((field.clone(), kind));
            }
            colours.insert(colour.clone(), typed);
        }
        let functions = functions::resolved(&written.functions, &kind)?;
        let mut transitions = written.transitions;
        for local in transitions.iter_mut().flat_map(|one| &mut one.locals) {
            let known = kind(&local.kind);
            local.resolved = known.ok_or_else(|| {
                let (name, kind) = (&local.name, &local.kind);
                format!("local {name}: unknown type '{kind}'")
            })?;
        }
        Ok(Self {
            name: written.name,
            enums,
            colours,
            constants: written.constants,
            tables: written.tables,
            functions,
            places: written.places,
            transitions,
        })
    }
}

impl FieldType {
    /// Whether its word is the number of a cell among a run's lists.
    pub(crate) fn has_cells(self) -> bool {
        matches!(
            self,
            FieldType::Text | FieldType::Record(_) | FieldType::List(_)
        )
    }

    /// Whether it can be added and ordered.
    pub(crate) fn is_number(self) -> bool {
        matches!(self, FieldType::Int | FieldType::Real)
    }
}

impl fmt::Display for FieldType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            FieldType::Int => "int",
            FieldType::Real => "real",
            FieldType::Bool => "bool",
            FieldType::Text => "a text",
            FieldType::Enum(_) => "an enumeration",
            FieldType::List(Element::Nothing) => "an empty list",
            FieldType::List(Element::Int) => "a list of int",
            FieldType::List(Element::Real) => "a list of real",
            FieldType::List(Element::Bool) => "a list of bool",
            FieldType::Record(_) => "a record",
            FieldType::List(Element::Text) => "a list of texts",
            FieldType::List(Element::Enum(_)) => "a list of an enumeration",
            FieldType::List(Element::Record(_)) => "a list of records",
        })
    }
}

/// One place.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlaceDefinition {
    /// Unique in the net.
    pub name: String,
    /// A colour of the net.
    pub colour: String,
    /// `fifo` (default), `lifo`, `random` or `min:<field>`: which waiting token is taken first.
    #[serde(default = "fifo")]
    pub discipline: String,
    /// Rows available at time zero, in this order.
    #[serde(default)]
    #[schemars(with = "Vec<Vec<Cell>>")]
    pub initial: Vec<Vec<Value>>,
    /// The page on whose border the place lies; for drawings, without effect on a run.
    #[serde(default)]
    pub port: Option<String>,
}

/// One transition.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TransitionDefinition {
    /// Unique in the net.
    pub name: String,
    /// The page it is drawn on; named in messages.
    #[serde(default = "main_page")]
    pub page: String,
    /// The higher goes first where several are enabled at one instant.
    #[serde(default)]
    pub priority: i64,
    /// Share of the firings where transitions with weights compete for the same token.
    #[serde(default)]
    pub weight: Option<f64>,
    /// A condition on the bound tokens.
    #[serde(default)]
    pub guard: Option<String>,
    /// The tokens taken.
    #[serde(default, rename = "in")]
    pub inputs: Vec<InputDefinition>,
    /// The places that block it while they hold tokens.
    #[serde(default)]
    pub inhibit: Vec<InhibitDefinition>,
    /// The places that it empties.
    #[serde(default)]
    pub reset: Vec<ResetDefinition>,
    /// The tokens made.
    #[serde(default, rename = "out")]
    pub outputs: Vec<OutputDefinition>,
    /// Seconds added to the delay of every output arc, drawn once a firing.
    #[serde(default)]
    #[schemars(with = "Option<WrittenInscription>")]
    pub delay: Option<Value>,
    /// Values computed once a firing, for the delay and the output arcs.
    #[serde(default)]
    pub locals: Vec<LocalDefinition>,
}

/// A value that a transition computes once a firing, in order; it may draw.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LocalDefinition {
    /// What the inscriptions of outputs call it.
    pub name: String,
    /// The name of its type, as colours name those of fields.
    #[serde(rename = "type")]
    pub kind: String,
    /// An expression over the tokens taken and the locals before it.
    #[schemars(with = "WrittenInscription")]
    pub value: Value,
    /// The type that `kind` names.
    #[serde(skip, default = "unresolved")]
    pub(crate) resolved: FieldType,
}

/// An arc from a place: takes one token and binds it to a variable.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InputDefinition {
    /// The place taken from.
    pub place: String,
    /// The variable that stands for the token; may be left out when nothing reads it.
    #[serde(default)]
    pub var: Option<String>,
}

/// An inhibitor arc: blocks while the place holds `at_least` available tokens.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InhibitDefinition {
    /// The place looked at.
    pub place: String,
    /// How many available tokens block; 1 when left out.
    #[serde(default = "one")]
    pub at_least: u32,
}

/// A reset arc: takes every available token of the place, however many there are.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResetDefinition {
    /// The place emptied.
    pub place: String,
}

/// An arc to a place: makes one token.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OutputDefinition {
    /// The place put into.
    pub place: String,
    /// A list with one expression a field, or the name of a variable (its whole token).
    #[serde(default)]
    #[schemars(with = "Option<WrittenToken>")]
    pub token: Option<Value>,
    /// How many tokens it makes, 0 or more; 1 when left out. `turn` is 0 at the first of them.
    #[serde(default)]
    #[schemars(with = "Option<WrittenInscription>")]
    pub count: Option<Value>,
    /// Seconds until the token is available; an expression or a number.
    #[serde(default)]
    #[schemars(with = "Option<WrittenInscription>")]
    pub delay: Option<Value>,
}

fn unresolved() -> FieldType {
    FieldType::Int
}

fn fifo() -> String {
    "fifo".to_owned()
}

fn main_page() -> String {
    "main".to_owned()
}

fn one() -> u32 {
    1
}

impl NetDefinition {
    /// Reads a net from JSON; the message names the key, the value and the line.
    pub fn from_json(text: &str) -> Result<Self> {
        serde_json::from_str(text).map_err(|error| NetError::input("net", error.to_string()))
    }

    /// The fields of a colour by its index.
    pub(crate) fn fields_of(&self, colour: u16) -> &[(String, FieldType)] {
        let fields = self.colours.values().nth(usize::from(colour));
        fields.expect("types name colours that there are")
    }

    /// The index of a colour whose records some list holds; of others there are no such values.
    pub(crate) fn listed(&self, colour: &str) -> Option<u16> {
        let at = self.colours.keys().position(|name| name == colour)? as u16;
        let kind = FieldType::List(Element::Record(at));
        let fields = self.colours.values().flatten().map(|field| field.1);
        let called = self.functions.iter().flat_map(FunctionDefinition::kinds);
        let locals = self.transitions.iter().flat_map(|one| &one.locals);
        let mut kinds = fields.chain(called).chain(locals.map(|one| one.resolved));
        kinds.any(|one| one == kind).then_some(at)
    }
}

/// A map in which a name given twice is an error instead of a silent overwrite.
fn unique_map<'de, D, V>(deserializer: D) -> std::result::Result<BTreeMap<String, V>, D::Error>
where
    D: Deserializer<'de>,
    V: Deserialize<'de>,
{
    struct Unique<V>(PhantomData<V>);

    impl<'de, V: Deserialize<'de>> Visitor<'de> for Unique<V> {
        type Value = BTreeMap<String, V>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("an object with unique names")
        }

        fn visit_map<A: MapAccess<'de>>(
            self,
            mut entries: A,
        ) -> std::result::Result<Self::Value, A::Error> {
            let mut map = BTreeMap::new();
            while let Some((name, value)) = entries.next_entry::<String, V>()? {
                if map.insert(name.clone(), value).is_some() {
                    let message = format!("'{name}' is given twice");
                    return Err(serde::de::Error::custom(message));
                }
            }
            Ok(map)
        }
    }

    deserializer.deserialize_map(Unique(PhantomData))
}
