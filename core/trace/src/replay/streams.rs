//! Finds repeated segments on a tree's lanes, whose dependencies can be inferred.

use std::collections::BTreeMap;

use super::lanes::{Kind, Lanes};
use crate::tree::{Forest, NONE};

/// Lane, service, name, the name of the next call, and whether the call is a separate one.
pub type StreamKey = (u32, u32, u32, u32, bool);

/// Similar segments of one tree and lane, in order of time.
pub struct Stream {
    /// The lane of the segments.
    pub lane: u32,
    /// The type of the first segment.
    pub kind: Kind,
    /// The segments, by index.
    pub segments: Vec<u32>,
}

/// The pieces of each tree that repeat: before a call of one name, inside a call of one name.
pub fn streams_of(
    forest: &Forest,
    lanes: &Lanes,
    roots: &[u32],
) -> BTreeMap<u32, BTreeMap<StreamKey, Stream>> {
    let mut streams: BTreeMap<u32, BTreeMap<StreamKey, Stream>> = BTreeMap::new();
    for (at, segment) in lanes.segments.iter().enumerate() {
        if segment.kind == Kind::Joined {
            continue;
        }
        let own = segment.span as usize;
        // A wait stands for the pause of the call around it.
        let inside = segment.kind == Kind::Wait && lanes.is_nested(segment.span);
        let around = if inside {
            forest.parents[own] as usize
        } else {
            own
        };
        let span = &forest.spans[around];
        let next = lanes.segments.get(at + 1);
        let next = next.filter(|next| next.lane == segment.lane);
        let towards = next.map_or(NONE, |next| forest.spans[next.span as usize].name);
        let leaf = segment.kind == Kind::Leaf;
        let key = (segment.lane, span.service, span.name, towards, leaf);
        let of_tree = streams.entry(roots[own]).or_default();
        let stream = of_tree.entry(key).or_insert_with(|| Stream {
            lane: segment.lane,
            kind: segment.kind,
            segments: Vec::new(),
        });
        stream.segments.push(at as u32);
    }
    streams
}

/// The root of each span's tree.
pub fn roots_of(forest: &Forest) -> Vec<u32> {
    let mut roots = vec![NONE; forest.spans.len()];
    for &node in &forest.order {
        let parent = forest.parents[node as usize];
        roots[node as usize] = if parent == NONE {
            node
        } else {
            roots[parent as usize]
        };
    }
    roots
}
