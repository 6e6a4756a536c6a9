//! The compressed profile: every shape of call tree once, with the statistics of all its calls.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::losses::Losses;
use crate::sampling::ONE;
use crate::shape::{Mixing, ShapeId, Shapes};
use crate::span::{TextId, Texts};
use crate::statistics::Statistics;
use crate::tree::{Forest, NONE};

/// So many places are kept apart; calls beyond are merged by their name alone, at the top, so that
/// endlessly varied trees do not fill the memory.
const NODES_MAX: usize = 1 << 15;

const RECENT_PLACES: usize = 64;

/// One place in the compressed trees.
#[derive(Clone, Debug)]
pub struct Node {
    /// The shape of every subtree merged here.
    pub shape: ShapeId,
    /// The node above, or `NONE` at the top; it comes earlier in the list.
    pub parent: u32,
    /// The calls merged here.
    pub statistics: Statistics,
}

/// How many recorded calls stand for more than themselves, and for how many at least and at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Sampled {
    /// Recorded calls.
    pub spans: u64,
    /// In units of 2^-20.
    pub least: u64,
    /// In units of 2^-20.
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

/// A profile's tables as plain rows: each shape's name and the shapes below it, which stand before
/// it; each node's shape, the node above (before it, or `NONE`) and statistics.
#[derive(Clone, Deserialize, Serialize)]
pub struct Rows {
    shapes: Vec<(TextId, Vec<ShapeId>)>,
    nodes: Vec<(ShapeId, u32, Statistics)>,
}

/// Call trees after the compression of Liu et al. 2018, section 2.2.
///
/// The paper merges, from the bottom up, repeated same-structure subtrees inside each tree, and
/// then trees of the same structure. Both merges send a call to the node that its ancestors'
/// shapes lead to, so knowing every shape first, one walk down records each span exactly once
/// where both merges would have left it, and no intermediate tree is built.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// Spans recorded.
    pub spans: u64,
    /// Trees recorded, before compression.
    pub trees: u64,
    /// What was repaired or dropped on the way.
    pub losses: Losses,
    /// The recorded calls that stand for more than themselves.
    pub sampled: Sampled,
    nodes: Vec<Node>,
    places: HashMap<(u32, ShapeId), u32, Mixing>,
    shapes: Shapes,
    texts: Texts,
}

impl Profile {
    /// Compresses a forest.
    pub fn of(forest: &Forest) -> Self {
        let mut profile = Self::default();
        profile.record(forest, &forest.texts);
        profile.know(forest.texts.clone());
        profile
    }

    /// Adds the trees of a forest whose names are in `texts`, which `know` tells at the end.
    pub(crate) fn record(&mut self, forest: &Forest, texts: &Texts) {
        self.spans += forest.spans.len() as u64;
        self.trees += forest.trees();
        self.losses.merge(&forest.losses);
        let shapes = self.shapes_of(forest, texts);
        let mut nodes = vec![NONE; forest.spans.len()];
        // A trace alternates between few places.
        let mut recent = [((NONE, NONE), (NONE, false)); RECENT_PLACES];
        for &index in &forest.order {
            let (at, parent) = (index as usize, forest.parents[index as usize]);
            let above = if parent == NONE {
                NONE
            } else {
                nodes[parent as usize]
            };
            let key = (above, shapes[at]);
            let latest = &mut recent[(above ^ shapes[at]) as usize % RECENT_PLACES];
            if latest.0 != key {
                *latest = (key, self.place(above, shapes[at], texts));
            }
            let (node, merged) = latest.1;
            self.losses.merged_shapes += u64::from(merged);
            nodes[at] = node;
            let statistics = &mut self.nodes[node as usize].statistics;
            statistics.record(&forest.spans[at], forest.self_ns[at]);
            let weight = texts.weight(forest.spans[at].sampling);
            if weight != ONE {
                statistics.weigh(&forest.spans[at], forest.self_ns[at], weight);
                self.sampled.take(weight);
            }
        }
    }

    /// Tells the names of everything recorded.
    pub(crate) fn know(&mut self, texts: Texts) {
        self.texts = texts;
    }

    /// Adds another profile; any order and grouping of merges gives the same profile.
    pub fn merge(&mut self, other: &Profile) {
        self.spans += other.spans;
        self.trees += other.trees;
        self.losses.merge(&other.losses);
        self.sampled.merge(&other.sampled);
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
        for node in &other.nodes {
            let above = if node.parent == NONE {
                NONE
            } else {
                nodes[node.parent as usize]
            };
            let texts = std::mem::take(&mut self.texts);
            let (place, merged) = self.place(above, shapes[node.shape as usize], &texts);
            self.texts = texts;
            self.losses.merged_shapes += if merged { node.statistics.count } else { 0 };
            self.nodes[place as usize]
                .statistics
                .merge(&node.statistics);
            nodes.push(place);
        }
    }

    /// The tables of shapes and nodes.
    pub(crate) fn rows(&self) -> Rows {
        let shape = |shape| {
            (
                self.shapes.name(shape),
                self.shapes.children(shape).to_vec(),
            )
        };
        let node = |node: &Node| (node.shape, node.parent, node.statistics.clone());
        Rows {
            shapes: (0..self.shapes.count()).map(shape).collect(),
            nodes: self.nodes.iter().map(node).collect(),
        }
    }

    /// A profile of such tables, whose names are in `texts`; only to be merged into another.
    ///
    /// # Panics
    /// If the tables are not those of a profile.
    pub(crate) fn from_rows(rows: &Rows, texts: Texts) -> Self {
        let (mut profile, mut scratch) = (Self::default(), Vec::new());
        let mut shapes: Vec<ShapeId> = Vec::new();
        for (name, below) in &rows.shapes {
            let known = below.iter().map(|&child| shapes[child as usize]);
            let id = profile.shapes.intern(*name, known, &mut scratch, &texts);
            shapes.push(id);
        }
        for (shape, parent, statistics) in &rows.nodes {
            profile.nodes.push(Node {
                shape: shapes[*shape as usize],
                parent: *parent,
                statistics: statistics.clone(),
            });
        }
        profile.know(texts);
        profile
    }

    /// The names.
    pub(crate) fn texts(&self) -> &Texts {
        &self.texts
    }

    /// The nodes, each behind its parent.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The call's name at a node.
    pub fn name(&self, node: &Node) -> &str {
        self.texts.text(self.shapes.name(node.shape))
    }

    /// A number that orders siblings of one name alike in every profile.
    pub fn order_key(&self, node: &Node) -> u64 {
        self.shapes.order_key(node.shape)
    }

    /// The number of trees after compression.
    pub fn tree_shapes(&self) -> u64 {
        self.nodes.iter().filter(|node| node.parent == NONE).count() as u64
    }

    fn shapes_of(&mut self, forest: &Forest, texts: &Texts) -> Vec<ShapeId> {
        let mut shapes = vec![NONE; forest.spans.len()];
        let mut scratch = Vec::new();
        for &node in forest.order.iter().rev() {
            let name = forest.spans[node as usize].name;
            let below = forest
                .children
                .get(node)
                .iter()
                .map(|&child| shapes[child as usize]);
            let id = self.shapes.intern(name, below, &mut scratch, texts);
            shapes[node as usize] = id;
        }
        shapes
    }

    /// The node for a shape below another, and whether it stands for all of its name because
    /// there are too many nodes.
    fn place(&mut self, parent: u32, shape: ShapeId, texts: &Texts) -> (u32, bool) {
        let node = u32::try_from(self.nodes.len()).expect("fewer than 2^32 nodes");
        if let Some(&known) = self.places.get(&(parent, shape)) {
            return (known, false);
        }
        let mut key = (parent, shape);
        if self.nodes.len() >= NODES_MAX {
            let name = self.shapes.name(shape);
            let nothing = std::iter::empty();
            let leaf = self.shapes.intern(name, nothing, &mut Vec::new(), texts);
            key = (NONE, leaf);
            if let Some(&known) = self.places.get(&key) {
                return (known, true);
            }
        }
        self.places.insert(key, node);
        let statistics = Statistics::default();
        let (parent, shape) = key;
        self.nodes.push(Node {
            shape,
            parent,
            statistics,
        });
        (node, self.nodes.len() > NODES_MAX)
    }
}
