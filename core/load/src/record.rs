//! One client's measurements: histograms of latencies, a series by second, spans, errors and
//! executed operations.

pub(crate) mod completed;
mod exported;
pub(crate) mod live;
pub(crate) mod schedule;
pub(crate) mod series;

use std::collections::BTreeMap;

use dfslab_stats::Histogram;
use dfslab_workload::{Operation, OperationKind};

use crate::record::completed::{Done, Ended, Waiting};
use crate::record::live::ClientLatencies;
use crate::record::schedule::Begun;
use crate::record::series::{Second, Series};
use crate::report::{AuditReport, Counted};
use crate::step::Step;
use crate::Error;

const KINDS: usize = OperationKind::ALL.len();

type Steps = [Option<Box<Counted>>; Step::ALL.len()];
type Errors = BTreeMap<(String, ErrorKindName), (u64, String)>;
type ErrorKindName = &'static str;

/// One client's measurements of one operation type in one phase.
#[derive(Clone, Default)]
pub struct Kind {
    /// Latencies of the operations that are not in `singles`, counted from the actual start. They
    /// are the operations of several calls, and the operations of a single call whose step differs
    /// from `single`.
    pub all: Counted,
    /// Response times counted from the scheduled start; None unless the workload is open.
    pub response: Option<Box<Histogram>>,
    /// The step of the first operation that consisted of a single call; None if there was none.
    /// `singles` has the latencies of all operations that consisted of only this step. In such an
    /// operation, the latency of the step equals the latency of the operation.
    single: Option<Step>,
    singles: Counted,
    steps: Option<Box<Steps>>,
}

/// One client's measurements in one phase. An operation updates only the figures that cannot be
/// derived later. The other figures are derived at two times: at the end of each second, and when
/// an end time falls into another bucket of the histogram of end times.
#[derive(Clone)]
pub struct Part {
    pub start_ns: u64, // the common start of the phase, monotonic clock
    kinds: [Option<Box<Kind>>; KINDS],
    series: Series,
    /// Number of failed operations, and the longest latency in the current second.
    errors: u64,
    longest_ns: u64,
    /// Latencies since the client last published its counts.
    pub latencies: ClientLatencies,
    /// The next time at which derived figures are updated, in ns of the monotonic clock. It is the
    /// end of the current second, or of the current bucket of `ends` if that is earlier.
    next_update_ns: u64,
    /// Histogram of operations' end times in ns after the start of the phase. It lacks operations
    /// in the current bucket, whose bounds are `ends_low` and `ends_high`.
    ends: Histogram,
    ends_low: u64,
    ends_high: u64,
    /// Histogram of the generator's lateness in ns. The lateness is the actual start minus the
    /// earliest possible start. The histogram has the operations with a scheduled start that were
    /// late. `at_once` is the number of operations with a scheduled start that were not late.
    lateness_ns: Histogram,
    at_once: u64,
    /// The scheduled arrivals whose operations were begun; used by open workloads only.
    pub begun: Begun,
    pub first_start: Option<u64>, // of the successful operations, ns of the monotonic clock
    pub last_end: Option<u64>,
    /// When the client became free for its next operation, ns of the monotonic clock.
    free_at_ns: u64,
}

/// All measurements of one client.
pub struct Record {
    pub client: u32,
    pub(crate) start_ns: u64, // the common start of the first phase, monotonic clock
    pub(crate) zero_unix_ns: u64, // the same instant in ns since 1970
    pub parts: Vec<Part>,
    waiting: Waiting,
    pub(crate) spans: Vec<Kept>,
    span_limit: usize,
    pub spans_dropped: u64,
    pub errors: Errors,
    /// Executed operations with their starts (ns of the monotonic clock), if the plan requests
    /// them.
    pub executed: Vec<(Operation, u64)>,
    pub verified_bytes: u64,
    pub audit: Option<AuditReport>,
    pub failures: u64,
}

/// A recorded span in a compact form without text, so that recording allocates nothing in the timed
/// part.
pub(crate) struct Kept {
    pub kind: OperationKind,
    pub step: Option<Step>,
    pub start: u64,
    pub end: u64,
    pub parent: u64,
    pub bytes: u64,
}

impl Part {
    /// Creates the empty record of a phase that begins at `start_ns`, ns of the monotonic clock.
    fn new(start_ns: u64) -> Self {
        Part {
            start_ns,
            kinds: std::array::from_fn(|_| None),
            series: Series::new(start_ns),
            errors: 0,
            longest_ns: 0,
            latencies: ClientLatencies::new(),
            next_update_ns: 0,
            ends: Histogram::new(),
            ends_low: 0,
            ends_high: 0,
            lateness_ns: Histogram::new(),
            at_once: 0,
            begun: Begun::default(),
            first_start: None,
            last_end: None,
            free_at_ns: start_ns,
        }
    }

    /// Updates the series by second and the histogram of end times. The caller then counts the
    /// operation that lasted from `start` to `end` (ns of the monotonic clock). Called only if
    /// `end` is in another second than the end of the previous operation, or in another bucket of
    /// the histogram.
    #[cold]
    fn turn(&mut self, start: u64, end: u64) {
        self.first_start.get_or_insert(start);
        if end >= self.series.end_ns() {
            self.turn_second(end);
        }
        let more = self.count() - self.ends.count();
        self.ends.record_many(self.ends_low, more);
        (self.ends_low, self.ends_high) = Histogram::bucket_of(end.saturating_sub(self.start_ns));
        let bucket_end = self.start_ns.saturating_add(self.ends_high);
        self.next_update_ns = bucket_end.min(self.series.end_ns());
    }

    fn turn_second(&mut self, at: u64) {
        let so_far = self.so_far();
        self.series.turn(so_far, at);
        self.longest_ns = 0;
    }

    /// Counts one successful operation (`one`) and its steps (`done`).
    #[inline(always)]
    fn count_in(&mut self, one: &Ended, done: &[Done]) {
        let (start, end) = (one.start, one.end);
        if end >= self.next_update_ns {
            self.turn(start, end);
        }
        let kind = measured(&mut self.kinds[one.kind as usize]);
        let moved = match one.kind.moves_data() {
            true => one.bytes,
            false => 0,
        };
        let mut latency = end - start;
        let mut bucket = kind.succeeded(moved, one, done);
        if let Some(scheduled) = one.scheduled {
            latency = end.saturating_sub(scheduled);
            bucket = measured(&mut kind.response).record_in_bucket(latency);
            // If the previous operation ended after the scheduled start, the lateness is counted
            // from that end. Until then, the target caused the delay, and not the generator.
            match start.saturating_sub(scheduled.max(self.free_at_ns)) {
                0 => self.at_once += 1,
                late => self.lateness_ns.record(late),
            }
        }
        self.longest_ns = self.longest_ns.max(latency);
        self.latencies.record(bucket);
        self.last_end = Some(end);
        self.free_at_ns = end;
    }

    /// Number of successful operations in this phase.
    pub fn count(&self) -> u64 {
        self.kinds().map(|(_, kind)| kind.count()).sum()
    }

    /// Returns the totals of this phase so far. The longest latency in the result covers the
    /// current second only.
    pub fn so_far(&self) -> Second {
        let mut all = Second {
            errors: self.errors,
            latency_ns_max: self.longest_ns,
            ..Second::default()
        };
        for (_, kind) in self.kinds() {
            all.count += kind.count();
            all.bytes += kind.bytes();
            all.latency_ns_sum = all.latency_ns_sum.saturating_add(kind.waited_ns());
        }
        all
    }

    /// Returns the figures of each second of the phase, up to the last one in which an operation
    /// ended.
    pub fn seconds(&self) -> Vec<Second> {
        self.series.seconds(self.so_far())
    }

    /// Returns the histogram of the end times of operations, in ns after the start of the phase.
    /// Each end time is recorded as the lower bound of its bucket.
    pub fn ends(&self) -> Histogram {
        let mut ends = self.ends.clone();
        ends.record_many(self.ends_low, self.count() - ends.count());
        if let Some(last) = self.last_end.filter(|_| ends.count() > 0) {
            ends.raise_maximum(last.saturating_sub(self.start_ns));
        }
        ends
    }

    /// Returns the histogram of the generator's lateness in ns, over all operations with a
    /// scheduled start. An operation that was not late has a lateness of 0.
    pub fn late(&self) -> Histogram {
        let mut late = self.lateness_ns.clone();
        late.record_many(0, self.at_once);
        late
    }

    /// The operation types that occurred in this phase, with their measurements.
    pub fn kinds(&self) -> impl Iterator<Item = (OperationKind, &Kind)> {
        OperationKind::ALL
            .iter()
            .filter_map(|kind| Some((*kind, self.kinds[*kind as usize].as_deref()?)))
    }
}

/// Returns the measurements in `observed`. They are created when they are needed first.
#[inline(always)]
fn measured<T: Default>(observed: &mut Option<Box<T>>) -> &mut T {
    #[cold]
    fn new<T: Default>() -> Box<T> {
        Box::default()
    }
    match observed {
        Some(measurements) => measurements,
        none => none.insert(new()),
    }
}

impl Kind {
    /// Counts one successful operation, which moved `bytes`, and its steps. Returns the number of
    /// the bucket of its latency.
    #[inline]
    fn succeeded(&mut self, bytes: u64, one: &Ended, done: &[Done]) -> usize {
        let latency = one.end - one.start;
        if let Some(step) = one.single {
            if *self.single.get_or_insert(step) == step {
                self.singles.bytes += bytes;
                return self.singles.histogram.record_in_bucket(latency);
            }
        }
        match one.only() {
            Some(only) => self.add(bytes, latency, &[only]),
            None => self.add(bytes, latency, done),
        }
    }

    fn add(&mut self, bytes: u64, latency: u64, done: &[Done]) -> usize {
        self.all.bytes += bytes;
        let steps = self
            .steps
            .get_or_insert_with(|| Box::new(std::array::from_fn(|_| None)));
        for one in done {
            let counted = steps[one.step as usize].get_or_insert_default();
            counted.histogram.record(one.end - one.start);
            counted.bytes += one.bytes;
        }
        self.all.histogram.record_in_bucket(latency)
    }

    /// Number of successful operations of this type.
    fn count(&self) -> u64 {
        self.all.histogram.count() + self.singles.histogram.count()
    }

    /// Sum of the response times (open workload) or of the latencies (closed workload), ns.
    fn waited_ns(&self) -> u64 {
        let ns = match &self.response {
            Some(response) => response.sum_ns(),
            None => self.all.histogram.sum_ns() + self.singles.histogram.sum_ns(),
        };
        ns.try_into().unwrap_or(u64::MAX)
    }

    /// Counts and latencies of all operations of this type, of one call or of several.
    pub fn operations(&self) -> Counted {
        let mut all = self.all.clone();
        all.merge(&self.singles);
        all
    }

    /// Returns the counts and latencies of each step that operations of this type made.
    pub fn steps(&self) -> Vec<(Step, Counted)> {
        let mut found: BTreeMap<Step, Counted> = BTreeMap::new();
        for step in Step::ALL {
            let observed = self
                .steps
                .as_ref()
                .and_then(|steps| steps[step as usize].as_deref());
            if let Some(counted) = observed {
                found.entry(step).or_default().merge(counted);
            }
        }
        if let Some(step) = self.single.filter(|_| self.singles.histogram.count() > 0) {
            found.entry(step).or_default().merge(&self.singles);
        }
        found.into_iter().collect()
    }

    /// Bytes moved by the operations of this type.
    pub fn bytes(&self) -> u64 {
        self.all.bytes + self.singles.bytes
    }
}

impl Record {
    pub fn new(client: u32, start_ns: u64, zero_unix_ns: u64, span_limit: usize) -> Self {
        Record {
            client,
            start_ns,
            zero_unix_ns,
            parts: Vec::new(),
            waiting: Waiting::new(),
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

    /// Returns a copy of the record without its spans and its executed operations. Operations that
    /// wait in the queue are counted first.
    pub fn figures(&mut self) -> Record {
        self.settle();
        let (client, start_ns) = (self.client, self.start_ns);
        Record {
            parts: self.parts.clone(),
            spans_dropped: self.spans_dropped,
            errors: self.errors.clone(),
            verified_bytes: self.verified_bytes,
            audit: self.audit,
            failures: self.failures,
            ..Record::new(client, start_ns, self.zero_unix_ns, self.span_limit)
        }
    }

    /// Begins the record of the next phase, which starts at `start_ns`, ns of the monotonic clock.
    pub fn begin_part(&mut self, start_ns: u64) {
        self.settle();
        self.parts.push(Part::new(start_ns));
    }

    /// The record of the current phase. Operations that wait in the queue are counted first.
    pub fn part(&mut self) -> &mut Part {
        self.settle();
        self.parts
            .last_mut()
            .expect("begun before anything is recorded")
    }

    /// Counts the operations that were queued since the last call.
    #[inline(never)]
    pub fn settle(&mut self) {
        if self.waiting.is_empty() {
            return;
        }
        let mut waiting = std::mem::take(&mut self.waiting);
        let part = self.parts.last_mut();
        let part = part.expect("begun before anything is recorded");
        waiting.for_each(|one, done| part.count_in(one, done));
        if self.span_limit > 0 {
            waiting.for_each(|one, done| match one.only() {
                Some(only) => self.keep_spans(one, &[only]),
                None => self.keep_spans(one, done),
            });
        }
        waiting.clear();
        self.waiting = waiting;
    }

    /// Queues a successful operation, with its steps, for counting.
    #[inline]
    pub fn succeeded(
        &mut self,
        operation: &Operation,
        scheduled: Option<u64>,
        when: (u64, u64),
        done: &[Done],
    ) {
        self.waiting.put(operation, scheduled, when, done);
    }

    /// Queues a successful operation of a single call for counting.
    #[inline]
    pub fn succeeded_at_once(
        &mut self,
        operation: &Operation,
        scheduled: Option<u64>,
        when: (u64, u64),
        step: Step,
    ) {
        self.waiting.put_single(operation, scheduled, when, step);
    }

    /// Counts an operation that failed with `error` at the time `at`, ns of the monotonic clock.
    #[cold]
    pub fn failed(&mut self, operation: &Operation, at: u64, error: &Error) {
        let part = self.part();
        if at >= part.series.end_ns() {
            part.turn_second(at);
        }
        measured(&mut part.kinds[operation.kind as usize])
            .all
            .errors += 1;
        part.errors += 1;
        part.free_at_ns = at;
        self.failures += 1;
        self.note(operation.kind.name(), error);
    }

    /// Counts an error. `during` names what failed: the type of an operation, or work outside the
    /// timed operations, such as a check or a removal.
    pub fn note(&mut self, during: &str, error: &Error) {
        self.settle();
        let key = (format!("{during}/{}", error.operation), error.kind.name());
        self.errors
            .entry(key)
            .or_insert_with(|| (0, error.to_string()))
            .0 += 1;
    }

    /// Number of successful operations of this client over all phases.
    pub fn count(&self) -> u64 {
        debug_assert!(self.waiting.is_empty(), "a part's end settles all");
        self.parts.iter().map(Part::count).sum()
    }

    /// End of the client's last successful operation over all phases, ns of the monotonic clock.
    pub fn last_end(&self) -> Option<u64> {
        self.parts.iter().filter_map(|part| part.last_end).max()
    }

    #[cold]
    fn keep_spans(&mut self, whole: &Ended, done: &[Done]) {
        if self.spans.len() + 1 + done.len() > self.span_limit {
            self.spans_dropped += 1 + done.len() as u64;
            return;
        }
        let kind = whole.kind;
        self.spans.push(Kept {
            kind,
            step: None,
            start: whole.start,
            end: whole.end,
            parent: 0,
            bytes: whole.bytes,
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
}
