//! The definition of a net (a coloured Petri net): the content of a JSON document, before
//! compilation.

mod field_type;
mod functions;
mod written;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use schemars::JsonSchema;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde::Deserialize;
use serde_json::{Number, Value};

use crate::error::{known, NetError, Result};
pub use field_type::{Element, FieldType};
use functions::{FunctionDefinition, WrittenFunction};
#[cfg(test)]
pub(crate) use written::checked_in;
pub(crate) use written::Cell;
use written::{Constant, WrittenInscription, WrittenToken};

/// A net. Times are in seconds; rows are lists of field values.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Written")]
pub struct NetDefinition {
    /// The name of the net, used in messages.
    pub name: String,
    /// The enumerations in order of their names: the name of each, and the list of its values.
    pub enums: Vec<(String, Vec<String>)>,
    /// The colours by name, each with the names and types of its fields in order; `[]` is the unit
    /// colour.
    pub colours: BTreeMap<String, Vec<(String, FieldType)>>,
    /// Constants by name, which every inscription may use.
    pub constants: BTreeMap<String, Number>,
    /// Histograms by name, from which `empirical` draws.
    pub tables: BTreeMap<String, TableDefinition>,
    /// Functions that inscriptions may call, in order of their names.
    pub functions: Vec<FunctionDefinition>,
    /// The places with their initial tokens.
    pub places: Vec<PlaceDefinition>,
    /// The transitions with their arcs.
    pub transitions: Vec<TransitionDefinition>,
}

/// A net as it is written in a document, before the types that it names are resolved. Times are in
/// seconds; rows are lists of field values.
#[derive(Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    rename = "net",
    expecting = "an object that describes a net"
)]
#[schemars(rename = "NetDefinition")]
pub(crate) struct Written {
    /// The name of the net, used in messages.
    name: String,
    /// The enumerations by name, each with the list of its values.
    #[serde(default, deserialize_with = "unique_map")]
    enums: BTreeMap<String, Vec<String>>,
    /// The colours by name, each with the names and types of its fields in order; `[]` is the unit
    /// colour.
    #[serde(deserialize_with = "unique_map")]
    colours: BTreeMap<String, Vec<(String, String)>>,
    /// Constants by name, which every inscription may use.
    #[serde(default, deserialize_with = "unique_map")]
    #[schemars(with = "BTreeMap<String, Constant>")]
    constants: BTreeMap<String, Number>,
    /// Histograms by name, from which `empirical` draws.
    #[serde(default, deserialize_with = "unique_map")]
    tables: BTreeMap<String, TableDefinition>,
    /// Functions by name, which inscriptions may call.
    #[serde(default, deserialize_with = "unique_map")]
    functions: BTreeMap<String, WrittenFunction>,
    /// The places with their initial tokens.
    places: Vec<PlaceDefinition>,
    /// The transitions with their arcs.
    transitions: Vec<TransitionDefinition>,
}

/// A histogram: ascending edges, and a weight for each bin between two edges.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an object that describes a table")]
pub struct TableDefinition {
    /// Edges of the bins, one more than there are bins.
    pub edges: Vec<f64>,
    /// Weight of each bin: a count or a share. The sum need not be one.
    pub weights: Vec<f64>,
}

/// Largest nesting depth of lists and records.
const NESTING_MAX: u32 = 8;

/// Whether lists may contain records of the colour `name`. They may not if the record could contain
/// another record of this colour at any depth, or if records nest more deeply than NESTING_MAX.
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

/// A place of the net.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an object that describes a place")]
pub struct PlaceDefinition {
    /// Name of the place, unique in the net.
    pub name: String,
    /// Name of the colour of the place's tokens.
    pub colour: String,
    /// Order in which waiting tokens are taken: `fifo` (default), `lifo`, `random` or
    /// `min:<field>`.
    #[serde(default = "fifo")]
    pub discipline: Cow<'static, str>,
    /// Field values of the tokens that are available at time zero, one row for each token. The
    /// tokens arrive in this order.
    #[serde(default, deserialize_with = "exact_list")]
    #[schemars(with = "Vec<Vec<Cell>>")]
    pub initial: Vec<Vec<Value>>,
    /// The page on whose border the place is drawn; without effect on a run.
    #[serde(default)]
    pub port: Option<String>,
}

/// A transition of the net.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "an object that describes a transition"
)]
pub struct TransitionDefinition {
    /// Name of the transition, unique in the net.
    pub name: String,
    /// The page on which the transition is drawn; used in messages.
    #[serde(default = "main_page")]
    pub page: Cow<'static, str>,
    /// Priority: among transitions that are enabled at the same instant, the highest fires first.
    #[serde(default)]
    pub priority: i64,
    /// Relative frequency with which the transition fires when transitions with weights compete for
    /// the same token.
    #[serde(default)]
    pub weight: Option<f64>,
    /// A condition on the tokens that the input arcs bind (the guard). The transition can fire only
    /// if the condition is true.
    #[serde(default)]
    pub guard: Option<String>,
    /// Input arcs.
    #[serde(default, rename = "in", deserialize_with = "exact_list")]
    pub inputs: Vec<InputDefinition>,
    /// Inhibitor arcs.
    #[serde(default)]
    pub inhibit: Vec<InhibitDefinition>,
    /// Reset arcs.
    #[serde(default)]
    pub reset: Vec<ResetDefinition>,
    /// Output arcs.
    #[serde(default, rename = "out", deserialize_with = "exact_list")]
    pub outputs: Vec<OutputDefinition>,
    /// Delay in seconds that is added to the delay of every output arc, evaluated once per firing.
    #[serde(default)]
    #[schemars(with = "Option<WrittenInscription>")]
    pub delay: Option<Value>,
    /// Values computed once per firing, for the delay and the output arcs.
    #[serde(default)]
    pub locals: Vec<LocalDefinition>,
}

/// A local: a value that a transition computes once per firing. It may use the previous locals and
/// random draws.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "an object that describes a local value"
)]
pub struct LocalDefinition {
    /// Name of the value in later inscriptions.
    pub name: String,
    /// Name of the value's type, as in the fields of a colour.
    #[serde(rename = "type")]
    pub kind: String,
    /// An expression over the bound tokens and the previous locals.
    #[schemars(with = "WrittenInscription")]
    pub value: Value,
    /// The type whose name is in `kind`.
    #[serde(skip, default = "unresolved")]
    pub(crate) resolved: FieldType,
}

/// An input arc: takes one token from a place and binds it to a variable.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "an object that describes an input arc"
)]
pub struct InputDefinition {
    /// The place from which the token is taken.
    pub place: String,
    /// Name of the variable that is bound to the token; optional when no inscription reads the
    /// token.
    #[serde(default)]
    pub var: Option<String>,
}

/// An inhibitor arc: blocks the transition while the place holds at least `at_least` available
/// tokens.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "an object that describes an inhibitor arc"
)]
pub struct InhibitDefinition {
    /// The place whose tokens are counted.
    pub place: String,
    /// Number of available tokens that blocks the transition; default 1.
    #[serde(default = "one")]
    pub at_least: u32,
}

/// A reset arc: removes every available token of the place.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "an object that describes a reset arc"
)]
pub struct ResetDefinition {
    /// The place that is emptied.
    pub place: String,
}

/// An output arc: puts tokens into a place.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "an object that describes an output arc"
)]
pub struct OutputDefinition {
    /// The place that receives the tokens.
    pub place: String,
    /// A list with one expression for each field, or the name of a variable whose token is copied.
    #[serde(default)]
    #[schemars(with = "Option<WrittenToken>")]
    pub token: Option<Value>,
    /// Number of tokens, 0 or more; default 1. In the arc's expressions, `turn` numbers these
    /// tokens from 0.
    #[serde(default)]
    #[schemars(with = "Option<WrittenInscription>")]
    pub count: Option<Value>,
    /// Seconds until the token becomes available; an expression or a number.
    #[serde(default)]
    #[schemars(with = "Option<WrittenInscription>")]
    pub delay: Option<Value>,
}

fn unresolved() -> FieldType {
    FieldType::Int
}

fn fifo() -> Cow<'static, str> {
    Cow::Borrowed("fifo")
}

fn main_page() -> Cow<'static, str> {
    Cow::Borrowed("main")
}

fn one() -> u32 {
    1
}

impl NetDefinition {
    /// Parses a net from JSON. The message of an error names the key, the value and the line.
    pub fn from_json(text: &str) -> Result<Self> {
        serde_json::from_str(text).map_err(|error| NetError::input("net", error.to_string()))
    }

    /// The fields of the colour with this index.
    pub(crate) fn fields_of(&self, colour: u16) -> &[(String, FieldType)] {
        let fields = self.colours.values().nth(usize::from(colour));
        fields.expect("types name colours that there are")
    }

    /// The index of a colour whose records occur in a list of the net; None for other colours.
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

/// Reads a list into memory of exactly its length. A net has many short lists, and spare capacity
/// in each of them would waste memory.
fn exact_list<'de, D, T>(deserializer: D) -> std::result::Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let mut list = Vec::deserialize(deserializer)?;
    list.shrink_to_fit();
    Ok(list)
}

/// Reads a map in which a repeated name is an error instead of a silent overwrite.
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
