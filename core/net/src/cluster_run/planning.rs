//! Compiles the plan of a run over clusters (groups of transitions that share input places), and
//! recognises the transitions that such a run fires in fewer steps.

use super::plan::{
    CellLayout, ClusterPlan, ClusterTable, Delay, Move, PlaceSeat, Put, Range, RangedSeat, Service,
    Shape, Step, Target, Update, Word,
};
use super::table::Table;
use crate::clock::nanoseconds;
use crate::cluster::{Cluster, LANES_MAX};
use crate::compiled::{
    CompiledNet, Filter, KeyKind, Lanes, Output, Place, Seat, Test, Transition, View,
};
use crate::expression::{Draw, Value, VALUES_MAX};
use crate::marking::bucket::NONE;

impl ClusterPlan {
    /// Compiles the plan of a net. None if the net has a transition or an arc that a run over
    /// clusters does not cover.
    pub(crate) fn new(net: &CompiledNet) -> Option<Self> {
        let covered = |one: &Transition| {
            !one.has_random
                && one.rivals.is_empty()
                && one.inhibit.is_empty()
                && one.reset.is_empty()
        };
        let covered = !net.clusters.is_empty() && net.transitions.iter().all(covered);
        if net.has_lists || !covered {
            return None;
        }
        let mut is_separate = vec![false; net.places.len()];
        let separate = net.transitions.iter().filter(|one| one.member.is_none());
        for input in separate.flat_map(|one| &one.inputs) {
            is_separate[input.place as usize] = true;
        }
        let mut values = Vec::new();
        let moves = net.transitions.iter();
        let moves = moves.map(|one| move_of(one, net, &mut values));
        let mut plan = Self {
            has_separate: is_separate.contains(&true),
            is_separate,
            moves: moves.collect(),
            values: Vec::new(),
            layouts: Vec::with_capacity(net.clusters.len()),
            able: Table::default(),
            members: Vec::new(),
            seats: net.places.iter().map(|one| seat_of(one, net)).collect(),
        };
        values.resize(values.len() + VALUES_MAX, 0);
        plan.values = values;
        for cluster in &net.clusters {
            let table = ClusterTable {
                able: plan.able.len() as u32,
                members: plan.members.len() as u32,
            };
            plan.layouts.push(layout_of(cluster, table));
            plan.add_able(cluster);
            let members = cluster.members.iter();
            plan.members.extend(members.map(|one| one.transition));
        }
        Some(plan)
    }

    /// Appends the table of a cluster to `able`.
    fn add_able(&mut self, cluster: &Cluster) {
        let members = &cluster.members;
        let lanes = members.iter().flat_map(|one| one.arcs.iter());
        let used = lanes.fold(0, |used, mask| used | mask);
        self.able.extend((0..=used).map(|filled: u32| {
            let able = (0u32..).zip(members);
            let able = able.filter(|(_, one)| one.arcs.iter().all(|mask| filled & mask != 0));
            able.fold(0, |found, (local, _)| found | (1 << local))
        }));
    }
}

fn layout_of(cluster: &Cluster, table: ClusterTable) -> CellLayout {
    let mut layout = CellLayout {
        table,
        full: 0,
        first_lane: 0,
    };
    if let [only] = &cluster.members[..] {
        let used = only.arcs.iter().fold(0, |used, mask| used | mask);
        if only.arcs.iter().all(|mask| mask.is_power_of_two()) {
            layout.full = used as u8;
            layout.first_lane = only.arcs[0].trailing_zeros() as u8;
        }
    }
    layout
}

fn seat_of(place: &Place, net: &CompiledNet) -> PlaceSeat {
    let Some(seat) = &place.seat else {
        return PlaceSeat::Other;
    };
    let (cluster, key) = match seat.key_kind {
        KeyKind::None => (seat.cluster, None),
        KeyKind::One(field) => (seat.cluster, Some(field)),
        KeyKind::Several => return PlaceSeat::Other,
    };
    let (tests, lanes) = match &seat.lanes {
        Lanes::One(lane) => {
            let lane = *lane;
            return PlaceSeat::Plain { cluster, lane, key };
        }
        Lanes::Tested { tests, lane_of } => (tests, lane_of),
    };
    let Some(ranges) = tests.iter().map(|test| range_of(test, net)).collect() else {
        return PlaceSeat::Other;
    };
    let mut lane_of = [NONE; 16];
    lane_of[..lanes.len()].copy_from_slice(lanes);
    PlaceSeat::Ranged(Box::new(RangedSeat {
        cluster,
        key,
        ranges,
        lane_of,
    }))
}

/// The range of values of one field for which a token passes a test. None if the test is not a
/// comparison of one field with a range.
fn range_of(test: &Test, net: &CompiledNet) -> Option<Range> {
    match (&net.views[test.view as usize].filter, test.constant) {
        (Filter::Always, Some((field, word))) => Some(Range {
            field,
            inside: true,
            low: word as i64,
            high: word as i64,
        }),
        (
            &Filter::Within {
                field,
                low,
                high,
                inside,
            },
            None,
        ) => Some(Range {
            field,
            inside,
            low,
            high,
        }),
        _ => None,
    }
}

fn move_of(transition: &Transition, net: &CompiledNet, values: &mut Vec<u64>) -> Move {
    let mut found = match transition.member {
        Some(member) => move_of_member(transition, member, net),
        None => move_of_separate(transition, net),
    };
    found.use_formulas(values);
    found
}

fn move_of_separate(transition: &Transition, net: &CompiledNet) -> Move {
    let outputs = transition.outputs.iter();
    Move {
        level: transition.level,
        cluster: NONE,
        own: 0,
        others: 0,
        led: 0,
        lanes: [0; LANES_MAX],
        arc_count: 0,
        single: false,
        has_locals: !transition.locals.is_empty(),
        masks: [0; LANES_MAX],
        delay: delay_of(transition.delay.as_ref()),
        puts: outputs.map(|one| put_of(one, transition, net)).collect(),
        immediate: false,
        released: transition.released.clone(),
        shape: Shape::General,
        formulas: None,
    }
}

fn move_of_member(transition: &Transition, (number, local): (u32, u32), net: &CompiledNet) -> Move {
    let cluster = &net.clusters[number as usize];
    let arcs = &cluster.members[local as usize].arcs;
    let used = arcs.iter().fold(0, |used, mask| used | mask);
    let lanes_used = (0..LANES_MAX).filter(|lane| used & (1 << lane) != 0);
    let (mut others, mut led) = (0, 0);
    for lane in lanes_used {
        others |= cluster.takers[lane];
        led |= cluster.led[lane];
    }
    let (mut lanes, mut masks) = ([0; LANES_MAX], [0; LANES_MAX]);
    for (at, &mask) in arcs.iter().enumerate() {
        (lanes[at], masks[at]) = (mask.trailing_zeros() as u8, mask);
    }
    let outputs = transition.outputs.iter();
    let puts: Box<[Put]> = outputs.map(|one| put_of(one, transition, net)).collect();
    let delay = delay_of(transition.delay.as_ref());
    let shape = match (
        transition.locals.is_empty(),
        &delay,
        &transition.outputs[..],
    ) {
        (false, ..) => Shape::General,
        (true, Delay::Constant(0), [only]) => update_of(only, transition, arcs, net),
        (true, ..) => service_of(cluster.members.len(), arcs, &puts),
    };
    Move {
        level: transition.level,
        cluster: number,
        own: 1 << local,
        others: others & !(1 << local),
        led,
        lanes,
        arc_count: arcs.len() as u8,
        single: arcs.iter().all(|mask| mask.is_power_of_two()),
        has_locals: !transition.locals.is_empty(),
        masks,
        immediate: is_zero(&delay) && puts.iter().all(|put| is_zero(&put.delay) && !put.counted),
        delay,
        puts,
        released: transition.released.clone(),
        shape,
        formulas: None,
    }
}

fn is_zero(delay: &Delay) -> bool {
    matches!(delay, Delay::Constant(0))
}

fn delay_of(delay: Option<&Value>) -> Delay {
    match delay {
        None => Delay::Constant(0),
        Some(Value::Draw {
            kind: Draw::Exponential,
            parameter,
        }) if (0.0..f64::MAX).contains(parameter) => Delay::Exponential(*parameter),
        Some(value) => {
            let constant = match value {
                Value::Constant(word) => nanoseconds(f64::from_bits(*word)),
                _ => None,
            };
            constant.map_or_else(|| Delay::Any(Box::new(value.clone())), Delay::Constant)
        }
    }
}

fn put_of(output: &Output, transition: &Transition, net: &CompiledNet) -> Put {
    let word = |(field, value): &(u16, Value)| (*field, Word::Value(value.clone()));
    Put {
        place: output.place,
        target: target_of(output, transition, net),
        seat: seat_of(&net.places[output.place as usize], net),
        forwards: output.forwards,
        line: output.line,
        counted: output.count.is_some(),
        delay: delay_of(output.delay.as_ref()),
        written: match output.forwards {
            Some(_) => output.changed.iter().map(word).collect(),
            None => (0u16..)
                .zip(&output.fields)
                .map(|(at, value)| (at, Word::Value(value.clone())))
                .collect(),
        },
    }
}

fn target_of(output: &Output, transition: &Transition, net: &CompiledNet) -> Target {
    let Some(seat) = &net.places[output.place as usize].seat else {
        return Target::Late;
    };
    match &seat.lanes {
        Lanes::One(lane) if keeps_key(output, seat, transition, &net.places) => Target::Same(*lane),
        Lanes::One(_) => Target::Early,
        Lanes::Tested { tests, .. } => {
            let mut views = tests.iter().map(|test| &net.views[test.view as usize]);
            let computed = |view: &View| matches!(view.filter, Filter::Code(_));
            match views.any(computed) {
                true => Target::Late,
                false => Target::Early,
            }
        }
    }
}

/// Whether the token of an output arc belongs to the cell from which the transition takes tokens.
/// This is so if the cluster is the same and the fields of the key are copied.
fn keeps_key(output: &Output, seat: &Seat, transition: &Transition, places: &[Place]) -> bool {
    if transition.member.map(|one| one.0) != Some(seat.cluster) {
        return false;
    }
    if seat.key_kind == KeyKind::None {
        return true;
    }
    seat.keys.iter().enumerate().all(|(at, &field)| {
        let Some(Value::Field { arc, field }) = output.fields.get(usize::from(field)) else {
            return false;
        };
        let from = transition.inputs[usize::from(*arc)].place;
        let source = places[from as usize].seat.as_ref();
        source.is_some_and(|source| source.keys.get(at) == Some(field))
    })
}

/// The shape of a transition: a service at a station, or else `General`. `members` is the number of
/// transitions of its cluster. `arcs` has a set of lanes, as bits, for each input arc: the lanes
/// from which the arc takes tokens.
fn service_of(members: usize, arcs: &[u32], puts: &[Put]) -> Shape {
    let (&[one, other], [first, second]) = (arcs, puts) else {
        return Shape::General;
    };
    let lane = |put: &Put| {
        let passes = !put.counted && put.written.is_empty();
        let arc = put.forwards.filter(|_| passes)?;
        let is_at_once = matches!(put.delay, Delay::Constant(0));
        is_at_once.then_some(arcs[usize::from(arc)].trailing_zeros())
    };
    let step = |put: &Put| Step {
        place: put.place,
        target: put.target,
        seat: put.seat.clone(),
    };
    let is_station = members == 1 && matches!((one, other), (1, 2) | (2, 1));
    match (lane(first), lane(second)) {
        (Some(first_lane), Some(_)) if is_station => Shape::Service(Service {
            steps: [step(first), step(second)],
            is_crossed: first_lane == 1,
            line: first.line,
        }),
        _ => Shape::General,
    }
}

/// Returns `Update` if a transition updates a token of its cell, otherwise `General`. The
/// transition has no delay and one output arc. `arcs` has, for each input arc, the lanes from which
/// it takes tokens, as a set of bits.
fn update_of(output: &Output, transition: &Transition, arcs: &[u32], net: &CompiledNet) -> Shape {
    let &[one, other] = arcs else {
        return Shape::General;
    };
    let place = &net.places[output.place as usize];
    let (Some(seat), Some(state), None) = (&place.seat, output.forwards, &output.count) else {
        return Shape::General;
    };
    let place_seat = seat_of(place, net);
    let is_in_lane = !matches!(place_seat, PlaceSeat::Other);
    let is_single = one.is_power_of_two() && other.is_power_of_two() && one != other;
    let has_delay = !is_zero(&delay_of(output.delay.as_ref()));
    let stays = keeps_key(output, seat, transition, &net.places);
    if !is_in_lane || !is_single || has_delay || !stays {
        return Shape::General;
    }
    let lanes = [one, other].map(|mask| mask.trailing_zeros() as u8);
    Shape::Update(Update {
        state_lane: lanes[usize::from(state)],
        trigger_lane: lanes[1 - usize::from(state)],
        is_state_first: state == 0,
        seat: place_seat,
    })
}
