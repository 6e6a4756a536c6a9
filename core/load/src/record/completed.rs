//! A queue of successful operations. With the queue, a client counts its operations in batches
//! instead of one by one.

use dfslab_workload::{Operation, OperationKind};

use crate::step::Step;

/// Number of operations that are counted in one batch. A system call displaces the generator's data
/// from the processor's caches. With batches, these data are reloaded only once per batch, not once
/// per operation.
pub const BATCH_MAX: usize = 64;

/// A completed step: its start and end in ns of the monotonic clock, and the bytes moved.
#[derive(Clone, Copy)]
pub struct Done {
    pub step: Step,
    pub start: u64,
    pub end: u64,
    pub bytes: u64,
}

/// A successful operation in the queue.
pub struct Ended {
    pub kind: OperationKind,
    /// The only step of the operation, whose times and bytes equal those of the operation. None if
    /// the operation has several steps or its step has other times or bytes. The steps are then in
    /// the queue's list.
    pub single: Option<Step>,
    /// Number of entries in the queue's list of steps that belong to the operation; 0 where
    /// `single` is set.
    steps: u32,
    pub bytes: u64,
    pub scheduled: Option<u64>,
    pub start: u64,
    pub end: u64,
}

/// The queue: operations that ended since the last count, and one list of the steps of all these
/// operations.
#[derive(Default)]
pub struct Waiting {
    ended: Vec<Ended>,
    steps: Vec<Done>,
}

impl Ended {
    #[inline]
    fn new(operation: &Operation, scheduled: Option<u64>, (start, end): (u64, u64)) -> Self {
        Ended {
            kind: operation.kind,
            single: None,
            steps: 0,
            bytes: operation.size_bytes,
            scheduled,
            start,
            end,
        }
    }

    /// The operation's step if `single` is set, else None.
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
            ended: Vec::with_capacity(BATCH_MAX),
            steps: Vec::with_capacity(2 * BATCH_MAX),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.ended.is_empty()
    }

    /// Queues an operation that consisted of a single call. `when` has its start and end in ns of
    /// the monotonic clock.
    #[inline]
    pub fn put_single(
        &mut self,
        operation: &Operation,
        scheduled: Option<u64>,
        when: (u64, u64),
        step: Step,
    ) {
        let mut ended = Ended::new(operation, scheduled, when);
        ended.single = Some(step);
        self.ended.push(ended);
    }

    /// Queues an operation and its steps. `when` is the operation's start and end, ns of the
    /// monotonic clock.
    #[inline]
    pub fn put(
        &mut self,
        operation: &Operation,
        scheduled: Option<u64>,
        when: (u64, u64),
        done: &[Done],
    ) {
        if let [one] = done {
            if one.bytes == operation.size_bytes && (one.start, one.end) == when {
                return self.put_single(operation, scheduled, when, one.step);
            }
        }
        let mut ended = Ended::new(operation, scheduled, when);
        ended.steps = done.len() as u32;
        self.ended.push(ended);
        self.steps.extend_from_slice(done);
    }

    /// Calls `work` with each queued operation and its steps, in the order of their ends. The list
    /// of steps is empty for an operation of a single call.
    #[inline]
    pub fn for_each(&self, mut work: impl FnMut(&Ended, &[Done])) {
        let mut rest = &self.steps[..];
        for one in &self.ended {
            let mut its = &[][..];
            if one.single.is_none() {
                (its, rest) = rest.split_at(one.steps as usize);
            }
            work(one, its);
        }
    }

    /// Empties the queue.
    pub fn clear(&mut self) {
        self.ended.clear();
        self.steps.clear();
    }
}
