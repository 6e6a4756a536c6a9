//! Compresses call trees into a profile. Trees with the same shape are stored once, with statistics
//! over all their calls.

pub(crate) mod hosts;
pub(crate) mod merged;
pub(crate) mod rank;
pub(crate) mod repeats;
pub(crate) mod shards;
pub(crate) mod statistics;

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::profile::hosts::{ByHost, Elsewhere, HostSums};
use crate::profile::repeats::Repeats;
use crate::profile::statistics::{lot_of_trace, Statistics};
use crate::selection::{add_left_out, AllLeftOut};
use crate::span::losses::SpanLosses;
use crate::span::sampling::ONE;
use crate::span::{TextId, Texts};
use crate::tree::shape::{Mixing, ShapeId, Shapes};
use crate::tree::{Forest, NONE};

/// Maximum number of nodes of a profile, which bounds the memory for very varied trees. When the
/// maximum is reached, further calls that need a new node are merged by name only. The nodes of
/// these calls have no parent.
const NODES_MAX: usize = 1 << 15;

const RECENT_PLACES: usize = 64;

/// A node of the compressed trees. The node stands for all calls that have the same shape and whose
/// callers belong to the same parent node.
#[derive(Clone, Debug)]
pub struct ProfileNode {
    /// The shape that the subtrees of all these calls have.
    pub shape: ShapeId,
    /// Index of the parent node, or `NONE` for a root. Parents precede their children.
    pub parent: u32,
    /// Whether the calls of this node are failed attempts that their caller retried.
    pub again: bool,
    /// Statistics over all calls of this node.
    pub statistics: Statistics,
    /// The host of the first call that was merged in this node.
    host: TextId,
    /// The distribution of the number of this node's calls within one call of the parent node.
    /// There is one observation for each call of the parent node.
    pub repeats: Repeats,
}

/// The key of a node among the children of its parent. The key is the number of the node's shape.
/// For failed attempts that were retried, the flag `AGAIN` is set in this number.
type Branch = u32;

/// The flag for retried attempts: a bit that is not used by the numbers of shapes.
const AGAIN: Branch = 1 << 31;

/// The number of recorded calls that have a sampling weight, and the smallest and largest weight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Sampled {
    /// Number of recorded calls with a weight.
    pub spans: u64,
    /// Smallest weight, in units of 2^-20.
    pub least: u64,
    /// Largest weight, in units of 2^-20.
    pub most: u64,
}

impl Sampled {
    fn take(&mut self, weight: u64) {
        self.merge(&Sampled {
            spans: 1,
            least: weight,
            most: weight,
        });
    }

    fn merge(&mut self, other: &Sampled) {
        if other.spans > 0 {
            let least = if self.spans == 0 {
                u64::MAX
            } else {
                self.least
            };
            self.least = least.min(other.least);
            self.most = self.most.max(other.most);
            self.spans += other.spans;
        }
    }
}

/// The tables of a profile as plain rows, to be sent to another process.
///
/// - A row of `shapes` has the name and the child shapes of one shape. Child shapes precede their
///   parents.
/// - A row of `nodes` describes one node: its key, its parent (an earlier node, or `NONE`), its
///   statistics, its repetitions and its first host (the host of its first call).
/// - A row of `elsewhere` has a node, a host other than the node's first host, and the sums over
///   this host's calls at the node.
#[derive(Clone, Deserialize, Serialize)]
pub struct ProfileTables {
    shapes: Vec<(TextId, Vec<ShapeId>)>,
    nodes: Vec<(Branch, u32, Statistics, Repeats, TextId)>,
    elsewhere: Vec<(u32, TextId, HostSums)>,
}

/// Call trees after the compression of Liu et al. 2018, section 2.2.
///
/// The paper merges twice, bottom up. First, it merges repeated subtrees of equal structure within
/// each tree. Then, it merges trees of equal structure. Under both merges, the node of a call
/// depends only on the shape of the call and the shapes of its ancestors. Once all shapes are
/// known, one pass from the root down can therefore add each span directly to its final node. No
/// intermediate trees are built.
///
/// A profile can be read as a grammar. A node is a rule with a name. Its children are the steps of
/// the rule, each with the distribution of its repetitions. Failed attempts are separate rules
/// (module `attempts`).
#[derive(Clone, Debug, Default)]
pub struct SpanProfile {
    /// Number of spans recorded.
    pub spans: u64,
    /// Number of trees recorded, before compression.
    pub trees: u64,
    /// Numbers of spans that reading and reconstruction repaired or dropped.
    pub losses: SpanLosses,
    /// The recorded calls that have a sampling weight.
    pub sampled: Sampled,
    /// The calls that the user's selection dropped, by rule.
    pub left_out: AllLeftOut,
    nodes: Vec<ProfileNode>,
    elsewhere: Elsewhere,
    places: HashMap<(u32, Branch), u32, Mixing>,
    shapes: Shapes,
    texts: Texts,
}

impl SpanProfile {
    /// Compresses the call trees of a forest.
    pub fn of(forest: &Forest) -> Self {
        let mut profile = Self::default();
        profile.record(forest, &forest.texts);
        profile.know(forest.texts.clone());
        profile
    }

    /// Adds the trees of a forest to the profile. The names of the calls are indices into the table
    /// `texts`. After the last forest, the caller must pass the complete table to `know`.
    pub(crate) fn record(&mut self, forest: &Forest, texts: &Texts) {
        self.spans += forest.spans.len() as u64;
        self.trees += forest.trees();
        self.losses.merge(&forest.losses);
        let shapes = self.shapes_of(forest, texts);
        let mut nodes = vec![NONE; forest.spans.len()];
        // Two caches. `lot` has the pseudo-random number of the latest trace. `recent` has the most
        // recently found nodes, since consecutive spans of a trace belong to few nodes.
        let mut lot = (0, lot_of_trace(0));
        let mut recent = [((NONE, NONE), (NONE, false)); RECENT_PLACES];
        for &index in &forest.order {
            let (at, parent) = (index as usize, forest.parents[index as usize]);
            let above = if parent == NONE {
                NONE
            } else {
                nodes[parent as usize]
            };
            let branch = shapes[at] | if forest.is_again(index) { AGAIN } else { 0 };
            let key = (above, branch);
            // Neighbouring nodes have consecutive indices; the hash distributes them over the
            // cache.
            let latest = &mut recent[(above.wrapping_mul(31) ^ branch) as usize % RECENT_PLACES];
            if latest.0 != key {
                *latest = (key, self.place(above, branch, texts));
            }
            let (node, merged) = latest.1;
            self.losses.merged_shapes += u64::from(merged);
            nodes[at] = node;
            let span = &forest.spans[at];
            let held = &mut self.nodes[node as usize];
            let statistics = &mut held.statistics;
            if statistics.count == 0 {
                held.host = span.host;
            } else if span.host != held.host {
                let share = HostSums::of(span, forest.self_ns[at]);
                self.losses.merged_hosts += self.elsewhere.add(node, span.host, &share);
            }
            if lot.0 != span.trace_id {
                lot = (span.trace_id, lot_of_trace(span.trace_id));
            }
            statistics.record(span, forest.self_ns[at], lot.1);
            let weight = texts.weight(span.sampling);
            if weight != ONE {
                statistics.weigh(span, forest.self_ns[at], weight);
                self.sampled.take(weight);
            }
        }
        self.count_repeats(forest, &nodes);
    }

    /// Counts, for each call, how many calls it makes at each child node, and adds these numbers to
    /// the distributions of the child nodes. `nodes` has the node of each span.
    fn count_repeats(&mut self, forest: &Forest, nodes: &[u32]) {
        let mut times = vec![0u64; self.nodes.len()];
        let mut met: Vec<u32> = Vec::new();
        for call in 0..nodes.len() as u32 {
            for &child in forest.children.get(call) {
                let place = nodes[child as usize];
                let observed = &mut times[place as usize];
                if *observed == 0 {
                    met.push(place);
                }
                *observed += 1;
            }
            for place in met.drain(..) {
                let observed = std::mem::take(&mut times[place as usize]);
                self.nodes[place as usize].repeats.record(observed);
            }
        }
    }

    /// Sets the table of texts. The names of all recorded calls are stored as numbers in this
    /// table.
    pub(crate) fn know(&mut self, texts: Texts) {
        self.texts = texts;
    }

    /// Returns the profile if it has any calls, or if no call was dropped.
    ///
    /// # Errors
    ///
    /// If the user's selection dropped all calls: one line with the number of these calls.
    pub fn some_kept(self) -> std::result::Result<Self, String> {
        if self.spans > 0 || self.left_out.is_empty() {
            return Ok(self);
        }
        let calls: u64 = self.left_out.values().map(|one| one.calls).sum();
        Err(format!("no call is kept: all {calls} are left out"))
    }

    /// Adds another profile. The result depends neither on the order nor on the grouping of merges.
    pub fn merge(&mut self, other: &SpanProfile) {
        self.spans += other.spans;
        self.trees += other.trees;
        self.losses.merge(&other.losses);
        self.sampled.merge(&other.sampled);
        add_left_out(&mut self.left_out, &other.left_out);
        let mut scratch = Vec::new();
        let mut shapes: Vec<ShapeId> = Vec::new();
        for shape in 0..other.shapes.count() {
            let name = self
                .texts
                .intern(other.texts.text(other.shapes.name(shape)));
            let below = other
                .shapes
                .children(shape)
                .iter()
                .map(|&child| shapes[child as usize]);
            let id = self.shapes.intern(name, below, &mut scratch, &self.texts);
            shapes.push(id);
        }
        let mut nodes: Vec<u32> = Vec::new();
        let mut by_host = other.by_host();
        for (node, by_host) in other.nodes.iter().zip(&mut by_host) {
            let above = if node.parent == NONE {
                NONE
            } else {
                nodes[node.parent as usize]
            };
            let texts = std::mem::take(&mut self.texts);
            let branch = shapes[node.shape as usize] | if node.again { AGAIN } else { 0 };
            let (place, merged) = self.place(above, branch, &texts);
            self.texts = texts;
            self.losses.merged_shapes += if merged { node.statistics.count } else { 0 };
            let mine = &mut self.nodes[place as usize];
            let first = self.texts.intern(other.texts.text(node.host));
            if mine.statistics.count == 0 {
                mine.host = first;
            }
            for (host, share) in std::mem::take(by_host) {
                let host = self.texts.intern(other.texts.text(host));
                if host != mine.host {
                    self.losses.merged_hosts += self.elsewhere.add(place, host, &share);
                }
            }
            mine.statistics.merge(&node.statistics);
            mine.repeats.merge(&node.repeats);
            nodes.push(place);
        }
    }

    /// Returns the tables of shapes and nodes as rows, for another process.
    pub(crate) fn tables(&self) -> ProfileTables {
        let shape = |shape| {
            (
                self.shapes.name(shape),
                self.shapes.children(shape).to_vec(),
            )
        };
        let node = |node: &ProfileNode| {
            let branch = node.shape | if node.again { AGAIN } else { 0 };
            let (statistics, repeats) = (node.statistics.clone(), node.repeats.clone());
            (branch, node.parent, statistics, repeats, node.host)
        };
        ProfileTables {
            shapes: (0..self.shapes.count()).map(shape).collect(),
            nodes: self.nodes.iter().map(node).collect(),
            elsewhere: self.elsewhere.rows(),
        }
    }

    /// Creates a profile from the output of the function `tables` of another profile. `texts` has
    /// the names. The new profile can only be merged into another profile.
    ///
    /// # Panics
    ///
    /// If the tables are not those of a profile.
    pub(crate) fn from_tables(tables: &ProfileTables, texts: Texts) -> Self {
        let (mut profile, mut scratch) = (Self::default(), Vec::new());
        let mut shapes: Vec<ShapeId> = Vec::new();
        for (name, below) in &tables.shapes {
            let known = below.iter().map(|&child| shapes[child as usize]);
            let id = profile.shapes.intern(*name, known, &mut scratch, &texts);
            shapes.push(id);
        }
        profile.elsewhere = Elsewhere::of(&tables.elsewhere);
        for (branch, parent, statistics, repeats, host) in &tables.nodes {
            profile.nodes.push(ProfileNode {
                shape: shapes[(branch & !AGAIN) as usize],
                parent: *parent,
                again: branch & AGAIN != 0,
                statistics: statistics.clone(),
                host: *host,
                repeats: repeats.clone(),
            });
        }
        profile.know(texts);
        profile
    }

    /// Returns the sums over the calls of each host, for each node in order. The first host of the
    /// node (the host of its first call) is included.
    pub fn by_host(&self) -> Vec<ByHost> {
        let mut others = self.elsewhere.by_place();
        let all = (0..).zip(&self.nodes);
        all.map(|(place, node)| {
            let mut found = others.remove(&place).unwrap_or_default();
            let own = node.statistics.share().without(found.values());
            found.insert(node.host, own);
            found
        })
        .collect()
    }

    /// Whether the profile has calls of more than one host.
    pub(crate) fn has_several_hosts(&self) -> bool {
        let alike = |pair: &[ProfileNode]| pair[0].host == pair[1].host;
        !self.elsewhere.is_empty() || !self.nodes.windows(2).all(alike)
    }

    /// The name of the host with this number.
    pub fn host(&self, host: TextId) -> &str {
        self.texts.text(host)
    }

    /// The table of all names.
    pub(crate) fn texts(&self) -> &Texts {
        &self.texts
    }

    /// The nodes of the profile; each follows its parent.
    pub fn nodes(&self) -> &[ProfileNode] {
        &self.nodes
    }

    /// The name of the calls of a node.
    pub fn name(&self, node: &ProfileNode) -> &str {
        self.texts.text(self.shapes.name(node.shape))
    }

    /// Returns a key for sorting those children of a node that have equal names. The key of a child
    /// is the same in every profile, unlike the indices of the nodes.
    pub fn order_key(&self, node: &ProfileNode) -> u64 {
        self.shapes.order_key(node.shape) ^ u64::from(node.again)
    }

    /// The number of trees in the profile, each with a different shape.
    pub fn tree_shapes(&self) -> u64 {
        self.nodes.iter().filter(|node| node.parent == NONE).count() as u64
    }

    fn shapes_of(&mut self, forest: &Forest, texts: &Texts) -> Vec<ShapeId> {
        let mut shapes = vec![NONE; forest.spans.len()];
        let mut scratch = Vec::new();
        for &node in forest.order.iter().rev() {
            let name = forest.spans[node as usize].name;
            let children = forest.children.get(node);
            // Most calls have no children, so their shape is found by name alone.
            if let (true, Some(leaf)) = (children.is_empty(), self.shapes.leaf(name)) {
                shapes[node as usize] = leaf;
                continue;
            }
            let below = children
                .iter()
                .filter(|&&child| !forest.is_again(child))
                .map(|&child| shapes[child as usize]);
            let id = self.shapes.intern(name, below, &mut scratch, texts);
            shapes[node as usize] = id;
        }
        shapes
    }

    /// Returns the child of the node `parent` with the key `branch`, and creates it if it does not
    /// exist. The result is (node, whether calls are merged by name only). If the profile has too
    /// many nodes to create the child, the returned node is a node without a parent, in which calls
    /// of this name are merged.
    fn place(&mut self, parent: u32, branch: Branch, texts: &Texts) -> (u32, bool) {
        let node = u32::try_from(self.nodes.len()).expect("fewer than 2^32 nodes");
        if let Some(&known) = self.places.get(&(parent, branch)) {
            return (known, false);
        }
        let mut key = (parent, branch);
        if self.nodes.len() >= NODES_MAX {
            let name = self.shapes.name(branch & !AGAIN);
            let nothing = std::iter::empty();
            let leaf = self.shapes.intern(name, nothing, &mut Vec::new(), texts);
            key = (NONE, leaf);
            if let Some(&known) = self.places.get(&key) {
                return (known, true);
            }
        }
        self.places.insert(key, node);
        let (parent, branch) = key;
        self.nodes.push(ProfileNode {
            shape: branch & !AGAIN,
            parent,
            again: branch & AGAIN != 0,
            statistics: Statistics::default(),
            host: 0,
            repeats: Repeats::default(),
        });
        (node, self.nodes.len() > NODES_MAX)
    }
}
