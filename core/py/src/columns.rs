//! Stores the rows of a table as columns of equal length that never change.

use std::collections::HashMap;
use std::ffi::CStr;

/// The values of one column, one for each row. A row without a value (null) also has an entry,
/// which is ignored: zero, or the index of the first text of the dictionary.
pub enum Values {
    /// Integers of 32 bits.
    U32(Vec<u32>),
    /// Integers of 64 bits.
    U64(Vec<u64>),
    /// Truth values as one bit each; the first row is the least significant bit of the first byte.
    Bits(Vec<u8>),
    /// Trace ids, most significant byte first.
    Ids(Vec<[u8; 16]>),
    /// For each row, the index of its text in the dictionary.
    Texts(Vec<i32>, Dictionary),
}

/// Distinct texts in one sequence of bytes: text `n` begins at byte `offsets[n]` and ends before
/// byte `offsets[n + 1]`.
pub struct Dictionary {
    /// Index of the first byte of each text, followed by the total number of bytes.
    pub offsets: Vec<i32>,
    /// All texts in UTF-8, without separators.
    pub bytes: Vec<u8>,
}

impl Dictionary {
    /// Creates a dictionary of these texts, which must be distinct.
    ///
    /// # Panics
    ///
    /// If the texts have 2^31 bytes or more.
    pub fn of<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let (mut offsets, mut bytes) = (vec![0], Vec::new());
        for text in texts {
            bytes.extend_from_slice(text.as_bytes());
            offsets.push(i32::try_from(bytes.len()).expect("names are fewer than 2^31 bytes"));
        }
        Dictionary { offsets, bytes }
    }

    /// The number of texts in the dictionary.
    pub fn count(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The texts of the dictionary in the order of their indices.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let ends = self.offsets.windows(2);
        let bytes = ends.map(|ends| &self.bytes[ends[0] as usize..ends[1] as usize]);
        bytes.map(|text| std::str::from_utf8(text).expect("made of texts"))
    }
}

impl Values {
    /// Creates a column of texts, one for each row. Each distinct text is stored once.
    pub fn texts<'a>(rows: impl IntoIterator<Item = &'a str>) -> Self {
        let (mut known, mut texts) = (HashMap::new(), Vec::new());
        let place = |text| {
            *known.entry(text).or_insert_with(|| {
                texts.push(text);
                i32::try_from(texts.len() - 1).expect("fewer than 2^31 names")
            })
        };
        let places: Vec<i32> = rows.into_iter().map(place).collect();
        Values::Texts(places, Dictionary::of(texts))
    }

    /// Creates a column of truth values, one for each row.
    pub fn truths(rows: impl ExactSizeIterator<Item = bool>) -> Self {
        Values::Bits(bits(rows))
    }

    /// The memory of the column's values, as bytes. For a column of texts, it is the memory of the
    /// texts' indices in the dictionary.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Values::U32(values) => bytes_of(values),
            Values::U64(values) => bytes_of(values),
            Values::Bits(bytes) => bytes,
            Values::Ids(values) => values.as_flattened(),
            Values::Texts(places, _) => bytes_of(places),
        }
    }

    fn count(&self, rows: usize) -> usize {
        match self {
            Values::U32(values) => values.len(),
            Values::U64(values) => values.len(),
            Values::Ids(values) => values.len(),
            Values::Texts(places, _) => places.len(),
            // The last byte may have unused bits. The number `rows` is therefore accepted if `rows`
            // bits need exactly this number of bytes.
            Values::Bits(bytes) if bytes.len() == rows.div_ceil(8) => rows,
            Values::Bits(bytes) => bytes.len() * 8,
        }
    }
}

/// Marks the integer types whose values may be read as plain bytes, since they have no padding.
trait Integer {}
impl Integer for u32 {}
impl Integer for u64 {}
impl Integer for i32 {}

fn bytes_of<T: Integer>(values: &[T]) -> &[u8] {
    // SAFETY: the integers have no padding, and bytes need no alignment.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

fn bits(rows: impl ExactSizeIterator<Item = bool>) -> Vec<u8> {
    let mut bytes = vec![0; rows.len().div_ceil(8)];
    for (row, set) in rows.enumerate() {
        bytes[row / 8] |= u8::from(set) << (row % 8);
    }
    bytes
}

/// Whether the bit of the row with this index is set. The first row is the least significant bit of
/// the first byte.
pub fn bit(bytes: &[u8], row: usize) -> bool {
    bytes[row / 8] >> (row % 8) & 1 == 1
}

/// Which rows of a column have a value.
pub struct Validity {
    /// One bit for each row, set if the row has a value; the first row is the least significant bit
    /// of the first byte.
    pub bits: Vec<u8>,
    /// The number of rows that have no value.
    pub nulls: usize,
}

/// A column of a table. Without a `validity`, each row has a value.
pub struct Column {
    /// The name of the column.
    pub name: &'static CStr,
    /// The values of the column, one for each row.
    pub values: Values,
    /// Which rows have a value; None if all rows have a value.
    pub validity: Option<Validity>,
}

impl Column {
    /// Whether the row with this index has no value.
    pub fn is_null(&self, row: usize) -> bool {
        let validity = self.validity.as_ref();
        validity.is_some_and(|validity| !bit(&validity.bits, row))
    }
}

/// Columns of equal length.
pub struct Columns {
    rows: usize,
    columns: Vec<Column>,
}

impl Columns {
    /// Creates a table of `rows` rows that has no columns yet.
    pub fn of_rows(rows: usize) -> Self {
        let columns = Vec::new();
        Columns { rows, columns }
    }

    /// Adds a column that has a value in every row.
    ///
    /// # Panics
    ///
    /// If the number of values is not the number of rows.
    pub fn with(mut self, name: &'static CStr, values: Values) -> Self {
        assert_eq!(values.count(self.rows), self.rows, "rows of {name:?}");
        self.columns.push(Column {
            name,
            values,
            validity: None,
        });
        self
    }

    /// Adds a column in which some rows have no value: `valid` is true for each row that has a
    /// value. Panics if the number of values or of truth values is not the number of rows.
    pub fn with_nulls(
        self,
        name: &'static CStr,
        values: Values,
        valid: impl ExactSizeIterator<Item = bool>,
    ) -> Self {
        assert_eq!(valid.len(), self.rows, "rows of {name:?}");
        let rows = self.rows;
        let bits = bits(valid);
        let nulls = (0..rows).filter(|&row| !bit(&bits, row)).count();
        let mut all = self.with(name, values);
        let last = all.columns.last_mut().expect("it was added");
        last.validity = Some(Validity { bits, nulls });
        all
    }

    /// The number of rows of each column.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// All columns, in the order in which they were added.
    pub fn all(&self) -> &[Column] {
        &self.columns
    }

    /// The index of the column with this name; None if there is no such column.
    pub fn place(&self, name: &str) -> Option<usize> {
        let named = |column: &Column| column.name.to_bytes() == name.as_bytes();
        self.columns.iter().position(named)
    }
}
