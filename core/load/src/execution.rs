//! The execution of a run. This module has the phases of the run, the state that its clients share,
//! the start times of their operations, and the watch over calls that do not return.

mod caches;
pub(crate) mod control;
mod ending;
mod guard;
pub(crate) mod hung;
mod own_cost;
mod pace;
pub(crate) mod runner;
pub(crate) mod setup;
mod shared_state;
pub(crate) mod watch;
