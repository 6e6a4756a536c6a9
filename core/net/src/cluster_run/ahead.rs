//! Fetches memory into the processor's cache before a run needs it. The next events need records of
//! tokens and cells (lists of waiting tokens). In a large net, these are seldom in the cache.

use super::cells::Cell;
use super::ClusterRun;
use crate::engine::event_list::NEAR;

/// Starts to load the element of a list at the index `at` into the cache, and does not wait for it.
/// Does nothing if there is no such element.
#[inline(always)]
pub(super) fn fetch<T>(list: &[T], at: u32) {
    let Some(element) = list.get(at as usize) else {
        return;
    };
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
        // SAFETY: the pointer comes from a reference, so it is valid. The instruction changes no
        // memory, and every x86-64 processor has it.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(element).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = element;
}

/// How many events before its time the steps of an event's chain are fetched (see `fetch_ahead`).
const RECORD: usize = NEAR;
const CELL: usize = 12;
const WAITING: usize = 8;
const SECOND: usize = 4;

impl<const N: usize> ClusterRun<'_, '_, N> {
    /// Starts to load memory that the next events need.
    ///
    /// The address of a cell is in a token's record, so the cell can be fetched only when this
    /// record is in the cache. Each call therefore fetches one step of such a chain for each of
    /// four events. The earlier the event, the later the step:
    /// - `RECORD` events ahead: the record of the first token.
    /// - `CELL` events ahead: the cell of the first token, and the record of the second token.
    /// - `WAITING` events ahead: the tokens that wait in the cell of the first token, and the cell
    ///   of the second token.
    /// - `SECOND` events ahead: the tokens that wait in the cell of the second token.
    #[inline(never)]
    pub(super) fn fetch_ahead(&self) {
        let near = self.events.near();
        let first_token = |ahead: usize| Some(near.get(ahead - 1)?.first_token());
        if let Some(token) = first_token(RECORD) {
            fetch(&self.records, token);
        }
        if let Some(token) = first_token(CELL) {
            let record = &self.records[token as usize];
            fetch(&self.cells.cells, record[0] as u32);
            fetch(&self.records, record[1] as u32);
        }
        if let Some(token) = first_token(WAITING) {
            self.fetch_waiting(self.records[token as usize][0]);
            if let Some(second) = self.token_after(token) {
                fetch(&self.cells.cells, second[0] as u32);
            }
        }
        if let Some(second) = first_token(SECOND).and_then(|token| self.token_after(token)) {
            self.fetch_waiting(second[0]);
        }
    }

    /// The record of the token after `token` in a linked list; None if there is no such token.
    #[inline(always)]
    fn token_after(&self, token: u32) -> Option<&[u64; N]> {
        let next = self.records[token as usize][1] as u32;
        self.records.get(next as usize)
    }

    /// Fetches the records of two tokens of a cell. `position` is the cell and one of its lanes.
    /// One token is the last one in this lane, because an arriving token is linked to it. The other
    /// is the first token of lane 0, or of lane 1 if `position` is in lane 0. An example of it is
    /// the customer that waits for the arriving server.
    #[inline(always)]
    fn fetch_waiting(&self, position: u64) {
        let (cell, lane) = (position as u32, (position >> 32) as usize);
        let Some(Cell { lanes, .. }) = self.cells.cells.get(cell as usize) else {
            return;
        };
        fetch(&self.records, lanes[usize::from(lane == 0)].0);
        if let Some(ends) = lanes.get(lane) {
            fetch(&self.records, ends.1);
        }
    }
}
