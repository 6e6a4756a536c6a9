//! The data that a run over clusters (groups of transitions that share input places) reads about
//! each transition: a compact copy of its arcs. As far as possible, the cell and the lane of each
//! output token are determined before the run.

use super::table::Table;
use crate::cluster::LANES_MAX;
use crate::expression::{Formulas, Value};

/// The data that a run over clusters reads about a net. A net has them only if it has a cluster and
/// none of these: lists, inhibitor arcs, reset arcs, places whose tokens are drawn at random,
/// transitions that compete by weight.
///
/// A transition that is no member of a cluster is called separate (see `separate`).
#[derive(Debug)]
pub(crate) struct ClusterPlan {
    /// One entry for each transition of the net.
    pub(super) moves: Table<Move>,
    /// For each cluster of the net, the values that all its cells have in common.
    pub(super) layouts: Vec<CellLayout>,
    /// The tables of all clusters, one after the other. An index of a table is a set of lanes, as
    /// bits: the lanes of a cell that have tokens. The entry is a set of members, also as bits. It
    /// has the members whose input arcs all find tokens in these lanes.
    pub(super) able: Table<u32>,
    /// The transitions that are the members of each cluster, one cluster after the other.
    pub(super) members: Table<u32>,
    /// One entry for each place of the net.
    pub(super) seats: Vec<PlaceSeat>,
    /// For each place of the net, whether separate transitions take its tokens.
    pub(super) is_separate: Vec<bool>,
    /// Whether the net has separate transitions.
    pub(super) has_separate: bool,
    /// The values of the formulas of all transitions before the first firing, followed by
    /// `VALUES_MAX` words that are not used. Constants have their values.
    pub(super) values: Vec<u64>,
}

/// A transition in the compact form that a run reads. The fields about clusters and lanes have no
/// meaning for a separate transition.
#[derive(Debug)]
pub(super) struct Move {
    pub(super) level: u32,
    pub(super) cluster: u32,
    /// The transition as a member of its cluster: a set with one bit. 0 for a separate transition.
    pub(super) own: u32,
    /// The other members that take tokens from the lanes of the transition, as a set of bits.
    pub(super) others: u32,
    /// The members whose first input arc takes tokens from a lane of the transition, as a set of
    /// bits.
    pub(super) led: u32,
    /// For each input arc, the lane from which it takes tokens, if `single` is true.
    pub(super) lanes: [u8; LANES_MAX],
    pub(super) arc_count: u8,
    /// Whether each input arc takes tokens from only one lane.
    pub(super) single: bool,
    pub(super) has_locals: bool,
    /// For each input arc, the lanes from which it takes tokens, as a set of bits.
    pub(super) masks: [u32; LANES_MAX],
    pub(super) delay: Delay,
    pub(super) puts: Box<[Put]>,
    /// Whether neither the transition nor an output arc has a delay or a number of tokens.
    pub(super) immediate: bool,
    /// The input arcs whose tokens no output arc forwards.
    pub(super) released: Box<[u16]>,
    /// The shape of the transition, which says whether a run can fire it in fewer steps than a
    /// transition of the general form.
    pub(super) shape: Shape,
    /// The inscriptions that are computed together; None if there are none.
    pub(super) formulas: Option<Box<Formulas>>,
}

/// A delay, evaluated before the run as far as possible.
#[derive(Debug)]
pub(super) enum Delay {
    /// A constant number of nanoseconds.
    Constant(u64),
    /// Exponential, with this mean in seconds.
    Exponential(f64),
    /// The delay is computed together with the other formulas of the transition. The first element
    /// is its position among the values of the formulas (nanoseconds). The second element is the
    /// inscription, which is evaluated if the formulas cannot be computed.
    Formula(usize, Box<Value>),
    Any(Box<Value>),
}

/// The value of a field of an output token.
#[derive(Debug)]
pub(super) enum Word {
    Value(Value),
    /// The value is computed together with the other formulas of the transition. The first element
    /// is its position among the values of the formulas. The second element is the inscription,
    /// which is evaluated if the formulas cannot be computed.
    Formula(usize, Box<Value>),
}

/// An output arc of a transition, in the compact form that a run reads.
#[derive(Debug)]
pub(super) struct Put {
    pub(super) place: u32,
    pub(super) target: Target,
    /// Where the tokens of the place wait.
    pub(super) seat: PlaceSeat,
    /// The input arc whose token is forwarded; None when a new token is made.
    pub(super) forwards: Option<u16>,
    pub(super) line: u8,
    pub(super) counted: bool,
    pub(super) delay: Delay,
    /// The fields to write, with their values. A new token has all its fields here. A forwarded
    /// token has only the fields that change.
    pub(super) written: Box<[(u16, Word)]>,
}

/// How a run finds the cell and the lane that an output token will enter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// The lane that the output token enters in the cell from which the transition takes its
    /// tokens, if this cell is permanent. Otherwise the cell follows from the token's fields, as
    /// for `Early`.
    Same(u32),
    /// The cell follows from the token's fields as soon as they are written.
    Early,
    /// The lane depends on a computed condition, which is evaluated when the token arrives.
    Late,
}

/// The positions in the lists `able` and `members` of `ClusterPlan` at which the entries of one
/// cluster begin.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClusterTable {
    /// Position of the cluster's first entry in `able`.
    pub(super) able: u32,
    /// Position of the cluster's first member in `members`. If the cells' `full` is not 0: the only
    /// member itself, so that an arriving token reads no list.
    pub(super) members: u32,
}

/// The values that all cells of a cluster have in common. The fields have the meanings of those of
/// `cells::Cell`.
#[derive(Clone, Copy, Debug)]
pub(super) struct CellLayout {
    pub(super) table: ClusterTable,
    pub(super) full: u8,
    pub(super) first_lane: u8,
}

/// Where the tokens of a place wait: a compact form of `Seat`, for a key of at most one field.
#[derive(Clone, Debug)]
pub(super) enum PlaceSeat {
    /// All tokens enter one lane. `key` is the only field of the key; None if the key has no field.
    Plain {
        cluster: u32,
        lane: u32,
        key: Option<u16>,
    },
    /// The lane depends on whether fields are in ranges of values.
    Ranged(Box<RangedSeat>),
    /// A seat of another form: the place has no lane, a lane that depends on a computed condition,
    /// or a key of several fields.
    Other,
}

/// Where the tokens of a place wait if their lane depends on whether their fields are in ranges.
#[derive(Clone, Debug)]
pub(super) struct RangedSeat {
    pub(super) cluster: u32,
    pub(super) key: Option<u16>,
    pub(super) ranges: Box<[Range]>,
    /// The lane for each combination of outcomes of the tests. Bit i of the index is the outcome of
    /// test i. NONE if no transition takes such a token.
    pub(super) lane_of: [u32; 16],
}

/// A test of one field of a token. The token passes if (low <= value <= high) == inside, where
/// value is the value of the field as an int.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    pub(super) field: u16,
    pub(super) inside: bool,
    pub(super) low: i64,
    pub(super) high: i64,
}

impl Range {
    /// Whether a token with this value of the field passes.
    #[inline(always)]
    pub(super) fn passes(&self, value: i64) -> bool {
        (self.low <= value && value <= self.high) == self.inside
    }
}

impl RangedSeat {
    /// The lane of a token whose tested fields all have this value; NONE if no transition takes it.
    pub(super) fn lane_of_value(&self, value: i64) -> u32 {
        let ranges = (0..).zip(&self.ranges);
        let outcome = ranges.map(|(at, range)| usize::from(range.passes(value)) << at);
        self.lane_of[outcome.sum::<usize>() & 15]
    }
}

/// The form of a transition. Transitions of the forms `Service` and `Update` are fired in fewer
/// steps than those of the form `General`.
#[derive(Debug)]
#[repr(u8)]
pub(super) enum Shape {
    General,
    Service(Service),
    Update(Update),
}

/// A transition that takes two tokens of a cell: the trigger and the state. It frees the trigger.
/// It puts the state back into the cell with changed fields and without delay. An example is a
/// counter of replies.
#[derive(Debug)]
pub(super) struct Update {
    pub(super) state_lane: u8,
    pub(super) trigger_lane: u8,
    /// Whether the first input arc takes the state.
    pub(super) is_state_first: bool,
    /// Where the tokens of the state's place wait.
    pub(super) seat: PlaceSeat,
    /// If the transition only adds a constant to one field of the state.
    pub(super) counter: Option<Counter>,
    /// A test that the state passes only if it stays in its lane. A state that fails it may stay in
    /// its lane, too.
    pub(super) stays: Range,
}

/// A change of a token by which a constant is added to one of its fields.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counter {
    pub(super) field: u16,
    pub(super) change: i64,
}

/// A transition that takes two tokens, such as a customer and a server, and passes both on
/// unchanged after the same delay. No other transition takes tokens from its input places.
#[derive(Debug)]
pub(super) struct Service {
    /// The output arcs in the order of their definition.
    pub(super) steps: [Step; 2],
    /// Whether the first output arc passes on the token of lane 1. If false, the first output arc
    /// passes on the token of lane 0.
    pub(super) is_crossed: bool,
    /// The number of the transition's constant delay in the event list; `NO_LINE` if there is none.
    pub(super) line: u8,
}

/// An output arc of a service.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) place: u32,
    pub(super) target: Target,
    /// Where the tokens of the place wait.
    pub(super) seat: PlaceSeat,
    /// If the cell follows from one field of the token, and the lane is always the same.
    pub(super) by_field: Option<ByField>,
}

/// How the position of a token follows from one of its fields, which is the key of a cluster.
#[derive(Clone, Copy, Debug)]
pub(super) struct ByField {
    pub(super) cluster: u32,
    pub(super) lane: u32,
    pub(super) field: u16,
}

#[cfg(test)]
impl ClusterPlan {
    /// For each transition, the name of its shape; None for the shape `General`, for which there is
    /// no faster code.
    pub(crate) fn shapes(&self) -> Vec<Option<&'static str>> {
        self.moves.iter().map(|one| one.shape.name()).collect()
    }
}

#[cfg(test)]
impl Shape {
    /// The shape's name; None if it is `General`.
    fn name(&self) -> Option<&'static str> {
        match self {
            Shape::General => None,
            Shape::Service(_) => Some("service"),
            Shape::Update(_) => Some("update"),
        }
    }
}
