//! The load generator: targets, their capabilities, and the runner that drives them.

mod client;
pub mod content;
mod control;
mod error;
mod merge;
mod outcome;
mod plan;
mod record;
mod report;
mod runner;
mod target;

pub use control::Control;
pub use error::{Error, ErrorKind, Result, Status};
pub use outcome::Outcome;
pub use plan::{Plan, Spans, Verify};
pub use report::{ClientReport, ErrorCount, OperationReport, Report, SpanRecord, StepReport};
pub use runner::run;
pub use target::{capabilities_of, Capabilities, TargetSpec};

/// The content that a plan's files have, for checks from outside.
pub fn content_of(plan: &Plan) -> content::Content {
    content::Content::new(plan.stream.seed, plan.stream.transfer_size_bytes as usize)
}
