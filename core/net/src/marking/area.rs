//! Two values of a place: the time integral of the number of tokens in it, and the durations of the
//! tokens' stays in it.

/// The exact time integral of the number of available tokens of a place, in nanoseconds times
/// tokens. `watch` restarts it. `token_ns` is the integral from the restart to the time `since_ns`.
/// `most` is the largest number of tokens since the restart.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Area {
    pub(crate) since_ns: u64,
    pub(crate) token_ns: u128,
    pub(crate) most: u32,
    /// The time integral of the number of tokens from time zero to the latest restart, in
    /// nanoseconds times tokens.
    pub(super) earlier_ns: u128,
}

/// The durations for which tokens stay in a place, recorded token by token for Little's law.
#[derive(Clone, Debug, Default)]
pub(super) struct Stays {
    /// Arrival time in ns of each token in the place, by the token's number.
    since_ns: Vec<u64>,
    pub(super) came: u64,
    /// Sum of the stays in ns of all tokens that have left.
    pub(super) stayed_ns: u128,
}

impl Area {
    /// Records that the number of tokens changes from `old` to `new` at `now_ns`.
    #[inline(always)]
    pub(super) fn change(&mut self, now_ns: u64, old: u32, new: u32) {
        self.token_ns += u128::from(now_ns - self.since_ns) * u128::from(old);
        self.since_ns = now_ns;
        self.most = self.most.max(new);
    }

    /// The time integral of the number of tokens since time zero, in nanoseconds times tokens.
    pub(crate) fn whole_ns(&self) -> u128 {
        self.earlier_ns + self.token_ns
    }
}

impl Stays {
    pub(super) fn record(&mut self, token: usize, comes: bool, now_ns: u64) {
        if !comes {
            self.stayed_ns += u128::from(now_ns - self.since(token));
            return;
        }
        if token >= self.since_ns.len() {
            self.since_ns.resize(token + 1, 0);
        }
        self.since_ns[token] = now_ns;
        self.came += 1;
    }

    /// Arrival time of a token in ns. It is zero for tokens that were in the place before the
    /// observation began.
    pub(super) fn since(&self, token: usize) -> u64 {
        self.since_ns.get(token).copied().unwrap_or(0)
    }
}
