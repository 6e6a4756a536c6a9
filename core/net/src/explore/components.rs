//! The graph of the strongly connected components (SCCs) of a state space. Its nodes are the
//! components; its arcs are the firings that lead from one component to another.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use petgraph::algo::kosaraju_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::EdgeRef;

use super::code::places_of;
use super::{rows_of, Ground};
use crate::answer::{SccArc, SccGraph, SccNode};

/// Largest number of components whose graph is reported. If there are more, the report has no
/// graph.
const COMPONENTS_SHOWN_MAX: usize = 2_000;

/// The strongly connected components of a state space. They are in the order in which a
/// breadth-first search reaches their first markings, so the initial marking is in component 0.
pub(super) struct Components {
    /// The markings of each component in ascending order.
    pub(super) members: Vec<Vec<usize>>,
    /// The component of each marking.
    pub(super) of_marking: Vec<usize>,
    /// Number of firings within each component.
    within: Vec<usize>,
    /// For each pair of components (from, to): the number of firings that lead from the first to
    /// the second, and the transitions that fire.
    arcs: BTreeMap<(usize, usize), (usize, BTreeSet<usize>)>,
    /// For each component, whether no firing leads out of it.
    pub(super) is_terminal: Vec<bool>,
}

impl Components {
    /// Finds the components of a graph whose nodes are markings, and whose edges are firings with
    /// the index of the transition.
    pub(super) fn of(graph: &DiGraph<(), usize>) -> Self {
        let index = |node: &NodeIndex| node.index();
        let mut members: Vec<Vec<usize>> = kosaraju_scc(graph)
            .iter()
            .map(|nodes| nodes.iter().map(index).collect())
            .collect();
        members.iter_mut().for_each(|one| one.sort_unstable());
        members.sort_unstable_by_key(|one| one[0]);
        let mut of_marking = vec![0; graph.node_count()];
        for (at, markings) in members.iter().enumerate() {
            markings.iter().for_each(|&one| of_marking[one] = at);
        }
        let mut found = Self {
            within: vec![0; members.len()],
            is_terminal: vec![true; members.len()],
            arcs: BTreeMap::new(),
            members,
            of_marking,
        };
        for edge in graph.edge_references() {
            let from = found.of_marking[edge.source().index()];
            let to = found.of_marking[edge.target().index()];
            if from == to {
                found.within[from] += 1;
                continue;
            }
            found.is_terminal[from] = false;
            let arc = found.arcs.entry((from, to)).or_default();
            arc.0 += 1;
            arc.1.insert(*edge.weight());
        }
        found
    }

    /// The indices of the terminal components.
    pub(super) fn terminal(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.members.len()).filter(|&at| self.is_terminal[at])
    }

    /// The component whose markings are the home markings: the only terminal component. None if
    /// several components are terminal.
    pub(super) fn home(&self) -> Option<usize> {
        let mut terminal = self.terminal();
        let first = terminal.next();
        first.filter(|_| terminal.next().is_none())
    }

    /// The graph; None if it has more than `COMPONENTS_SHOWN_MAX` components.
    pub(super) fn graph(&self, net: Ground<'_>, markings: &[Rc<[u8]>]) -> Option<SccGraph> {
        if self.members.len() > COMPONENTS_SHOWN_MAX {
            return None;
        }
        let home = self.home();
        let node = |at: usize| {
            let members = &self.members[at];
            SccNode {
                markings: members.len(),
                firings: self.within[at],
                terminal: self.is_terminal[at],
                trivial: members.len() == 1 && self.within[at] == 0,
                home: home == Some(at),
                first_marking: rows_of(net, &places_of(&net, &markings[members[0]])),
            }
        };
        let arc = |((from, to), (firings, names)): (&(usize, usize), &(usize, BTreeSet<usize>))| {
            let names = names.iter().map(|&at| &net.net.transitions[at].name);
            SccArc {
                source: *from,
                target: *to,
                firings: *firings,
                transitions: names.cloned().collect(),
            }
        };
        Some(SccGraph {
            nodes: (0..self.members.len()).map(node).collect(),
            arcs: self.arcs.iter().map(arc).collect(),
        })
    }
}
