//! Operations that succeeded and are still to be counted: many together.

use dfslab_workload::{Operation, OperationKind};

use crate::step::Step;

/// So many operations are counted together: behind a call the processor's caches are full of what
/// the kernel did, and what is done there once for many costs each a fraction.
pub const TOGETHER: usize = 64;

/// A step that was done: when (ns of the monotonic clock), how much.
#[derive(Clone, Copy)]
pub struct Done {
    pub step: Step,
    pub start: u64,
    pub end: u64,
    pub bytes: u64,
}

/// An operation that succeeded.
pub struct Ended {
    pub kind: OperationKind,
    /// The call that it was, where it was a single one.
    pub single: Option<Step>,
    /// How many of the steps that wait are its own, where it was not.
    steps: u32,
    pub bytes: u64,
    pub intended: Option<u64>,
    pub start: u64,
    pub end: u64,
}

/// What ended since anything was counted, and the steps of it all in one row.
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

    /// Its only step, where it was a single call.
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

    /// One more, that was a single call and nothing else.
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

    /// One more, with its steps.
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

    /// Count each in order, those that were no single call with their steps; none is left.
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
