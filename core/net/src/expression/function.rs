//! Lists the functions of the inscription language: their names, numbers of arguments and result
//! types.

use crate::definition::FieldType;

/// A distribution of the inscription language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Draw {
    /// `exponential(mean)`
    Exponential,
    /// `uniform(low, high)`
    Uniform,
    /// `erlang(k, mean)`: the sum of k exponential variables; the sum has the mean `mean`.
    Erlang,
    /// `normal(mean, sd)`: a normal variable under the condition that it is at least 0. A value
    /// below 0 is drawn again.
    Normal,
    /// `lognormal(mean, cv)`: the mean and the coefficient of variation of the variable, not of its
    /// logarithm.
    Lognormal,
    /// `weibull(scale, shape)`
    Weibull,
    /// `gamma(shape, scale)`
    Gamma,
    /// `discrete(p)`: 1 with probability p, else 0.
    Discrete,
}

/// A function whose value is determined by its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pure {
    Min,
    Max,
    Ceil,
    Floor,
    Round,
    Ln,
    Exp,
    Sqrt,
    Abs,
    Deterministic,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Function {
    Draw(Draw),
    Pure(Pure),
    /// `if(condition, then, else)`; only the branch that the condition selects is evaluated.
    If,
}

/// Name, function and number of arguments of every function, except `empirical`, `now` and the
/// functions of lists and texts.
pub(crate) const FUNCTIONS: [(&str, Function, usize); 19] = [
    ("exponential", Function::Draw(Draw::Exponential), 1),
    ("uniform", Function::Draw(Draw::Uniform), 2),
    ("erlang", Function::Draw(Draw::Erlang), 2),
    ("normal", Function::Draw(Draw::Normal), 2),
    ("lognormal", Function::Draw(Draw::Lognormal), 2),
    ("weibull", Function::Draw(Draw::Weibull), 2),
    ("gamma", Function::Draw(Draw::Gamma), 2),
    ("discrete", Function::Draw(Draw::Discrete), 1),
    ("deterministic", Function::Pure(Pure::Deterministic), 1),
    ("min", Function::Pure(Pure::Min), 2),
    ("max", Function::Pure(Pure::Max), 2),
    ("ceil", Function::Pure(Pure::Ceil), 1),
    ("floor", Function::Pure(Pure::Floor), 1),
    ("round", Function::Pure(Pure::Round), 1),
    ("ln", Function::Pure(Pure::Ln), 1),
    ("exp", Function::Pure(Pure::Exp), 1),
    ("sqrt", Function::Pure(Pure::Sqrt), 1),
    ("abs", Function::Pure(Pure::Abs), 1),
    ("if", Function::If, 3),
];

/// The functions of lists and texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListFunction {
    /// `length(list)`
    Length,
    /// `head(list)`: the first element.
    Head,
    /// `tail(list)`: all elements but the first.
    Tail,
    /// `reverse(list)`
    Reverse,
    /// `cons(element, list)`: the list with the element added in front.
    Cons,
    /// `append(list, element)`: the list with the element added at the end.
    Append,
    /// `concat(list, list)`
    Concat,
    /// `contains(list, element)`
    Contains,
    /// `at(list, index)`: the element at an index; the first element has index 0.
    At,
    /// `text(int)`: the decimal digits.
    Digits,
    /// `compare(text, text)`: -1, 0 or 1 when the first text is before, equal to or after the
    /// second.
    Compare,
}

/// Name, function and number of arguments of every function of lists and texts.
pub(crate) const LIST_FUNCTIONS: [(&str, ListFunction, usize); 11] = [
    ("length", ListFunction::Length, 1),
    ("head", ListFunction::Head, 1),
    ("tail", ListFunction::Tail, 1),
    ("reverse", ListFunction::Reverse, 1),
    ("cons", ListFunction::Cons, 2),
    ("append", ListFunction::Append, 2),
    ("concat", ListFunction::Concat, 2),
    ("contains", ListFunction::Contains, 2),
    ("at", ListFunction::At, 2),
    ("text", ListFunction::Digits, 1),
    ("compare", ListFunction::Compare, 2),
];

impl ListFunction {
    /// Number of arguments. A call takes this number of words off the stack and pushes one result.
    pub(crate) fn arguments(self) -> usize {
        let found = LIST_FUNCTIONS.iter().find(|entry| entry.1 == self);
        found.expect("every function is in the table").2
    }
}

/// Whether the language has a function of that name.
pub(crate) fn is_function(name: &str) -> bool {
    let mut of_lists = LIST_FUNCTIONS.iter().map(|entry| entry.0);
    let mut others = FUNCTIONS.iter().map(|entry| entry.0);
    matches!(name, "empirical" | "now")
        || of_lists.any(|one| one == name)
        || others.any(|one| one == name)
}

/// Whether the function of that name draws at random or reads the simulated time.
pub(crate) fn is_draw(name: &str) -> bool {
    let draw =
        |entry: &(&str, Function, usize)| entry.0 == name && matches!(entry.1, Function::Draw(_));
    matches!(name, "empirical" | "now") || FUNCTIONS.iter().any(draw)
}

impl Pure {
    /// Number of arguments that the function takes.
    #[inline]
    pub(crate) fn arguments(self) -> usize {
        1 + usize::from(matches!(self, Pure::Min | Pure::Max))
    }
}

impl Draw {
    /// The name of the distribution in the inscription language.
    pub(crate) fn name(self) -> &'static str {
        let found = FUNCTIONS
            .iter()
            .find(|entry| entry.1 == Function::Draw(self));
        found.expect("every draw is in the table").0
    }

    /// Number of parameters of the distribution.
    pub(crate) fn arguments(self) -> usize {
        let found = FUNCTIONS
            .iter()
            .find(|entry| entry.1 == Function::Draw(self));
        found.expect("every draw is in the table").2
    }

    /// The type of the drawn value.
    pub(crate) fn result(self) -> FieldType {
        match self {
            Draw::Discrete => FieldType::Int,
            _ => FieldType::Real,
        }
    }
}
