//! Stores lists as chains of cells. Equal lists share the same cells, so one word identifies a
//! whole list.
//!
//! A token's field has the number of a list's first cell. Equal cells are stored only once, so two
//! lists are equal exactly if the numbers of their first cells are equal. Joins, guards and
//! markings therefore compare lists like ints.
//!
//! A sweep frees the cells to which no token refers. It takes place when the number of cells has
//! doubled since the last sweep.

use std::collections::{HashMap, HashSet};

use crate::definition::FieldType;
use crate::expression::{Fault, CALLS_MAX, LENGTH_MAX};

/// The word that represents the empty list.
pub(crate) const EMPTY: u64 = 0;

/// Number of cells in use at which the first sweep frees unused cells. It is small in tests, so
/// that tests sweep too.
const SWEEP_MIN: usize = if cfg!(test) { 16 } else { 1 << 16 };

#[derive(Clone, Copy, Debug)]
struct Cell {
    head: u64,
    tail: u32,
    length: u32,
}

/// All cells of the lists of one run.
#[derive(Clone, Debug)]
pub(crate) struct Lists {
    /// All cells by number. The first cell stands for the empty list.
    cells: Vec<Cell>,
    known: HashMap<(u64, u32), u32>,
    free: Vec<u32>,
    /// Number of cells in use at which unused cells will be freed.
    sweep_at: usize,
    /// Texts of inscriptions, whose cells are never freed.
    kept: Vec<u64>,
    /// Number of function calls made so far in evaluating the present inscription.
    calls: u32,
}

impl Default for Lists {
    fn default() -> Self {
        let (head, tail, length) = (0, 0, 0);
        Self {
            cells: vec![Cell { head, tail, length }],
            known: HashMap::new(),
            free: Vec::new(),
            sweep_at: SWEEP_MIN,
            kept: Vec::new(),
            calls: 0,
        }
    }
}

impl Lists {
    fn cell(&self, list: u64) -> Cell {
        self.cells[list as usize]
    }

    /// Number of elements of a list.
    pub(crate) fn length(&self, list: u64) -> u64 {
        u64::from(self.cell(list).length)
    }

    /// The elements of a list, first to last.
    pub(crate) fn elements(&self, list: u64) -> impl Iterator<Item = u64> + '_ {
        let mut at = list;
        std::iter::from_fn(move || {
            let cell = (at != EMPTY).then(|| self.cell(at))?;
            at = u64::from(cell.tail);
            Some(cell.head)
        })
    }

    /// The first element; None for an empty list.
    pub(crate) fn head(&self, list: u64) -> Option<u64> {
        (list != EMPTY).then(|| self.cell(list).head)
    }

    /// All elements but the first; None for an empty list.
    pub(crate) fn tail(&self, list: u64) -> Option<u64> {
        (list != EMPTY).then(|| u64::from(self.cell(list).tail))
    }

    /// Returns the list with `head` added in front. Fails if this list would exceed the largest
    /// length.
    pub(crate) fn prepend(&mut self, head: u64, list: u64) -> Result<u64, Fault> {
        let (tail, length) = (list as u32, self.cell(list).length + 1);
        if let Some(&known) = self.known.get(&(head, tail)) {
            return Ok(u64::from(known));
        }
        if length > LENGTH_MAX {
            return Err(Fault::LongList);
        }
        let cell = Cell { head, tail, length };
        let made = match self.free.pop() {
            Some(free) => {
                self.cells[free as usize] = cell;
                free
            }
            None => {
                self.cells.push(cell);
                u32::try_from(self.cells.len() - 1).expect("memory ends long before")
            }
        };
        self.known.insert((head, tail), made);
        Ok(u64::from(made))
    }

    /// Returns the record with the field values `words`, stored as a list of these words.
    pub(crate) fn record(&mut self, words: &[u64]) -> Result<u64, Fault> {
        let mut fields = words.iter().rev();
        fields.try_fold(EMPTY, |list, &word| self.prepend(word, list))
    }

    /// Returns the concatenation of the two lists. The cost is proportional to the length of
    /// `first`.
    pub(crate) fn concat(&mut self, first: u64, second: u64) -> Result<u64, Fault> {
        let elements: Vec<u64> = self.elements(first).collect();
        let mut prepended = elements.into_iter().rev();
        prepended.try_fold(second, |list, element| self.prepend(element, list))
    }

    /// The list in reverse order.
    pub(crate) fn reverse(&mut self, list: u64) -> Result<u64, Fault> {
        let elements: Vec<u64> = self.elements(list).collect();
        let mut turned = EMPTY;
        for element in elements {
            turned = self.prepend(element, turned)?;
        }
        Ok(turned)
    }

    /// Stores a text as the list of its characters' code points. Fails if the text is too long.
    pub(crate) fn text(&mut self, text: &str) -> Result<u64, Fault> {
        let letters: Vec<char> = text.chars().collect();
        let mut letters = letters.into_iter().rev();
        letters.try_fold(EMPTY, |list, letter| self.prepend(u64::from(letter), list))
    }

    /// Stores a text of an inscription; its cells are never freed.
    pub(crate) fn kept_text(&mut self, text: &str) -> Result<u64, Fault> {
        let word = self.text(text)?;
        self.kept.push(word);
        Ok(word)
    }

    /// The characters of a text.
    pub(crate) fn string(&self, text: u64) -> String {
        let letters = self.elements(text);
        letters
            .filter_map(|word| char::from_u32(word as u32))
            .collect()
    }

    /// Counts a function call and checks the limit. `depth` is the number of calls in which the
    /// call is nested; a call at depth 0 restarts the count at 1. Returns false if the count
    /// exceeds CALLS_MAX.
    pub(crate) fn count_call(&mut self, depth: u32) -> bool {
        self.calls = if depth == 0 { 1 } else { self.calls + 1 };
        self.calls <= CALLS_MAX
    }

    /// Whether the number of cells in use has reached `sweep_at`, so that unused cells should be
    /// freed.
    pub(crate) fn is_full(&self) -> bool {
        self.known.len() >= self.sweep_at
    }

    /// Frees every cell that cannot be reached from the roots. The roots are the words in tokens
    /// that refer to cells, each with its type. `fields` returns the fields of the records of a
    /// colour.
    pub(crate) fn sweep<'a>(
        &mut self,
        roots: impl Iterator<Item = (u64, FieldType)>,
        fields: &impl Fn(u16) -> &'a [(String, FieldType)],
    ) {
        let mut used = vec![false; self.cells.len()];
        // The visited cells, each with the type of its list. The same cell may be visited with two
        // types: it may belong to a list of ints and to a list of records.
        let mut opened = HashSet::new();
        let kept = self.kept.iter().map(|&word| (word, FieldType::Text));
        let mut open: Vec<(u64, FieldType)> = kept.collect();
        for root in std::iter::once((EMPTY, FieldType::Text)).chain(roots) {
            open.push(root);
            while let Some((word, kind)) = open.pop() {
                match kind {
                    FieldType::Text => self.mark(word, &mut used),
                    FieldType::Record(colour) => {
                        self.mark(word, &mut used);
                        let kinds = fields(colour).iter().map(|field| field.1);
                        open.extend(self.elements(word).zip(kinds));
                    }
                    FieldType::List(element) => {
                        self.mark(word, &mut used);
                        let inner = element.field_type();
                        let Some(inner) = inner.filter(|kind| kind.has_cells()) else {
                            continue;
                        };
                        let mut at = word;
                        while at != EMPTY && opened.insert((at, inner)) {
                            let Cell { head, tail, .. } = self.cell(at);
                            open.push((head, inner));
                            at = u64::from(tail);
                        }
                    }
                    _ => {}
                }
            }
        }
        self.known.retain(|_, cell| used[*cell as usize]);
        let cells = 1..self.cells.len() as u32;
        self.free = cells.rev().filter(|&at| !used[at as usize]).collect();
        self.sweep_at = SWEEP_MIN.max(2 * self.known.len());
    }

    fn mark(&self, list: u64, used: &mut [bool]) {
        let mut at = list;
        // If a cell is already marked as used, so are all cells after it, and the loop can end.
        while at != EMPTY && !std::mem::replace(&mut used[at as usize], true) {
            at = u64::from(self.cell(at).tail);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::Element;

    const INTS: FieldType = FieldType::List(Element::Int);

    #[test]
    fn a_sweep_keeps_texts_wherever_they_lie_and_those_of_inscriptions() {
        let mut lists = Lists::default();
        let known = lists.kept_text("kept").expect("short");
        let (inner, lone) = (lists.text("inner"), lists.text("lone"));
        let (inner, lone) = (inner.expect("short"), lone.expect("short"));
        let record = lists.record(&[1, inner]).expect("short");
        let both = list(&mut lists, &[record]);
        lists.text("xyz").expect("short");
        let before = lists.known.len();
        let fields = [("n", FieldType::Int), ("s", FieldType::Text)];
        let fields = fields.map(|(name, kind)| (name.to_owned(), kind));
        let roots = [
            (both, FieldType::List(Element::Record(0))),
            (lone, FieldType::Text),
        ];
        lists.sweep(roots.into_iter(), &|_| &fields);
        assert_eq!(lists.string(known), "kept");
        assert_eq!(lists.string(inner), "inner");
        assert_eq!(lists.text("lone"), Ok(lone));
        assert!(lists.known.len() <= before - 3, "three letters go");
    }

    fn list(lists: &mut Lists, elements: &[u64]) -> u64 {
        let prepended = elements.iter().rev();
        prepended.fold(EMPTY, |list, &element| {
            lists.prepend(element, list).expect("short")
        })
    }

    #[test]
    fn equal_lists_are_one() {
        let mut lists = Lists::default();
        let (one, two) = (list(&mut lists, &[1, 2]), list(&mut lists, &[3]));
        let both = lists.concat(one, two).expect("short");
        assert_eq!(both, list(&mut lists, &[1, 2, 3]));
        assert_ne!(both, list(&mut lists, &[3, 2, 1]));
        let turned = lists.reverse(both).expect("short");
        assert_eq!(turned, list(&mut lists, &[3, 2, 1]));
        assert_eq!((lists.length(both), lists.head(EMPTY)), (3, None));
    }

    #[test]
    fn a_sweep_keeps_what_roots_lead_to_and_reuses_the_rest() {
        let mut lists = Lists::default();
        let kept = list(&mut lists, &[1, 2, 3]);
        list(&mut lists, &[7, 8, 2, 3]);
        let before = lists.cells.len();
        lists.sweep([(kept, INTS), (EMPTY, INTS)].into_iter(), &|_| &[]);
        assert_eq!(lists.elements(kept).collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(lists.free.len(), 2, "7 and 8 led to cells that are kept");
        list(&mut lists, &[5, 6]);
        assert_eq!(lists.cells.len(), before);
        assert_eq!(list(&mut lists, &[1, 2, 3]), kept);
    }

    #[test]
    fn a_sweep_keeps_the_records_of_a_list() {
        let mut lists = Lists::default();
        let one = lists.record(&[5, 6]).expect("short");
        let two = lists.record(&[7, 6]).expect("short");
        let kept = list(&mut lists, &[one, two]);
        lists.record(&[8, 8]).expect("short");
        // The roots are one list in two types. As a list of ints, it refers to no other cells. As a
        // list of records, it does refer to other cells.
        let records = FieldType::List(Element::Record(0));
        let fields = ["a", "b"].map(|name| (name.to_owned(), FieldType::Int));
        lists.sweep([(kept, INTS), (kept, records)].into_iter(), &|_| &fields);
        let found: Vec<Vec<u64>> = lists
            .elements(kept)
            .map(|record| lists.elements(record).collect())
            .collect();
        assert_eq!(found, [[5, 6], [7, 6]]);
        assert_eq!(lists.free.len(), 2, "of 8, 8");
    }

    #[test]
    fn a_list_ends_at_its_bound() {
        let mut lists = Lists::default();
        let mut long = EMPTY;
        for element in 0..u64::from(LENGTH_MAX) {
            long = lists.prepend(element, long).expect("below the bound");
        }
        assert_eq!(lists.prepend(0, long), Err(Fault::LongList));
    }
}
