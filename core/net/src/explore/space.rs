//! Computes the state space of a net: every marking that can be reached if time is ignored, and the
//! properties that follow from these markings.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};

use petgraph::graph::{DiGraph, NodeIndex};
use serde_json::Value as Json;

use super::components::Components;
use super::{choices, draws, first_places, rows_of, take, Ground, Places, Row};
use crate::answer::{json, StateSpace};
use crate::compiled::CompiledNet;
use crate::error::{NetError, Result};
use crate::stream::Stream;

/// Largest number of dead markings (in which nothing can fire) that a report shows. All dead
/// markings are counted.
const SHOWN_MAX: usize = 10;

/// The state space as a graph. Its nodes are markings. Its edges are firings, each with the index
/// of the transition.
struct Space {
    markings: Vec<Places>,
    graph: DiGraph<(), usize>,
    /// For each marking, the marking from which it was first reached, and the transition that
    /// fired. The search is breadth first, so the steps from the initial marking to any marking
    /// form a shortest path.
    reached: Vec<Option<(usize, usize)>>,
    complete: bool,
}

/// Explores at most `markings_max` markings and reports on them as JSON. Delays are ignored. The
/// state space therefore contains every order of firings that is possible with some delays.
/// Priorities are respected.
pub fn state_space(net: &CompiledNet, markings_max: usize) -> Result<Json> {
    refuse_draws(net)?;
    let lists = RefCell::new(net.lists.clone());
    let ground = Ground {
        net,
        lists: &lists,
        now_ns: 0,
    };
    let space = explore(ground, markings_max)?;
    let fullest = net.places.iter().enumerate().map(|(place, definition)| {
        let counts = space.markings.iter().map(|marking| marking[place].len());
        let (at, _) = counts
            .enumerate()
            .fold((0, 0), |best, one| match one.1 > best.1 {
                true => one,
                false => best,
            });
        (definition.name.clone(), space.path(net, at))
    });
    let mut report = StateSpace {
        net: net.name().to_owned(),
        paths_to_most: fullest.collect(),
        complete: space.complete,
        markings: space.markings.len(),
        arcs: space.graph.edge_count(),
        bounds: bounds(net, &space),
        ..StateSpace::default()
    };
    if space.complete {
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

fn explore(net: Ground<'_>, markings_max: usize) -> Result<Space> {
    let mut space = Space {
        markings: Vec::new(),
        graph: DiGraph::new(),
        reached: vec![None],
        complete: true,
    };
    let mut known: HashMap<Vec<u64>, NodeIndex> = HashMap::new();
    let mut first = first_places(&net);
    first.iter_mut().for_each(|rows| rows.sort_unstable());
    known.insert(code_of(&first), space.graph.add_node(()));
    space.markings.push(first);
    let mut at = 0;
    while at < space.markings.len() {
        for choice in choices(net, &space.markings[at])? {
            let mut next = space.markings[at].clone();
            let made = take(net, &mut next, &choice, &mut Stream::new(0, 0, 0))?;
            for (place, row, _) in made {
                let spot = next[place].partition_point(|other| *other <= row);
                next[place].insert(spot, row);
            }
            let code = code_of(&next);
            let node = match known.get(&code) {
                Some(&node) => node,
                None if space.markings.len() >= markings_max => {
                    space.complete = false;
                    return Ok(space);
                }
                None => {
                    let node = space.graph.add_node(());
                    known.insert(code, node);
                    space.markings.push(next);
                    space.reached.push(Some((at, choice.transition)));
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

impl Space {
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

/// Encodes a marking as one list of words. For each place, the list has the number of its tokens,
/// followed by their field values.
fn code_of(places: &Places) -> Vec<u64> {
    let of_place = |rows: &Vec<Row>| {
        let count = rows.len() as u64;
        std::iter::once(count)
            .chain(rows.iter().flatten().copied())
            .collect::<Vec<u64>>()
    };
    places.iter().flat_map(of_place).collect()
}

/// For each place, the smallest and the largest number of its tokens over all markings.
fn bounds(net: &CompiledNet, space: &Space) -> BTreeMap<String, (usize, usize)> {
    let of_place = |place: usize| {
        let counts = || space.markings.iter().map(|marking| marking[place].len());
        // The state space always has the initial marking, so there is a smallest and a largest
        // number.
        (counts().min().unwrap_or(0), counts().max().unwrap_or(0))
    };
    let names = net.places.iter().map(|one| one.name.clone());
    names.zip((0..).map(of_place)).collect()
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
    let markings = shown.map(|&at| rows_of(net, &space.markings[at])).collect();
    report.components = Some(components.members.len());
    report.dead_markings = Some(dead.len());
    report.dead_markings_shown = Some(markings);
    report.dead_paths_shown = Some(paths);
    report.home_markings = Some(home.unwrap_or(0));
    report.scc_graph = components.graph(net, &space.markings);
    report.dead_transitions = Some(names(&|at| !ever.contains(&at)));
    report.live_transitions = Some(names(&|at| last.iter().all(|set| set.contains(&at))));
}
