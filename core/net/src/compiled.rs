//! The compiled net (a coloured Petri net), which the engine reads while it fires transitions.
//! Names are resolved to indices.

use std::borrow::Cow;

use crate::cluster::Cluster;
use crate::cluster_run::ClusterPlan;
use crate::definition::FieldType;
use crate::expression::{BinaryOperator, Code, Instruction, Library, Value};
use crate::lists::Lists;
use crate::name_index::NameIndex;

/// Largest number of fields that one join compares. Further equalities in the guard are tested on
/// combinations of tokens.
pub(crate) const KEY_FIELDS_MAX: usize = 3;

/// The values of the fields that a join compares. Entries beyond the number of compared fields are
/// zero.
pub(crate) type Key = [u64; KEY_FIELDS_MAX];

/// A net that was checked and compiled by [`crate::compile()`], ready to run.
#[derive(Debug)]
pub struct CompiledNet {
    pub(crate) name: String,
    pub(crate) places: Vec<Place>,
    pub(crate) transitions: Vec<Transition>,
    pub(crate) place_numbers: NameIndex,
    pub(crate) transition_numbers: NameIndex,
    pub(crate) views: Vec<View>,
    pub(crate) clusters: Vec<Cluster>,
    /// The plan by which the faster engine `cluster_run` fires the net; None if `cluster_run`
    /// cannot fire this net.
    pub(crate) cluster_plan: Option<ClusterPlan>,
    /// Number of lines (first-in first-out queues) of the event list.
    pub(crate) lines: usize,
    pub(crate) library: Library,
    /// The lists in the initial tokens. Every run begins with a copy of these lists.
    pub(crate) lists: Lists,
    /// Whether any value of the net is a list. If so, a run has to free list cells that are no
    /// longer used.
    pub(crate) has_lists: bool,
    /// Length of a token's row of field values, in 64-bit words: the number of fields of the widest
    /// colour.
    pub(crate) stride: usize,
    /// The definition without initial tokens, output arcs, and names of places and transitions,
    /// which are in `places` and `transitions`.
    pub(crate) definition: crate::definition::NetDefinition,
}

/// The order in which a place's waiting tokens are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Discipline {
    Fifo,
    Lifo,
    /// Any fitting token with equal probability, drawn when the transition fires.
    Random,
    /// The token with the smallest value of a field; among equals, the earliest arrival.
    Least {
        field: u16,
        kind: FieldType,
    },
}

#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) name: String,
    pub(crate) fields: Vec<(String, FieldType)>,
    pub(crate) initial: Vec<Vec<u64>>,
    /// The views that cannot be looked up in `dispatch`. An arriving token is tested against the
    /// condition of each of these views, and enters those whose condition it meets.
    pub(crate) views: Vec<u32>,
    /// Views that require a certain value of one field. A token's views are looked up by its value
    /// of this field, so that the other views need no test.
    pub(crate) dispatch: Option<Box<Dispatch>>,
    /// Transitions that have an inhibitor arc from this place. Each has a number: it is blocked
    /// while the place has at least this number of tokens.
    pub(crate) inhibits: Vec<(u32, u32)>,
    /// Whether a reset arc may empty the place. The place's tokens are then listed by arrival.
    pub(crate) resets: bool,
    /// Where the place's tokens wait if the transitions that take them form a cluster. None if the
    /// tokens wait in buckets.
    pub(crate) seat: Option<Seat>,
}

/// Where the tokens of a place wait. A seat has the cluster of the place, the fields that select a
/// cell, and the lanes of this cell.
#[derive(Debug)]
pub(crate) struct Seat {
    pub(crate) cluster: u32,
    /// The fields of a token that select its cell: none, one or several.
    pub(crate) key_kind: KeyKind,
    pub(crate) keys: Box<[u16]>,
    pub(crate) lanes: Lanes,
}

/// How the lane of a token within its cell is determined. A lane is a first-in first-out list.
#[derive(Debug)]
pub(crate) enum Lanes {
    /// All tokens of the place enter this lane.
    One(u32),
    /// The lane depends on which tests the token passes. The outcomes of the tests are the bits of
    /// an index of `lane_of`: bit i is the outcome of test i. If the entry at this index is NONE,
    /// the token enters no lane, since no transition takes it.
    Tested {
        tests: Box<[Test]>,
        lane_of: Box<[u32]>,
    },
}

/// The condition of one input arc on one token.
#[derive(Debug)]
pub(crate) struct Test {
    /// A field's index and the value that the field must have; None if no value is required.
    pub(crate) constant: Option<(u16, u64)>,
    /// The view whose filter the token must also pass.
    pub(crate) view: u32,
}

#[derive(Debug)]
pub(crate) struct Dispatch {
    pub(crate) field: u16,
    /// Pairs of a required field value and the views that require it, in ascending order of the
    /// value.
    pub(crate) views: Vec<(u64, Vec<u32>)>,
}

impl Dispatch {
    /// The views that require the field value `word`; empty if there are none.
    #[inline]
    pub(crate) fn of(&self, word: u64) -> &[u32] {
        match self.views.binary_search_by_key(&word, |entry| entry.0) {
            Ok(at) => &self.views[at].1,
            Err(_) => &[],
        }
    }

    pub(crate) fn add(&mut self, word: u64, view: u32) {
        match self.views.binary_search_by_key(&word, |entry| entry.0) {
            Ok(at) => self.views[at].1.push(view),
            Err(at) => self.views.insert(at, (word, vec![view])),
        }
    }
}

/// A view: those tokens of a place that meet the condition of one input arc. They are ordered as
/// the transition takes them.
#[derive(Debug)]
pub(crate) struct View {
    pub(crate) transition: u32,
    /// Whether any token that enters or leaves the view may change the transition's binding. If
    /// false, only a change of the view's first token may do so.
    pub(crate) searches: bool,
    pub(crate) discipline: Discipline,
    /// The conditions of the guard that read only one token, which belongs to this view. Their code
    /// refers to this token as the token of arc 0.
    pub(crate) filter: Filter,
    /// Position of the arc among the joined arcs of its transition. None if the arc is not joined;
    /// all tokens of the view are then in one bucket.
    pub(crate) joined: Option<u32>,
    /// The fields of a token that are compared with fields of the other joined arcs' tokens.
    pub(crate) keys: Box<[u16]>,
    /// Which fields select the bucket that a token enters: none, one or several. A bucket has the
    /// tokens of the view that have equal values of these fields.
    pub(crate) key_kind: KeyKind,
}

/// How many fields of a token are compared with fields of the other joined arcs' tokens: none, one
/// or several. One is the most frequent case; the variant has the index of the field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyKind {
    None,
    One(u16),
    Several,
}

impl View {
    /// Position of the view's input arc among the joined arcs of its transition. Panics if the arc
    /// is not joined.
    pub(crate) fn slot(&self) -> u32 {
        self.joined.expect("only joined arcs have keys")
    }
}

/// A condition on one token. Most conditions compare a field with a number, which needs no compiled
/// code.
#[derive(Debug)]
pub(crate) enum Filter {
    Always,
    /// A test of a field that is an int, truth value or enumeration value. If `inside` is true, the
    /// value must be between the bounds or equal to one of them; if false, it must be outside.
    Within {
        field: u16,
        low: i64,
        high: i64,
        inside: bool,
    },
    Code(Code),
}

impl Filter {
    pub(crate) fn new(code: Option<Code>) -> Self {
        use Instruction::{Integer, Load, Not, Push};
        let Some(code) = code else {
            return Filter::Always;
        };
        // A truth value is the word 0 or 1.
        let truth = |field, word| Filter::Within {
            field,
            low: word,
            high: word,
            inside: true,
        };
        match *code {
            [Load { field, .. }] => truth(field, 1),
            [Load { field, .. }, Not] => truth(field, 0),
            [Load { field, .. }, Push(word), Integer(operator)] => {
                match within(operator, word as i64) {
                    Some((low, high, inside)) => Filter::Within {
                        field,
                        low,
                        high,
                        inside,
                    },
                    None => Filter::Code(code),
                }
            }
            _ => Filter::Code(code),
        }
    }
}

/// Returns the values x for which `x operator word` is true, as (lowest, highest, inside). If
/// `inside` is false, x must be outside this range. None if the operator is no comparison.
fn within(operator: BinaryOperator, word: i64) -> Option<(i64, i64, bool)> {
    match operator {
        BinaryOperator::Equal => Some((word, word, true)),
        BinaryOperator::Unequal => Some((word, word, false)),
        BinaryOperator::AtMost => Some((i64::MIN, word, true)),
        BinaryOperator::Greater => Some((i64::MIN, word, false)),
        BinaryOperator::AtLeast => Some((word, i64::MAX, true)),
        BinaryOperator::Less => Some((word, i64::MAX, false)),
        _ => None,
    }
}

#[derive(Debug, Default)]
pub(crate) struct Transition {
    pub(crate) name: String,
    pub(crate) page: Cow<'static, str>,
    /// Rank of the transition's priority among the priorities of the net; 0 is the highest
    /// priority.
    pub(crate) level: u32,
    pub(crate) weight: Option<f64>,
    /// The other transitions with weights that have the same priority and share an input place.
    /// They compete with this transition for tokens.
    pub(crate) rivals: Box<[u32]>,
    pub(crate) inputs: Vec<Input>,
    /// The joined input arcs, in arc order: arcs for whose tokens the guard requires equal values
    /// of some fields.
    pub(crate) joined: Box<[u16]>,
    /// Position in `joined` of the leading arc: the first joined arc whose place does not draw its
    /// tokens at random. If several sets of joined tokens are complete, the set whose token for
    /// this arc comes first is taken.
    pub(crate) lead: u32,
    /// Conditions on several tokens that no join ensures. They are tested on combinations of
    /// tokens.
    pub(crate) residual: Box<[Residual]>,
    /// True if the binding cannot simply be the first token of each bucket: these tokens may
    /// violate a condition of the guard, so the engine must search for a binding.
    pub(crate) searches: bool,
    pub(crate) has_random: bool,
    pub(crate) inhibit: Box<[(u32, u32)]>,
    /// Places that the transition's reset arcs empty, each listed once.
    pub(crate) reset: Box<[u32]>,
    /// The whole guard as one program, for code that tries every combination of tokens.
    pub(crate) guard: Option<Code>,
    pub(crate) delay: Option<Value>,
    /// The locals: values that are computed once per firing, before the delay and the outputs.
    pub(crate) locals: Box<[Value]>,
    pub(crate) outputs: Vec<Output>,
    /// The input arcs whose tokens no output arc forwards; these tokens are freed.
    pub(crate) released: Box<[u16]>,
    /// The cluster of which the transition is a member, and its position among the members.
    pub(crate) member: Option<(u32, u32)>,
}

#[derive(Debug)]
pub(crate) struct Input {
    pub(crate) place: u32,
    pub(crate) view: u32,
    /// Position of the arc among the joined arcs of its transition; None if it is not joined.
    pub(crate) joined: Option<u32>,
    /// Whether the token is drawn at random from those that fit.
    pub(crate) random: bool,
    /// Name of the variable that is bound to the token; empty when the arc has none.
    pub(crate) variable: String,
}

/// A condition of a guard on the tokens of several input arcs. It can be tested once the input arcs
/// `0..=last_arc` have tokens.
#[derive(Debug)]
pub(crate) struct Residual {
    pub(crate) last_arc: u16,
    pub(crate) arcs: Vec<u16>,
    pub(crate) code: Code,
}

#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) place: u32,
    pub(crate) fields: Vec<Value>,
    /// The input arc whose token is forwarded to the output place; None when a new token is
    /// written.
    pub(crate) forwards: Option<u16>,
    /// The fields that a forwarded token changes, with their new values, in the order of fields.
    pub(crate) changed: Box<[(u16, Value)]>,
    /// The line of the event list for the arc's tokens if their delay is constant, else `NO_LINE`.
    pub(crate) line: u8,
    /// Expression for the number of tokens that the arc makes; None means one token.
    pub(crate) count: Option<Box<Value>>,
    pub(crate) delay: Option<Value>,
}

impl Output {
    /// The input arc whose token the output copies: all fields in order, unchanged. None if a field
    /// has another value, or if there is no field.
    pub(crate) fn copied_arc(&self) -> Option<u16> {
        let Some(&Value::Field { arc, .. }) = self.fields.first() else {
            return None;
        };
        let copy = |(at, value): (usize, &Value)| {
            let field = at as u16;
            *value == Value::Field { arc, field }
        };
        self.fields.iter().enumerate().all(copy).then_some(arc)
    }
}

impl CompiledNet {
    /// The name of the net.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The names of the transitions, by index.
    pub fn transition_names(&self) -> impl Iterator<Item = &str> {
        self.transitions
            .iter()
            .map(|transition| transition.name.as_str())
    }

    pub(crate) fn transition_index(&self, name: &str) -> Option<usize> {
        self.transition_numbers
            .find(name, |at| &self.transitions[at].name)
    }

    pub(crate) fn place_index(&self, name: &str) -> Option<usize> {
        self.place_numbers.find(name, |at| &self.places[at].name)
    }

    /// Number of 64-bit words that a run needs for parameters. It is the largest number of locals
    /// of a transition, plus one for the parameter `turn`. If an output arc makes several tokens,
    /// `turn` is the number of the present one.
    pub(crate) fn parameters_max(&self) -> usize {
        let locals = self.transitions.iter().map(|one| one.locals.len());
        locals.max().unwrap_or(0) + 1
    }

    /// The page and the name of a transition, as the text at the start of an error message.
    pub(crate) fn context(&self, transition: usize) -> String {
        let transition = &self.transitions[transition];
        transition_context(&transition.page, &transition.name)
    }
}

/// The page and the name of a transition, as the text at the start of an error message.
pub(crate) fn transition_context(page: &str, name: &str) -> String {
    format!("page {page}, transition {name}")
}

/// Returns the start of an error message about an output arc: the transition, the number of the arc
/// and its place. `page` and `name` belong to the transition. `arc` counts from 0.
pub(crate) fn output_context(page: &str, name: &str, arc: usize, place: &str) -> String {
    format!(
        "{}, output arc {} to {place}",
        transition_context(page, name),
        arc + 1
    )
}
