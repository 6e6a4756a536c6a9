//! One client's record of what it did: histograms, seconds, spans, errors, executed operations.

use std::collections::BTreeMap;

use dfslab_stats::Histogram;
use dfslab_workload::{Operation, OperationKind};

use crate::report::{AuditReport, Counted, SpanRecord};
use crate::series::Series;
use crate::Error;

const KINDS: usize = OperationKind::ALL.len();

/// The primitives of logical operations; at the end, calls to a metadata server inside of them.
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
    Exists,
    Rmdir,
    Truncate,
    Chmod,
    SetXattr,
    GetXattr,
    Lock,
    Unlock,
    OpenGetBlockLocations,
    CreateCreate,
    AppendAppend,
    WriteAddBlock,
    CloseComplete,
}

impl Step {
    const ALL: [Step; 25] = [
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
        Step::Exists,
        Step::Rmdir,
        Step::Truncate,
        Step::Chmod,
        Step::SetXattr,
        Step::GetXattr,
        Step::Lock,
        Step::Unlock,
        Step::OpenGetBlockLocations,
        Step::CreateCreate,
        Step::AppendAppend,
        Step::WriteAddBlock,
        Step::CloseComplete,
    ];

    pub fn name(self) -> &'static str {
        const NAMES: [&str; Step::ALL.len()] = [
            "create",
            "open",
            "append",
            "read",
            "write",
            "fsync",
            "close",
            "stat",
            "list",
            "rename",
            "delete",
            "mkdir",
            "exists",
            "rmdir",
            "truncate",
            "chmod",
            "set_xattr",
            "get_xattr",
            "lock",
            "unlock",
            "open/getBlockLocations",
            "create/create",
            "append/append",
            "write/addBlock",
            "close/complete",
        ];
        NAMES[self as usize]
    }

    /// The call to a metadata server of that name inside this step, where it is told apart.
    pub fn inner(self, call: &str) -> Option<Step> {
        match (self, call) {
            (Step::Open, "getBlockLocations") => Some(Step::OpenGetBlockLocations),
            (Step::Create, "create") => Some(Step::CreateCreate),
            (Step::Append, "append") => Some(Step::AppendAppend),
            (Step::Write, "addBlock") => Some(Step::WriteAddBlock),
            (Step::Close, "complete") => Some(Step::CloseComplete),
            _ => None,
        }
    }

    fn is_inner(self) -> bool {
        self >= Step::OpenGetBlockLocations
    }
}

/// A step that was done: when (ns of the monotonic clock), how much.
#[derive(Clone, Copy)]
pub struct Done {
    pub step: Step,
    pub start: u64,
    pub end: u64,
    pub bytes: u64,
}

type Steps = [Option<Box<Counted>>; Step::ALL.len()];
type Errors = BTreeMap<(String, ErrorKindName), (u64, String)>;
type ErrorKindName = &'static str;

/// What one client saw of one kind of operation in one phase.
#[derive(Default)]
pub struct Kind {
    /// All operations: time from their actual start.
    pub all: Counted,
    /// Time from the intended start, where there is one.
    pub response: Option<Box<Histogram>>,
    /// Operations of one call that takes all their time are counted once, for both: which call.
    single: Option<Step>,
    singles: Counted,
    steps: Option<Box<Steps>>,
}

/// What one client saw in one phase.
pub struct Part {
    pub zero: u64,
    kinds: [Option<Box<Kind>>; KINDS],
    pub series: Series,
    /// Operations that succeeded; when each of them ended after zero.
    pub count: u64,
    ends: Histogram,
    ends_low: u64,
    ends_high: u64,
    ends_pending: u64,
    /// How much later than it could have an operation with an intended start began.
    pub late: Histogram,
    pub first_start: Option<u64>,
    pub last_end: Option<u64>,
    /// When the client could have begun its next operation.
    free_at: u64,
}

/// Everything one client saw.
pub struct Record {
    pub client: u32,
    zero: u64,
    zero_unix_ns: u64,
    pub parts: Vec<Part>,
    spans: Vec<Kept>,
    span_limit: usize,
    pub spans_dropped: u64,
    pub errors: Errors,
    pub executed: Vec<Operation>,
    pub verified_bytes: u64,
    pub audit: Option<AuditReport>,
    pub failures: u64,
}

/// A span as it is kept while the clock runs: no text, no allocation of its own.
struct Kept {
    kind: OperationKind,
    step: Option<Step>,
    start: u64,
    end: u64,
    parent: u64,
    bytes: u64,
}

impl Part {
    /// A part that begins at `zero`.
    fn new(zero: u64) -> Self {
        Part {
            zero,
            kinds: std::array::from_fn(|_| None),
            series: Series::new(zero),
            count: 0,
            ends: Histogram::new(),
            ends_low: 0,
            ends_high: 0,
            ends_pending: 0,
            late: Histogram::new(),
            first_start: None,
            last_end: None,
            free_at: zero,
        }
    }

    /// Count an end; those of one bucket come one after the other and are stored together.
    #[inline]
    fn ended(&mut self, after_ns: u64) {
        if after_ns >= self.ends_high {
            self.store_ends();
            (self.ends_low, self.ends_high) = Histogram::bucket_of(after_ns);
        }
        self.ends_pending += 1;
    }

    #[cold]
    fn store_ends(&mut self) {
        self.ends.record_many(self.ends_low, self.ends_pending);
        self.ends_pending = 0;
    }

    /// When operations ended; the values are the buckets' lowest.
    pub fn ends(&self) -> Histogram {
        let mut ends = self.ends.clone();
        ends.record_many(self.ends_low, self.ends_pending);
        if let Some(last) = self.last_end.filter(|_| ends.count() > 0) {
            ends.raise_maximum(last.saturating_sub(self.zero));
        }
        ends
    }

    /// (kind, what was seen) of every kind of operation seen.
    pub fn kinds(&self) -> impl Iterator<Item = (OperationKind, &Kind)> {
        OperationKind::ALL
            .iter()
            .filter_map(|kind| Some((*kind, self.kinds[*kind as usize].as_deref()?)))
    }

    fn kind(&mut self, kind: OperationKind) -> &mut Kind {
        self.kinds[kind as usize].get_or_insert_default()
    }
}

impl Kind {
    #[inline]
    fn succeeded(&mut self, bytes: u64, (start, end): (u64, u64), done: &[Done]) {
        if let [one] = done {
            if *self.single.get_or_insert(one.step) == one.step {
                self.singles.histogram.record(end - start);
                self.singles.bytes += bytes;
                return;
            }
        }
        self.all.histogram.record(end - start);
        self.all.bytes += bytes;
        let steps = self
            .steps
            .get_or_insert_with(|| Box::new(std::array::from_fn(|_| None)));
        for one in done {
            let counted = steps[one.step as usize].get_or_insert_default();
            counted.histogram.record(one.end - one.start);
            counted.bytes += one.bytes;
        }
    }

    /// All operations of this kind.
    pub fn operations(&self) -> Counted {
        let mut all = self.all.clone();
        all.merge(&self.singles);
        all
    }

    /// (step, what was counted) of every step seen.
    pub fn steps(&self) -> Vec<(Step, Counted)> {
        let mut found: BTreeMap<Step, Counted> = BTreeMap::new();
        for step in Step::ALL {
            let seen = self
                .steps
                .as_ref()
                .and_then(|steps| steps[step as usize].as_deref());
            if let Some(counted) = seen {
                found.entry(step).or_default().merge(counted);
            }
        }
        if let Some(step) = self.single.filter(|_| self.singles.histogram.count() > 0) {
            found.entry(step).or_default().merge(&self.singles);
        }
        found.into_iter().collect()
    }

    /// Bytes they moved.
    pub fn bytes(&self) -> u64 {
        self.all.bytes + self.singles.bytes
    }
}

impl Record {
    pub fn new(client: u32, zero: u64, zero_unix_ns: u64, span_limit: usize) -> Self {
        Record {
            client,
            zero,
            zero_unix_ns,
            parts: Vec::new(),
            spans: Vec::new(),
            span_limit,
            spans_dropped: 0,
            errors: BTreeMap::new(),
            executed: Vec::new(),
            verified_bytes: 0,
            audit: None,
            failures: 0,
        }
    }

    /// What comes now belongs to a part that begins at `zero`.
    pub fn begin_part(&mut self, zero: u64) {
        self.parts.push(Part::new(zero));
    }

    /// The part that is under way.
    pub fn part(&mut self) -> &mut Part {
        self.parts
            .last_mut()
            .expect("begun before anything is recorded")
    }

    /// Count one successful operation and its steps.
    #[inline]
    pub fn succeeded(
        &mut self,
        operation: &Operation,
        intended: Option<u64>,
        (start, end): (u64, u64),
        done: &[Done],
    ) {
        let part = self
            .parts
            .last_mut()
            .expect("begun before anything is recorded");
        let moved = if operation.kind.moves_data() {
            operation.size_bytes
        } else {
            0
        };
        let kind = part.kind(operation.kind);
        kind.succeeded(moved, (start, end), done);
        let mut latency = end - start;
        if let Some(intended) = intended {
            latency = end.saturating_sub(intended);
            kind.response.get_or_insert_default().record(latency);
            let could = intended.max(part.free_at);
            part.late.record(start.saturating_sub(could));
        }
        part.first_start.get_or_insert(start);
        part.last_end = Some(end);
        part.free_at = end;
        part.count += 1;
        part.series.count(end, moved, latency);
        part.ended(end.saturating_sub(part.zero));
        if self.span_limit > 0 {
            self.keep_spans(operation, start, end, done);
        }
    }

    /// Count one failed operation.
    pub fn failed(&mut self, operation: &Operation, at: u64, error: &Error) {
        let part = self.part();
        part.kind(operation.kind).all.errors += 1;
        part.series.fail(at);
        part.free_at = at;
        self.failures += 1;
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

    /// Operations that succeeded.
    pub fn count(&self) -> u64 {
        self.parts.iter().map(|part| part.count).sum()
    }

    /// When the last operation that succeeded ended.
    pub fn last_end(&self) -> Option<u64> {
        self.parts.iter().filter_map(|part| part.last_end).max()
    }

    fn keep_spans(&mut self, operation: &Operation, start: u64, end: u64, done: &[Done]) {
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
        let operation = self.spans.len() as u64;
        let mut outer = operation;
        for one in done {
            let inner = one.step.is_inner();
            self.spans.push(Kept {
                kind,
                step: Some(one.step),
                start: one.start,
                end: one.end,
                parent: if inner { outer } else { operation },
                bytes: one.bytes,
            });
            if !inner {
                outer = self.spans.len() as u64;
            }
        }
    }

    /// The spans that were kept; their ids are unique over all clients: the client above, a count
    /// from 1 below.
    pub fn spans(&self) -> impl Iterator<Item = SpanRecord> + '_ {
        let unix = |at: u64| self.zero_unix_ns + at.saturating_sub(self.zero);
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
}
