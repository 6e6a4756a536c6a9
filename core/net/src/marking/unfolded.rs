//! Writes field values as words that can be compared between runs. A token stores a list or a text
//! as the number of a cell, and this number differs from run to run. This module writes the
//! elements instead.

use super::{Marking, Token};
use crate::definition::FieldType;
use crate::lists::Lists;

impl Marking<'_> {
    /// The field values of the tokens available in a place, one row for each token, in order of
    /// arrival. A list is written as its length followed by its elements, and a record in a list as
    /// its fields.
    pub(crate) fn rows_of(&self, place: usize) -> Vec<Vec<u64>> {
        let fields = &self.net.places[place].fields;
        let lists = self.lists.borrow();
        let mut found: Vec<(u64, Vec<u64>)> = Vec::new();
        for token in self.available() {
            let Token {
                arrival, place: at, ..
            } = self.nodes.tokens[token as usize];
            if at as usize == place {
                let mut words = Vec::with_capacity(fields.len());
                for (&word, field) in self.row(token).iter().zip(fields) {
                    self.unfold(&lists, word, field.1, &mut words);
                }
                found.push((arrival, words));
            }
        }
        found.sort_unstable();
        found.into_iter().map(|(_, row)| row).collect()
    }

    /// Appends the field value `word` to `into`. A list or a text is written as its length and its
    /// elements. The number of its cell is not written, since it differs from run to run.
    fn unfold(&self, lists: &Lists, word: u64, kind: FieldType, into: &mut Vec<u64>) {
        match kind {
            FieldType::Text => {
                into.push(lists.length(word));
                into.extend(lists.elements(word));
            }
            FieldType::Record(colour) => {
                let fields = self.net.definition.fields_of(colour).iter();
                let values = lists.elements(word).zip(fields);
                values.for_each(|(word, field)| self.unfold(lists, word, field.1, into));
            }
            FieldType::List(element) => {
                into.push(lists.length(word));
                for one in lists.elements(word) {
                    let kind = element.field_type().expect("an element has a type");
                    self.unfold(lists, one, kind, into);
                }
            }
            _ => into.push(word),
        }
    }
}
