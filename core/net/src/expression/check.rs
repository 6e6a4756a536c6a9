//! The type checker: turns an expression tree and the names in scope into flat code, or into one
//! line of error text.

use std::cell::RefCell;

use serde_json::Number;

use super::function::{Function, Pure, FUNCTIONS, LIST_FUNCTIONS};
use super::parse::{BinaryOperator, Expression, UnaryOperator};
use super::program::{evaluate, Binding, Instruction, Library, Value, STACK_MAX};
use crate::definition::{FieldType, NetDefinition};
use crate::error::known;
use crate::lists::Lists;
use crate::stream::Stream;

/// A variable of a transition: the input arc that binds it, and the fields of the bound token.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Variable<'a> {
    pub(crate) name: &'a str,
    pub(crate) arc: u16,
    pub(crate) colour: &'a str,
    pub(crate) fields: &'a [(String, FieldType)],
}

/// The names that an inscription may use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scope<'a> {
    pub(crate) variables: &'a [Variable<'a>],
    pub(crate) net: &'a NetDefinition,
    /// Whether random draws are allowed. Guards and monitors must not change the draws of a run.
    pub(crate) draws_allowed: bool,
    /// Whether `now()` is allowed. It is always allowed where random draws are allowed.
    pub(crate) clock_allowed: bool,
    /// Parameters of a function, or values that a transition computes once per firing, by name.
    pub(crate) parameters: &'a [(String, FieldType)],
    /// Where texts of inscriptions are stored during compilation; None if they are not stored.
    pub(crate) texts: Option<&'a RefCell<Lists>>,
}

/// Code, and the type of the value that it leaves on the stack.
#[derive(Clone, Debug)]
pub(crate) struct Typed {
    pub(crate) code: Vec<Instruction>,
    pub(crate) kind: FieldType,
}

impl Typed {
    fn new(code: Vec<Instruction>, kind: FieldType) -> Self {
        Self { code, kind }
    }

    /// The simplest form that evaluates the code: a constant, a field, or a program.
    pub(crate) fn value(self) -> Value {
        use Instruction::{Integer, Load, Push};
        match *self.code {
            [Push(word)] => Value::Constant(word),
            [Load { arc, field }] => Value::Field { arc, field },
            [Push(word), Instruction::Draw(kind)] => Value::Draw {
                kind,
                parameter: f64::from_bits(word),
            },
            [Load { arc, field }, Push(word), Integer(operator)] => {
                let change = match operator {
                    BinaryOperator::Add => Some(word as i64),
                    BinaryOperator::Subtract => (word as i64).checked_neg(),
                    _ => None,
                };
                match change {
                    Some(change) => Value::Counted { arc, field, change },
                    None => Value::Code(self.code.into_boxed_slice()),
                }
            }
            _ => Value::Code(self.code.into_boxed_slice()),
        }
    }

    fn into_real(mut self) -> Self {
        if self.kind == FieldType::Int {
            self.code.push(Instruction::IntegerToReal);
        }
        Self::new(self.code, FieldType::Real)
    }
}

/// Compiles an expression and computes its constant parts. Fails if the stack might overflow.
pub(crate) fn compile(expression: &Expression, scope: Scope<'_>) -> Result<Typed, String> {
    let typed = scope.compile(expression)?;
    match stack_needed(&typed.code) <= STACK_MAX {
        true => Ok(typed),
        false => Err(format!(
            "the expression needs more than {STACK_MAX} values at once"
        )),
    }
}

/// Converts code to type `wanted`: an int to a real, `[]` to any list. Other conversions fail.
pub(crate) fn convert(typed: Typed, wanted: FieldType) -> Result<Typed, String> {
    match (typed.kind, wanted) {
        (found, wanted) if found == wanted => Ok(typed),
        (FieldType::Int, FieldType::Real) => Ok(fold(typed.into_real())),
        (found, wanted) if found.common(wanted) == Some(wanted) => Ok(typed),
        (found, wanted) => Err(format!("the value is {found}, expected {wanted}")),
    }
}

/// The 64-bit word and the type of a named constant, or of a number among a token's field values.
pub(crate) fn constant_of(number: &Number) -> (u64, FieldType) {
    match number.as_i64() {
        Some(whole) => (whole as u64, FieldType::Int),
        None => (
            number.as_f64().unwrap_or(f64::NAN).to_bits(),
            FieldType::Real,
        ),
    }
}

/// An upper bound of the stack cells that the code needs, over all branches.
fn stack_needed(code: &[Instruction]) -> usize {
    let pushes = |instruction: &&Instruction| {
        matches!(
            instruction,
            Instruction::Push(_)
                | Instruction::Load { .. }
                | Instruction::Empirical(_)
                | Instruction::Parameter(_)
                | Instruction::Now
        )
    };
    let (mut depth, mut most) = (0usize, 0usize);
    for instruction in code {
        depth = match instruction {
            instruction if pushes(&instruction) => depth + 1,
            Instruction::Integer(_) | Instruction::Real(_) | Instruction::SkipUnless(_) => {
                depth - 1
            }
            Instruction::PureInteger(function) | Instruction::PureReal(function) => {
                depth + 1 - function.arguments()
            }
            Instruction::Draw(draw) => depth + 1 - draw.arguments(),
            Instruction::List(function) => depth + 1 - function.arguments(),
            Instruction::Call { arguments, .. } => depth + 1 - usize::from(*arguments),
            _ => depth,
        };
        // A function of one argument also reads the stack cell above its argument.
        most = most.max(depth + 1);
    }
    most
}

/// Replaces code by its value if the code reads no field and draws no random value. Code whose
/// evaluation fails is left unchanged, so that the run reports the failure.
fn fold(typed: Typed) -> Typed {
    let varies = typed.code.iter().any(|instruction| {
        matches!(
            instruction,
            Instruction::Load { .. }
                | Instruction::Draw(_)
                | Instruction::Empirical(_)
                | Instruction::Parameter(_)
                | Instruction::Now
                | Instruction::Call { .. }
                // Lists are stored with the data of a run, which do not exist during compilation.
                | Instruction::List(_)
        )
    });
    if varies || typed.code.len() == 1 || stack_needed(&typed.code) > STACK_MAX {
        return typed;
    }
    let nothing = Binding {
        rows: &[],
        stride: 0,
        tokens: &[],
        library: &Library::default(),
        parameters: &[],
        depth: 0,
        now_ns: 0,
        lists: &RefCell::default(),
    };
    match evaluate(&typed.code, nothing, &mut Stream::new(0, 0, 0)) {
        Ok(word) => Typed::new(vec![Instruction::Push(word)], typed.kind),
        Err(_) => typed,
    }
}

impl Scope<'_> {
    pub(super) fn compile(&self, expression: &Expression) -> Result<Typed, String> {
        let typed = match expression {
            Expression::Integer(whole) => {
                Typed::new(vec![Instruction::Push(*whole as u64)], FieldType::Int)
            }
            Expression::Real(real) => {
                Typed::new(vec![Instruction::Push(real.to_bits())], FieldType::Real)
            }
            Expression::Boolean(truth) => {
                Typed::new(vec![Instruction::Push(u64::from(*truth))], FieldType::Bool)
            }
            Expression::Text(text) => self.text(text)?,
            Expression::Name(name) => self.name(name)?,
            Expression::Field(variable, field) => self.field(variable, field)?,
            Expression::Unary(operator, inner) => self.unary(*operator, inner)?,
            Expression::Binary(operator, left, right) => self.binary(*operator, left, right)?,
            Expression::Call(name, arguments) => self.call(name, arguments)?,
            Expression::List(elements) => self.list(elements)?,
            Expression::Part(record, field) => self.part(record, field)?,
        };
        Ok(fold(typed))
    }

    fn name(&self, name: &str) -> Result<Typed, String> {
        if let Some(at) = self.parameters.iter().position(|one| one.0 == name) {
            let code = vec![Instruction::Parameter(at as u16)];
            return Ok(Typed::new(code, self.parameters[at].1));
        }
        if let Some(number) = self.net.constants.get(name) {
            let (word, kind) = constant_of(number);
            return Ok(Typed::new(vec![Instruction::Push(word)], kind));
        }
        if let Some(variable) = self.variables.iter().find(|one| one.name == name) {
            return self.whole_token(variable);
        }
        let mut found = (0..self.net.enums.len()).filter_map(|at| self.enumerated(at, name));
        match (found.next(), found.next()) {
            (Some(value), None) => Ok(value),
            (Some(_), Some(_)) => Err(format!(
                "'{name}' is a value of several enumerations; write which, as in colour.{name}"
            )),
            (None, _) => {
                let names = known(self.net.constants.keys().map(String::as_str));
                Err(format!("unknown constant '{name}' ({names})"))
            }
        }
    }

    /// Code for the named value of enumeration number `at`; None for an unknown name.
    fn enumerated(&self, at: usize, name: &str) -> Option<Typed> {
        let value = self.net.enums[at].1.iter().position(|one| one == name)?;
        let code = vec![Instruction::Push(value as u64)];
        Some(Typed::new(code, FieldType::Enum(at as u16)))
    }

    fn field(&self, variable: &str, field: &str) -> Result<Typed, String> {
        let Some(found) = self.variables.iter().find(|entry| entry.name == variable) else {
            if let Some(at) = self.net.enums.iter().position(|one| one.0 == variable) {
                let names = known(self.net.enums[at].1.iter().map(String::as_str));
                return self
                    .enumerated(at, field)
                    .ok_or_else(|| format!("'{variable}' has no value '{field}' ({names})"));
            }
            let names = known(self.variables.iter().map(|entry| entry.name));
            return Err(format!("unknown variable '{variable}' ({names})"));
        };
        let Some(index) = found.fields.iter().position(|entry| entry.0 == field) else {
            let (colour, names) = (
                found.colour,
                known(found.fields.iter().map(|f| f.0.as_str())),
            );
            return Err(format!(
                "'{variable}' of colour {colour} has no field '{field}' ({names})"
            ));
        };
        let load = Instruction::Load {
            arc: found.arc,
            field: index as u16,
        };
        Ok(Typed::new(vec![load], found.fields[index].1))
    }

    fn unary(&self, operator: UnaryOperator, inner: &Expression) -> Result<Typed, String> {
        let mut typed = self.compile(inner)?;
        let instruction = match (operator, typed.kind) {
            (UnaryOperator::Negate, FieldType::Int) => Instruction::NegateInteger,
            (UnaryOperator::Negate, FieldType::Real) => Instruction::NegateReal,
            (UnaryOperator::Not, FieldType::Bool) => Instruction::Not,
            (UnaryOperator::Negate, kind) => return Err(format!("'-' takes a number, not {kind}")),
            (UnaryOperator::Not, kind) => return Err(format!("'!' takes a bool, not {kind}")),
        };
        typed.code.push(instruction);
        Ok(typed)
    }

    fn binary(
        &self,
        operator: BinaryOperator,
        left: &Expression,
        right: &Expression,
    ) -> Result<Typed, String> {
        let (left, right) = (self.compile(left)?, self.compile(right)?);
        let spelling = operator.spelling();
        let (a, b) = (left.kind, right.kind);
        match operator {
            BinaryOperator::And | BinaryOperator::Or => {
                if (a, b) != (FieldType::Bool, FieldType::Bool) {
                    return Err(format!("'{spelling}' takes two bools, not {a} and {b}"));
                }
                let truth = |word| Typed::new(vec![Instruction::Push(word)], FieldType::Bool);
                match operator {
                    BinaryOperator::And => choose(left, right, truth(0)),
                    _ => choose(left, truth(1), right),
                }
            }
            BinaryOperator::Equal | BinaryOperator::Unequal
                if a.common(b).is_some() && !a.is_number() =>
            {
                let instruction = Instruction::Integer(operator);
                Ok(join(left, right, instruction, FieldType::Bool))
            }
            _ if (a, b) == (FieldType::Text, FieldType::Text) && operator.compares() => {
                let compared = self.compared(left, right);
                let zero = Typed::new(vec![Instruction::Push(0)], FieldType::Int);
                let instruction = Instruction::Integer(operator);
                Ok(join(compared, zero, instruction, FieldType::Bool))
            }
            _ if !(a.is_number() && b.is_number()) => {
                Err(format!("'{spelling}' takes two numbers, not {a} and {b}"))
            }
            _ => numbers(operator, left, right),
        }
    }

    fn call(&self, name: &str, arguments: &[Expression]) -> Result<Typed, String> {
        if name == "empirical" {
            return self.empirical(arguments);
        }
        if name == "now" {
            return self.now(arguments);
        }
        if let Some(&(_, function, wanted)) = LIST_FUNCTIONS.iter().find(|entry| entry.0 == name) {
            counted(name, arguments, wanted)?;
            return self.list_call(name, function, arguments);
        }
        let Some(&(_, function, wanted)) = FUNCTIONS.iter().find(|entry| entry.0 == name) else {
            if let Some(at) = self.net.functions.iter().position(|one| one.name == name) {
                return self.own(at, arguments);
            }
            if let Some(colour) = self.net.listed(name) {
                return self.record(name, colour, arguments);
            }
            let names = FUNCTIONS.map(|entry| entry.0).join(", ");
            let of_lists = LIST_FUNCTIONS.map(|entry| entry.0).join(", ");
            return Err(format!(
                "unknown function '{name}' (known: {names}, empirical, now; of lists: {of_lists})"
            ));
        };
        counted(name, arguments, wanted)?;
        let mut typed = Vec::with_capacity(wanted);
        for argument in arguments {
            typed.push(self.compile(argument)?);
        }
        let mut typed = typed.into_iter();
        let mut next = || typed.next().expect("the number of arguments was checked");
        match function {
            Function::If => choose(next(), next(), next()),
            Function::Draw(_) if !self.draws_allowed => Err(format!(
                "{name}() draws at random, which is not allowed here"
            )),
            Function::Draw(draw) => {
                let mut code = Vec::new();
                for _ in 0..wanted {
                    code.extend(number(name, next())?.into_real().code);
                }
                code.push(Instruction::Draw(draw));
                Ok(Typed::new(code, draw.result()))
            }
            Function::Pure(function) if wanted == 2 => {
                let (left, right) = (number(name, next())?, number(name, next())?);
                if (left.kind, right.kind) == (FieldType::Int, FieldType::Int) {
                    return Ok(join(
                        left,
                        right,
                        Instruction::PureInteger(function),
                        FieldType::Int,
                    ));
                }
                let instruction = Instruction::PureReal(function);
                Ok(join(
                    left.into_real(),
                    right.into_real(),
                    instruction,
                    FieldType::Real,
                ))
            }
            Function::Pure(function) => Ok(one_argument(function, number(name, next())?)),
        }
    }
}

pub(super) fn counted(name: &str, arguments: &[Expression], wanted: usize) -> Result<(), String> {
    let found = arguments.len();
    if found == wanted {
        return Ok(());
    }
    let noun = if wanted == 1 { "argument" } else { "arguments" };
    Err(format!("{name}() takes {wanted} {noun}, not {found}"))
}

fn one_argument(function: Pure, argument: Typed) -> Typed {
    let rounds = matches!(function, Pure::Ceil | Pure::Floor | Pure::Round);
    let whole = argument.kind == FieldType::Int;
    if whole && (rounds || function == Pure::Deterministic) {
        return argument;
    }
    if whole && function == Pure::Abs {
        let mut code = argument.code;
        code.push(Instruction::PureInteger(function));
        return Typed::new(code, FieldType::Int);
    }
    let mut code = argument.into_real().code;
    code.push(Instruction::PureReal(function));
    Typed::new(
        code,
        if rounds {
            FieldType::Int
        } else {
            FieldType::Real
        },
    )
}

fn number(function: &str, argument: Typed) -> Result<Typed, String> {
    match argument.kind {
        kind if kind.is_number() => Ok(argument),
        kind => Err(format!("{function}() takes numbers, not {kind}")),
    }
}

/// Type-checks an operator on two numbers. If one number is real, both become reals.
fn numbers(operator: BinaryOperator, left: Typed, right: Typed) -> Result<Typed, String> {
    let (a, b) = (left.kind, right.kind);
    let spelling = operator.spelling();
    match operator {
        BinaryOperator::FloorDivide | BinaryOperator::Modulo => match (a, b) {
            (FieldType::Int, FieldType::Int) => Ok(join(
                left,
                right,
                Instruction::Integer(operator),
                FieldType::Int,
            )),
            _ => Err(format!("'{spelling}' takes two ints, not {a} and {b}")),
        },
        _ => {
            let whole = (a, b) == (FieldType::Int, FieldType::Int);
            let divides = operator == BinaryOperator::Divide;
            let arithmetic = matches!(
                operator,
                BinaryOperator::Add | BinaryOperator::Subtract | BinaryOperator::Multiply
            );
            let result = |number| {
                if arithmetic || divides {
                    number
                } else {
                    FieldType::Bool
                }
            };
            if whole && !divides {
                let instruction = Instruction::Integer(operator);
                return Ok(join(left, right, instruction, result(FieldType::Int)));
            }
            let instruction = Instruction::Real(operator);
            Ok(join(
                left.into_real(),
                right.into_real(),
                instruction,
                result(FieldType::Real),
            ))
        }
    }
}

fn join(left: Typed, right: Typed, instruction: Instruction, kind: FieldType) -> Typed {
    let mut code = left.code;
    code.extend(right.code);
    code.push(instruction);
    Typed::new(code, kind)
}

/// Compiles a conditional. A run evaluates only the branch that the condition selects.
fn choose(condition: Typed, yes: Typed, no: Typed) -> Result<Typed, String> {
    if condition.kind != FieldType::Bool {
        return Err(format!("if() takes a bool first, not {}", condition.kind));
    }
    let (yes, no) = match (yes.kind, no.kind) {
        (a, b) if a.common(b).is_some() => (yes, no),
        (a, b) if !(a.is_number() && b.is_number()) => {
            return Err(format!("if() has {a} in one branch and {b} in the other"));
        }
        _ => (yes.into_real(), no.into_real()),
    };
    let distance = |code: &[Instruction]| {
        u16::try_from(code.len() + 1).map_err(|_| "the expression is too long".to_owned())
    };
    let kind = yes.kind.common(no.kind);
    let kind = kind.expect("both branches have one type by now");
    let mut code = condition.code;
    code.push(Instruction::SkipUnless(distance(&yes.code)?));
    let skip = Instruction::Skip(distance(&no.code)? - 1);
    code.extend(yes.code);
    code.push(skip);
    code.extend(no.code);
    Ok(Typed::new(code, kind))
}
