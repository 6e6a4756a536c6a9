//! Recognises the transitions that a run over clusters fires in fewer steps.

use super::plan::{delay_of, keeps_key, seat_of, Delay, PlaceSeat, Put, Target};
use crate::compiled::{Net, Output, Transition};

/// The form of a transition. A run fires a service or an update in fewer steps than a transition of
/// a general form.
#[derive(Debug)]
#[repr(u8)]
pub(super) enum Shape {
    General,
    Service(Service),
    Update(Update),
}

/// A transition that takes two tokens of a cell, frees one of them (the trigger), and puts the
/// other one (the state) with changed fields back into the cell without delay. An example is a
/// counter of replies.
#[derive(Debug)]
pub(super) struct Update {
    pub(super) state_lane: u8,
    pub(super) trigger_lane: u8,
    /// Whether the first input arc takes the state.
    pub(super) is_state_first: bool,
    /// Where the tokens of the state's place wait.
    pub(super) seat: PlaceSeat,
}

/// A transition that takes two tokens, such as a customer and a server, and passes both on
/// unchanged after the same delay. No other transition takes tokens from its input places.
#[derive(Debug)]
pub(super) struct Service {
    /// The output arcs in the order of their definition.
    pub(super) steps: [Step; 2],
    /// Whether the first output arc passes on the token of lane 1. Otherwise it passes on that of
    /// lane 0.
    pub(super) is_crossed: bool,
    /// The number of the transition's constant delay in the event list; `NO_LINE` if there is none.
    pub(super) line: u8,
}

/// An output arc of a service.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) place: u32,
    pub(super) target: Target,
    /// Where the tokens of the place wait.
    pub(super) seat: PlaceSeat,
}

impl Shape {
    /// The shape of a transition, if it is a service at a station; else `General`. `members` is the
    /// number of transitions of its cluster, and `arcs` has the lanes from which each input arc
    /// takes tokens, as a set of bits.
    pub(super) fn of_service(members: usize, arcs: &[u32], puts: &[Put]) -> Shape {
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

    /// The shape of a transition without delay and with one output arc: `Update` if it updates a
    /// token of its cell, else `General`. `arcs` has the lanes from which each input arc takes
    /// tokens, as a set of bits.
    pub(super) fn of_update(
        output: &Output,
        transition: &Transition,
        arcs: &[u32],
        net: &Net,
    ) -> Shape {
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
        let has_delay = !matches!(delay_of(output.delay.as_ref()), Delay::Constant(0));
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

    /// The shape's name; None if it is `General`.
    #[cfg(test)]
    pub(super) fn name(&self) -> Option<&'static str> {
        match self {
            Shape::General => None,
            Shape::Service(_) => Some("service"),
            Shape::Update(_) => Some("update"),
        }
    }
}
