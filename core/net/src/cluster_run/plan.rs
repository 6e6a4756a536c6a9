//! Compiles what a run over clusters reads about each transition: a compact copy of its arcs, with
//! the cell and the lane of each output token resolved as far as they are known before the run.

use super::shape::Shape;
use crate::clock::nanoseconds;
use crate::compiled::{
    Cluster, Filter, KeyKind, Lanes, Net, Output, Place, Seat, Test, Transition, View, LANES_MAX,
};
use crate::expression::{Draw, Formulas, Value};
use crate::marking::bucket::NONE;

/// What a run over clusters reads about a net. It exists only for nets that have a cluster, and no
/// lists, inhibitor arcs, reset arcs, random places and transitions that compete by weight.
///
/// A transition that is no member of a cluster is called separate (see `separate`).
#[derive(Debug)]
pub(crate) struct ClusterPlan {
    /// One entry for each transition of the net.
    pub(super) moves: Vec<Move>,
    /// What all cells of a cluster have in common, for each cluster of the net.
    pub(super) layouts: Vec<CellLayout>,
    /// The tables of all clusters, one after the other. The index in a cluster's table is the set
    /// of a cell's lanes that hold tokens, as bits. The entry is the set of the members whose input
    /// arcs all find tokens in these lanes, as bits.
    pub(super) able: Vec<u32>,
    /// The transitions that are the members of each cluster, one cluster after the other.
    pub(super) members: Vec<u32>,
    /// One entry for each place of the net.
    pub(super) seats: Vec<PlaceSeat>,
    /// For each place of the net, whether separate transitions take its tokens.
    pub(super) is_separate: Vec<bool>,
    /// Whether the net has separate transitions.
    pub(super) has_separate: bool,
}

/// A transition, as the run fires it. The fields about clusters and lanes have no meaning for a
/// separate transition.
#[derive(Debug)]
pub(super) struct Move {
    pub(super) level: u32,
    pub(super) cluster: u32,
    /// The transition as a member of its cluster: a set with one bit. 0 for a separate transition.
    pub(super) own: u32,
    /// The other members that take tokens from the lanes of the transition, as a set of bits.
    pub(super) others: u32,
    /// The members whose first input arc takes tokens from a lane of the transition, as a set of
    /// bits.
    pub(super) led: u32,
    /// For each input arc, the lane from which it takes tokens, if `single` is true.
    pub(super) lanes: [u8; LANES_MAX],
    pub(super) arc_count: u8,
    /// Whether each input arc takes tokens from only one lane.
    pub(super) single: bool,
    pub(super) has_locals: bool,
    /// For each input arc, the lanes from which it takes tokens, as a set of bits.
    pub(super) masks: [u32; LANES_MAX],
    pub(super) delay: Delay,
    pub(super) puts: Box<[Put]>,
    /// The input arcs whose tokens no output arc forwards.
    pub(super) released: Box<[u16]>,
    /// The form by which a run fires the transition in fewer steps, if it has such a form.
    pub(super) shape: Shape,
    /// The inscriptions that are computed together; None if there are none.
    pub(super) formulas: Option<Box<Formulas>>,
}

/// A delay, evaluated before the run as far as possible.
#[derive(Debug)]
pub(super) enum Delay {
    /// A constant number of nanoseconds.
    Constant(u64),
    /// Exponential, with this mean in seconds.
    Exponential(f64),
    /// The position of the number of seconds among the values of the transition's formulas, and the
    /// same delay as an inscription.
    Formula(u8, Box<Value>),
    Any(Box<Value>),
}

/// The value of a field of an output token.
#[derive(Debug)]
pub(super) enum Word {
    Value(Value),
    /// The position among the values of the transition's formulas, and the same value as an
    /// inscription.
    Formula(u8, Box<Value>),
}

/// An output arc of a transition, as the run follows it.
#[derive(Debug)]
pub(super) struct Put {
    pub(super) place: u32,
    pub(super) target: Target,
    /// Where the tokens of the place wait.
    pub(super) seat: PlaceSeat,
    /// The input arc whose token is forwarded; None when a new token is made.
    pub(super) forwards: Option<u16>,
    pub(super) line: u8,
    pub(super) counted: bool,
    pub(super) delay: Delay,
    /// The fields that are written, with their values: those that change if a token is forwarded,
    /// else all of them.
    pub(super) written: Box<[(u16, Word)]>,
}

/// What is known before the run about the cell and the lane that an output token will enter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// The cell whose tokens the transition takes, with this lane, if the cell is permanent.
    Same(u32),
    /// The cell follows from the token's fields as soon as they are written.
    Early,
    /// The lane depends on a computed condition, which is evaluated when the token arrives.
    Late,
}

/// The positions in the lists `able` and `members` of `ClusterPlan` at which the entries of one
/// cluster begin.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClusterTable {
    /// Position of the cluster's first entry in `able`.
    pub(super) able: u32,
    /// Position of the cluster's first member in `members`.
    pub(super) members: u32,
}

/// What all cells of a cluster have in common. The fields are explained at `Cell`.
#[derive(Clone, Copy, Debug)]
pub(super) struct CellLayout {
    pub(super) table: ClusterTable,
    pub(super) full: u8,
    pub(super) first_lane: u8,
}

/// Where the tokens of a place wait: a compact form of `Seat`, for a key of at most one field.
#[derive(Clone, Debug)]
pub(super) enum PlaceSeat {
    /// All tokens enter one lane. `key` is the only field of the key; None if the key has no field.
    Plain {
        cluster: u32,
        lane: u32,
        key: Option<u16>,
    },
    /// The lane depends on whether fields are in ranges of values.
    Ranged(Box<RangedSeat>),
    /// None of these forms: there is no lane, a computed condition, or a key of several fields.
    Other,
}

/// Where the tokens of a place wait if their lane depends on whether their fields are in ranges.
#[derive(Clone, Debug)]
pub(super) struct RangedSeat {
    pub(super) cluster: u32,
    pub(super) key: Option<u16>,
    pub(super) ranges: Box<[Range]>,
    /// The lane for each combination of outcomes of the tests. Bit i of the index is the outcome of
    /// test i. NONE if no transition takes such a token.
    pub(super) lane_of: [u32; 16],
}

/// A test of one field of a token. The token passes if the value of the field, as an int, is
/// between two bounds, both included; if `inside` is false, it passes if the value is not between
/// them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    pub(super) field: u16,
    pub(super) inside: bool,
    pub(super) low: i64,
    pub(super) high: i64,
}

impl ClusterPlan {
    /// Compiles the plan of a net. None if the net has a transition or an arc that a run over
    /// clusters does not cover.
    pub(crate) fn new(net: &Net) -> Option<Self> {
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
        let mut plan = Self {
            has_separate: is_separate.contains(&true),
            is_separate,
            moves: net.transitions.iter().map(|one| of(one, net)).collect(),
            layouts: Vec::with_capacity(net.clusters.len()),
            able: Vec::new(),
            members: Vec::new(),
            seats: net.places.iter().map(|one| seat_of(one, net)).collect(),
        };
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

    /// For each transition, the name of the way in which it is fired with fewer steps, or None.
    #[cfg(test)]
    pub(crate) fn shapes(&self) -> Vec<Option<&'static str>> {
        self.moves.iter().map(|one| one.shape.name()).collect()
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

pub(super) fn seat_of(place: &Place, net: &Net) -> PlaceSeat {
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

/// The range of values of one field with which a token passes a test. None if the test is of
/// another kind.
fn range_of(test: &Test, net: &Net) -> Option<Range> {
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

fn of(transition: &Transition, net: &Net) -> Move {
    let mut found = match transition.member {
        Some(member) => of_member(transition, member, net),
        None => of_separate(transition, net),
    };
    found.use_formulas();
    found
}

fn of_separate(transition: &Transition, net: &Net) -> Move {
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
        released: transition.released.clone().into_boxed_slice(),
        shape: Shape::General,
        formulas: None,
    }
}

fn of_member(transition: &Transition, (number, local): (u32, u32), net: &Net) -> Move {
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
        (true, Delay::Constant(0), [only]) => Shape::of_update(only, transition, arcs, net),
        (true, ..) => Shape::of_service(cluster.members.len(), arcs, &puts),
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
        delay,
        puts,
        released: transition.released.clone().into_boxed_slice(),
        shape,
        formulas: None,
    }
}

pub(super) fn delay_of(delay: Option<&Value>) -> Delay {
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

fn put_of(output: &Output, transition: &Transition, net: &Net) -> Put {
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

fn target_of(output: &Output, transition: &Transition, net: &Net) -> Target {
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

/// Whether the token of an output arc belongs to the cell from which the transition takes tokens:
/// the cluster is the same, and the fields of the key are copied.
pub(super) fn keeps_key(
    output: &Output,
    seat: &Seat,
    transition: &Transition,
    places: &[Place],
) -> bool {
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
