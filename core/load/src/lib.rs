//! The load generator: executes a stream of file operations on a target and measures each
//! operation.

mod audit;
mod caches;
mod client;
mod clock;
pub mod content;
mod control;
mod ended;
mod ending;
mod error;
mod exported;
mod generations;
mod generator;
mod live;
mod merge;
mod names;
mod outcome;
mod pace;
mod perform;
mod plan;
mod record;
mod removal;
mod report;
mod runner;
mod sample;
mod schedule;
mod series;
mod setup;
mod single;
mod sparse;
mod step;
mod target;
mod watch;

pub use clock::monotonic_ns;
pub use control::{Control, LiveCounts};
pub use error::{Error, ErrorKind, Result, Status};
pub use outcome::Outcome;
pub use plan::{Plan, Spans, Verify};
pub use report::{
    AuditReport, ClientReport, ErrorCount, GeneratorReport, OperationReport, PhaseReport, Report,
    SpanRecord, StepReport,
};
pub use runner::run;
pub use schedule::ScheduleReport;
pub use series::{steady, Second, Steady};
pub use target::{capabilities_of, Capabilities, TargetSpec};
pub use watch::{give_up, hung, Hung};

/// Returns the expected content of a plan's files, for checks outside this crate.
pub fn content_of(plan: &Plan) -> content::Content {
    let transfer = plan.stream.transfer_size_bytes as usize;
    content::Content::new(plan.stream.seed, transfer, plan.stream.compressible)
}
