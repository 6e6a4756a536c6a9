//! Type-checks texts in inscriptions, and calls of the functions that a net defines.

use super::check::{convert, counted, Scope, Typed};
use super::function::ListFunction;
use super::parse::Expression;
use super::program::Instruction;
use crate::definition::FieldType;
use crate::lists::EMPTY;

impl Scope<'_> {
    /// Type-checks a text literal. If the net's store of lists is available during compilation
    /// (`texts`), the text is stored once. Otherwise each evaluation stores it.
    pub(super) fn text(&self, text: &str) -> Result<Typed, String> {
        let kind = FieldType::Text;
        if let Some(lists) = self.texts {
            let word = lists.borrow_mut().kept_text(text);
            let word = word.map_err(|fault| fault.to_string())?;
            return Ok(Typed {
                code: vec![Instruction::Push(word)],
                kind,
            });
        }
        let mut code = vec![Instruction::Push(EMPTY)];
        for letter in text.chars().rev() {
            code.push(Instruction::Push(u64::from(letter)));
            code.push(Instruction::List(ListFunction::Cons));
        }
        Ok(Typed { code, kind })
    }

    /// Returns code that compares two texts. The code leaves an int on the stack: -1 if the text of
    /// `left` is before the text of `right`, 0 if they are equal, 1 if it is after.
    pub(super) fn compared(&self, left: Typed, right: Typed) -> Typed {
        let mut code = left.code;
        code.extend(right.code);
        code.push(Instruction::List(ListFunction::Compare));
        let kind = FieldType::Int;
        Typed { code, kind }
    }

    /// Type-checks a call of a function whose first argument or result is a text.
    pub(super) fn text_call(
        &self,
        name: &str,
        function: ListFunction,
        mut typed: Vec<Typed>,
    ) -> Result<Typed, String> {
        let text = FieldType::Text;
        let (wanted, kind) = match function {
            ListFunction::Digits => ([FieldType::Int, text], text),
            ListFunction::Length => ([text, text], FieldType::Int),
            ListFunction::Concat => ([text, text], text),
            ListFunction::Compare => ([text, text], FieldType::Int),
            _ => return Err(format!("{name}() takes a list, not {text}")),
        };
        let mut code = Vec::new();
        for (typed, wanted) in typed.drain(..).zip(wanted) {
            let found = typed.kind;
            let wrong = |_| format!("{name}() takes {wanted} here, not {found}");
            code.extend(convert(typed, wanted).map_err(wrong)?.code);
        }
        code.push(Instruction::List(function));
        Ok(Typed { code, kind })
    }

    /// Type-checks a call of a function that the net defines; `at` is its index.
    pub(super) fn own(&self, at: usize, arguments: &[Expression]) -> Result<Typed, String> {
        let function = &self.net.functions[at];
        let name = &function.name;
        counted(name, arguments, function.parameters.len())?;
        if function.draws && !self.draws_allowed {
            return Err(format!(
                "{name}() draws at random, which is not allowed here"
            ));
        }
        let mut code = Vec::new();
        for (argument, (label, wanted)) in arguments.iter().zip(&function.parameters) {
            let typed = self.compile(argument)?;
            let found = typed.kind;
            let wrong = |_| format!("{name}() takes {wanted} for {label}, not {found}");
            code.extend(convert(typed, *wanted).map_err(wrong)?.code);
        }
        code.push(Instruction::Call {
            function: at as u16,
            arguments: arguments.len() as u16,
        });
        let kind = function.result;
        Ok(Typed { code, kind })
    }
}
