//! Divides guards (the conditions under which transitions can fire) into three kinds of conditions:
//! - conditions on a single token;
//! - equalities by which tokens are looked up (a join);
//! - conditions that are tested on combinations of tokens.

use crate::compiled::{Residual, KEY_FIELDS_MAX};
use crate::definition::FieldType;
use crate::expression::{
    compile, convert, parse, BinaryOperator, Code, Expression, Instruction, Scope, Value, Variable,
};

/// A guard, divided by how the engine evaluates its conditions.
#[derive(Debug, Default)]
pub(crate) struct Guard {
    /// Conditions on one token, each with the input arc that takes the token. The code of a
    /// condition refers to the token as the token of arc 0.
    pub(crate) filters: Vec<(u16, Vec<Instruction>)>,
    /// Conditions `field == constant` as (input arc, field, value). A place can look up tokens by
    /// such a value.
    pub(crate) constants: Vec<(u16, u16, u64)>,
    /// The input arcs whose tokens are looked up by equal fields. Each arc has a list of its
    /// fields: the i-th field of one arc must equal the i-th field of every other arc.
    pub(crate) joined: Vec<(u16, Vec<u16>)>,
    /// Conditions on several tokens that the join does not ensure. They are tested on combinations
    /// of tokens.
    pub(crate) residual: Vec<Residual>,
}

/// A field of a token, as (input arc, number of the field).
type Operand = (u16, u16);

/// A condition that two fields of bound tokens are equal: the two fields, and the expression from
/// which the condition was parsed.
struct Equality<'a> {
    sides: [Operand; 2],
    source: &'a Expression,
}

/// Parses, type-checks and divides a guard. Equal fields of different tokens become a join where
/// possible.
pub(crate) fn divide(text: &str, scope: Scope<'_>) -> Result<Guard, String> {
    divided(text, scope, true)
}

/// Like `divide`, but without a join: all comparisons between different tokens are tested on
/// combinations of tokens.
pub(crate) fn divide_without_join(text: &str, scope: Scope<'_>) -> Result<Guard, String> {
    divided(text, scope, false)
}

pub(crate) fn whole(text: &str, scope: Scope<'_>) -> Result<Code, String> {
    let typed = convert(compile(&parse(text)?, scope)?, FieldType::Bool)?;
    Ok(typed.code.into_boxed_slice())
}

fn divided(text: &str, scope: Scope<'_>, joins: bool) -> Result<Guard, String> {
    let whole = parse(text)?;
    let typed = compile(&whole, scope)?;
    if typed.kind != FieldType::Bool {
        return Err(format!("a guard is a bool, not {}", typed.kind));
    }
    if let Value::Constant(0) = typed.value() {
        return Err("the guard is always false".to_owned());
    }
    let mut atoms = Vec::new();
    whole.conjuncts(&mut atoms);
    let mut guard = Guard::default();
    let mut equalities = Vec::new();
    for atom in &atoms {
        match arcs_of(atom, scope.variables).as_slice() {
            [] => {
                if compile(atom, scope)?.value() != Value::Constant(1) {
                    return Err("a condition without variables cannot be evaluated".to_owned());
                }
            }
            &[arc] => guard.local(atom, arc, scope)?,
            _ => match sides_of(atom, scope.variables) {
                Some(sides) => equalities.push(Equality {
                    sides,
                    source: atom,
                }),
                None => guard.residual.push(residual(atom, scope)?),
            },
        }
    }
    let classes = classes_of(&equalities);
    if joins {
        guard.joined = join_of(&classes);
    }
    for equality in &equalities {
        if !served(&guard.joined, equality.sides) {
            guard.residual.push(residual(equality.source, scope)?);
        }
    }
    Ok(guard)
}

impl Guard {
    /// Adds the condition `atom`, which reads only the token of `arc`. A condition of the form
    /// `field == constant` is added to `constants`, any other to `filters`.
    fn local(&mut self, atom: &Expression, arc: u16, scope: Scope<'_>) -> Result<(), String> {
        let typed = compile(atom, scope)?;
        if let [first, second, Instruction::Integer(BinaryOperator::Equal)] = *typed.code {
            if let (Instruction::Load { field, .. }, Instruction::Push(word))
            | (Instruction::Push(word), Instruction::Load { field, .. }) = (first, second)
            {
                self.constants.push((arc, field, word));
                return Ok(());
            }
        }
        let code = typed.code.into_iter().map(|instruction| match instruction {
            Instruction::Load { field, .. } => Instruction::Load { arc: 0, field },
            other => other,
        });
        self.filters.push((arc, code.collect()));
        Ok(())
    }
}

/// Compiles the conditions on the token of one arc into one program. It includes the conditions of
/// the form `field == constant` in `constants`, which are not used for look-up. None if there is no
/// condition.
pub(crate) fn filter_of<'a>(
    guard: &Guard,
    arc: u16,
    constants: impl Iterator<Item = &'a (u16, u16, u64)>,
) -> Option<Code> {
    let mut code: Vec<Instruction> = Vec::new();
    let mut and = |condition: &[Instruction]| {
        if !code.is_empty() {
            // `a && b` becomes: a, SkipUnless(length of b + 1), b, Skip(1), Push(0). If a is false,
            // SkipUnless jumps to Push(0), so the value is false.
            code.push(Instruction::SkipUnless(condition.len() as u16 + 1));
        }
        let joins = !code.is_empty();
        code.extend(condition);
        if joins {
            code.extend([Instruction::Skip(1), Instruction::Push(0)]);
        }
    };
    for &(_, field, word) in constants {
        let equal = Instruction::Integer(BinaryOperator::Equal);
        and(&[
            Instruction::Load { arc: 0, field },
            Instruction::Push(word),
            equal,
        ]);
    }
    guard
        .filters
        .iter()
        .filter(|filter| filter.0 == arc)
        .for_each(|filter| and(&filter.1));
    (!code.is_empty()).then(|| code.into_boxed_slice())
}

/// The input arcs whose tokens a condition reads, in ascending order.
fn arcs_of(atom: &Expression, variables: &[Variable<'_>]) -> Vec<u16> {
    let mut arcs = Vec::new();
    atom.visit_fields(&mut |name, _| {
        arcs.extend(
            variables
                .iter()
                .filter(|entry| entry.name == name)
                .map(|entry| entry.arc),
        );
    });
    arcs.sort_unstable();
    arcs.dedup();
    arcs
}

/// Returns the two fields of a condition `a.f == b.g`. None if the condition has another form, or
/// if a field is a real: two equal reals may be stored as different words.
fn sides_of(atom: &Expression, variables: &[Variable<'_>]) -> Option<[Operand; 2]> {
    let Expression::Binary(BinaryOperator::Equal, left, right) = atom else {
        return None;
    };
    let operand = |side: &Expression| {
        let Expression::Field(name, field) = side else {
            return None;
        };
        let variable = variables.iter().find(|entry| entry.name == name)?;
        let index = variable.fields.iter().position(|entry| entry.0 == *field)?;
        let exact = variable.fields[index].1 != FieldType::Real;
        exact.then_some((variable.arc, index as u16))
    };
    Some([operand(left)?, operand(right)?])
}

fn residual(atom: &Expression, scope: Scope<'_>) -> Result<Residual, String> {
    let arcs = arcs_of(atom, scope.variables);
    let last_arc = *arcs
        .last()
        .expect("a residual condition reads at least two tokens");
    let typed = convert(compile(atom, scope)?, FieldType::Bool)?;
    Ok(Residual {
        last_arc,
        arcs,
        code: typed.code.into_boxed_slice(),
    })
}

/// Groups the fields that must all be equal if all `equalities` hold. Each group is sorted by input
/// arc.
fn classes_of(equalities: &[Equality<'_>]) -> Vec<Vec<Operand>> {
    let mut classes: Vec<Vec<Operand>> = Vec::new();
    for equality in equalities {
        let (mut merged, apart): (Vec<_>, Vec<_>) = classes
            .into_iter()
            .partition(|class| equality.sides.iter().any(|side| class.contains(side)));
        let mut class: Vec<Operand> = merged.drain(..).flatten().collect();
        class.extend(equality.sides);
        class.sort_unstable();
        class.dedup();
        classes = apart;
        classes.push(class);
    }
    classes.sort();
    classes
}

/// Selects the input arcs that are joined. Each group of equal fields connects a set of arcs. The
/// largest of these sets is selected. Among equally large sets, the set that is connected by the
/// most groups is selected. Returns each selected arc with the fields that are compared, at most
/// KEY_FIELDS_MAX.
fn join_of(classes: &[Vec<Operand>]) -> Vec<(u16, Vec<u16>)> {
    let arcs_of = |class: &Vec<Operand>| {
        let mut arcs: Vec<u16> = class.iter().map(|operand| operand.0).collect();
        arcs.dedup();
        arcs
    };
    let mut best: (usize, usize, Vec<u16>) = (0, 0, Vec::new());
    for class in classes {
        let arcs = arcs_of(class);
        let fields = classes
            .iter()
            .filter(|other| arcs_of(other) == arcs)
            .count();
        if (arcs.len(), fields) > (best.0, best.1) {
            best = (arcs.len(), fields, arcs);
        }
    }
    let chosen: Vec<&Vec<Operand>> = classes
        .iter()
        .filter(|class| arcs_of(class) == best.2)
        .take(KEY_FIELDS_MAX)
        .collect();
    let field_of = |class: &[Operand], arc: u16| {
        class
            .iter()
            .find(|operand| operand.0 == arc)
            .expect("the class spans the arc")
            .1
    };
    let keys = |arc: u16| chosen.iter().map(|class| field_of(class, arc)).collect();
    best.2.iter().map(|&arc| (arc, keys(arc))).collect()
}

/// Whether the join already compares the two fields in `sides`, so that their equality need not be
/// tested again.
fn served(joined: &[(u16, Vec<u16>)], sides: [Operand; 2]) -> bool {
    let position = |side: Operand| {
        let keys = &joined.iter().find(|entry| entry.0 == side.0)?.1;
        keys.iter().position(|&field| field == side.1)
    };
    match (position(sides[0]), position(sides[1])) {
        (Some(left), Some(right)) => left == right,
        _ => false,
    }
}
