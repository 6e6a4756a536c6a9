//! Evaluates inscriptions for the reference engine by walking their trees, in the simplest way.

use super::scalar::{binary, call, Scalar};
use super::{enumerated, Bound, Reference};
use crate::definition::{FieldType, TransitionDefinition};
use crate::expression::{BinaryOperator, Expression, Table, UnaryOperator};

impl Reference {
    pub(super) fn walk(
        &mut self,
        tree: &Expression,
        definition: &TransitionDefinition,
        bound: &Bound,
        transition: usize,
    ) -> Scalar {
        if let Expression::Call(name, arguments) = tree {
            if let Some(at) = self.net.functions.iter().position(|one| one.name == *name) {
                return self.own(at, arguments, definition, bound, transition);
            }
        }
        let mut value = |inner: &Expression| self.walk(inner, definition, bound, transition);
        match tree {
            Expression::Text(text) => Scalar::Text(text.clone()),
            Expression::Integer(whole) => Scalar::Int(*whole),
            Expression::Real(real) => Scalar::Real(*real),
            Expression::Boolean(truth) => Scalar::Bool(*truth),
            Expression::Part(record, field) => value(record).field(field),
            Expression::Name(name) => self.named_value(name, definition, bound),
            Expression::List(elements) => Scalar::List(elements.iter().map(value).collect()),
            Expression::Field(variable, field) => self.field(variable, field, definition, bound),
            Expression::Unary(UnaryOperator::Not, inner) => Scalar::Bool(!value(inner).truth()),
            Expression::Unary(UnaryOperator::Negate, inner) => match value(inner) {
                Scalar::Int(whole) => Scalar::Int(-whole),
                other => Scalar::Real(-other.real()),
            },
            Expression::Binary(BinaryOperator::And, left, right) => {
                Scalar::Bool(value(left).truth() && value(right).truth())
            }
            Expression::Binary(BinaryOperator::Or, left, right) => {
                Scalar::Bool(value(left).truth() || value(right).truth())
            }
            Expression::Binary(operator, left, right) => {
                let (left, right) = (value(left), value(right));
                binary(*operator, left, right)
            }
            Expression::Call(name, arguments) if name == "if" => {
                let branch = if value(&arguments[0]).truth() { 1 } else { 2 };
                value(&arguments[branch])
            }
            Expression::Call(name, _) if name == "now" => {
                Scalar::Real(crate::clock::seconds(self.now_ns))
            }
            Expression::Call(name, arguments) if name == "empirical" => {
                let Expression::Name(table) = &arguments[0] else {
                    panic!("the net was checked");
                };
                let table = Table::new(&self.net.tables[table]).expect("checked");
                Scalar::Real(table.draw(&mut self.streams[transition]))
            }
            Expression::Call(name, arguments) => {
                let arguments: Vec<Scalar> = arguments.iter().map(value).collect();
                if let Some(fields) = self.net.colours.get(name) {
                    let typed = |(field, one): (&(String, FieldType), Scalar)| {
                        (field.0.clone(), one.of_type(field.1))
                    };
                    return Scalar::Record(fields.iter().zip(arguments).map(typed).collect());
                }
                call(name, &arguments, &mut self.streams[transition])
            }
        }
    }

    /// The value of an expression that is a single name. The name can be of a parameter or local
    /// (whose value is returned), of a variable (whose whole token is returned), of a constant, or
    /// of a value of an enumeration.
    fn named_value(&self, name: &str, definition: &TransitionDefinition, bound: &Bound) -> Scalar {
        if let Some(found) = self.named.iter().find(|one| one.0 == name) {
            return found.1.clone();
        }
        if let Some(arc) = definition.arc_of(name) {
            let (place, at) = bound[arc];
            let fields = self.net.colours[&self.net.places[place].colour].iter();
            let row = self.places[place][at].row.clone();
            return Scalar::Record(fields.map(|field| field.0.clone()).zip(row).collect());
        }
        let Some(number) = self.net.constants.get(name) else {
            let mut enums = self.net.enums.iter();
            let found = enums.find_map(|entry| enumerated(&entry.1, name));
            return found.expect("a value of an enumeration");
        };
        let whole = number.as_i64().map(Scalar::Int);
        whole.unwrap_or_else(|| Scalar::Real(number.as_f64().expect("a number")))
    }

    /// Evaluates a call of a function that the net defines. The body of the function can use only
    /// the function's parameters.
    fn own(
        &mut self,
        at: usize,
        arguments: &[Expression],
        definition: &TransitionDefinition,
        bound: &Bound,
        transition: usize,
    ) -> Scalar {
        let function = self.net.functions[at].clone();
        let mut named = Vec::new();
        for (argument, (label, kind)) in arguments.iter().zip(&function.parameters) {
            let value = self.walk(argument, definition, bound, transition);
            named.push((label.clone(), value.of_type(*kind)));
        }
        let outside = std::mem::replace(&mut self.named, named);
        let value = self.scalar_of_text(&function.body, definition, bound, transition);
        self.named = outside;
        value.of_type(function.result)
    }

    fn field(
        &self,
        variable: &str,
        field: &str,
        definition: &TransitionDefinition,
        bound: &Bound,
    ) -> Scalar {
        if let Some(entry) = self.net.enums.iter().find(|entry| entry.0 == variable) {
            return enumerated(&entry.1, field).expect("the net was checked");
        }
        let arc = definition.arc_of(variable).expect("a variable");
        let (place, at) = bound[arc];
        let fields = &self.net.colours[&self.net.places[place].colour];
        let index = fields
            .iter()
            .position(|entry| entry.0 == *field)
            .expect("a field");
        self.places[place][at].row[index].clone()
    }
}
