//! Counts the elementary steps of a replay, so that tests can relate them to a trace's size.

#[cfg(test)]
thread_local! {
    static TAKEN: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Counts `steps` elementary steps of a replay. Has no effect outside tests.
#[inline(always)]
pub fn take(steps: usize) {
    #[cfg(test)]
    TAKEN.with(|taken| taken.set(taken.get() + steps as u64));
    #[cfg(not(test))]
    let _ = steps;
}

/// Returns the number of elementary steps that `work` takes on this thread.
#[cfg(test)]
pub fn counted(work: impl FnOnce()) -> u64 {
    let before = TAKEN.with(std::cell::Cell::get);
    work();
    TAKEN.with(std::cell::Cell::get) - before
}
