//! The compiled net, which the engine reads while it fires; all names are resolved to indices.

use std::collections::HashMap;

use crate::definition::FieldType;
use crate::expression::{BinaryOperator, Code, Instruction, Library, Value};
use crate::lists::Lists;

/// Largest number of fields that one join compares; further equalities are tested on combinations
/// of tokens.
pub(crate) const KEY_FIELDS_MAX: usize = 3;

/// The values of the joined fields; unused cells are zero.
pub(crate) type Key = [u64; KEY_FIELDS_MAX];

/// A checked net, ready to run; made by [`crate::compile()`].
#[derive(Debug)]
pub struct Net {
    pub(crate) name: String,
    pub(crate) places: Vec<Place>,
    pub(crate) transitions: Vec<Transition>,
    pub(crate) place_numbers: HashMap<String, usize>,
    pub(crate) transition_numbers: HashMap<String, usize>,
    pub(crate) views: Vec<View>,
    pub(crate) library: Library,
    /// The lists of the first tokens; every run begins with a copy.
    pub(crate) lists: Lists,
    /// Whether any colour contains lists, so that a run has to free unused cells.
    pub(crate) has_lists: bool,
    /// Length of a row in words: that of the widest colour.
    pub(crate) stride: usize,
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
    /// Views that every token of the place may belong to.
    pub(crate) views: Vec<u32>,
    /// Views that require one value of one field; they are found by that value, without testing
    /// each view.
    pub(crate) dispatch: Option<Dispatch>,
    /// Transitions that this place can block by an inhibitor arc, each with the number of tokens
    /// that blocks.
    pub(crate) inhibits: Vec<(u32, u32)>,
    /// Whether a reset arc may empty the place, so that its tokens must be listed.
    pub(crate) resets: bool,
}

#[derive(Debug)]
pub(crate) struct Dispatch {
    pub(crate) field: u16,
    /// Required values in ascending order, each with the views that require it.
    pub(crate) views: Vec<(u64, Vec<u32>)>,
}

impl Dispatch {
    /// The views that require the value `word`.
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

/// The tokens of a place that meet the condition of one input arc, in the order in which they are
/// taken.
#[derive(Debug)]
pub(crate) struct View {
    pub(crate) transition: u32,
    /// Whether any change of the view's tokens may change the transition's binding.
    pub(crate) searches: bool,
    pub(crate) discipline: Discipline,
    /// The conditions on a single token; in the code, that token is arc 0.
    pub(crate) filter: Filter,
    /// Position among the transition's joined arcs. None without a join: then all tokens share one
    /// bucket.
    pub(crate) joined: Option<u32>,
    /// The fields compared with the other joined arcs.
    pub(crate) keys: Vec<u16>,
    /// How the bucket of a token is found.
    pub(crate) key_kind: KeyKind,
}

/// Number of fields of a key; nearly all keys have one.
#[derive(Clone, Copy, Debug)]
pub(crate) enum KeyKind {
    None,
    One(u16),
    Several,
}

impl View {
    /// Position of the arc among the joined arcs of its transition.
    pub(crate) fn slot(&self) -> u32 {
        self.joined.expect("only joined arcs have keys")
    }
}

/// A condition on one token. Most compare a field with a number and need no code.
#[derive(Debug)]
pub(crate) enum Filter {
    Always,
    /// An integer, truth value or enumeration value within the bounds (both included), or outside
    /// of them.
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
        use Instruction::{Integer, Load, Push};
        let Some(code) = code else {
            return Filter::Always;
        };
        match *code {
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

/// The values for which a comparison with `word` is true, as (lowest, highest, whether the values
/// are those inside the range).
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
    pub(crate) page: String,
    /// Priority as a rank; 0 is the highest priority of the net.
    pub(crate) level: u32,
    pub(crate) weight: Option<f64>,
    /// Transitions with weights, of the same priority, that share an input place.
    pub(crate) rivals: Vec<u32>,
    pub(crate) inputs: Vec<Input>,
    /// The arcs that are joined by keys, in arc order.
    pub(crate) joined: Vec<u16>,
    /// Index into `joined` of the arc that ranks the groups: the first whose place is not random.
    pub(crate) lead: u32,
    /// The arcs that are not joined, in arc order.
    pub(crate) free: Vec<u16>,
    /// Conditions on several tokens that no join covers; they are tested on combinations of tokens.
    pub(crate) residual: Vec<Residual>,
    /// True when the first tokens of the buckets may fail a condition, so that bindings must be
    /// searched.
    pub(crate) searches: bool,
    pub(crate) has_random: bool,
    pub(crate) inhibit: Vec<(u32, u32)>,
    /// Places that the transition empties, without repetitions.
    pub(crate) reset: Vec<u32>,
    /// The whole guard, for code that tries every combination of tokens.
    pub(crate) guard: Option<Code>,
    pub(crate) delay: Option<Value>,
    /// Values computed once per firing, before the delay and the outputs.
    pub(crate) locals: Box<[Value]>,
    pub(crate) outputs: Vec<Output>,
    /// The input arcs whose tokens are not forwarded by an output arc.
    pub(crate) released: Vec<u16>,
}

#[derive(Debug)]
pub(crate) struct Input {
    pub(crate) place: u32,
    pub(crate) view: u32,
    /// Position among the joined arcs; None without a join.
    pub(crate) joined: Option<u32>,
    /// Whether the token is drawn at random.
    pub(crate) random: bool,
    /// The variable's name; empty when the arc has none.
    pub(crate) variable: String,
}

/// A condition that can be tested once arcs `0..=last_arc` are bound.
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
    /// The input arc whose token is forwarded to the place; None when a new token is written.
    pub(crate) forwards: Option<u16>,
    /// Number of tokens that the arc makes; None: one.
    pub(crate) count: Option<Box<Value>>,
    pub(crate) delay: Option<Value>,
}

impl Output {
    /// The input arc whose fields the output copies, all of them and in order; None if there is
    /// none.
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

impl Net {
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
        self.transition_numbers.get(name).copied()
    }

    pub(crate) fn place_index(&self, name: &str) -> Option<usize> {
        self.place_numbers.get(name).copied()
    }

    /// Size of the parameter area of a run: the largest number of locals of a transition, plus one
    /// for `turn` of an output arc.
    pub(crate) fn parameters_max(&self) -> usize {
        let locals = self.transitions.iter().map(|one| one.locals.len());
        locals.max().unwrap_or(0) + 1
    }

    /// The words that name a transition in an error message.
    pub(crate) fn context(&self, transition: usize) -> String {
        let transition = &self.transitions[transition];
        transition_context(&transition.page, &transition.name)
    }
}

/// The words that name a transition by page and name in an error message.
pub(crate) fn transition_context(page: &str, name: &str) -> String {
    format!("page {page}, transition {name}")
}

/// The words that name an output arc in an error message.
pub(crate) fn output_context(page: &str, name: &str, arc: usize, place: &str) -> String {
    format!(
        "{}, output arc {} to {place}",
        transition_context(page, name),
        arc + 1
    )
}
