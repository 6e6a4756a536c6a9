//! The types of token fields and of expressions.

use std::fmt;

/// The type of an expression, or of one field of a colour (a type of tokens).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FieldType {
    /// Signed 64-bit integer.
    Int,
    /// 64-bit floating point.
    Real,
    /// True or false.
    Bool,
    /// A text. A run stores it as a list of characters, so that equal texts are represented by the
    /// same word.
    Text,
    /// A value of the enumeration with that index.
    Enum(u16),
    /// A record of the colour with that index. Records exist in lists only; no field has this type.
    Record(u16),
    /// Any number of elements of one type.
    List(Element),
}

/// The type of a list's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Element {
    /// The element type of the empty list `[]`, which fits every list type. No field has this type.
    Nothing,
    /// Signed 64-bit integer.
    Int,
    /// 64-bit floating point.
    Real,
    /// true or false.
    Bool,
    /// A text.
    Text,
    /// A value of the enumeration with that index.
    Enum(u16),
    /// A record of the colour with that index. Each field of the record is a single value or a
    /// list.
    Record(u16),
}

impl Element {
    /// The element type of a field type; None for a list, since lists do not contain lists.
    pub(crate) fn of(kind: FieldType) -> Option<Self> {
        match kind {
            FieldType::Int => Some(Element::Int),
            FieldType::Real => Some(Element::Real),
            FieldType::Bool => Some(Element::Bool),
            FieldType::Text => Some(Element::Text),
            FieldType::Enum(at) => Some(Element::Enum(at)),
            FieldType::Record(at) => Some(Element::Record(at)),
            FieldType::List(_) => None,
        }
    }

    /// The field type of an element that is taken out of a list; None for the empty list `[]`.
    pub(crate) fn field_type(self) -> Option<FieldType> {
        match self {
            Element::Nothing => None,
            Element::Int => Some(FieldType::Int),
            Element::Real => Some(FieldType::Real),
            Element::Bool => Some(FieldType::Bool),
            Element::Text => Some(FieldType::Text),
            Element::Enum(at) => Some(FieldType::Enum(at)),
            Element::Record(at) => Some(FieldType::Record(at)),
        }
    }
}

impl FieldType {
    /// Whether a run stores a value of this type in list cells and refers to it by number: a list,
    /// a record or a text.
    pub(crate) fn has_cells(self) -> bool {
        matches!(
            self,
            FieldType::Text | FieldType::Record(_) | FieldType::List(_)
        )
    }

    /// Returns the type to which values of both types can be converted. It exists if the types are
    /// equal, or if both are list types and one is the type of the empty list `[]`. Otherwise None.
    pub(crate) fn common(self, other: Self) -> Option<Self> {
        match (self, other) {
            (FieldType::List(Element::Nothing), FieldType::List(_)) => Some(other),
            (FieldType::List(_), FieldType::List(Element::Nothing)) => Some(self),
            _ if self == other => Some(self),
            _ => None,
        }
    }

    /// Whether the type is int or real.
    pub(crate) fn is_number(self) -> bool {
        matches!(self, FieldType::Int | FieldType::Real)
    }
}

impl fmt::Display for FieldType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            FieldType::Int => "int",
            FieldType::Real => "real",
            FieldType::Bool => "bool",
            FieldType::Text => "a text",
            FieldType::Enum(_) => "an enumeration",
            FieldType::List(Element::Nothing) => "an empty list",
            FieldType::List(Element::Int) => "a list of int",
            FieldType::List(Element::Real) => "a list of real",
            FieldType::List(Element::Bool) => "a list of bool",
            FieldType::Record(_) => "a record",
            FieldType::List(Element::Text) => "a list of texts",
            FieldType::List(Element::Enum(_)) => "a list of an enumeration",
            FieldType::List(Element::Record(_)) => "a list of records",
        })
    }
}
