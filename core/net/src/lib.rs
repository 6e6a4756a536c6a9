//! Simulates timed coloured Petri nets: takes a net as data and returns its firings and the values
//! that its monitors measured.
//!
//! Data flows through the modules in this order. `definition` is the net as written in JSON.
//! `expression` checks the types of its inscriptions. `compile` makes a `compiled` net. `engine`
//! fires the net over a `marking`, and `cluster_run` fires nets with clusters in fewer steps.
//! `monitor` observes firings, and `run` makes replications. `explore` follows every possible
//! firing, for the state space and the token game. `reference` is a naive engine with which the
//! tests compare the real one.
//!
//! Invariant: this crate does not depend on what a net models.

mod answer;
mod clock;
mod cluster;
mod cluster_run;
mod compile;
mod compiled;
mod definition;
mod ending;
mod engine;
mod error;
mod explore;
mod expression;
mod lint;
mod lists;
mod marking;
mod monitor;
mod name_index;
mod options;
#[cfg(test)]
mod random_nets;
#[cfg(any(test, feature = "reference"))]
pub mod reference;
mod report;
mod run;
mod stream;

pub use compile::compile;
pub use compiled::CompiledNet;
pub use definition::NetDefinition;
pub use ending::Reason;
pub use engine::{Engine, Firing};
pub use error::{ErrorKind, NetError, Result};
pub use explore::{state_space, Game};
pub use lint::lint;
pub use options::{MonitorDefinition, RunOptions, StationDefinition, Until};
pub use run::run;
