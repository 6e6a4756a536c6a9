//! The available tokens of one place. Equal tokens in a row are stored once, with their number, so
//! that the cost of a marking depends on its distinct tokens only.

/// The field values of a token.
pub(super) type Row = Vec<u64>;

/// Equal tokens in a row: their field values and their number, which is never 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) row: Row,
    pub(super) count: usize,
}

/// The available tokens of a place in order. In a token game, the order is that of arrival. In a
/// state space, the order is ascending, so equal tokens are always one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Bag {
    runs: Vec<Run>,
    count: usize,
}

impl Bag {
    /// The tokens with these field values, in this order.
    pub(super) fn of(rows: &[Row]) -> Self {
        let mut bag = Self::default();
        rows.iter().for_each(|row| bag.push(row.clone()));
        bag
    }

    /// The number of tokens.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(super) fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// The field values of every token, in order.
    pub(super) fn rows(&self) -> impl Iterator<Item = &Row> {
        let runs = self.runs.iter();
        runs.flat_map(|run| std::iter::repeat_n(&run.row, run.count))
    }

    /// Adds a token at the end.
    pub(super) fn push(&mut self, row: Row) {
        self.push_run(Run { row, count: 1 });
    }

    /// Adds several equal tokens at the end.
    pub(super) fn push_run(&mut self, run: Run) {
        self.count += run.count;
        match self.runs.last_mut() {
            Some(last) if last.row == run.row => last.count += run.count,
            _ => self.runs.push(run),
        }
    }

    /// Adds a token to tokens in ascending order.
    pub(super) fn insert(&mut self, row: Row) {
        self.count += 1;
        match self.runs.binary_search_by(|run| run.row.cmp(&row)) {
            Ok(at) => self.runs[at].count += 1,
            Err(at) => self.runs.insert(at, Run { row, count: 1 }),
        }
    }

    /// Removes one token of the run with the index `at`. A run without tokens is removed, which
    /// changes the indices of the runs after it.
    pub(super) fn remove(&mut self, at: usize) {
        self.count -= 1;
        self.runs[at].count -= 1;
        if self.runs[at].count == 0 {
            self.runs.remove(at);
        }
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Puts the tokens in ascending order.
    pub(super) fn sort(&mut self) {
        let mut runs = std::mem::take(&mut self.runs);
        runs.sort_unstable_by(|a, b| a.row.cmp(&b.row));
        self.count = 0;
        runs.into_iter().for_each(|run| self.push_run(run));
    }
}

#[cfg(test)]
mod tests {
    use super::Bag;

    fn rows(bag: &Bag) -> Vec<u64> {
        bag.rows().map(|row| row[0]).collect()
    }

    #[test]
    fn tokens_keep_their_order_of_arrival() {
        let mut bag = Bag::of(&[vec![7], vec![7], vec![3], vec![7]]);
        assert_eq!((bag.len(), bag.runs().len()), (4, 3));
        assert_eq!(rows(&bag), [7, 7, 3, 7]);
        bag.remove(0);
        bag.remove(1);
        assert_eq!(rows(&bag), [7, 7]);
        bag.clear();
        assert!(bag.is_empty());
    }

    #[test]
    fn sorted_tokens_that_are_equal_are_one_run() {
        let mut bag = Bag::of(&[vec![7], vec![3], vec![7]]);
        bag.sort();
        bag.insert(vec![5]);
        bag.insert(vec![7]);
        assert_eq!(rows(&bag), [3, 5, 7, 7, 7]);
        assert_eq!((bag.len(), bag.runs().len()), (5, 3));
    }
}
