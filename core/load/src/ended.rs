//! A queue of successful operations that are to be counted in batches.

use dfslab_workload::{Operation, OperationKind};

use crate::step::Step;

/// Operations counted in one batch. After a system call the processor's caches hold kernel data; a
/// batch shares the cost of refilling them.
pub const TOGETHER: usize = 64;

/// A completed step: its time (ns of the monotonic clock) and bytes.
#[derive(Clone, Copy)]
pub struct Done {
    pub step: Step,
    pub start: u64,
    pub end: u64,
    pub bytes: u64,
}

/// A successful operation.
pub struct Ended {
    pub kind: OperationKind,
    /// The operation's only call, where it consisted of a single one.
    pub single: Option<Step>,
    /// Number of the queued steps that belong to the operation, where it had several.
    steps: u32,
    pub bytes: u64,
    pub intended: Option<u64>,
    pub start: u64,
    pub end: u64,
}

/// Operations that ended since the last count, and their steps in one sequence.
#[derive(Default)]
pub struct Waiting {
    ended: Vec<Ended>,
    steps: Vec<Done>,
}

impl Ended {
    #[inline]
    fn new(operation: &Operation, intended: Option<u64>, (start, end): (u64, u64)) -> Self {
        Ended {
            kind: operation.kind,
            single: None,
            steps: 0,
            bytes: operation.size_bytes,
            intended,
            start,
            end,
        }
    }

    /// The operation's only step, where it consisted of a single call.
    pub fn only(&self) -> Option<Done> {
        self.single.map(|step| Done {
            step,
            start: self.start,
            end: self.end,
            bytes: self.bytes,
        })
    }
}

impl Waiting {
    pub fn new() -> Self {
        Waiting {
            ended: Vec::with_capacity(TOGETHER),
            steps: Vec::with_capacity(2 * TOGETHER),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.ended.is_empty()
    }

    /// Queues an operation that consisted of a single call.
    #[inline]
    pub fn put_single(
        &mut self,
        operation: &Operation,
        intended: Option<u64>,
        when: (u64, u64),
        step: Step,
    ) {
        let mut ended = Ended::new(operation, intended, when);
        ended.single = Some(step);
        self.ended.push(ended);
    }

    /// Queues an operation with its steps.
    #[inline]
    pub fn put(
        &mut self,
        operation: &Operation,
        intended: Option<u64>,
        when: (u64, u64),
        done: &[Done],
    ) {
        if let [one] = done {
            if one.bytes == operation.size_bytes && (one.start, one.end) == when {
                return self.put_single(operation, intended, when, one.step);
            }
        }
        let mut ended = Ended::new(operation, intended, when);
        ended.steps = done.len() as u32;
        self.ended.push(ended);
        self.steps.extend_from_slice(done);
    }

    /// Passes each operation in order, with its steps unless it was a single call; empties the
    /// queue.
    #[inline]
    pub fn count(&mut self, mut count: impl FnMut(&Ended, &[Done])) {
        let mut rest = &self.steps[..];
        for one in &self.ended {
            let mut its = &[][..];
            if one.single.is_none() {
                (its, rest) = rest.split_at(one.steps as usize);
            }
            count(one, its);
        }
        self.ended.clear();
        self.steps.clear();
    }
}
