//! The compiled net: what the engine reads while it fires, all names resolved to indices.

use std::collections::HashMap;

use crate::definition::FieldType;
use crate::expression::{BinaryOperator, Code, Instruction, Library, Value};
use crate::lists::Lists;

/// The most fields that one join may compare; a join of more scans for the rest.
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
    /// The lists of the first tokens; every run begins with them.
    pub(crate) lists: Lists,
    /// Whether a colour has lists, so that a run has to look after them.
    pub(crate) has_lists: bool,
    /// Words from one row to the next: the widest colour.
    pub(crate) stride: usize,
    pub(crate) definition: crate::definition::NetDefinition,
}

/// The order in which a place's waiting tokens are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Discipline {
    Fifo,
    Lifo,
    /// Uniform among those that fit, drawn when the transition fires.
    Random,
    /// Smallest field first, then the earliest arrival.
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
    /// Views that want one value of one field: found without asking each.
    pub(crate) dispatch: Option<Dispatch>,
    /// Transitions that this place blocks, with the number of tokens that does.
    pub(crate) inhibits: Vec<(u32, u32)>,
    /// Whether a reset arc may empty it, so that its tokens must be listed.
    pub(crate) resets: bool,
}

#[derive(Debug)]
pub(crate) struct Dispatch {
    pub(crate) field: u16,
    /// Wanted values in rising order, each with the views that want it.
    pub(crate) views: Vec<(u64, Vec<u32>)>,
}

impl Dispatch {
    /// The views that want a value.
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

/// One input arc's part of a place: the tokens that pass the arc's own condition, in order.
#[derive(Debug)]
pub(crate) struct View {
    pub(crate) transition: u32,
    /// Whether any change of the view's tokens may change the transition's binding.
    pub(crate) searches: bool,
    pub(crate) discipline: Discipline,
    /// The conditions on this token alone; arc 0 of the program is the token.
    pub(crate) filter: Filter,
    /// Position among the transition's joined arcs, or none: then all tokens share one bucket.
    pub(crate) joined: Option<u32>,
    /// The fields compared with the other joined arcs.
    pub(crate) keys: Vec<u16>,
    /// How a token's bucket is found.
    pub(crate) key_kind: KeyKind,
}

/// How many fields a key has; nearly all have one.
#[derive(Clone, Copy, Debug)]
pub(crate) enum KeyKind {
    None,
    One(u16),
    Several,
}

impl View {
    /// Its position among the joined arcs.
    pub(crate) fn slot(&self) -> u32 {
        self.joined.expect("only joined arcs have keys")
    }
}

/// A condition on one token; most are a field against a number and need no program.
#[derive(Debug)]
pub(crate) enum Filter {
    Always,
    /// An int, bool or enumeration between two words, both included, or outside of them.
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

/// The values that compare so with a word: (lowest, highest, whether they are meant or the rest).
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
    /// 0 is the highest priority of the net.
    pub(crate) level: u32,
    pub(crate) weight: Option<f64>,
    /// Transitions with weights, of the same priority, that share an input place.
    pub(crate) rivals: Vec<u32>,
    pub(crate) inputs: Vec<Input>,
    /// Arcs joined by keys, in arc order.
    pub(crate) joined: Vec<u16>,
    /// Which of `joined` ranks the groups: the first whose place is not random.
    pub(crate) lead: u32,
    /// Arcs without join, in arc order.
    pub(crate) free: Vec<u16>,
    /// Conditions on several tokens that no key serves: tokens are tried one by one.
    pub(crate) residual: Vec<Residual>,
    /// True where the first tokens of the buckets need not be a binding.
    pub(crate) searches: bool,
    pub(crate) has_random: bool,
    pub(crate) inhibit: Vec<(u32, u32)>,
    /// Places emptied, each once.
    pub(crate) reset: Vec<u32>,
    /// The whole condition, for those who try every combination of tokens.
    pub(crate) guard: Option<Code>,
    pub(crate) delay: Option<Value>,
    /// Computed once a firing, before the delay and the outputs.
    pub(crate) locals: Box<[Value]>,
    pub(crate) outputs: Vec<Output>,
    /// The input arcs whose tokens no output arc forwards.
    pub(crate) released: Vec<u16>,
}

#[derive(Debug)]
pub(crate) struct Input {
    pub(crate) place: u32,
    pub(crate) view: u32,
    /// As in the view.
    pub(crate) joined: Option<u32>,
    /// Whether the token is drawn.
    pub(crate) random: bool,
    /// The variable's name, empty when it has none.
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
    /// The input arc whose token goes on as it is, instead of a new one being written.
    pub(crate) forwards: Option<u16>,
    /// How many tokens are made; one where it says nothing.
    pub(crate) count: Option<Box<Value>>,
    pub(crate) delay: Option<Value>,
}

impl Output {
    /// The input arc of which all fields are a copy, in order.
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
    /// What the net is called.
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

    /// The most locals that a transition computes, and one more for the turn of an output arc.
    pub(crate) fn parameters_max(&self) -> usize {
        let locals = self.transitions.iter().map(|one| one.locals.len());
        locals.max().unwrap_or(0) + 1
    }

    /// Where a message says that something happened.
    pub(crate) fn context(&self, transition: usize) -> String {
        let transition = &self.transitions[transition];
        transition_context(&transition.page, &transition.name)
    }
}

/// The words that name a transition in every message.
pub(crate) fn transition_context(page: &str, name: &str) -> String {
    format!("page {page}, transition {name}")
}

/// The words that name an output arc in every message.
pub(crate) fn output_context(page: &str, name: &str, arc: usize, place: &str) -> String {
    format!(
        "{}, output arc {} to {place}",
        transition_context(page, name),
        arc + 1
    )
}
