//! A queue of successful operations, which are counted in batches.

use dfslab_workload::{Operation, OperationKind};

use crate::step::Step;

/// Operations counted in one batch. After a system call the processor's caches hold kernel data; a
/// batch shares the cost of refilling them.
pub const TOGETHER: usize = 64;

/// A completed step: its start and end in ns of the monotonic clock, and the bytes moved.
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
    /// The operation's only call; None where the operation consisted of several calls.
    pub single: Option<Step>,
    /// Number of the queued steps that belong to the operation; 0 where `single` is set.
    steps: u32,
    pub bytes: u64,
    pub intended: Option<u64>,
    pub start: u64,
    pub end: u64,
}

/// Operations that ended since the last count, and the steps of all these operations in one list.
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

    /// The operation's only step; None where the operation consisted of several calls.
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

    /// Queues an operation that consisted of a single call. `when`: start and end, ns of the
    /// monotonic clock.
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

    /// Queues an operation with its steps. `when`: start and end, ns of the monotonic clock.
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

    /// Passes each queued operation to `count`, in order, and empties the queue. The steps are
    /// passed along, except for an operation of a single call.
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
