//! Type-checks the expressions whose value is not determined by their operands: random draws and
//! the simulated time.

use super::check::{counted, Scope, Typed};
use super::parse::Expression;
use super::program::Instruction;
use crate::definition::{FieldType, NetDefinition};
use crate::error::known;

/// Whether code draws at random or reads the simulated time, directly or through functions that it
/// calls.
pub(crate) fn draws(code: &[Instruction], net: &NetDefinition) -> bool {
    code.iter().any(|one| match one {
        Instruction::Draw(_) | Instruction::Empirical(_) | Instruction::Now => true,
        Instruction::Call { function, .. } => net.functions[usize::from(*function)].draws,
        _ => false,
    })
}

impl Scope<'_> {
    /// Type-checks `empirical(table)`, a draw from a histogram. Its argument is the name of a table
    /// of the net.
    pub(super) fn empirical(&self, arguments: &[Expression]) -> Result<Typed, String> {
        let names = known(self.net.tables.keys().map(String::as_str));
        let [Expression::Name(name)] = arguments else {
            return Err(format!("empirical() takes the name of a table ({names})"));
        };
        let at = self.net.tables.keys().position(|one| one == name);
        let at = at.ok_or_else(|| format!("unknown table '{name}' ({names})"))?;
        if !self.draws_allowed {
            let reason = "empirical() draws at random, which is not allowed here";
            return Err(reason.to_owned());
        }
        let code = vec![Instruction::Empirical(at as u16)];
        Ok(Typed {
            code,
            kind: FieldType::Real,
        })
    }

    /// Type-checks `now()`, which returns the simulated seconds since the start.
    pub(super) fn now(&self, arguments: &[Expression]) -> Result<Typed, String> {
        counted("now", arguments, 0)?;
        match self.draws_allowed || self.clock_allowed {
            true => Ok(Typed {
                code: vec![Instruction::Now],
                kind: FieldType::Real,
            }),
            false => Err("now() reads the clock, which is not allowed here".to_owned()),
        }
    }
}
