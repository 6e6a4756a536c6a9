//! Finds series of similar segments on a logical thread of a call tree, so that their dependencies
//! can be inferred. A segment is a time interval of one call on one logical thread.

use std::collections::BTreeMap;

use super::logical_threads::{Kind, LogicalThreads};
use crate::tree::{Forest, NONE};

/// The key of a stream, as (logical thread, service, name, next name, whether each segment is a
/// whole call without children). `service` and `name` are those of the calls to which the segments
/// belong. `next name` is the name of the next call on the logical thread; `NONE` if there is none.
pub type StreamKey = (u32, u32, u32, u32, bool);

/// Similar segments of one tree and logical thread, in order of time.
pub struct SegmentStream {
    /// Number of the logical thread of the segments.
    pub thread: u32,
    /// The type of the first segment of the stream.
    pub kind: Kind,
    /// Indices of the segments.
    pub segments: Vec<u32>,
}

/// Groups the segments of each tree into streams. The segments of a stream have equal keys
/// (`StreamKey`): they belong to calls of one name, and each is followed on its logical thread by a
/// call of the same next name. Segments that are known to wait for a call are omitted. Returns a
/// map from the index of each tree's root to the tree's streams, by key.
pub fn streams_of(
    forest: &Forest,
    threads: &LogicalThreads,
    roots: &[u32],
) -> BTreeMap<u32, BTreeMap<StreamKey, SegmentStream>> {
    let mut streams: BTreeMap<u32, BTreeMap<StreamKey, SegmentStream>> = BTreeMap::new();
    for (at, segment) in threads.segments.iter().enumerate() {
        if segment.kind == Kind::Joined {
            continue;
        }
        let own = segment.span as usize;
        // A wait within a call counts as a pause of this call.
        let inside = segment.kind == Kind::Wait && threads.is_nested(segment.span);
        let around = if inside {
            forest.parents[own] as usize
        } else {
            own
        };
        let span = &forest.spans[around];
        let next = threads.segments.get(at + 1);
        let next = next.filter(|next| next.thread == segment.thread);
        let towards = next.map_or(NONE, |next| forest.spans[next.span as usize].name);
        let leaf = segment.kind == Kind::Leaf;
        let key = (segment.thread, span.service, span.name, towards, leaf);
        let of_tree = streams.entry(roots[own]).or_default();
        let stream = of_tree.entry(key).or_insert_with(|| SegmentStream {
            thread: segment.thread,
            kind: segment.kind,
            segments: Vec::new(),
        });
        stream.segments.push(at as u32);
    }
    streams
}

/// Returns the index of the root of each span's tree.
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
