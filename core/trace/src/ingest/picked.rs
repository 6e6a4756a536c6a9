//! The few attributes that matter here, picked from a span's or a resource's many.

use std::borrow::Cow;

use crate::sampling::{weight_of, weight_of_trace_state};
use crate::span::SpanStore;

/// An attribute that is of use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// The call's bytes; of several, the one of the lowest rank counts.
    Size(u8),
    /// The thread's number.
    Thread,
    /// What kind of call it is.
    Kind,
    /// The resource's service.
    Service,
    /// The resource's host.
    Host,
    /// With what probability the call was kept.
    Probability,
    /// Jaeger's kind of sampler.
    SamplerType,
    /// Its parameter.
    SamplerParameter,
}

impl Key {
    /// The use of a key, or nothing.
    #[inline(always)]
    pub fn of(key: &[u8]) -> Option<Key> {
        // By length first: texts of a known length are compared as words, without a call.
        Some(match key.len() {
            17 if Self::is(key, b"dfslab.size_bytes") => Key::Size(0),
            10 if Self::is(key, b"size_bytes") => Key::Size(1),
            5 if Self::is(key, b"bytes") => Key::Size(2),
            9 if Self::is(key, b"thread.id") => Key::Thread,
            9 if Self::is(key, b"host.name") => Key::Host,
            11 if Self::is(key, b"dfslab.kind") => Key::Kind,
            12 if Self::is(key, b"service.name") => Key::Service,
            12 if Self::is(key, b"sampler.type") => Key::SamplerType,
            13 if Self::is(key, b"sampler.param") => Key::SamplerParameter,
            20 if Self::is(key, b"sampling.probability") => Key::Probability,
            _ => return None,
        })
    }

    #[inline(always)]
    fn is<const LENGTH: usize>(key: &[u8], text: &[u8; LENGTH]) -> bool {
        key.first_chunk::<LENGTH>() == Some(text)
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
    /// The value as any number, which some writers send as text.
    fn number(&self) -> Option<f64> {
        match self {
            Scalar::Integer(value) => Some(*value as f64),
            Scalar::Double(value) => Some(*value),
            Scalar::Text(text) => std::str::from_utf8(text).ok()?.trim().parse().ok(),
            Scalar::Other => None,
        }
    }

    /// The value as a size, or nothing when it cannot be one.
    #[inline]
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
    /// The rank of the key, and the size unless it cannot be one.
    size: Option<(u8, Option<u64>)>,
    thread: u64,
    wait: bool,
    /// Zero where nothing tells.
    weight: u64,
    /// Whether Jaeger's parameter is a probability, and what it is.
    probabilistic: bool,
    parameter: f64,
    /// Boxed, since only resources have one and there are many more spans.
    origin: Option<Box<Origin<'a>>>,
}

/// Where a resource's spans come from.
#[derive(Clone, Debug, Default, PartialEq)]
struct Origin<'a> {
    service: Cow<'a, [u8]>,
    host: Cow<'a, [u8]>,
}

impl<'a> Picked<'a> {
    /// Takes one attribute.
    #[inline(always)]
    pub fn offer(&mut self, key: Key, value: Scalar<'a>) {
        match (key, value) {
            (Key::Size(rank), value) if self.size.is_none_or(|(taken, _)| rank < taken) => {
                self.size = Some((rank, value.size_bytes()));
            }
            (Key::Thread, Scalar::Integer(thread)) => self.thread = thread as u64,
            (Key::Kind, Scalar::Text(kind)) => {
                self.wait = matches!(&*kind, b"queue" | b"lock" | b"blocked");
            }
            (Key::Service, Scalar::Text(text)) => self.origin().service = text,
            (Key::Host, Scalar::Text(text)) => self.origin().host = text,
            (Key::Probability, value) => {
                self.weight = value.number().and_then(weight_of).unwrap_or(self.weight);
            }
            (Key::SamplerType, Scalar::Text(kind)) => {
                self.probabilistic = *kind == *b"probabilistic";
            }
            (Key::SamplerParameter, value) => self.parameter = value.number().unwrap_or(0.0),
            _ => {}
        }
    }

    #[cold]
    fn origin(&mut self) -> &mut Origin<'a> {
        self.origin.get_or_insert_default()
    }

    /// The call's bytes; a size that cannot be one is counted and taken as zero.
    #[inline(always)]
    pub fn bytes(&self, store: &mut SpanStore) -> u64 {
        match self.size {
            None => 0,
            Some((_, Some(size))) => size,
            Some((_, None)) => {
                store.losses.bad_sizes += 1;
                0
            }
        }
    }

    /// Takes the span's trace state, whose weight goes before what attributes say.
    #[inline(always)]
    pub fn trace_state(&mut self, state: &[u8]) {
        if !state.is_empty() {
            self.weight = weight_of_trace_state(state).unwrap_or(self.weight);
        }
    }

    /// The number of the span's weight, or zero.
    #[inline(always)]
    pub fn sampling(&self, store: &mut SpanStore) -> u16 {
        let weight = match self.weight {
            0 if self.probabilistic => weight_of(self.parameter).unwrap_or(0),
            weight => weight,
        };
        if weight == 0 {
            return 0;
        }
        store.texts.intern_weight(weight)
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
        let Some(origin) = &self.origin else {
            let nothing = store.intern_bytes(b"");
            return (nothing, nothing);
        };
        let service = store.intern_bytes(&origin.service);
        (service, store.intern_bytes(&origin.host))
    }
}
