//! Reports the size of a net and the input arcs that will be slow.

use serde_json::Value as Json;

use crate::answer::{json, NetSizes, Scan};
use crate::compiled::{CompiledNet, Discipline};

/// Reports as JSON the numbers of places, transitions and arcs, and the slow input arcs. An input
/// arc is slow if the engine tests its tokens one by one instead of looking them up by equal
/// fields.
pub fn lint(net: &CompiledNet) -> Json {
    let scans: Vec<Scan> = (0..net.transitions.len())
        .flat_map(|at| scans(net, at))
        .collect();
    let arcs = |count: fn(&crate::compiled::Transition) -> usize| {
        net.transitions.iter().map(count).sum::<usize>()
    };
    json(NetSizes {
        name: net.name().to_owned(),
        places: net.places.len(),
        transitions: net.transitions.len(),
        input_arcs: arcs(|transition| transition.inputs.len()),
        output_arcs: arcs(|transition| transition.outputs.len()),
        inhibitor_arcs: arcs(|transition| transition.inhibit.len()),
        tokens: net.places.iter().map(|place| place.initial.len()).sum(),
        row_bytes: net.stride * 8,
        joined_transitions: net
            .transitions
            .iter()
            .filter(|t| !t.joined.is_empty())
            .count(),
        scans,
    })
}

fn scans(net: &CompiledNet, index: usize) -> Vec<Scan> {
    let transition = &net.transitions[index];
    let mut found = Vec::new();
    for (arc, input) in transition.inputs.iter().enumerate() {
        let place = net.places[input.place as usize].name.as_str();
        let residual = transition
            .residual
            .iter()
            .any(|r| r.arcs.contains(&(arc as u16)));
        let before = &transition.inputs[..arc];
        let sorts = matches!(
            net.views[input.view as usize].discipline,
            Discipline::Least { .. }
        );
        let repeated = before.iter().any(|other| other.place == input.place);
        let reason = if residual {
            "a condition on several tokens is no join of int or bool fields"
        } else if transition.searches && sorts {
            "the place is sorted again for every search"
        } else if repeated && transition.joined.contains(&(arc as u16)) {
            "tokens of one place are compared with each other"
        } else {
            continue;
        };
        found.push(Scan {
            page: transition.page.to_string(),
            transition: transition.name.clone(),
            arc: arc + 1,
            place: place.to_owned(),
            variable: input.variable.clone(),
            reason: reason.to_owned(),
        });
    }
    found
}
