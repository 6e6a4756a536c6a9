//! Computes the state space of a net: every marking that can be reached if time is ignored, and the
//! properties that follow from these markings.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::atomic::AtomicBool;

use petgraph::graph::{DiGraph, NodeIndex};
use serde_json::Value as Json;

use super::code::{code_of, places_of};
use super::components::Components;
use super::{choices, draws, first_places, rows_of, take, Ground, Places};
use crate::answer::{json, StateSpace, StoppedAt};
use crate::compiled::CompiledNet;
use crate::error::{NetError, Result};
use crate::stream::Stream;

/// Largest number of dead markings (in which nothing can fire) that a report shows. All dead
/// markings are counted.
const SHOWN_MAX: usize = 10;

/// Largest size of all stored markings together, in bytes. In a net whose places grow without
/// bound, the markings become longer and longer. The exploration of such a net reaches this limit
/// long before it would reach a limit of the number of markings.
const BYTES_MAX: usize = 1 << 28;

/// The state space as a graph. Its nodes are markings. Its edges are firings, each with the index
/// of the transition.
struct Space {
    /// The markings as `code_of` encodes them.
    markings: Vec<Rc<[u8]>>,
    graph: DiGraph<(), usize>,
    /// For each marking, the marking from which it was first reached, and the transition that
    /// fired. The search is breadth first, so the steps from the initial marking to any marking
    /// form a shortest path.
    reached: Vec<Option<(usize, usize)>>,
    /// The limit that ended the exploration. None if every marking was explored.
    stopped_at: Option<StoppedAt>,
    /// For each place, the smallest number of tokens, and the largest number with the first marking
    /// that has it.
    bounds: Vec<(usize, (usize, usize))>,
}

/// Explores at most `markings_max` markings and reports on them as JSON. Delays are ignored. The
/// state space therefore contains every order of firings that is possible with some delays.
/// Priorities are respected. A caller that sets `stop` ends the exploration with an error.
pub fn state_space(net: &CompiledNet, markings_max: usize, stop: &AtomicBool) -> Result<Json> {
    refuse_draws(net)?;
    let lists = RefCell::new(net.lists.clone());
    let ground = Ground {
        net,
        lists: &lists,
        now_ns: 0,
        stop,
    };
    let space = explore(ground, (markings_max, BYTES_MAX))?;
    let places = || net.places.iter().zip(&space.bounds);
    let fullest = places().map(|(place, (_, most))| (place.name.clone(), space.path(net, most.1)));
    let bounds = places().map(|(place, (least, most))| (place.name.clone(), (*least, most.0)));
    let mut report = StateSpace {
        net: net.name().to_owned(),
        paths_to_most: fullest.collect(),
        complete: space.stopped_at.is_none(),
        stopped_at: space.stopped_at,
        markings: space.markings.len(),
        arcs: space.graph.edge_count(),
        bounds: bounds.collect(),
        ..StateSpace::default()
    };
    if space.stopped_at.is_none() {
        properties(ground, &space, &mut report);
    }
    Ok(json(report))
}

fn refuse_draws(net: &CompiledNet) -> Result<()> {
    for (index, transition) in net.transitions.iter().enumerate() {
        let outputs = transition.outputs.iter();
        let made = outputs.flat_map(|arc| arc.fields.iter().chain(arc.count.as_deref()));
        if made
            .chain(&transition.locals)
            .any(|value| draws(net, value))
        {
            let reason =
                "an output token is drawn at random, or of the clock; a state space has neither";
            return Err(NetError::input(net.context(index), reason));
        }
    }
    Ok(())
}

/// Explores the markings until there are no more, or until a limit is reached. The limits are
/// (largest number of markings, largest size of all markings in bytes).
fn explore(net: Ground<'_>, (markings_max, bytes_max): (usize, usize)) -> Result<Space> {
    let mut space = Space {
        markings: Vec::new(),
        graph: DiGraph::new(),
        reached: Vec::new(),
        stopped_at: None,
        bounds: vec![(usize::MAX, (0, 0)); net.places.len()],
    };
    let mut known: HashMap<Rc<[u8]>, NodeIndex> = HashMap::new();
    let mut first = first_places(&net);
    first.iter_mut().for_each(|bag| bag.sort());
    let code: Rc<[u8]> = code_of(&first).into();
    let mut bytes = code.len();
    known.insert(Rc::clone(&code), space.add(&first, code, None));
    let mut at = 0;
    while at < space.markings.len() {
        let marking = places_of(&net, &space.markings[at]);
        for choice in choices(net, &marking)? {
            let mut next = marking.clone();
            let made = take(net, &mut next, &choice, &mut Stream::new(0, 0, 0))?;
            for (place, row, _) in made {
                next[place].insert(row);
            }
            let code = code_of(&next);
            let node = match known.get(&code[..]) {
                Some(&node) => node,
                None => {
                    bytes += code.len();
                    space.stopped_at =
                        limit(space.markings.len() >= markings_max, bytes > bytes_max);
                    if space.stopped_at.is_some() {
                        return Ok(space);
                    }
                    let code: Rc<[u8]> = code.into();
                    let node = space.add(&next, Rc::clone(&code), Some((at, choice.transition)));
                    known.insert(code, node);
                    node
                }
            };
            let from = NodeIndex::new(at);
            space.graph.add_edge(from, node, choice.transition);
        }
        at += 1;
    }
    Ok(space)
}

fn limit(is_full: bool, is_large: bool) -> Option<StoppedAt> {
    match (is_full, is_large) {
        (true, _) => Some(StoppedAt::Markings),
        (false, true) => Some(StoppedAt::Memory),
        (false, false) => None,
    }
}

impl Space {
    /// Adds a marking, and the firing that reaches the marking first.
    fn add(&mut self, places: &Places, code: Rc<[u8]>, by: Option<(usize, usize)>) -> NodeIndex {
        let at = self.markings.len();
        for (bound, bag) in self.bounds.iter_mut().zip(places) {
            let count = bag.len();
            bound.0 = bound.0.min(count);
            if at == 0 || count > bound.1 .0 {
                bound.1 = (count, at);
            }
        }
        self.markings.push(code);
        self.reached.push(by);
        self.graph.add_node(())
    }

    /// The names of the transitions on a shortest path from the initial marking to the marking
    /// `to`.
    fn path(&self, net: &CompiledNet, to: usize) -> Vec<String> {
        let (mut path, mut at) = (Vec::new(), to);
        while let Some((before, transition)) = self.reached[at] {
            path.push(net.transitions[transition].name.clone());
            at = before;
        }
        path.reverse();
        path
    }
}

/// Adds to the report the properties that only a complete state space shows: dead and home
/// markings, and live transitions.
fn properties(net: Ground<'_>, space: &Space, report: &mut StateSpace) {
    let graph = &space.graph;
    let dead: Vec<usize> = graph
        .node_indices()
        .filter(|&node| graph.edges(node).next().is_none())
        .map(NodeIndex::index)
        .collect();
    let components = Components::of(graph);
    let fires_in = |members: &[usize]| -> HashSet<usize> {
        let nodes = members.iter().map(|&at| NodeIndex::new(at));
        let edges = nodes.flat_map(|node| graph.edges(node));
        edges.map(|edge| *edge.weight()).collect()
    };
    let last: Vec<HashSet<usize>> = components
        .terminal()
        .map(|at| fires_in(&components.members[at]))
        .collect();
    let ever: HashSet<usize> = graph.edge_weights().copied().collect();
    let names = |keep: &dyn Fn(usize) -> bool| -> Vec<String> {
        let kept = net
            .transition_names()
            .enumerate()
            .filter(|entry| keep(entry.0));
        kept.map(|entry| entry.1.to_owned()).collect()
    };
    // A home marking can be reached from every marking. If exactly one strongly connected component
    // has no edge that leaves it, the home markings are its markings. Otherwise there are no home
    // markings.
    let home = components.home().map(|at| components.members[at].len());
    let shown = dead.iter().take(SHOWN_MAX);
    let paths = shown.clone().map(|&at| space.path(&net, at)).collect();
    let marking = |&at: &usize| rows_of(net, &places_of(&net, &space.markings[at]));
    let markings = shown.map(marking).collect();
    report.components = Some(components.members.len());
    report.dead_markings = Some(dead.len());
    report.dead_markings_shown = Some(markings);
    report.dead_paths_shown = Some(paths);
    report.home_markings = Some(home.unwrap_or(0));
    report.scc_graph = components.graph(net, &space.markings);
    report.dead_transitions = Some(names(&|at| !ever.contains(&at)));
    report.live_transitions = Some(names(&|at| last.iter().all(|set| set.contains(&at))));
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::sync::atomic::AtomicBool;

    use super::{explore, state_space, Ground};
    use crate::answer::StoppedAt;
    use crate::compiled::CompiledNet;

    /// A net that puts a token of a new colour into the place `full` at each firing.
    fn growing() -> CompiledNet {
        let text = r#"{"name": "growing", "colours": {"job": [["id", "int"]]},
            "places": [{"name": "next", "colour": "job", "initial": [[0]]},
                       {"name": "full", "colour": "job"}],
            "transitions": [{"name": "arrive", "in": [{"place": "next", "var": "j"}],
                "out": [{"place": "next", "token": ["j.id + 1"]},
                        {"place": "full", "token": "j"}]}]}"#;
        let net = crate::NetDefinition::from_json(text).expect("a net");
        crate::compile(net).expect("a valid net")
    }

    #[test]
    fn markings_that_grow_end_at_the_limit_of_memory() {
        let net = growing();
        let lists = RefCell::new(net.lists.clone());
        let ground = Ground {
            net: &net,
            lists: &lists,
            now_ns: 0,
            stop: &AtomicBool::new(false),
        };
        let space = explore(ground, (1_000_000, 10_000)).expect("no error");
        assert_eq!(space.stopped_at, Some(StoppedAt::Memory));
        assert!(space.markings.len() < 100, "{}", space.markings.len());
        let space = explore(ground, (7, 10_000)).expect("no error");
        assert_eq!(space.stopped_at, Some(StoppedAt::Markings));
        assert_eq!(space.bounds, [(1, (1, 0)), (0, (6, 6))]);
    }

    #[test]
    fn a_caller_that_sets_the_flag_ends_the_exploration() {
        let error = state_space(&growing(), usize::MAX, &AtomicBool::new(true));
        assert!(error.expect_err("stopped").to_string().ends_with("stopped"));
    }
}
