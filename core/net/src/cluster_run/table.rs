//! Tables of the firing loop: vectors whose indices are checked only in builds with debug
//! assertions.
//!
//! Without the checks, a firing takes about a tenth less time (benchmark `firings`): it reads about
//! 40 entries of these tables, and each check costs one comparison. All tests and fuzz targets are
//! built with debug assertions, so they check every index.

use std::ops::{Deref, DerefMut, Index, IndexMut};

/// A vector of the firing loop. Callers index it only with numbers that were made for it:
///
/// - Numbers of tokens come from `ClusterRun::make`, or from the engine whose tokens the run took
///   over. The table of records never becomes shorter.
/// - Numbers of cells come from `Cells::of_key`. The table of cells never becomes shorter.
/// - Numbers of transitions, and offsets into the tables of clusters, come from the compiler of the
///   net. The tables that they index do not change during a run.
#[derive(Clone, Debug)]
pub(super) struct Table<T>(Vec<T>);

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> FromIterator<T> for Table<T> {
    fn from_iter<I: IntoIterator<Item = T>>(entries: I) -> Self {
        Self(entries.into_iter().collect())
    }
}

impl<T> Deref for Table<T> {
    type Target = Vec<T>;

    #[inline(always)]
    fn deref(&self) -> &Vec<T> {
        &self.0
    }
}

impl<T> DerefMut for Table<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Vec<T> {
        &mut self.0
    }
}

impl<T> Index<usize> for Table<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, at: usize) -> &T {
        debug_assert!(at < self.0.len(), "index {at} of {} entries", self.0.len());
        // SAFETY: the number `at` was made for an entry of this table (see `Table`).
        unsafe { self.0.get_unchecked(at) }
    }
}

impl<T> IndexMut<usize> for Table<T> {
    #[inline(always)]
    fn index_mut(&mut self, at: usize) -> &mut T {
        debug_assert!(at < self.0.len(), "index {at} of {} entries", self.0.len());
        // SAFETY: the number `at` was made for an entry of this table (see `Table`).
        unsafe { self.0.get_unchecked_mut(at) }
    }
}

/// Records of tokens: `N` words each.
impl<const N: usize> Table<[u64; N]> {
    /// Word `at` of the record of a token.
    #[inline(always)]
    pub(super) fn word(&self, token: u32, at: usize) -> u64 {
        debug_assert!(at < N, "word {at} of {N}");
        // SAFETY: the compiler numbers the fields of a token. `run` chooses `N` so large that a
        // record has room for the fields of every colour (token type).
        unsafe { *self[token as usize].get_unchecked(at) }
    }

    /// Sets word `at` of the record of a token.
    #[inline(always)]
    pub(super) fn set_word(&mut self, token: u32, at: usize, word: u64) {
        debug_assert!(at < N, "word {at} of {N}");
        // SAFETY: as for `word`.
        unsafe { *self[token as usize].get_unchecked_mut(at) = word };
    }
}
