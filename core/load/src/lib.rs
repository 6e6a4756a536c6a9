//! The load generator: executes a stream of file operations on a target and measures each
//! operation.
//!
//! `plan` is the input of a run. `execution` starts the clients, gives each operation its start
//! time and watches the calls. Each `client` executes operations as calls on a `target`. `content`
//! determines the bytes of files and checks them. A `record` has the measurements of one client,
//! and `report` merges the records of all clients.

mod client;
mod clock;
pub mod content;
mod error;
mod execution;
mod plan;
mod record;
mod report;
mod step;
mod target;

pub use clock::monotonic_ns;
pub use error::{Error, ErrorKind, Result, Status};
pub use execution::control::{Control, LiveCounts};
pub use execution::hung::{give_up, hung, Hung};
pub use execution::runner::run;
pub use plan::{Plan, Spans, Verify};
pub use record::schedule::ScheduleReport;
pub use record::series::{steady, Second, Steady};
pub use report::outcome::Outcome;
pub use report::{
    AuditReport, ClientReport, ErrorCount, GeneratorReport, OperationReport, PhaseReport, Report,
    SpanRecord, StepReport,
};
pub use target::{capabilities_of, Capabilities, TargetSpec};

/// Returns the expected content of a plan's files, for checks outside this crate.
pub fn content_of(plan: &Plan) -> content::Content {
    let transfer = plan.stream.transfer_size_bytes as usize;
    content::Content::new(plan.stream.seed, transfer, plan.stream.compressible)
}
