//! Decides which output arcs reuse the token of an input arc, so that a firing allocates and frees
//! fewer tokens.

use crate::compiled::Output;
use crate::expression::{Instruction, Value};

/// Marks the output arcs that forward the token of an input arc instead of making a new token.
/// First it marks the arcs whose token is an unchanged copy of an input arc's token. Then it marks
/// further arcs that change some fields of an input arc's token. Returns the input arcs whose
/// tokens are not forwarded.
pub(super) fn forward(outputs: &mut [Output], inputs: usize) -> Vec<u16> {
    let mut left: Vec<u16> = (0..inputs as u16).collect();
    for output in outputs.iter_mut() {
        let copied = output.copied_arc();
        let alone = output.count.is_none();
        output.forwards = copied.filter(|arc| alone && left.contains(arc));
        left.retain(|&arc| Some(arc) != output.forwards);
    }
    let single = |one: &&mut Output| one.fields.is_empty() && one.count.is_none();
    for output in outputs.iter_mut().filter(single) {
        output.forwards = left.pop();
    }
    for at in 0..outputs.len() {
        let plain = outputs[at].forwards.is_none() && outputs[at].count.is_none();
        let fits = |&arc: &u16| plain && may_change(outputs, at, arc);
        let most_equal = left
            .iter()
            .copied()
            .filter(fits)
            .min_by_key(|&arc| changes(&outputs[at], arc).count());
        if let Some(arc) = most_equal {
            outputs[at].changed = changes(&outputs[at], arc).collect();
            outputs[at].forwards = Some(arc);
            left.retain(|&one| one != arc);
        }
    }
    left
}

/// Returns the fields that differ between the token of an output arc and the token of the input arc
/// `arc`. Each field has its value in the output token.
fn changes(output: &Output, arc: u16) -> impl Iterator<Item = (u16, Value)> + '_ {
    let fields = (0u16..).zip(&output.fields);
    let differs = move |(field, value): &(u16, &Value)| {
        let field = *field;
        **value != Value::Field { arc, field }
    };
    fields
        .filter(differs)
        .map(|(field, value)| (field, value.clone()))
}

/// Whether output arc number `at` may overwrite the token of the input arc `arc`. Two conditions
/// must hold. Neither the output arc's delay nor a later output arc reads the token. No new field
/// value reads a field that was overwritten before it.
fn may_change(outputs: &[Output], at: usize, arc: u16) -> bool {
    let this = &outputs[at];
    let later = outputs[at + 1..].iter().flat_map(|output| {
        let inscriptions = output.fields.iter().chain(&output.delay);
        inscriptions.chain(output.count.as_deref())
    });
    let reads_later = later
        .chain(&this.delay)
        .any(|value| reads(value, arc, None));
    let mut changed: Vec<u16> = Vec::new();
    let reads_changed = changes(this, arc).any(|(field, value)| {
        let found = changed.iter().any(|&one| reads(&value, arc, Some(one)));
        changed.push(field);
        found
    });
    !reads_later && !reads_changed
}

/// Whether an inscription reads the field `wanted` (None: any field) of the token of the input arc
/// `arc`.
fn reads(value: &Value, arc: u16, wanted: Option<u16>) -> bool {
    let is_it = |of: u16, field: u16| of == arc && wanted.is_none_or(|one| one == field);
    match value {
        Value::Constant(_) | Value::Draw { .. } => false,
        Value::Field { arc, field } | Value::Counted { arc, field, .. } => is_it(*arc, *field),
        Value::Code(code) => code.iter().any(|instruction| match instruction {
            Instruction::Load { arc, field } => is_it(*arc, *field),
            _ => false,
        }),
    }
}
