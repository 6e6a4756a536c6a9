//! The type rules of lists and of the functions of lists in the inscription language.

use super::check::{convert, Scope, Typed};
use super::function::ListFunction;
use super::parse::{BinaryOperator, Expression};
use super::program::Instruction;
use crate::definition::{Element, FieldType};
use crate::lists::EMPTY;

/// Converts code to the type `wanted`, for use as an element of a list. Minus zero becomes zero:
/// equal lists must have equal words.
pub(super) fn element(typed: Typed, wanted: FieldType) -> Result<Typed, String> {
    let mut typed = convert(typed, wanted)?;
    if wanted == FieldType::Real {
        let zero = Instruction::Push(0f64.to_bits());
        typed.code.push(zero);
        typed.code.push(Instruction::Real(BinaryOperator::Add));
    }
    Ok(typed)
}

/// Code that evaluates both operands and then applies the function to them.
fn joined(parts: [Typed; 2], function: ListFunction, kind: FieldType) -> Typed {
    let mut code: Vec<Instruction> = parts.into_iter().flat_map(|part| part.code).collect();
    code.push(Instruction::List(function));
    Typed { code, kind }
}

impl Scope<'_> {
    /// Type-checks a list literal `[a, b, c]`. All elements must have one type. In a list of ints
    /// and reals, the ints are converted to reals.
    pub(super) fn list(&self, written: &[Expression]) -> Result<Typed, String> {
        let mut elements = Vec::with_capacity(written.len());
        for one in written {
            elements.push(self.compile(one)?);
        }
        let kinds: Vec<FieldType> = elements.iter().map(|typed| typed.kind).collect();
        let kind = match kinds.first() {
            None => Element::Nothing,
            Some(_) if kinds.iter().all(|kind| kind.is_number()) => {
                match kinds.contains(&FieldType::Real) {
                    true => Element::Real,
                    false => Element::Int,
                }
            }
            Some(first) => Element::of(*first).ok_or("a list cannot hold lists")?,
        };
        let mut list = Typed {
            code: vec![Instruction::Push(EMPTY)],
            kind: FieldType::List(kind),
        };
        for typed in elements.into_iter().rev() {
            let wanted = kind.field_type().expect("a list with elements has a type");
            let typed = element(typed, wanted).map_err(|_| mixed(&kinds))?;
            list = joined([list, typed], ListFunction::Cons, FieldType::List(kind));
        }
        Ok(list)
    }

    /// Type-checks a call of a list function. The caller has checked the number of arguments.
    pub(super) fn list_call(
        &self,
        name: &str,
        function: ListFunction,
        arguments: &[Expression],
    ) -> Result<Typed, String> {
        let mut typed = Vec::with_capacity(2);
        for argument in arguments {
            typed.push(self.compile(argument)?);
        }
        if function == ListFunction::Cons {
            typed.reverse();
        }
        let of_texts = matches!(function, ListFunction::Digits | ListFunction::Compare);
        if of_texts || typed[0].kind == FieldType::Text {
            return self.text_call(name, function, typed);
        }
        let mut typed = typed.into_iter();
        let list = typed.next().expect("a list comes first");
        let FieldType::List(kind) = list.kind else {
            return Err(format!("{name}() takes a list, not {}", list.kind));
        };
        let Some(second) = typed.next() else {
            return one_argument(name, function, list, kind);
        };
        let found = second.kind;
        let wrong = |wanted: FieldType| format!("{name}() takes {wanted} here, not {found}");
        let (second, made) = match function {
            ListFunction::At => {
                let held = held(name, kind)?;
                let index = convert(second, FieldType::Int);
                (index.map_err(|_| wrong(FieldType::Int))?, held)
            }
            ListFunction::Concat => {
                let both = list.kind.common(found).ok_or_else(|| wrong(list.kind))?;
                (second, both)
            }
            _ => {
                let kind = match kind {
                    Element::Nothing => Element::of(found).ok_or("a list cannot hold lists")?,
                    kind => kind,
                };
                let wanted = kind.field_type().expect("its type is known by now");
                let made = match function {
                    ListFunction::Contains => FieldType::Bool,
                    _ => FieldType::List(kind),
                };
                (element(second, wanted).map_err(|_| wrong(wanted))?, made)
            }
        };
        Ok(joined([list, second], function, made))
    }
}

fn one_argument(
    name: &str,
    function: ListFunction,
    mut list: Typed,
    kind: Element,
) -> Result<Typed, String> {
    list.code.push(Instruction::List(function));
    list.kind = match function {
        ListFunction::Length => FieldType::Int,
        ListFunction::Head => held(name, kind)?,
        _ => list.kind,
    };
    Ok(list)
}

/// The type of the element that the function `name` returns from a list. Returns an error for the
/// empty list `[]`, which has no element.
fn held(name: &str, kind: Element) -> Result<FieldType, String> {
    kind.field_type()
        .ok_or_else(|| format!("{name}() of the empty list has no value"))
}

fn mixed(kinds: &[FieldType]) -> String {
    let other = kinds.iter().find(|&&kind| kind != kinds[0]);
    let other = other.expect("elements of one type fit");
    format!("a list holds one type, not {} and {other}", kinds[0])
}
