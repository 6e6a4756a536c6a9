//! Counts the steps that a replay takes, so that tests can hold them against a trace's size.

#[cfg(test)]
thread_local! {
    static TAKEN: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// So many steps are taken; outside tests nobody counts.
#[inline(always)]
pub fn take(steps: usize) {
    #[cfg(test)]
    TAKEN.with(|taken| taken.set(taken.get() + steps as u64));
    #[cfg(not(test))]
    let _ = steps;
}

/// How many steps some work takes on this thread.
#[cfg(test)]
pub fn counted(work: impl FnOnce()) -> u64 {
    let before = TAKEN.with(std::cell::Cell::get);
    work();
    TAKEN.with(std::cell::Cell::get) - before
}
