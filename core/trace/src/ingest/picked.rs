//! Picks the relevant attributes of a span or a resource.

use std::borrow::Cow;

use crate::sampling::{weight_of, weight_of_trace_state};
use crate::span::SpanStore;

/// A relevant attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// The call's bytes. With several such keys, the one of the lowest rank counts.
    Size(u8),
    /// The thread id.
    Thread,
    /// The call's cost class.
    Kind,
    /// The resource's service name.
    Service,
    /// The resource's host name.
    Host,
    /// The probability with which the call was sampled.
    Probability,
    /// Jaeger's sampler type.
    SamplerType,
    /// The parameter of Jaeger's sampler.
    SamplerParameter,
}

impl Key {
    /// The relevant attribute of a key, or None.
    #[inline(always)]
    pub fn of(key: &[u8]) -> Option<Key> {
        // By length first: texts of equal, known length are compared as words, without a call.
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

/// An attribute's value, as far as it is relevant.
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
    /// The value as a number, which some writers encode as text.
    fn number(&self) -> Option<f64> {
        match self {
            Scalar::Integer(value) => Some(*value as f64),
            Scalar::Double(value) => Some(*value),
            Scalar::Text(text) => std::str::from_utf8(text).ok()?.trim().parse().ok(),
            Scalar::Other => None,
        }
    }

    /// The value as a size; None if it is not a valid one.
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

/// A float as an integer if it is one and fits; some JSON writers know only floats.
pub fn whole(value: f64) -> Option<u64> {
    let fits = value >= 0.0 && value < u64::MAX as f64 && value.fract() == 0.0;
    fits.then_some(value as u64)
}

/// The relevant attributes found so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Picked<'a> {
    /// The rank of the key, and the size unless it is invalid.
    size: Option<(u8, Option<u64>)>,
    thread: u64,
    wait: bool,
    /// The sampling weight; zero if unknown.
    weight: u64,
    /// Whether Jaeger's sampler is probabilistic, and its parameter.
    probabilistic: bool,
    parameter: f64,
    /// Boxed, since only resources have one and there are far more spans.
    origin: Option<Box<Origin<'a>>>,
}

/// The service and host of a resource's spans.
#[derive(Clone, Debug, Default, PartialEq)]
struct Origin<'a> {
    service: Cow<'a, [u8]>,
    host: Cow<'a, [u8]>,
}

impl<'a> Picked<'a> {
    /// Adds one attribute.
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

    /// The call's bytes; an invalid size is counted and taken as zero.
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

    /// Reads the span's trace state, whose weight takes precedence over attributes.
    #[inline(always)]
    pub fn trace_state(&mut self, state: &[u8]) {
        if !state.is_empty() {
            self.weight = weight_of_trace_state(state).unwrap_or(self.weight);
        }
    }

    /// The index of the span's sampling weight; zero if unknown.
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

    /// The thread id, or zero.
    pub fn thread(&self) -> u64 {
        self.thread
    }

    /// Whether the recorder classifies the call as a wait.
    pub fn wait(&self) -> bool {
        self.wait
    }

    /// The resource's service and host, interned; empty texts if they are missing.
    pub fn place(&self, store: &mut SpanStore) -> (u32, u32) {
        let Some(origin) = &self.origin else {
            let nothing = store.intern_bytes(b"");
            return (nothing, nothing);
        };
        let service = store.intern_bytes(&origin.service);
        (service, store.intern_bytes(&origin.host))
    }
}
