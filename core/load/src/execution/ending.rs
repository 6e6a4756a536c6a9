//! Ends the run of one client: checks its files and removes them.
//!
//! During the checks and the removal, the client's record is stored in the run's watch (the state
//! that other threads observe). If the target does not answer any more, another thread can
//! therefore still report the record.

use std::sync::atomic::Ordering;

use crate::client::Client;
use crate::execution::control::Phase;
use crate::execution::guard::guarded;
use crate::execution::shared_state::SharedState;
use crate::plan::Verify;
use crate::record::Record;
use crate::report::AuditReport;
use crate::{Error, Result};

/// Checks the client's files if the plan requests it, and removes them unless they are kept.
/// Returns the client's record with the results of the checks and the errors.
pub fn end(client: &mut Client, record: Record, shared: &SharedState) -> Record {
    let (plan, control) = (shared.setup.plan, shared.control);
    let whole = !shared.is_broken() && !control.stopped();
    let mut record = record;
    if whole && plan.verify == Verify::After {
        record = check(client, record, shared);
    }
    if whole && plan.verify == Verify::Sample {
        record = check_some(client, record, shared);
    }
    control.enter(Phase::CleaningUp, 0);
    if !plan.keep {
        control.watch().lend(record);
        let cleaned = guarded("clean_up", || client.clean_up());
        record = given_back(client, shared);
        count(&mut record, shared, "clean_up", cleaned);
    }
    client.slot.idle();
    record
}

/// Compares the content of the client's files with the expected content.
fn check(client: &mut Client, record: Record, shared: &SharedState) -> Record {
    shared.control.watch().lend(record);
    let stop = || shared.control.stopped();
    let (mut audit, mut errors) = (AuditReport::default(), Vec::new());
    let verified = guarded("verify", || {
        let mut wrong = |error: &Error| errors.push(error.clone());
        Ok(client.verify_all(&stop, &mut audit, &mut wrong))
    });
    let mut record = given_back(client, shared);
    record.audit = Some(audit);
    for error in errors {
        count(&mut record, shared, "verify", Err(error));
    }
    match verified {
        Ok(bytes) => record.verified_bytes += bytes,
        Err(error) => count(&mut record, shared, "verify", Err(error)),
    }
    record
}

/// Compares a sample of the content of the client's files with the expected content.
fn check_some(client: &mut Client, record: Record, shared: &SharedState) -> Record {
    shared.control.watch().lend(record);
    let stop = || shared.control.stopped();
    let mut errors = Vec::new();
    let verified = guarded("verify", || {
        let mut wrong = |error: &Error| errors.push(error.clone());
        Ok(client.verify_sample(&stop, &mut wrong))
    });
    let mut record = given_back(client, shared);
    for error in errors {
        count(&mut record, shared, "verify", Err(error));
    }
    match verified {
        Ok(bytes) => record.verified_bytes += bytes,
        Err(error) => count(&mut record, shared, "verify", Err(error)),
    }
    record
}

/// Takes the client's record back from the watch of the run. If the run was given up meanwhile, the
/// record has already been reported. In this case, returns an empty record, which nobody reads.
pub fn given_back(client: &Client, shared: &SharedState) -> Record {
    let lent = shared.control.watch().give_back(client.number);
    lent.unwrap_or_else(|| {
        let mut empty = Record::new(client.number, shared.start_ns(0), 0, 0);
        empty.begin_part(shared.start_ns(0));
        empty
    })
}

fn count(record: &mut Record, shared: &SharedState, during: &str, outcome: Result<()>) {
    if let Err(error) = outcome {
        shared.errors.fetch_add(1, Ordering::Relaxed);
        record.note(during, &error);
    }
}
