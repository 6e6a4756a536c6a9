//! Clusters: groups of transitions that share input places. The waiting tokens of a cluster are
//! stored together.

/// Largest number of lanes (first-in first-out lists of tokens) in a cell of a cluster. With this
/// limit, a cell with its lanes fits into one cache line.
pub(crate) const LANES_MAX: usize = 6;

/// Largest number of transitions of a cluster. A set of these transitions is stored as 32 bits, one
/// for each transition.
pub(crate) const MEMBERS_MAX: usize = 32;

/// A cluster: a group of transitions that share input places, together with these places. Two
/// transitions are also in one cluster if a chain of transitions connects them: each transition of
/// the chain shares an input place with the next one. A place belongs to at most one cluster.
///
/// The waiting tokens of a cluster are stored in cells. The tokens of one cell have the same key
/// (the values of the joined fields). Within a cell, tokens wait in lanes (first-in first-out
/// lists).
#[derive(Debug, Default)]
pub(crate) struct Cluster {
    pub(crate) members: Vec<Member>,
    /// For each lane, the members that take tokens from it, as a set of bits.
    pub(crate) takers: [u32; LANES_MAX],
    /// For each lane, the members whose first input arc takes tokens from it, as a set of bits.
    pub(crate) led: [u32; LANES_MAX],
}

/// A transition as a member of its cluster.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) transition: u32,
    /// For each input arc, the lanes from which it takes tokens, as a set of bits.
    pub(crate) arcs: Box<[u32]>,
}
