//! Gives the tokens of a marking to `cluster_run`, the engine that fires some nets in fewer steps,
//! and takes them back. `cluster_run` stores waiting tokens in another form.

use super::Marking;
use crate::marking::bucket::{Token, NONE};

/// All tokens of a run, without the buckets and cells by which transitions find them.
#[derive(Debug)]
pub(crate) struct Tokens {
    /// The field values of each token, one row after the other.
    pub(crate) rows: Vec<u64>,
    /// The place of each token. Meaningless for a freed token.
    pub(crate) places: Vec<u32>,
    /// The numbers of the freed tokens, which new tokens get again.
    pub(crate) free: Vec<u32>,
    /// The tokens available in their places, in order of arrival.
    pub(crate) waiting: Vec<u32>,
    /// Number of tokens that are not freed.
    pub(crate) live: usize,
}

impl Marking<'_> {
    /// The tokens available in their places, in order of arrival.
    pub(crate) fn waiting(&self) -> Vec<u32> {
        let mut waiting: Vec<u32> = self.available().collect();
        waiting.sort_unstable_by_key(|&token| self.nodes.tokens[token as usize].arrival);
        waiting
    }

    /// The numbers of the freed tokens, which new tokens get again.
    pub(crate) fn free_tokens(&self) -> Vec<u32> {
        let mut found = Vec::new();
        let mut free = self.free_token;
        while free != NONE {
            found.push(free);
            free = self.nodes.tokens[free as usize].next;
        }
        found
    }

    /// Stops the counting of tokens in all places, so that tokens that are already counted can
    /// arrive again without a second count. Returns, for each place, whether its tokens were
    /// counted.
    pub(crate) fn count_nothing(&mut self) -> Vec<bool> {
        let nothing = vec![false; self.counted.len()];
        std::mem::replace(&mut self.counted, nothing)
    }

    /// Resumes the counting of tokens in the places for which `counted` is true.
    pub(crate) fn count_again(&mut self, counted: Vec<bool>) {
        self.counted = counted;
    }

    /// Removes all tokens. Keeps the recorded number of tokens in each place, the time integrals
    /// and the stays.
    pub(crate) fn remove_tokens(&mut self) {
        let nothing = Tokens {
            rows: Vec::new(),
            places: Vec::new(),
            free: Vec::new(),
            waiting: Vec::new(),
            live: self.live,
        };
        let is_good = self.refill(nothing);
        debug_assert!(is_good, "no token arrives, so no guard fails");
    }

    /// Lets a copy of a token of `cluster_run` arrive in a place. `token` is its number, `row` its
    /// field values, and `arrival` its arrival number. Returns false if the evaluation of a guard
    /// fails; the failure is then in `guard_fault`.
    #[must_use]
    pub(crate) fn arrive_copy(
        &mut self,
        token: u32,
        place: u32,
        row: &[u64],
        arrival: u64,
    ) -> bool {
        let (number, stride) = (token as usize, self.net.stride);
        if number >= self.nodes.tokens.len() {
            self.nodes.tokens.resize(number + 1, Token::new(NONE));
            self.rows.resize((number + 1) * stride, 0);
        }
        self.nodes.tokens[number] = Token::new(place);
        self.rows[number * stride..][..stride].copy_from_slice(&row[..stride]);
        self.arrivals = arrival - 1;
        self.arrive(token)
    }

    /// Replaces all tokens by `tokens`. Does not change the number of tokens in each place, the
    /// time integrals and the stays: the caller has already updated them for the new tokens.
    /// Returns false if the evaluation of a guard fails; the failure is then in `guard_fault`.
    #[must_use]
    pub(crate) fn refill(&mut self, tokens: Tokens) -> bool {
        let counted = self.count_nothing();
        let mut fresh = Marking::new(self.net);
        fresh.now_ns = self.now_ns;
        fresh.counted = std::mem::take(&mut self.counted);
        std::mem::swap(&mut fresh.lists, &mut self.lists);
        std::mem::swap(&mut fresh.parameters, &mut self.parameters);
        std::mem::swap(&mut fresh.counts, &mut self.counts);
        std::mem::swap(&mut fresh.areas, &mut self.areas);
        std::mem::swap(&mut fresh.stays, &mut self.stays);
        fresh.live = tokens.live;
        fresh.rows = tokens.rows;
        fresh.nodes.tokens = tokens.places.into_iter().map(Token::new).collect();
        for &token in tokens.free.iter().rev() {
            fresh.nodes.tokens[token as usize].next = fresh.free_token;
            fresh.free_token = token;
        }
        let arrived = tokens.waiting.iter();
        let good = arrived.fold(true, |good, &token| good & fresh.arrive(token));
        *self = fresh;
        self.count_again(counted);
        good
    }
}
