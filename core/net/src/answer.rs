//! The engine's answers about a net that is not simulated. They state the net's sizes, its state
//! space (all reachable markings), or the states of its token game, in which single transitions are
//! fired by hand. `state_schema.json` is the JSON Schema of the answers; the Python types are made
//! from it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value as Json;

use crate::definition::Cell;

/// A token's values in the order of its fields. Null stands for a real that is not a number.
#[derive(Serialize, JsonSchema)]
pub(crate) struct TokenRow(#[schemars(with = "Vec<Option<Cell>>")] pub(crate) Vec<Json>);

/// For each place, by name, the rows of its tokens. Places without tokens are omitted.
#[derive(Serialize, JsonSchema)]
pub(crate) struct TokenRows(pub(crate) BTreeMap<String, Vec<TokenRow>>);

/// An input arc for which the engine must examine every waiting token, and the reason.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Scan {
    /// Number of the arc among the input arcs of the transition, from 1.
    pub(crate) arc: usize,
    pub(crate) page: String,
    pub(crate) place: String,
    pub(crate) reason: String,
    pub(crate) transition: String,
    /// The variable that the arc binds.
    pub(crate) variable: String,
}

/// The sizes of a net, such as its numbers of places, transitions and arcs.
#[derive(Serialize, JsonSchema)]
pub(crate) struct NetSizes {
    pub(crate) inhibitor_arcs: usize,
    pub(crate) input_arcs: usize,
    /// The number of transitions whose guard requires equal fields of the tokens from several input
    /// arcs.
    pub(crate) joined_transitions: usize,
    pub(crate) name: String,
    pub(crate) output_arcs: usize,
    pub(crate) places: usize,
    /// The memory of one token in bytes.
    pub(crate) row_bytes: usize,
    pub(crate) scans: Vec<Scan>,
    /// The number of initial tokens.
    pub(crate) tokens: usize,
    pub(crate) transitions: usize,
}

/// A strongly connected component of a state space: a maximal set of markings in which each marking
/// can be reached from every other marking.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SccNode {
    pub(crate) markings: usize,
    /// The number of arcs between the markings of the component.
    pub(crate) firings: usize,
    /// Whether no firing leads out of the component.
    pub(crate) terminal: bool,
    /// Whether the component is a single marking without an arc to itself.
    pub(crate) trivial: bool,
    /// Whether the markings of the component can be reached from every marking.
    pub(crate) home: bool,
    /// The first marking of the component in a breadth-first search from the initial marking.
    pub(crate) first_marking: TokenRows,
}

/// The firings that lead from one component of a state space to another.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SccArc {
    /// Index of the component that is left.
    pub(crate) source: usize,
    /// Index of the component that is entered.
    pub(crate) target: usize,
    pub(crate) firings: usize,
    /// The names of the transitions that fire.
    pub(crate) transitions: Vec<String>,
}

/// The graph of the strongly connected components of a state space. Component 0 contains the
/// initial marking.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SccGraph {
    pub(crate) nodes: Vec<SccNode>,
    pub(crate) arcs: Vec<SccArc>,
}

/// The reachable markings of a net without time, and the properties that follow from them.
/// Properties that only a complete state space shows are left out if a limit was reached.
#[derive(Default, Serialize, JsonSchema)]
pub(crate) struct StateSpace {
    pub(crate) arcs: usize,
    /// For each place the smallest and the largest number of tokens.
    pub(crate) bounds: BTreeMap<String, (usize, usize)>,
    /// Whether every reachable marking was explored.
    pub(crate) complete: bool,
    /// The number of strongly connected components.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) components: Option<usize>,
    /// The number of markings in which no transition can fire.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) dead_markings: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) dead_markings_shown: Option<Vec<TokenRows>>,
    /// For each dead marking that is shown, the transitions of a shortest path to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) dead_paths_shown: Option<Vec<Vec<String>>>,
    /// The transitions that can never fire.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) dead_transitions: Option<Vec<String>>,
    /// The number of markings that can be reached from every marking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) home_markings: Option<usize>,
    /// The transitions that can fire again from every marking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) live_transitions: Option<Vec<String>>,
    pub(crate) markings: usize,
    pub(crate) net: String,
    /// For each place the transitions of a shortest path to its largest number of tokens.
    pub(crate) paths_to_most: BTreeMap<String, Vec<String>>,
    /// The graph of the strongly connected components. Left out if the state space is incomplete or
    /// has more than 2,000 components.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) scc_graph: Option<SccGraph>,
    /// The limit that ended the exploration. Left out if the state space is complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) stopped_at: Option<StoppedAt>,
}

/// A limit of the exploration of a state space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StoppedAt {
    /// The largest number of markings.
    Markings,
    /// The largest size of all stored markings together.
    Memory,
}

/// A transition, and one of the bindings with which it is enabled.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Binding {
    /// For each variable of the transition, the token that the variable would be bound to.
    pub(crate) binding: BTreeMap<String, TokenRow>,
    pub(crate) page: String,
    pub(crate) transition: String,
}

/// A token in transit.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ComingToken {
    pub(crate) place: String,
    /// The simulated time at which the token becomes available in the place.
    pub(crate) time_s: f64,
    pub(crate) token: TokenRow,
}

/// A state of the token game: simulated time, marking, tokens in transit, and enabled bindings.
#[derive(Serialize, JsonSchema)]
pub(crate) struct GameState {
    pub(crate) coming: Vec<ComingToken>,
    pub(crate) enabled: Vec<Binding>,
    pub(crate) marking: TokenRows,
    pub(crate) steps: u64,
    pub(crate) time_s: f64,
}

/// An answer of the engine about a net that is not run.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[allow(dead_code)]
pub(crate) enum NetAnswer {
    Sizes(NetSizes),
    Space(StateSpace),
    Game(GameState),
}

/// The answer as JSON.
pub(crate) fn json(answer: impl Serialize) -> Json {
    serde_json::to_value(answer).expect("an answer has names as keys")
}

#[cfg(test)]
mod tests {
    use schemars::generate::SchemaSettings;

    #[test]
    fn the_checked_in_schema_is_that_of_the_answers() {
        let generator = SchemaSettings::draft2020_12().into_generator();
        let schema = generator.into_root_schema_for::<super::NetAnswer>();
        crate::definition::checked_in::compare(&schema, "state_schema.json");
    }
}
