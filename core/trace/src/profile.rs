//! The compressed profile: every shape of call tree once, with the statistics of all its calls.

use std::collections::HashMap;

use crate::losses::Losses;
use crate::shape::{ShapeId, Shapes};
use crate::span::Texts;
use crate::statistics::Statistics;
use crate::tree::{Forest, NONE};

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
    nodes: Vec<Node>,
    places: HashMap<(u32, ShapeId), u32>,
    shapes: Shapes,
    texts: Texts,
}

impl Profile {
    /// Compresses a forest.
    pub fn of(forest: &Forest) -> Self {
        let mut profile = Self {
            spans: forest.spans.len() as u64,
            trees: forest.trees(),
            losses: forest.losses.clone(),
            texts: forest.texts.clone(),
            ..Self::default()
        };
        let shapes = profile.shapes_of(forest);
        let mut nodes = vec![NONE; forest.spans.len()];
        let mut latest = ((NONE, NONE), NONE);
        for &index in &forest.order {
            let (at, parent) = (index as usize, forest.parents[index as usize]);
            let above = if parent == NONE {
                NONE
            } else {
                nodes[parent as usize]
            };
            let key = (above, shapes[at]);
            if latest.0 != key {
                latest = (key, profile.place(above, shapes[at]));
            }
            nodes[at] = latest.1;
            let statistics = &mut profile.nodes[latest.1 as usize].statistics;
            statistics.record(&forest.spans[at], forest.self_ns[at]);
        }
        profile
    }

    /// Adds another profile; any order and grouping of merges gives the same profile.
    pub fn merge(&mut self, other: &Profile) {
        self.spans += other.spans;
        self.trees += other.trees;
        self.losses.merge(&other.losses);
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
            let place = self.place(above, shapes[node.shape as usize]);
            self.nodes[place as usize]
                .statistics
                .merge(&node.statistics);
            nodes.push(place);
        }
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

    fn shapes_of(&mut self, forest: &Forest) -> Vec<ShapeId> {
        let mut shapes = vec![NONE; forest.spans.len()];
        let mut scratch = Vec::new();
        for &node in forest.order.iter().rev() {
            let name = forest.spans[node as usize].name;
            let below = forest
                .children
                .get(node)
                .iter()
                .map(|&child| shapes[child as usize]);
            let id = self.shapes.intern(name, below, &mut scratch, &self.texts);
            shapes[node as usize] = id;
        }
        shapes
    }

    fn place(&mut self, parent: u32, shape: ShapeId) -> u32 {
        *self.places.entry((parent, shape)).or_insert_with(|| {
            let node = u32::try_from(self.nodes.len()).expect("fewer than 2^32 nodes");
            self.nodes.push(Node {
                shape,
                parent,
                statistics: Statistics::default(),
            });
            node
        })
    }
}
