//! Compiles the plan of a run over clusters (groups of transitions that share input places), and
//! recognises the transitions that such a run fires in fewer steps.

use super::plan::{
    ByField, CellLayout, ClusterPlan, ClusterTable, Counter, Delay, Move, PlaceSeat, Put, Range,
    RangedSeat, Service, Shape, Step, Target, Update, Word,
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
            members: Table::default(),
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
            layout.table.members = only.transition;
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
        by_field: by_field(put),
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

/// How the cell of an output token follows from one of its fields; None if it does not.
fn by_field(put: &Put) -> Option<ByField> {
    match (put.target, &put.seat) {
        (
            Target::Early,
            &PlaceSeat::Plain {
                cluster,
                lane,
                key: Some(field),
            },
        ) if lane != NONE => Some(ByField {
            cluster,
            lane,
            field,
        }),
        _ => None,
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
    let state_lane = lanes[usize::from(state)];
    Shape::Update(Update {
        state_lane,
        trigger_lane: lanes[1 - usize::from(state)],
        is_state_first: state == 0,
        stays: values_in_lane(&place_seat, u32::from(state_lane)),
        counter: counter_of(output, state),
        seat: place_seat,
    })
}

/// The counter that an output arc counts up or down; None if it changes the token in another way.
/// `state` is the input arc whose token is forwarded.
fn counter_of(output: &Output, state: u16) -> Option<Counter> {
    match output.changed[..] {
        [(
            field,
            Value::Counted {
                arc,
                field: from,
                change,
            },
        )] if arc == state && from == field => Some(Counter { field, change }),
        _ => None,
    }
}

/// A range of values of one field with which a token enters a lane. It is as wide as possible if
/// the lane depends on one field, otherwise empty.
fn values_in_lane(seat: &PlaceSeat, lane: u32) -> Range {
    let range = |field, low, high| Range {
        field,
        inside: true,
        low,
        high,
    };
    let empty = range(0, 1, 0);
    let seat = match seat {
        PlaceSeat::Plain { lane: only, .. } if *only == lane => {
            return range(0, i64::MIN, i64::MAX)
        }
        PlaceSeat::Ranged(seat) => seat,
        _ => return empty,
    };
    let field = seat.ranges.first().map_or(0, |first| first.field);
    if seat.ranges.iter().any(|one| one.field != field) {
        return empty;
    }
    // Between two neighbouring starts, all values pass the same tests.
    let ends = |one: &Range| [Some(one.low), one.high.checked_add(1)];
    let starts = seat.ranges.iter().flat_map(ends).flatten();
    let mut starts: Vec<i64> = starts.chain([i64::MIN]).collect();
    starts.sort_unstable();
    starts.dedup();
    let highs = starts.iter().skip(1).map(|&next| next - 1);
    let pieces = starts.iter().copied().zip(highs.chain([i64::MAX]));
    let pieces = pieces.filter(|&(low, _)| seat.lane_of_value(low) == lane);
    let widest = pieces.max_by_key(|&(low, high)| low.abs_diff(high));
    widest.map_or(empty, |(low, high)| range(field, low, high))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::Stream;

    #[test]
    fn values_in_the_range_of_a_lane_enter_it() {
        let mut stream = Stream::new(2, 0, 0);
        let mut filled = 0;
        for turn in 0..2_000 {
            let mut value = || stream.below(9) as i64;
            let count = value() % 5;
            let range = |_| {
                let (low, inside) = (value(), value() % 2 == 0);
                Range {
                    field: 1,
                    inside,
                    low,
                    high: low + value() % 4,
                }
            };
            let ranges: Vec<Range> = (0..count).map(range).collect();
            let seat = RangedSeat {
                cluster: 0,
                key: None,
                ranges: ranges.into(),
                lane_of: [(); 16].map(|()| stream.below(3) as u32),
            };
            let lane_of = |value: i64| seat.lane_of_value(value);
            let found = values_in_lane(&PlaceSeat::Ranged(Box::new(seat.clone())), 1);
            // All bounds are between 0 and 12.
            let inside = (-1..=20).filter(|value| (found.low..=found.high).contains(value));
            assert!(
                inside.clone().all(|value| lane_of(value) == 1),
                "seat {turn}"
            );
            let is_any = (-1..=20).any(|value| lane_of(value) == 1);
            assert_eq!(found.low <= found.high, is_any, "seat {turn}: {found:?}");
            filled += u32::from(is_any);
        }
        assert!((500..2_000).contains(&filled), "{filled} have a range");
    }

    #[test]
    fn a_lane_that_depends_on_two_fields_has_no_range() {
        let range = |field| Range {
            field,
            inside: true,
            low: 0,
            high: 5,
        };
        let seat = PlaceSeat::Ranged(Box::new(RangedSeat {
            cluster: 0,
            key: None,
            ranges: [range(0), range(1)].into(),
            lane_of: [1; 16],
        }));
        let found = values_in_lane(&seat, 1);
        assert!(found.low > found.high, "{found:?}");
    }
}
