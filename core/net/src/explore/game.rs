//! The token game lets a player fire a net one step at a time and choose each step.

use std::cell::RefCell;
use std::sync::atomic::AtomicBool;

use serde_json::Value as Json;

use super::{binding_of, choices, first_places, row_of, rows_of, take, Choice, Ground, Places};
use crate::answer::{json, ComingToken, GameState};
use crate::clock::{nanoseconds, seconds};
use crate::compiled::CompiledNet;
use crate::error::{NetError, Result};
use crate::lists::Lists;
use crate::stream::Stream;

/// A flag that is never set: a step of the game is not stopped.
static NEVER: AtomicBool = AtomicBool::new(false);

/// The state of a token game: the net, its tokens, simulated time, and the bindings that may fire.
#[derive(Debug)]
pub struct Game {
    net: CompiledNet,
    lists: RefCell<Lists>,
    places: Places,
    /// Tokens in transit to their places, in order of creation.
    pending: Vec<Pending>,
    streams: Vec<Stream>,
    now_ns: u64,
    steps: u64,
    choices: Vec<Choice>,
}

#[derive(Debug)]
struct Pending {
    time_ns: u64,
    place: usize,
    row: Vec<u64>,
}

impl Game {
    /// Starts a token game at time zero, with the initial tokens. `seed` determines all random
    /// draws.
    pub fn new(net: CompiledNet, seed: u64) -> Result<Self> {
        let streams = (0..net.transitions.len() as u64).map(|at| Stream::new(seed, 0, at));
        let mut game = Self {
            places: first_places(&net),
            pending: Vec::new(),
            streams: streams.collect(),
            now_ns: 0,
            steps: 0,
            choices: Vec::new(),
            lists: RefCell::new(net.lists.clone()),
            net,
        };
        game.settle()?;
        Ok(game)
    }

    fn ground(&self) -> Ground<'_> {
        Ground {
            net: &self.net,
            lists: &self.lists,
            now_ns: self.now_ns,
            stop: &NEVER,
        }
    }

    /// The present state as JSON: time, steps, marking, tokens in transit, and enabled bindings.
    pub fn state(&self) -> Json {
        let coming = self.pending.iter().map(|token| ComingToken {
            place: self.net.places[token.place].name.clone(),
            token: row_of(self.ground(), token.place, &token.row),
            time_s: seconds(token.time_ns),
        });
        let enabled = self.choices.iter();
        let enabled = enabled.map(|choice| binding_of(self.ground(), &self.places, choice));
        json(GameState {
            time_s: seconds(self.now_ns),
            steps: self.steps,
            marking: rows_of(self.ground(), &self.places),
            coming: coming.collect(),
            enabled: enabled.collect(),
        })
    }

    /// Fires an enabled binding: the one at the index `position` of the list in `state`. Then moves
    /// time forward until a transition is enabled.
    pub fn fire(&mut self, index: usize) -> Result<()> {
        let Some(choice) = self.choices.get(index).cloned() else {
            let reason = format!("choice {index} is not among the {}", self.choices.len());
            return Err(NetError::input("game", reason));
        };
        let stream = &mut self.streams[choice.transition];
        let mut places = self.places.clone();
        let ground = Ground {
            net: &self.net,
            lists: &self.lists,
            now_ns: self.now_ns,
            stop: &NEVER,
        };
        let made = take(ground, &mut places, &choice, stream)?;
        for (place, row, delay_s) in made {
            let time_ns = nanoseconds(delay_s).and_then(|delay| self.now_ns.checked_add(delay));
            let time_ns = time_ns.ok_or_else(|| {
                let context = self.net.context(choice.transition);
                NetError::run(context, format!("the delay {delay_s} s is out of range"))
            })?;
            match time_ns == self.now_ns {
                true => places[place].push(row),
                false => self.pending.push(Pending {
                    time_ns,
                    place,
                    row,
                }),
            }
        }
        self.places = places;
        self.steps += 1;
        self.settle()
    }

    /// Moves time forward until a transition is enabled or no token is in transit. Updates the list
    /// of enabled bindings.
    fn settle(&mut self) -> Result<()> {
        loop {
            self.choices = choices(self.ground(), &self.places)?;
            let next = self.pending.iter().map(|token| token.time_ns).min();
            let Some(time_ns) = next.filter(|_| self.choices.is_empty()) else {
                return Ok(());
            };
            self.now_ns = time_ns;
            let (due, later): (Vec<Pending>, Vec<Pending>) = std::mem::take(&mut self.pending)
                .into_iter()
                .partition(|token| token.time_ns == time_ns);
            self.pending = later;
            for token in due {
                self.places[token.place].push(token.row);
            }
        }
    }
}
