//! Parses the values in OTLP JSON, such as texts, times, status codes and attributes, in every
//! valid form.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::picked::{whole, Key, Picked, Scalar};

/// A text value, borrowed from the document unless it has escapes.
#[derive(Default)]
pub struct Text<'a>(pub Cow<'a, str>);

/// A time of 64 bits in nanoseconds since 1970, which JSON gives as text or as a number.
#[derive(Default)]
pub struct Nanoseconds(pub u64);

/// Whether a span's status is an error. JSON gives its code as a number or as a name.
#[derive(Default)]
pub struct IsError(pub bool);

/// Reads a JSON number, text, truth value or null.
struct ScalarVisitor;

impl<'de> Visitor<'de> for ScalarVisitor {
    type Value = Scalar<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("text or a number")
    }

    fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Text(Cow::Borrowed(text.as_bytes())))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Text(Cow::Owned(text.as_bytes().to_owned())))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Scalar<'de>, E> {
        Ok(i64::try_from(value).map_or(Scalar::Double(value as f64), Scalar::Integer))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Integer(value))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Double(value))
    }

    fn visit_unit<E: de::Error>(self) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Other)
    }
}

/// Reads a text. Null becomes the empty text.
struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Text<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("text")
    }

    fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Text<'de>, E> {
        Ok(Text(Cow::Borrowed(text)))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Text<'de>, E> {
        Ok(Text(Cow::Owned(text.to_owned())))
    }

    fn visit_unit<E: de::Error>(self) -> Result<Text<'de>, E> {
        Ok(Text::default())
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor)
    }
}

impl<'de> Deserialize<'de> for Nanoseconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = match deserializer.deserialize_any(ScalarVisitor)? {
            Scalar::Other => Some(0),
            Scalar::Integer(value) => u64::try_from(value).ok(),
            Scalar::Double(value) => whole(value),
            Scalar::Text(text) => std::str::from_utf8(&text)
                .ok()
                .and_then(|text| text.parse().ok()),
        };
        value.map(Nanoseconds).ok_or_else(|| {
            de::Error::custom("a time that is not whole nanoseconds from 0 to 2^64 - 1")
        })
    }
}

impl<'de> Deserialize<'de> for IsError {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let code = deserializer.deserialize_any(ScalarVisitor)?;
        let named = matches!(&code, Scalar::Text(name) if **name == *b"STATUS_CODE_ERROR");
        Ok(IsError(named || code == Scalar::Integer(2)))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Picked<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AttributesVisitor)
    }
}

/// Reads a list of attributes and keeps those that this crate uses, without storing the list.
struct AttributesVisitor;

impl<'de> Visitor<'de> for AttributesVisitor {
    type Value = Picked<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of attributes")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Picked<'de>, A::Error> {
        let mut picked = Picked::default();
        while let Some(attribute) = list.next_element::<Attribute>()? {
            if let Some(key) = Key::of(attribute.key.0.as_bytes()) {
                picked.offer(key, attribute.value.0);
            }
        }
        Ok(picked)
    }

    fn visit_unit<E: de::Error>(self) -> Result<Picked<'de>, E> {
        Ok(Picked::default())
    }
}

#[derive(serde::Deserialize)]
struct Attribute<'a> {
    #[serde(borrow, default)]
    key: Text<'a>,
    #[serde(borrow, default)]
    value: AnyValue<'a>,
}

struct AnyValue<'a>(Scalar<'a>);

impl Default for AnyValue<'_> {
    fn default() -> Self {
        AnyValue(Scalar::Other)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for AnyValue<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValueVisitor)
    }
}

/// Reads an attribute's value such as `{"intValue": "7"}`. Nested values are skipped without
/// recursion.
struct AnyValueVisitor;

impl<'de> Visitor<'de> for AnyValueVisitor {
    type Value = AnyValue<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an attribute value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<AnyValue<'de>, A::Error> {
        let mut value = AnyValue::default();
        while let Some(kind) = map.next_key::<Text>()? {
            match &*kind.0 {
                "stringValue" | "string_value" => {
                    value = AnyValue(Scalar::Text(match map.next_value::<Text>()?.0 {
                        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
                        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
                    }));
                }
                "intValue" | "int_value" => {
                    value = AnyValue(integer(map.next_value::<Number>()?.0));
                }
                "doubleValue" | "double_value" => value = AnyValue(map.next_value::<Number>()?.0),
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(value)
    }

    fn visit_unit<E: de::Error>(self) -> Result<AnyValue<'de>, E> {
        Ok(AnyValue::default())
    }
}

/// A number, which JSON gives as a number or as text.
struct Number<'a>(Scalar<'a>);

impl<'de: 'a, 'a> Deserialize<'de> for Number<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ScalarVisitor).map(Number)
    }
}

/// Converts a text to the integer that it denotes, since JSON encodes long integers as text to keep
/// all digits. Other values are returned unchanged.
fn integer(scalar: Scalar<'_>) -> Scalar<'_> {
    let Scalar::Text(text) = &scalar else {
        return scalar;
    };
    let parsed = std::str::from_utf8(text)
        .ok()
        .and_then(|text| text.parse().ok());
    parsed.map_or(scalar, Scalar::Integer)
}
