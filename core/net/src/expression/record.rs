//! Type-checks records, which are elements of lists. A record is built from fields or from a token,
//! and its fields can be read.
//!
//! A record is stored as the list of its field values. Records therefore need no instructions apart
//! from those for lists, and equal records are stored only once.

use super::check::{counted, Scope, Typed, Variable};
use super::function::ListFunction;
use super::list::element;
use super::parse::Expression;
use super::program::Instruction;
use crate::definition::FieldType;
use crate::error::known;
use crate::lists::EMPTY;

impl Scope<'_> {
    /// Type-checks a variable that stands alone, without `.field`. Its value is the whole token of
    /// the variable, as a record. It is an error if no list type of the net has records of the
    /// token's colour as elements.
    pub(super) fn whole_token(&self, variable: &Variable<'_>) -> Result<Typed, String> {
        let Some(colour) = self.net.listed(variable.colour) else {
            let name = variable.name;
            return Err(format!(
                "'{name}' is a whole token; name one field, as in {name}.field"
            ));
        };
        let field = |(index, field): (usize, &(String, FieldType))| Typed {
            code: vec![Instruction::Load {
                arc: variable.arc,
                field: index as u16,
            }],
            kind: field.1,
        };
        let fields = variable.fields.iter().enumerate().map(field).collect();
        self.made(colour, fields)
    }

    /// Type-checks `colour(a, b)`, which makes a record from the values of the colour's fields in
    /// order.
    pub(super) fn record(
        &self,
        name: &str,
        colour: u16,
        arguments: &[Expression],
    ) -> Result<Typed, String> {
        counted(name, arguments, self.net.fields_of(colour).len())?;
        let mut fields = Vec::with_capacity(arguments.len());
        for argument in arguments {
            fields.push(self.compile(argument)?);
        }
        self.made(colour, fields)
    }

    /// Type-checks `record.field`, which reads a field of a computed record.
    pub(super) fn part(&self, record: &Expression, field: &str) -> Result<Typed, String> {
        let record = self.compile(record)?;
        let FieldType::Record(colour) = record.kind else {
            return Err(format!("{} has no field '{field}'", record.kind));
        };
        let fields = self.net.fields_of(colour);
        let Some(index) = fields.iter().position(|entry| entry.0 == field) else {
            let names = known(fields.iter().map(|entry| entry.0.as_str()));
            return Err(format!("a record has no field '{field}' ({names})"));
        };
        Ok(part(record.code, index, fields[index].1))
    }

    fn made(&self, colour: u16, fields: Vec<Typed>) -> Result<Typed, String> {
        let wanted = self.net.fields_of(colour);
        let mut code = vec![Instruction::Push(EMPTY)];
        for (typed, (name, kind)) in fields.into_iter().zip(wanted).rev() {
            let found = typed.kind;
            let typed = element(typed, *kind);
            let wrong = |_| format!("the record's field {name} is {kind}, not {found}");
            code.extend(typed.map_err(wrong)?.code);
            code.push(Instruction::List(ListFunction::Cons));
        }
        let kind = FieldType::Record(colour);
        Ok(Typed { code, kind })
    }
}

/// Returns code that reads a field of a record. `index` is the number of the field and `kind` is
/// its type. `record` is code that leaves the record on the stack.
pub(crate) fn part(record: Vec<Instruction>, index: usize, kind: FieldType) -> Typed {
    let mut code = record;
    code.extend(std::iter::repeat_n(
        Instruction::List(ListFunction::Tail),
        index,
    ));
    code.push(Instruction::List(ListFunction::Head));
    Typed { code, kind }
}
