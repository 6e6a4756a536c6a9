//! Parses a span of OTLP JSON fast if it is in the form that most exporters write. In this form,
//! texts have no escapes, times and sizes are digits, and each attribute has a key and a value.
//!
//! The functions in this module return None if a span is truncated or not in this form. The caller
//! then parses the span with the library serde, since it may still be valid.

use std::borrow::Cow;

use super::digits::{digits, from_hexadecimal};
use super::picked::{Key, Picked, Scalar};

/// An id that was given as hexadecimal digits.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Identity {
    /// The span has no such id.
    #[default]
    None,
    /// The id has a wrong length, or a character that is not a hexadecimal digit.
    Wrong,
    /// The number that the digits denote.
    Number(u128),
}

impl Identity {
    /// Parses an id that must have exactly `digits` hexadecimal digits. An empty text means that
    /// there is no id (`Identity::None`).
    pub fn of(text: &[u8], digits: usize) -> Self {
        match from_hexadecimal(text, digits) {
            Some(number) => Identity::Number(number),
            None if text.is_empty() => Identity::None,
            None => Identity::Wrong,
        }
    }
}

/// The fields of one span, borrowed from the file's bytes.
#[derive(Default)]
pub struct UsualSpan<'a> {
    /// The trace id.
    pub trace_id: Identity,
    /// The span id.
    pub span_id: Identity,
    /// The parent's span id.
    pub parent_id: Identity,
    /// Name of the call, not yet checked for UTF-8.
    pub name: &'a [u8],
    /// Start time, ns since 1970.
    pub start_ns: u64,
    /// End time, ns since 1970.
    pub end_ns: u64,
    /// The attributes that this crate uses.
    pub picked: Picked<'a>,
    /// Whether the status of the span is an error.
    pub error: bool,
}

/// Parses the span at the start of `bytes` into `span`, which must be empty. Returns the span's
/// length in bytes; None if the span is truncated or not in the usual form.
#[inline(always)]
pub fn usual_span<'a>(bytes: &'a [u8], span: &mut UsualSpan<'a>) -> Option<usize> {
    let mut cursor = Cursor { bytes, at: 0 };
    cursor.expect(b'{')?;
    let begun = cursor.in_usual_order(span)?;
    cursor.members_behind(begun, |cursor, key| {
        match key {
            b"traceId" => span.trace_id = Identity::of(cursor.string()?, 32),
            b"spanId" => span.span_id = Identity::of(cursor.string()?, 16),
            b"parentSpanId" => span.parent_id = Identity::of(cursor.string()?, 16),
            b"traceState" => span.picked.trace_state(cursor.string()?),
            b"name" => span.name = cursor.string()?,
            b"startTimeUnixNano" => span.start_ns = cursor.whole_number()?,
            b"endTimeUnixNano" => span.end_ns = cursor.whole_number()?,
            b"attributes" => cursor.attributes(&mut span.picked)?,
            b"status" => span.error = cursor.status()?,
            // serde parses the spans whose keys have these alternative spellings, in snake case.
            b"trace_id" | b"span_id" | b"parent_span_id" | b"trace_state" => return None,
            b"start_time_unix_nano" | b"end_time_unix_nano" => return None,
            _ => cursor.skip()?,
        }
        Some(())
    })?;
    Some(cursor.at)
}

/// The empty members with which most writers end a span. One comparison recognises them all.
const NOTHING_MORE: &[u8; 95] =
    b",\"droppedAttributesCount\":0,\"events\":[],\"droppedEventsCount\":0\
                                ,\"links\":[],\"droppedLinksCount\":0";

struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

const LOW: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = LOW << 7;

/// Finds the bytes of `word` that cannot be part of a plain text: quotes, backslashes and control
/// characters. Returns a word in which the top bit of each of these bytes is set.
#[inline(always)]
fn ends_of_text(word: u64) -> u64 {
    let equal = |byte: u8| {
        let folded = word ^ (LOW * u64::from(byte));
        folded.wrapping_sub(LOW) & !folded
    };
    let control = word.wrapping_sub(LOW * 0x20) & !word;
    (equal(b'"') | equal(b'\\') | control) & HIGH
}

impl<'a> Cursor<'a> {
    #[inline(always)]
    fn peek(&mut self) -> Option<u8> {
        loop {
            let byte = *self.bytes.get(self.at)?;
            if byte > b' ' {
                return Some(byte);
            }
            if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return None;
            }
            self.at += 1;
        }
    }

    #[inline(always)]
    fn expect(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    /// Parses a quoted text without escapes and returns its content.
    #[inline(always)]
    fn string(&mut self) -> Option<&'a [u8]> {
        self.expect(b'"')?;
        self.inside()
    }

    /// Parses a quoted text from the position after its opening quote, and returns its content.
    #[inline(always)]
    fn inside(&mut self) -> Option<&'a [u8]> {
        let start = self.at;
        loop {
            let word = u64::from_le_bytes(*self.bytes[self.at..].first_chunk::<8>()?);
            let ends = ends_of_text(word);
            if ends != 0 {
                self.at += ends.trailing_zeros() as usize / 8;
                break;
            }
            self.at += 8;
        }
        if self.bytes[self.at] != b'"' {
            return None;
        }
        self.at += 1;
        Some(&self.bytes[start..self.at - 1])
    }

    /// Parses a hexadecimal id, from the position after its opening quote. A valid id has `DIGITS`
    /// digits, so the closing quote is expected at a fixed position and is not searched for.
    #[inline(always)]
    fn identity<const DIGITS: usize>(&mut self) -> Option<Identity> {
        if let Some(text) = self.quoted::<DIGITS>() {
            if let Some(number) = from_hexadecimal(text, DIGITS) {
                self.at += DIGITS + 1;
                return Some(Identity::Number(number));
            }
        }
        Some(Identity::of(self.inside()?, DIGITS))
    }

    /// Parses a time in nanoseconds since 1970, from the position after its opening quote. Such a
    /// time has nineteen digits in this century, so this length is tried first.
    #[inline(always)]
    fn time(&mut self) -> Option<u64> {
        if let Some(time) = self.quoted::<19>().and_then(digits) {
            self.at += 20;
            return Some(time);
        }
        digits(self.inside()?)
    }

    /// Returns the next `LENGTH` bytes if a quote follows them, else None. Does not advance.
    #[inline(always)]
    fn quoted<const LENGTH: usize>(&self) -> Option<&'a [u8]> {
        let text = self.bytes.get(self.at..self.at + LENGTH)?;
        (self.bytes.get(self.at + LENGTH) == Some(&b'"')).then_some(text)
    }

    /// Advances past `text` if the next bytes are `text`. Returns whether they are.
    #[inline(always)]
    fn literal<const LENGTH: usize>(&mut self, text: &[u8; LENGTH]) -> bool {
        let here = self.bytes.get(self.at..);
        let found = here.and_then(|rest| rest.first_chunk::<LENGTH>()) == Some(text);
        self.at += if found { LENGTH } else { 0 };
        found
    }

    /// Parses the first members of a span as long as they have no spaces and are in the order in
    /// which OpenTelemetry's exporters write them. Because of the known order, keys need not be
    /// looked up. Returns whether any member was parsed.
    #[inline(always)]
    fn in_usual_order(&mut self, span: &mut UsualSpan<'a>) -> Option<bool> {
        if !self.literal(b"\"traceId\":\"") {
            return Some(false);
        }
        span.trace_id = self.identity::<32>()?;
        if self.literal(b",\"spanId\":\"") {
            span.span_id = self.identity::<16>()?;
        }
        if self.literal(b",\"traceState\":\"") {
            span.picked.trace_state(self.inside()?);
        }
        if self.literal(b",\"parentSpanId\":\"") {
            span.parent_id = self.identity::<16>()?;
        }
        if self.literal(b",\"flags\":") {
            self.skip()?;
        }
        if self.literal(b",\"name\":\"") {
            span.name = self.inside()?;
        }
        if self.literal(b",\"kind\":") {
            self.skip()?;
        }
        if self.literal(b",\"startTimeUnixNano\":\"") {
            span.start_ns = self.time()?;
        }
        if self.literal(b",\"endTimeUnixNano\":\"") {
            span.end_ns = self.time()?;
        }
        if self.literal(b",\"attributes\":") {
            self.attributes(&mut span.picked)?;
        }
        if !self.literal(NOTHING_MORE) {
            self.rarely_more()?;
        }
        if self.literal(b",\"status\":null") {
            return Some(true);
        }
        if self.literal(b",\"status\":") {
            span.error = self.status()?;
        }
        Some(true)
    }

    /// Skips the rare members of a span: events, links, and the numbers of dropped entries.
    fn rarely_more(&mut self) -> Option<()> {
        if self.literal(b",\"droppedAttributesCount\":") {
            self.skip()?;
        }
        if self.literal(b",\"events\":") {
            self.skip()?;
        }
        if self.literal(b",\"droppedEventsCount\":") {
            self.skip()?;
        }
        if self.literal(b",\"links\":") {
            self.skip()?;
        }
        if self.literal(b",\"droppedLinksCount\":") {
            self.skip()?;
        }
        Some(())
    }

    /// Parses all members of an object. Calls `take` with each key, to parse the key's value.
    #[inline(always)]
    fn members(&mut self, take: impl FnMut(&mut Self, &'a [u8]) -> Option<()>) -> Option<()> {
        self.expect(b'{')?;
        self.members_behind(false, take)
    }

    /// Parses the remaining members of an object. The position is after the opening brace or, if
    /// `begun` is true, after one of the members.
    #[inline(always)]
    fn members_behind(
        &mut self,
        begun: bool,
        mut take: impl FnMut(&mut Self, &'a [u8]) -> Option<()>,
    ) -> Option<()> {
        if !begun && self.peek()? == b'}' {
            self.at += 1;
            return Some(());
        }
        let mut behind_value = begun;
        loop {
            if behind_value {
                let byte = self.peek()?;
                self.at += 1;
                match byte {
                    b',' => {}
                    b'}' => return Some(()),
                    _ => return None,
                }
            }
            let key = self.string()?;
            self.expect(b':')?;
            take(self, key)?;
            behind_value = true;
        }
    }

    /// Parses an unsigned integer, with or without quotes.
    #[inline(always)]
    fn whole_number(&mut self) -> Option<u64> {
        if self.peek()? == b'"' {
            return digits(self.string()?);
        }
        let start = self.at;
        while self.bytes.get(self.at)?.is_ascii_digit() {
            self.at += 1;
        }
        if matches!(self.bytes[self.at], b'.' | b'e' | b'E') {
            return None;
        }
        let text = &self.bytes[start..self.at];
        // A JSON number has no leading zero.
        (text.len() == 1 || text.first() != Some(&b'0')).then(|| digits(text))?
    }

    fn status(&mut self) -> Option<bool> {
        let mut error = false;
        if self.peek()? == b'n' {
            self.skip()?;
            return Some(false);
        }
        self.members(|cursor, key| {
            if key != b"code" {
                return cursor.skip();
            }
            error = if cursor.peek()? == b'"' {
                cursor.string()? == b"STATUS_CODE_ERROR"
            } else {
                cursor.whole_number()? == 2
            };
            Some(())
        })?;
        Some(error)
    }

    #[inline(always)]
    fn attributes(&mut self, picked: &mut Picked<'a>) -> Option<()> {
        self.expect(b'[')?;
        if self.peek()? == b']' {
            self.at += 1;
            return Some(());
        }
        loop {
            match self.usual_attribute(picked)? {
                Some(b',') => continue,
                Some(_) => return Some(()),
                None => {}
            }
            let mut name: Option<Option<Key>> = None;
            self.members(|cursor, key| match (key, name) {
                (b"key", None) => {
                    name = Some(Key::of(cursor.string()?));
                    Some(())
                }
                (b"value", Some(Some(name))) => {
                    picked.offer(name, cursor.value()?);
                    Some(())
                }
                (b"value", Some(_)) => cursor.skip(),
                _ => None,
            })?;
            let byte = self.peek()?;
            self.at += 1;
            match byte {
                b',' => {}
                b']' => return Some(()),
                _ => return None,
            }
        }
    }

    /// Parses an attribute that has an integer value, in the form that most exporters write.
    /// Returns `Some(Some(byte))` with the comma or bracket after the attribute. If the attribute
    /// has another form, returns `Some(None)` and does not advance. Returns None if the span is
    /// truncated or the integer is invalid.
    #[inline(always)]
    fn usual_attribute(&mut self, picked: &mut Picked<'a>) -> Option<Option<u8>> {
        let start = self.at;
        if self.literal(b"{\"key\":\"") {
            let key = Key::of(self.inside()?);
            if self.literal(b",\"value\":{\"intValue\":\"") {
                let value = digits(self.inside()?).and_then(|value| i64::try_from(value).ok());
                let behind = [b',', b']'];
                if let Some(end) = behind
                    .into_iter()
                    .find(|&end| self.literal(&[b'}', b'}', end]))
                {
                    let value = value?;
                    if let Some(key) = key {
                        picked.offer(key, Scalar::Integer(value));
                    }
                    return Some(Some(end));
                }
            }
        }
        self.at = start;
        Some(None)
    }

    fn value(&mut self) -> Option<Scalar<'a>> {
        let mut value = Scalar::Other;
        self.members(|cursor, kind| {
            value = match kind {
                b"stringValue" => Scalar::Text(Cow::Borrowed(cursor.string()?)),
                b"intValue" => Scalar::Integer(i64::try_from(cursor.whole_number()?).ok()?),
                _ => return None,
            };
            Some(())
        })?;
        Some(value)
    }

    /// Skips a value of any type. Checks only that its brackets and quotes match.
    #[inline(always)]
    fn skip(&mut self) -> Option<()> {
        match self.peek()? {
            b'"' => self.skip_string(),
            b'{' | b'[' => self.skip_nested(),
            _ => {
                let start = self.at;
                while let b'0'..=b'9' | b'a'..=b'z' | b'E' | b'+' | b'-' | b'.' =
                    *self.bytes.get(self.at)?
                {
                    self.at += 1;
                }
                (self.at > start).then_some(())
            }
        }
    }

    fn skip_string(&mut self) -> Option<()> {
        self.at += 1;
        loop {
            match *self.bytes.get(self.at)? {
                b'"' => {
                    self.at += 1;
                    return Some(());
                }
                b'\\' => self.at += 2,
                0..=0x1f => return None,
                _ => self.at += 1,
            }
        }
    }

    fn skip_nested(&mut self) -> Option<()> {
        let (mut kinds, mut depth) = (0u64, 0u32);
        loop {
            match self.peek()? {
                b'"' => {
                    self.skip_string()?;
                    continue;
                }
                open @ (b'{' | b'[') => {
                    kinds = kinds << 1 | u64::from(open == b'{');
                    depth += 1;
                    if depth == 64 {
                        return None;
                    }
                }
                close @ (b'}' | b']') => {
                    if (kinds & 1 == 1) != (close == b'}') {
                        return None;
                    }
                    kinds >>= 1;
                    depth -= 1;
                }
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return Some(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_that_is_cut_off_anywhere_is_left_to_serde() {
        let text = br#"{"traceId":"ab","kind":1,"events":[{"a":"]"}],"name":"n"} ,     "#;
        let mut span = UsualSpan::default();
        let length = usual_span(text, &mut span).expect("a usual span");
        assert_eq!(
            (span.trace_id, span.name, length),
            (Identity::Wrong, &b"n"[..], 57)
        );
        for end in 0..length {
            let cut = usual_span(&text[..end], &mut UsualSpan::default());
            assert!(cut.is_none(), "{end}");
        }
    }
}
