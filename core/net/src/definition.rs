//! The net as data: what a JSON document says, before anything is checked.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde::Deserialize;
use serde_json::{Number, Value};

use crate::error::{NetError, Result};

/// A whole net. Times in it are seconds, rows are lists of field values.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetDefinition {
    /// What the net is called in messages.
    pub name: String,
    /// Colour name to its fields in order; `[]` is the unit colour.
    #[serde(deserialize_with = "unique_map")]
    pub colours: BTreeMap<String, Vec<(String, FieldType)>>,
    /// Named numbers that every inscription may use.
    #[serde(default, deserialize_with = "unique_map")]
    pub constants: BTreeMap<String, Number>,
    /// The places, with their first tokens.
    pub places: Vec<PlaceDefinition>,
    /// The transitions, with their arcs.
    pub transitions: Vec<TransitionDefinition>,
}

/// The type of one field of a colour and of every expression.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum FieldType {
    /// Signed 64-bit integer.
    Int,
    /// 64-bit floating point.
    Real,
    /// true or false.
    Bool,
}

impl fmt::Display for FieldType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            FieldType::Int => "int",
            FieldType::Real => "real",
            FieldType::Bool => "bool",
        })
    }
}

/// One place.
#[derive(Clone, Debug, Deserialize)]
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
    pub initial: Vec<Vec<Value>>,
    /// The page on whose border the place lies; for drawings, without effect on a run.
    #[serde(default)]
    pub port: Option<String>,
}

/// One transition.
#[derive(Clone, Debug, Deserialize)]
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
    /// The tokens made.
    #[serde(default, rename = "out")]
    pub outputs: Vec<OutputDefinition>,
    /// Seconds added to the delay of every output arc, drawn once a firing.
    #[serde(default)]
    pub delay: Option<Value>,
}

/// An arc from a place: takes one token and binds it to a variable.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InputDefinition {
    /// The place taken from.
    pub place: String,
    /// The variable that stands for the token; may be left out when nothing reads it.
    #[serde(default)]
    pub var: Option<String>,
}

/// An inhibitor arc: blocks while the place holds `at_least` available tokens.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InhibitDefinition {
    /// The place looked at.
    pub place: String,
    /// How many available tokens block; 1 when left out.
    #[serde(default = "one")]
    pub at_least: u32,
}

/// An arc to a place: makes one token.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutputDefinition {
    /// The place put into.
    pub place: String,
    /// A list with one expression a field, or the name of a variable (its whole token).
    #[serde(default)]
    pub token: Option<Value>,
    /// Seconds until the token is available; an expression or a number.
    #[serde(default)]
    pub delay: Option<Value>,
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
