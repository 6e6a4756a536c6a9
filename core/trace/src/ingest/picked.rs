//! Picks out those attributes of a span or a resource that this crate uses.

use std::borrow::Cow;

use crate::span::sampling::{weight_of, weight_of_trace_state};
use crate::span::SpanStore;

/// An attribute that this crate uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// The number of bytes that the call moved. Several attribute keys have this meaning, and each
    /// has a rank. If a span has several of these attributes, the attribute with the lowest rank
    /// counts.
    Size(u8),
    /// The thread id.
    Thread,
    /// The call's cost class, which says whether the call is a wait.
    Kind,
    /// The name of the service, an attribute of a resource.
    Service,
    /// The name of the host, an attribute of a resource.
    Host,
    /// The probability with which the recorder sampled the call.
    Probability,
    /// The type of Jaeger's sampler.
    SamplerType,
    /// The parameter of Jaeger's sampler, which is a probability if the sampler is of the
    /// probabilistic type.
    SamplerParameter,
}

impl Key {
    /// Returns which attribute a key denotes; None for attributes that this crate does not use.
    #[inline(always)]
    pub fn of(key: &[u8]) -> Option<Key> {
        // Keys are first distinguished by their lengths. Two texts of equal, known length are then
        // compared as machine words, without a function call.
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

/// The value of an attribute, as far as this crate uses it.
#[derive(Clone, Debug, PartialEq)]
pub enum Scalar<'a> {
    /// A number without a fraction.
    Integer(i64),
    /// A floating-point number.
    Double(f64),
    /// A text, not yet checked for UTF-8.
    Text(Cow<'a, [u8]>),
    /// A value of any other type.
    Other,
}

impl Scalar<'_> {
    /// Returns the value as a number. Text is parsed, since some writers encode numbers as text.
    /// None if the value is not a number.
    fn number(&self) -> Option<f64> {
        match self {
            Scalar::Integer(value) => Some(*value as f64),
            Scalar::Double(value) => Some(*value),
            Scalar::Text(text) => std::str::from_utf8(text).ok()?.trim().parse().ok(),
            Scalar::Other => None,
        }
    }

    /// Returns the value as a size in bytes. None if the value is negative, fractional or not a
    /// number.
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

/// Converts a float to an integer, since some JSON writers write integers as floats. None if the
/// float is negative, too large or not an integer.
pub fn whole(value: f64) -> Option<u64> {
    let fits = value >= 0.0 && value < u64::MAX as f64 && value.fract() == 0.0;
    fits.then_some(value as u64)
}

/// The values that this crate uses from the attributes of one span or resource. The value of an
/// attribute that was not found has its default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Picked<'a> {
    /// The size of the call, as (rank of the attribute's key, size in bytes). The outer option is
    /// None if no attribute for the size was found. The inner option is None if the attribute's
    /// value is invalid.
    size: Option<(u8, Option<u64>)>,
    thread: u64,
    wait: bool,
    /// The sampling weight; 0 if unknown.
    weight: u64,
    /// Whether Jaeger's sampler is of the probabilistic type. If so, `parameter` is the sampling
    /// probability.
    probabilistic: bool,
    parameter: f64,
    /// The names of the service and the host, which only resources have. These names are boxed, so
    /// that this type is small for spans, of which there are far more than resources.
    origin: Option<Box<Origin<'a>>>,
}

/// The service and host names of all spans of a resource.
#[derive(Clone, Debug, Default, PartialEq)]
struct Origin<'a> {
    service: Cow<'a, [u8]>,
    host: Cow<'a, [u8]>,
}

impl<'a> Picked<'a> {
    /// Adds the value of one attribute.
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

    /// The number of bytes that the call moved. An invalid size is counted in the losses of the
    /// store, and 0 is returned.
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

    /// Reads the sampling weight from a span's trace state. A weight in the trace state takes
    /// precedence over a weight in the attributes.
    #[inline(always)]
    pub fn trace_state(&mut self, state: &[u8]) {
        if !state.is_empty() {
            self.weight = weight_of_trace_state(state).unwrap_or(self.weight);
        }
    }

    /// Stores the sampling weight of the span and returns its index in the store; 0 if the weight
    /// is unknown.
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

    /// The thread id, or 0 if it is unknown.
    pub fn thread(&self) -> u64 {
        self.thread
    }

    /// Whether the recorder classifies the call as a wait.
    pub fn wait(&self) -> bool {
        self.wait
    }

    /// Interns the names of service and host of a resource and returns their numbers. Missing names
    /// are empty texts.
    pub fn place(&self, store: &mut SpanStore) -> (u32, u32) {
        let Some(origin) = &self.origin else {
            let nothing = store.intern_bytes(b"");
            return (nothing, nothing);
        };
        let service = store.intern_bytes(&origin.service);
        (service, store.intern_bytes(&origin.host))
    }
}
