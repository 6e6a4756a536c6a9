//! Recognises clusters: groups of transitions that share input places and look up all their tokens
//! by the same key. Examples are stations (a queue and idle servers, joined by the server) and
//! keyed counters.
//!
//! The waiting tokens of a cluster are stored in cells, one for each key. A cell has several lanes
//! (first-in first-out lists). The seat of a place says which lane a token of the place enters. A
//! view is the set of tokens of a place that satisfy the condition of one input arc.

use crate::cluster::{Cluster, Member, LANES_MAX, MEMBERS_MAX};
use crate::compiled::{Discipline, Filter, KeyKind, Lanes, Place, Seat, Test, Transition, View};

/// Largest number of input arcs with a condition that a place of a cluster may have. A table has an
/// entry for each combination of outcomes of these conditions, so this number limits its length.
const TESTS_MAX: usize = 4;

/// Finds the clusters of a net whose waiting tokens can be stored in cells. Sets the seat of each
/// place of a cluster, and the membership of each of its transitions.
pub(super) fn recognise(
    places: &mut [Place],
    transitions: &mut [Transition],
    views: &[View],
) -> Vec<Cluster> {
    let mut found = Vec::new();
    let group_of = group_numbers(places.len(), transitions);
    let mut by_group: Vec<u32> = (0..transitions.len() as u32).collect();
    by_group.sort_by_key(|&transition| group_of[transition as usize]);
    let alike = |one: &u32, other: &u32| group_of[*one as usize] == group_of[*other as usize];
    for group in by_group.chunk_by(alike) {
        let Some((cluster, seats)) = cluster_of(group, places, transitions, views) else {
            continue;
        };
        let number = found.len() as u32;
        for (local, member) in (0u32..).zip(&cluster.members) {
            transitions[member.transition as usize].member = Some((number, local));
        }
        for (place, seat) in seats {
            places[place].seat = Some(Seat {
                cluster: number,
                ..seat
            });
        }
        found.push(cluster);
    }
    found
}

/// Groups the transitions of a net by shared input places. Returns for each transition the number
/// of its group. Groups are numbered in the order of their first transitions.
fn group_numbers(places: usize, transitions: &[Transition]) -> Vec<u32> {
    let mut parents: Vec<usize> = (0..places).collect();
    fn root(parents: &mut [usize], mut place: usize) -> usize {
        while parents[place] != place {
            parents[place] = parents[parents[place]];
            place = parents[place];
        }
        place
    }
    for transition in transitions {
        let first = root(&mut parents, transition.inputs[0].place as usize);
        for input in &transition.inputs {
            let other = root(&mut parents, input.place as usize);
            parents[other] = first;
        }
    }
    let (mut group_of_root, mut groups) = (vec![u32::MAX; places], 0);
    let number = |transition: &Transition| {
        let root = root(&mut parents, transition.inputs[0].place as usize);
        if group_of_root[root] == u32::MAX {
            group_of_root[root] = groups;
            groups += 1;
        }
        group_of_root[root]
    };
    transitions.iter().map(number).collect()
}

/// Returns the cluster of a group of transitions, and the seats of its places. None if the group is
/// no cluster: its tokens then wait in buckets instead of cells.
fn cluster_of(
    group: &[u32],
    places: &[Place],
    transitions: &[Transition],
    views: &[View],
) -> Option<(Cluster, Vec<(usize, Seat)>)> {
    if group.len() > MEMBERS_MAX {
        return None;
    }
    // Pairs of a place and a view that takes tokens from it.
    let mut readers: Vec<(u32, u32)> = Vec::with_capacity(2 * group.len());
    for &index in group {
        let transition = &transitions[index as usize];
        let joined = transition.joined.len();
        let alike = joined == 0 || joined == transition.inputs.len();
        if transition.searches || transition.has_random || !alike {
            return None;
        }
        let inputs = transition.inputs.iter();
        readers.extend(inputs.map(|input| (input.place, input.view)));
    }
    readers.sort_unstable();
    let mut seats = Vec::with_capacity(readers.len());
    let mut lanes_of_view = Vec::with_capacity(readers.len());
    let mut lanes = 0;
    for of_place in readers.chunk_by(|one, other| one.0 == other.0) {
        let place = of_place[0].0;
        let readers: Vec<u32> = of_place.iter().map(|one| one.1).collect();
        let definition = &places[place as usize];
        // A transition with one input arc takes the token that arrived first, whatever its key. It
        // can therefore share cells with transitions that join tokens by a key.
        let has_key = |&&view: &&u32| {
            let reader = views[view as usize].transition as usize;
            transitions[reader].inputs.len() > 1
        };
        let first = readers.iter().find(has_key).unwrap_or(&readers[0]);
        let keys = &views[*first as usize].keys;
        let alike = |view: &u32| {
            let found = &views[*view as usize];
            let is_keyed = !has_key(&view) || found.keys == *keys;
            found.discipline == Discipline::Fifo && is_keyed
        };
        if definition.resets || !readers.iter().all(alike) {
            return None;
        }
        let (seat, masks) = seat_of(definition, (&readers[..], &keys[..]), views, &mut lanes)?;
        lanes_of_view.extend(readers.iter().copied().zip(masks));
        seats.push((place as usize, seat));
    }
    lanes_of_view.sort_unstable();
    Some((members_of(group, transitions, &lanes_of_view), seats))
}

/// Makes a cluster from a group of transitions, which become its members. `lanes_of_view` has pairs
/// in ascending order: a view, and the lanes from which the view takes tokens, as a set of bits.
fn members_of(group: &[u32], transitions: &[Transition], lanes_of_view: &[(u32, u32)]) -> Cluster {
    let mut cluster = Cluster {
        members: Vec::with_capacity(group.len()),
        ..Cluster::default()
    };
    let lanes_of = |view: u32| {
        let at = lanes_of_view.partition_point(|entry| entry.0 < view);
        lanes_of_view[at].1
    };
    for (local, &index) in group.iter().enumerate() {
        let inputs = transitions[index as usize].inputs.iter();
        let arcs: Box<[u32]> = inputs.map(|input| lanes_of(input.view)).collect();
        let bit = 1 << local;
        for lane in 0..LANES_MAX {
            if arcs.iter().any(|mask| mask & (1 << lane) != 0) {
                cluster.takers[lane] |= bit;
            }
            if arcs[0] & (1 << lane) != 0 {
                cluster.led[lane] |= bit;
            }
        }
        cluster.members.push(Member {
            transition: index,
            arcs,
        });
    }
    cluster
}

/// Returns the seat of a place. Also returns, for each view in `readers`, the lanes of the view as
/// a set of bits. `keys` are the fields of a token that select its cell. `lanes` is the number of
/// lanes that the cluster already has. Returns None if the cluster would need more than LANES_MAX
/// lanes.
fn seat_of(
    place: &Place,
    (readers, keys): (&[u32], &[u16]),
    views: &[View],
    lanes: &mut u32,
) -> Option<(Seat, Vec<u32>)> {
    let seat = |lanes| Seat {
        cluster: 0,
        key_kind: match *keys {
            [] => KeyKind::None,
            [field] => KeyKind::One(field),
            _ => KeyKind::Several,
        },
        keys: keys.into(),
        lanes,
    };
    let mut next_lane = || {
        *lanes += 1;
        (*lanes as usize <= LANES_MAX).then(|| *lanes - 1)
    };
    let all: Vec<Test> = readers.iter().map(|&view| test_of(place, view)).collect();
    let is_test = |test: &Test| {
        let filter = &views[test.view as usize].filter;
        test.constant.is_some() || !matches!(filter, Filter::Always)
    };
    // A view without a condition takes tokens from every lane. If there is such a view, even tokens
    // that pass no test need a lane.
    let takes_all = all.iter().any(|test| !is_test(test));
    let tested: Vec<bool> = all.iter().map(is_test).collect();
    let tests: Box<[Test]> = all.into_iter().filter(is_test).collect();
    if tests.is_empty() {
        let lane = next_lane()?;
        return Some((seat(Lanes::One(lane)), vec![1 << lane; readers.len()]));
    }
    if tests.len() > TESTS_MAX {
        return None;
    }
    let ranges: Vec<Option<Range>> = tests.iter().map(|one| range_of(one, views)).collect();
    let mut lane_of = vec![u32::MAX; 1 << tests.len()];
    let mut masks = vec![0u32; readers.len()];
    for (outcome, found) in lane_of.iter_mut().enumerate() {
        if outcome == 0 && !takes_all || !possible(outcome, &ranges) {
            continue;
        }
        let lane = next_lane()?;
        *found = lane;
        let mut test = 0;
        for (mask, &tested) in masks.iter_mut().zip(&tested) {
            if !tested || outcome & (1 << test) != 0 {
                *mask |= 1 << lane;
            }
            test += usize::from(tested);
        }
    }
    let lane_of = lane_of.into_boxed_slice();
    Some((seat(Lanes::Tested { tests, lane_of }), masks))
}

/// Returns the condition that a token must meet to be in a view. It has two parts: the field value
/// by which the place looks up the view, and the view's filter.
fn test_of(place: &Place, view: u32) -> Test {
    let dispatched = place.dispatch.as_ref().and_then(|dispatch| {
        let mut entries = dispatch.views.iter();
        let entry = entries.find(|(_, views)| views.contains(&view))?;
        Some((dispatch.field, entry.0))
    });
    Test {
        constant: dispatched,
        view,
    }
}

/// The values of one int field that pass a test, from the lowest to the highest.
#[derive(Clone, Copy)]
struct Range {
    field: u16,
    low: i64,
    high: i64,
}

/// Returns a range of one field's values such that every token that passes the test has a value in
/// it. None if the test implies no such range.
fn range_of(test: &Test, views: &[View]) -> Option<Range> {
    if let Some((field, word)) = test.constant {
        let (low, high) = (word as i64, word as i64);
        return Some(Range { field, low, high });
    }
    let &Filter::Within {
        field,
        low,
        high,
        inside,
    } = &views[test.view as usize].filter
    else {
        return None;
    };
    match (inside, low, high) {
        (true, ..) => Some(Range { field, low, high }),
        (false, i64::MIN, high) if high < i64::MAX => Some(Range {
            field,
            low: high + 1,
            high: i64::MAX,
        }),
        (false, low, i64::MAX) if low > i64::MIN => Some(Range {
            field,
            low: i64::MIN,
            high: low - 1,
        }),
        _ => None,
    }
}

/// Whether a token can pass all tests whose bits are set in `outcome`. It cannot if two of these
/// tests require disjoint ranges of one field.
fn possible(outcome: usize, ranges: &[Option<Range>]) -> bool {
    let passed = |at: &usize| outcome & (1 << at) != 0;
    let required: Vec<Range> = (0..ranges.len())
        .filter(passed)
        .filter_map(|at| ranges[at])
        .collect();
    required.iter().enumerate().all(|(at, one)| {
        let others = required[..at].iter().filter(|that| that.field == one.field);
        others
            .into_iter()
            .all(|that| one.low <= that.high && that.low <= one.high)
    })
}
