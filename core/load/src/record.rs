//! One client's record of what it did: histograms, spans, errors, executed operations.

use std::collections::BTreeMap;
use std::time::Instant;

use dfslab_stats::Histogram;
use dfslab_workload::{Operation, OperationKind};

use crate::report::{Counted, SpanRecord};
use crate::Error;

/// The primitives of logical operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    Create,
    Open,
    Append,
    Read,
    Write,
    Fsync,
    Close,
    Stat,
    List,
    Rename,
    Delete,
    Mkdir,
}

impl Step {
    const COUNT: usize = 12;

    pub fn name(self) -> &'static str {
        match self {
            Step::Create => "create",
            Step::Open => "open",
            Step::Append => "append",
            Step::Read => "read",
            Step::Write => "write",
            Step::Fsync => "fsync",
            Step::Close => "close",
            Step::Stat => "stat",
            Step::List => "list",
            Step::Rename => "rename",
            Step::Delete => "delete",
            Step::Mkdir => "mkdir",
        }
    }
}

/// A step that was done: when, how long, how much.
#[derive(Clone, Copy)]
pub struct Done {
    pub step: Step,
    pub start: Instant,
    pub end: Instant,
    pub bytes: u64,
}

type Steps = [Option<Box<Counted>>; Step::COUNT];
type Errors = BTreeMap<(String, ErrorKindName), (u64, String)>;
type ErrorKindName = &'static str;

/// Everything one client saw.
pub struct Record {
    pub client: u32,
    zero: Instant,
    zero_unix_ns: u64,
    operations: [Option<Box<Counted>>; OperationKind::ALL.len()],
    steps: [Option<Box<Steps>>; OperationKind::ALL.len()],
    spans: Vec<Kept>,
    span_limit: usize,
    pub spans_dropped: u64,
    pub errors: Errors,
    pub executed: Vec<Operation>,
    pub first_start: Option<Instant>,
    pub last_end: Option<Instant>,
    pub verified_bytes: u64,
    /// Operations that succeeded, and when each of them ended after zero.
    pub count: u64,
    pub ends: Histogram,
}

/// A span as it is kept while the clock runs: no text, no allocation of its own.
struct Kept {
    kind: OperationKind,
    step: Option<Step>,
    start: Instant,
    end: Instant,
    parent: u64,
    bytes: u64,
}

impl Record {
    pub fn new(client: u32, zero: Instant, zero_unix_ns: u64, span_limit: usize) -> Self {
        Record {
            client,
            zero,
            zero_unix_ns,
            operations: std::array::from_fn(|_| None),
            steps: std::array::from_fn(|_| None),
            spans: Vec::new(),
            span_limit,
            spans_dropped: 0,
            errors: BTreeMap::new(),
            executed: Vec::new(),
            first_start: None,
            last_end: None,
            verified_bytes: 0,
            count: 0,
            ends: Histogram::new(),
        }
    }

    /// Count one successful operation and its steps.
    pub fn succeeded(
        &mut self,
        operation: &Operation,
        start: Instant,
        end: Instant,
        done: &[Done],
    ) {
        let kind = operation.kind as usize;
        let counted = self.operations[kind].get_or_insert_default();
        counted.histogram.record(nanoseconds(start, end));
        counted.bytes += operation.size_bytes;
        let steps = self.steps[kind].get_or_insert_with(|| Box::new(std::array::from_fn(|_| None)));
        for one in done {
            let counted = steps[one.step as usize].get_or_insert_default();
            counted.histogram.record(nanoseconds(one.start, one.end));
            counted.bytes += one.bytes;
        }
        self.first_start.get_or_insert(start);
        self.last_end = Some(end);
        self.count += 1;
        self.ends.record(nanoseconds(self.zero, end));
        self.keep_spans(operation, start, end, done);
    }

    /// Count one failed operation.
    pub fn failed(&mut self, operation: &Operation, error: &Error) {
        self.operations[operation.kind as usize]
            .get_or_insert_default()
            .errors += 1;
        self.note(operation.kind.name(), error);
    }

    /// Count an error outside the timed operations.
    pub fn note(&mut self, during: &str, error: &Error) {
        let key = (format!("{during}/{}", error.operation), error.kind.name());
        self.errors
            .entry(key)
            .or_insert_with(|| (0, error.to_string()))
            .0 += 1;
    }

    /// Errors that count against the run: all of them.
    pub fn error_count(&self) -> u64 {
        self.errors.values().map(|(count, _)| count).sum()
    }

    fn keep_spans(&mut self, operation: &Operation, start: Instant, end: Instant, done: &[Done]) {
        if self.span_limit == 0 {
            return;
        }
        if self.spans.len() + 1 + done.len() > self.span_limit {
            self.spans_dropped += 1 + done.len() as u64;
            return;
        }
        let kind = operation.kind;
        self.spans.push(Kept {
            kind,
            step: None,
            start,
            end,
            parent: 0,
            bytes: operation.size_bytes,
        });
        let parent = self.spans.len() as u64;
        self.spans.extend(done.iter().map(|one| Kept {
            kind,
            step: Some(one.step),
            start: one.start,
            end: one.end,
            parent,
            bytes: one.bytes,
        }));
    }

    /// The spans that were kept; their ids are unique over all clients: the client above, a count
    /// from 1 below.
    pub fn spans(&self) -> impl Iterator<Item = SpanRecord> + '_ {
        let unix = |at: Instant| self.zero_unix_ns + nanoseconds(self.zero, at);
        let id = |place: u64| (u64::from(self.client) + 1) << 40 | place;
        self.spans.iter().zip(1u64..).map(move |(span, place)| {
            let name = span.kind.name();
            SpanRecord {
                name: match span.step {
                    None => name.to_string(),
                    Some(step) => format!("{name}/{}", step.name()),
                },
                start_unix_ns: unix(span.start),
                end_unix_ns: unix(span.end),
                span_id: id(place),
                parent_id: if span.parent == 0 { 0 } else { id(span.parent) },
                thread: self.client,
                bytes: span.bytes,
            }
        })
    }

    /// (name, counted) of every kind of operation seen.
    pub fn operations(&self) -> impl Iterator<Item = (&'static str, &Counted)> {
        OperationKind::ALL
            .iter()
            .filter_map(|kind| Some((kind.name(), self.operations[*kind as usize].as_deref()?)))
    }

    /// (kind/step, counted) of every primitive seen.
    pub fn steps(&self) -> Vec<(String, &Counted)> {
        const STEPS: [Step; Step::COUNT] = [
            Step::Create,
            Step::Open,
            Step::Append,
            Step::Read,
            Step::Write,
            Step::Fsync,
            Step::Close,
            Step::Stat,
            Step::List,
            Step::Rename,
            Step::Delete,
            Step::Mkdir,
        ];
        let mut found = Vec::new();
        for kind in OperationKind::ALL {
            let Some(steps) = &self.steps[kind as usize] else {
                continue;
            };
            for step in STEPS {
                if let Some(counted) = &steps[step as usize] {
                    found.push((format!("{}/{}", kind.name(), step.name()), &**counted));
                }
            }
        }
        found
    }
}

/// Nanoseconds from `start` to `end`.
pub fn nanoseconds(start: Instant, end: Instant) -> u64 {
    end.saturating_duration_since(start).as_nanos() as u64
}
