//! Finds a transition's first binding (one token for each input arc), in the order of its arcs, by
//! testing combinations of tokens.

use crate::compiled::{CompiledNet, Discipline};
use crate::expression::{evaluate, Fault};
use crate::marking::bucket::{Bucket, NONE};
use crate::marking::Marking;
use crate::stream::Stream;

/// Working memory of a search, reused so that searches do not allocate.
#[derive(Debug)]
pub(crate) struct Search {
    /// For each input arc, the token that is bound in the present combination.
    chosen: Vec<u32>,
    cursors: Vec<Cursor>,
    groups: Vec<((u64, u64), u32)>,
    best: Vec<u32>,
    unused_stream: Stream,
}

/// The position reached in enumerating the tokens of one input arc.
#[derive(Debug, Default)]
struct Cursor {
    /// The membership (node of a bucket) of the token that is tested; NONE when all tokens were
    /// tested.
    node: u32,
    /// The memberships (tokens' nodes) of a bucket that is a heap, in the order in which their
    /// tokens are taken. For a random place, the memberships in a drawn order, or none if the order
    /// of the bucket is kept. `at` is the position reached.
    sorted: Vec<u32>,
    at: usize,
}

impl Cursor {
    fn start(&mut self, bucket: &Bucket, discipline: Discipline) {
        self.at = 0;
        self.node = match discipline {
            Discipline::Random => self.of_random(bucket),
            Discipline::Least { .. } => {
                self.sorted.clear();
                bucket.sorted(&mut self.sorted);
                bucket.first()
            }
            _ => bucket.first(),
        };
    }

    fn advance(&mut self, bucket: &Bucket, marking: &Marking<'_>, discipline: Discipline) {
        self.at += 1;
        self.node = match discipline {
            Discipline::Random => self.of_random(bucket),
            Discipline::Least { .. } => self.sorted.get(self.at).copied().unwrap_or(NONE),
            _ => bucket.after(&marking.nodes, self.node),
        };
    }

    /// The membership at the position reached in the bucket of a random place; NONE after the last.
    fn of_random(&self, bucket: &Bucket) -> u32 {
        let order = match self.sorted.is_empty() {
            true => bucket.array(),
            false => &self.sorted,
        };
        order.get(self.at).copied().unwrap_or(NONE)
    }
}

impl Search {
    pub(crate) fn new(net: &CompiledNet) -> Self {
        let arcs = net
            .transitions
            .iter()
            .map(|t| t.inputs.len())
            .max()
            .unwrap_or(0);
        Self {
            chosen: vec![NONE; arcs],
            cursors: (0..arcs).map(|_| Cursor::default()).collect(),
            groups: Vec::new(),
            best: Vec::new(),
            unused_stream: Stream::new(0, 0, 0),
        }
    }

    /// Draws a binding of the transition and writes its tokens to `into`. For each arc from a
    /// random place, an order of the waiting tokens is drawn, each order equally likely. The
    /// binding is the first one by these orders. Returns false if there is no binding.
    pub(crate) fn draw(
        &mut self,
        net: &CompiledNet,
        marking: &Marking<'_>,
        transition: usize,
        stream: &mut Stream,
        into: &mut [u32],
    ) -> Result<bool, Fault> {
        let inputs = &net.transitions[transition].inputs;
        for (input, cursor) in inputs.iter().zip(&mut self.cursors) {
            cursor.sorted.clear();
            if input.random {
                let bucket = marking.bucket_of(input, None);
                cursor.sorted.extend_from_slice(bucket.array());
                for last in (1..cursor.sorted.len()).rev() {
                    cursor.sorted.swap(last, stream.below(last + 1));
                }
            }
        }
        self.first(net, marking, transition, into)
    }

    /// Writes the tokens of the transition's first binding to `into`, one for each input arc.
    /// Returns false if there is no binding. The tokens of random places have an arbitrary order.
    pub(crate) fn run(
        &mut self,
        net: &CompiledNet,
        marking: &Marking<'_>,
        transition: usize,
        into: &mut [u32],
    ) -> Result<bool, Fault> {
        self.cursors.iter_mut().for_each(|one| one.sorted.clear());
        self.first(net, marking, transition, into)
    }

    /// Does the search of `run` and `draw`. The cursors of random places have a drawn order or
    /// none.
    fn first(
        &mut self,
        net: &CompiledNet,
        marking: &Marking<'_>,
        transition: usize,
        into: &mut [u32],
    ) -> Result<bool, Fault> {
        let definition = &net.transitions[transition];
        if definition.joined.is_empty() {
            let found = self.nested(net, marking, transition, None)?;
            into.copy_from_slice(&self.chosen[..definition.inputs.len()]);
            return Ok(found);
        }
        self.groups.clear();
        self.groups.extend(marking.ready(transition));
        self.groups.sort_unstable();
        let lead = net.views[definition.inputs[0].view as usize].discipline;
        let mut best = (u64::MAX, u64::MAX);
        self.best.clear();
        for index in 0..self.groups.len() {
            let (rank, group) = self.groups[index];
            // A group has joined tokens with equal keys. The groups are sorted by rank, which is
            // the sort key of their first token. No binding of this group or of a later group
            // therefore comes before the best binding found so far.
            if rank > best {
                break;
            }
            if self.nested(net, marking, transition, Some(group))? {
                let token = self.chosen[0];
                let arrival = marking.nodes.tokens[token as usize].arrival;
                let rank = crate::marking::bucket::rank_of(lead, marking.row(token), arrival);
                if rank < best {
                    best = rank;
                    self.best.clear();
                    self.best.extend(&self.chosen[..definition.inputs.len()]);
                }
            }
        }
        if self.best.is_empty() {
            return Ok(false);
        }
        into.copy_from_slice(&self.best);
        Ok(true)
    }

    /// Tests combinations of tokens until one meets all conditions. The token of the last arc
    /// changes most often. For joined arcs, only the tokens of `group` are tried.
    fn nested(
        &mut self,
        net: &CompiledNet,
        marking: &Marking<'_>,
        transition: usize,
        group: Option<u32>,
    ) -> Result<bool, Fault> {
        let definition = &net.transitions[transition];
        let arcs = definition.inputs.len();
        let look = |arc: usize| {
            let input = &definition.inputs[arc];
            (
                marking.bucket_of(input, group),
                net.views[input.view as usize].discipline,
            )
        };
        let mut arc = 0;
        let (bucket, discipline) = look(arc);
        self.cursors[arc].start(bucket, discipline);
        loop {
            let node = self.cursors[arc].node;
            if node == NONE {
                if arc == 0 {
                    return Ok(false);
                }
                arc -= 1;
            } else {
                let token = marking.nodes.token_of(node);
                self.chosen[arc] = token;
                let distinct = !self.chosen[..arc].contains(&token);
                if distinct && self.holds(net, marking, transition, arc)? {
                    arc += 1;
                    if arc == arcs {
                        return Ok(true);
                    }
                    let (bucket, discipline) = look(arc);
                    self.cursors[arc].start(bucket, discipline);
                    continue;
                }
            }
            let (bucket, discipline) = look(arc);
            self.cursors[arc].advance(bucket, marking, discipline);
        }
    }

    /// Tests the conditions whose last input arc is `arc`. Once `arc` has a token, all tokens that
    /// these conditions read are chosen. Conditions whose last arc is an earlier one were tested
    /// before.
    fn holds(
        &mut self,
        net: &CompiledNet,
        marking: &Marking<'_>,
        transition: usize,
        arc: usize,
    ) -> Result<bool, Fault> {
        for residual in &net.transitions[transition].residual {
            if residual.last_arc as usize != arc {
                continue;
            }
            let binding = marking.binding(&self.chosen);
            if evaluate(&residual.code, binding, &mut self.unused_stream)? == 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
