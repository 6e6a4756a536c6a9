//! Rows as columns: immutable, of equal length.

use std::collections::HashMap;
use std::ffi::CStr;

/// The values of a column, one a row. The value of a null is zero, or the first text.
pub enum Values {
    /// Integers.
    U32(Vec<u32>),
    /// Integers.
    U64(Vec<u64>),
    /// Truth values, a bit each, least significant bit first.
    Bits(Vec<u8>),
    /// Identifiers of traces, most significant byte first.
    Ids(Vec<[u8; 16]>),
    /// The place of each text in a dictionary.
    Texts(Vec<i32>, Dictionary),
}

/// Distinct texts, back to back: text `n` begins at `offsets[n]` and ends before `offsets[n + 1]`.
pub struct Dictionary {
    /// The first byte of each text, then the number of all bytes.
    pub offsets: Vec<i32>,
    /// The texts in UTF-8.
    pub bytes: Vec<u8>,
}

impl Dictionary {
    /// A dictionary of these texts.
    ///
    /// # Panics
    /// With 2^31 bytes or more.
    pub fn of<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let (mut offsets, mut bytes) = (vec![0], Vec::new());
        for text in texts {
            bytes.extend_from_slice(text.as_bytes());
            offsets.push(i32::try_from(bytes.len()).expect("names are fewer than 2^31 bytes"));
        }
        Dictionary { offsets, bytes }
    }

    /// The number of texts.
    pub fn count(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The texts in their order.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let ends = self.offsets.windows(2);
        let bytes = ends.map(|ends| &self.bytes[ends[0] as usize..ends[1] as usize]);
        bytes.map(|text| std::str::from_utf8(text).expect("made of texts"))
    }
}

impl Values {
    /// A column of texts, each distinct text stored once.
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

    /// A column of truth values.
    pub fn truths(rows: impl ExactSizeIterator<Item = bool>) -> Self {
        Values::Bits(bits(rows))
    }

    /// The values as they are in memory: for texts, their places.
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
            // The last byte may have unused bits.
            Values::Bits(bytes) if bytes.len() == rows.div_ceil(8) => rows,
            Values::Bits(bytes) => bytes.len() * 8,
        }
    }
}

/// An integer without padding, any bytes of which may be read.
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

/// Whether the bit of a row is set.
pub fn bit(bytes: &[u8], row: usize) -> bool {
    bytes[row / 8] >> (row % 8) & 1 == 1
}

/// Which rows of a column have a value: their bits are set.
pub struct Validity {
    /// A bit for each row, least significant bit first.
    pub bits: Vec<u8>,
    /// The number of rows without a value.
    pub nulls: usize,
}

/// A column; one without a validity has a value in every row.
pub struct Column {
    /// Its name.
    pub name: &'static CStr,
    /// Its values.
    pub values: Values,
    /// Which rows have one.
    pub validity: Option<Validity>,
}

impl Column {
    /// Whether the row has no value.
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
    /// No columns yet, of a number of rows.
    pub fn of_rows(rows: usize) -> Self {
        let columns = Vec::new();
        Columns { rows, columns }
    }

    /// Adds a column that has a value in every row.
    ///
    /// # Panics
    /// When the number of values is not that of the rows.
    pub fn with(mut self, name: &'static CStr, values: Values) -> Self {
        assert_eq!(values.count(self.rows), self.rows, "rows of {name:?}");
        self.columns.push(Column {
            name,
            values,
            validity: None,
        });
        self
    }

    /// Adds a column in which some rows may have no value. Panics as `with`.
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

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// All columns in their order.
    pub fn all(&self) -> &[Column] {
        &self.columns
    }

    /// The place of a column.
    pub fn place(&self, name: &str) -> Option<usize> {
        let named = |column: &Column| column.name.to_bytes() == name.as_bytes();
        self.columns.iter().position(named)
    }
}
