//! The few attributes that matter here, picked from a span's or a resource's many.

use std::borrow::Cow;

use crate::span::SpanStore;

/// Attribute keys that carry a call's bytes; of several, the one of the lowest rank counts.
fn size_rank(key: &[u8]) -> Option<u8> {
    match key {
        b"dfslab.size_bytes" => Some(0),
        b"size_bytes" => Some(1),
        b"bytes" => Some(2),
        _ => None,
    }
}

/// An attribute's value, as far as it is of use.
#[derive(Clone, Debug, PartialEq)]
pub enum Scalar<'a> {
    /// A whole number.
    Integer(i64),
    /// Any number.
    Double(f64),
    /// Text, not yet checked for UTF-8.
    Text(Cow<'a, [u8]>),
    /// Everything else.
    Other,
}

impl Scalar<'_> {
    /// The value as a size, or nothing when it cannot be one.
    fn size_bytes(&self) -> Option<u64> {
        match self {
            Scalar::Integer(value) => u64::try_from(*value).ok(),
            Scalar::Double(value) => whole(*value),
            Scalar::Text(text) => std::str::from_utf8(text).ok()?.trim().parse().ok(),
            Scalar::Other => None,
        }
    }
}

/// A number that is whole and fits, as JSON writers that know only doubles send it.
pub fn whole(value: f64) -> Option<u64> {
    let fits = value >= 0.0 && value < u64::MAX as f64 && value.fract() == 0.0;
    fits.then_some(value as u64)
}

/// What was found among the attributes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Picked<'a> {
    size: Option<(u8, Scalar<'a>)>,
    thread: u64,
    wait: bool,
    service: Option<Cow<'a, [u8]>>,
    host: Option<Cow<'a, [u8]>>,
}

impl<'a> Picked<'a> {
    /// Whether a value under this key would be looked at.
    pub fn wants(key: &[u8]) -> bool {
        let named: [&[u8]; 4] = [b"thread.id", b"dfslab.kind", b"service.name", b"host.name"];
        named.contains(&key) || size_rank(key).is_some()
    }

    /// Takes one attribute.
    pub fn offer(&mut self, key: &[u8], value: Scalar<'a>) {
        if let Some(rank) = size_rank(key) {
            if self.size.as_ref().is_none_or(|(taken, _)| rank < *taken) {
                self.size = Some((rank, value));
            }
            return;
        }
        match (key, value) {
            (b"thread.id", Scalar::Integer(thread)) => self.thread = thread as u64,
            (b"dfslab.kind", Scalar::Text(kind)) => {
                self.wait = matches!(&*kind, b"queue" | b"lock" | b"blocked");
            }
            (b"service.name", Scalar::Text(text)) => self.service = Some(text),
            (b"host.name", Scalar::Text(text)) => self.host = Some(text),
            _ => {}
        }
    }

    /// The call's bytes; a size that cannot be one is counted and taken as zero.
    pub fn bytes(&self, store: &mut SpanStore) -> u64 {
        let Some((_, value)) = &self.size else {
            return 0;
        };
        value.size_bytes().unwrap_or_else(|| {
            store.losses.bad_sizes += 1;
            0
        })
    }

    /// The thread's number, or zero.
    pub fn thread(&self) -> u64 {
        self.thread
    }

    /// Whether the recorder calls it a wait.
    pub fn wait(&self) -> bool {
        self.wait
    }

    /// The resource's service and host, interned; empty texts when they are not given.
    pub fn place(&self, store: &mut SpanStore) -> (u32, u32) {
        let service = store.intern_bytes(self.service.as_deref().unwrap_or_default());
        let host = store.intern_bytes(self.host.as_deref().unwrap_or_default());
        (service, host)
    }
}
