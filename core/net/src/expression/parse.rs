//! Parses an inscription (an expression of a net) into an expression tree. The parser follows
//! operator precedence and limits nesting.

/// An expression as written, before its types are checked.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expression {
    Integer(i64),
    Real(f64),
    Boolean(bool),
    /// A text literal: characters between quotes. After a backslash, the next character is taken
    /// literally.
    Text(String),
    /// A name alone: a constant of the net, or a variable, which then means the whole token.
    Name(String),
    /// `variable.field`: a field of the token that is bound to a variable.
    Field(String, String),
    Unary(UnaryOperator, Box<Expression>),
    Binary(BinaryOperator, Box<Expression>, Box<Expression>),
    Call(String, Vec<Expression>),
    /// `[a, b]`: a list literal.
    List(Vec<Expression>),
    /// `head(list).field`: a field of a computed record.
    Part(Box<Expression>, String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnaryOperator {
    Negate,
    Not,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BinaryOperator {
    Or,
    And,
    Equal,
    Unequal,
    Less,
    AtMost,
    Greater,
    AtLeast,
    Add,
    Subtract,
    Multiply,
    Divide,
    FloorDivide,
    Modulo,
}

/// Operators with their symbol and precedence; an operator with a larger number binds more tightly.
/// The parser takes the longest symbol that matches: at `<=` it takes `<=`, not `<`.
const OPERATORS: [(&str, BinaryOperator, u8); 14] = [
    ("||", BinaryOperator::Or, 1),
    ("&&", BinaryOperator::And, 2),
    ("==", BinaryOperator::Equal, 3),
    ("!=", BinaryOperator::Unequal, 3),
    ("<=", BinaryOperator::AtMost, 4),
    (">=", BinaryOperator::AtLeast, 4),
    ("<", BinaryOperator::Less, 4),
    (">", BinaryOperator::Greater, 4),
    ("+", BinaryOperator::Add, 5),
    ("-", BinaryOperator::Subtract, 5),
    ("*", BinaryOperator::Multiply, 6),
    ("//", BinaryOperator::FloorDivide, 6),
    ("/", BinaryOperator::Divide, 6),
    ("%", BinaryOperator::Modulo, 6),
];

impl BinaryOperator {
    /// Whether the operator compares the order of its operands (`<`, `<=`, `>`, `>=`).
    pub(crate) fn compares(self) -> bool {
        use BinaryOperator::{AtLeast, AtMost, Greater, Less};
        matches!(self, Less | AtMost | Greater | AtLeast)
    }

    /// The operator's symbol.
    pub(crate) fn spelling(self) -> &'static str {
        let entry = OPERATORS.iter().find(|entry| entry.1 == self);
        entry.expect("every operator is in the table").0
    }
}

const NESTING_MAX: u32 = 64;
const CHARACTERS_MAX: usize = 10_000;

/// Parses one expression. The error says what was found, and in which column.
pub(crate) fn parse(text: &str) -> Result<Expression, String> {
    if text.len() > CHARACTERS_MAX {
        return Err(format!(
            "an expression has at most {CHARACTERS_MAX} characters"
        ));
    }
    let mut parser = Parser {
        text,
        at: 0,
        nesting: 0,
    };
    let expression = parser.binary(1)?;
    parser.skip_space();
    match parser.at < text.len() {
        true => Err(parser.unexpected("an operator or the end")),
        false => Ok(expression),
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    nesting: u32,
}

impl Parser<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn skip_space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn take(&mut self, token: &str) -> bool {
        self.skip_space();
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn expect(&mut self, token: &str) -> Result<(), String> {
        match self.take(token) {
            true => Ok(()),
            false => Err(self.unexpected(&format!("'{token}'"))),
        }
    }

    fn unexpected(&self, wanted: &str) -> String {
        let found = match self.rest().trim_start().chars().next() {
            Some(letter) => format!("'{letter}'"),
            None => "the end".to_owned(),
        };
        let column = self.text[..self.at].chars().count() + 1;
        format!(
            "'{}' column {column}: found {found}, expected {wanted}",
            self.text
        )
    }

    fn nested<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, String>,
    ) -> Result<T, String> {
        self.nesting += 1;
        if self.nesting > NESTING_MAX {
            return Err(format!("an expression nests at most {NESTING_MAX} deep"));
        }
        let answer = work(self);
        self.nesting -= 1;
        answer
    }

    fn operator(&mut self, weakest: u8) -> Option<(BinaryOperator, u8)> {
        self.skip_space();
        let rest = self.rest();
        let matching = OPERATORS.iter().filter(|entry| rest.starts_with(entry.0));
        let &(spelling, operator, strength) = matching.max_by_key(|entry| entry.0.len())?;
        if strength < weakest {
            return None;
        }
        self.at += spelling.len();
        Some((operator, strength))
    }

    fn binary(&mut self, weakest: u8) -> Result<Expression, String> {
        let mut left = self.unary()?;
        let mut chained = 0;
        while let Some((operator, strength)) = self.operator(weakest) {
            // A long chain of operators builds a tree that is deep on its left side. Each operator
            // therefore counts as one level of nesting.
            chained += 1;
            if chained > NESTING_MAX {
                return Err(format!(
                    "an expression chains at most {NESTING_MAX} operators"
                ));
            }
            let right = self.nested(|parser| parser.binary(strength + 1))?;
            left = Expression::Binary(operator, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Expression, String> {
        self.skip_space();
        let operator = if self.take("-") {
            UnaryOperator::Negate
        } else if !self.rest().starts_with("!=") && self.take("!") {
            UnaryOperator::Not
        } else {
            return self.primary();
        };
        let inner = self.nested(Self::unary)?;
        Ok(match (operator, inner) {
            (UnaryOperator::Negate, Expression::Integer(value)) => Expression::Integer(-value),
            (UnaryOperator::Negate, Expression::Real(value)) => Expression::Real(-value),
            (operator, inner) => Expression::Unary(operator, Box::new(inner)),
        })
    }

    fn primary(&mut self) -> Result<Expression, String> {
        let found = self.single()?;
        // Records do not contain records, so at most one field access follows.
        let mut after = self.rest().chars();
        let part = after.next() == Some('.') && after.next().is_some_and(char::is_alphabetic);
        if !part || matches!(found, Expression::Integer(_) | Expression::Real(_)) {
            return Ok(found);
        }
        self.at += 1;
        Ok(Expression::Part(Box::new(found), self.word()?))
    }

    fn single(&mut self) -> Result<Expression, String> {
        self.skip_space();
        if self.take("(") {
            let inner = self.nested(|parser| parser.binary(1))?;
            self.expect(")")?;
            return Ok(inner);
        }
        if self.take("[") {
            return Ok(Expression::List(self.separated("]")?));
        }
        match self.rest().chars().next() {
            Some('"') => self.text(),
            Some(letter) if letter.is_ascii_digit() || letter == '.' => self.number(),
            Some(letter) if letter.is_ascii_alphabetic() || letter == '_' => self.named(),
            _ => Err(self.unexpected("a number, a name, '(' or '['")),
        }
    }

    fn number(&mut self) -> Result<Expression, String> {
        let bytes = self.rest().as_bytes();
        let mut end = 0;
        while end < bytes.len() {
            let sign_of_exponent =
                matches!(bytes[end], b'+' | b'-') && matches!(bytes[end - 1], b'e' | b'E');
            let part = matches!(bytes[end], b'0'..=b'9' | b'.' | b'e' | b'E');
            if !(part || (end > 0 && sign_of_exponent)) {
                break;
            }
            end += 1;
        }
        let digits = self.rest()[..end].to_owned();
        let number = if digits.bytes().all(|byte| byte.is_ascii_digit()) {
            digits.parse().ok().map(Expression::Integer)
        } else {
            let real = digits.parse::<f64>().ok().filter(|value| value.is_finite());
            real.map(Expression::Real)
        };
        self.at += end;
        number.ok_or_else(|| format!("'{digits}' is no 64-bit number"))
    }

    fn text(&mut self) -> Result<Expression, String> {
        let (mut found, mut kept) = (String::new(), false);
        for (at, letter) in self.rest().char_indices().skip(1) {
            match letter {
                '\\' if !kept => kept = true,
                '"' if !kept => {
                    self.at += at + 1;
                    return Ok(Expression::Text(found));
                }
                other => {
                    found.push(other);
                    kept = false;
                }
            }
        }
        Err(format!("'{}': a text has no end", self.text))
    }

    fn word(&mut self) -> Result<String, String> {
        let rest = self.rest();
        let length = rest
            .bytes()
            .take_while(|&b| b.is_ascii_alphanumeric() || b == b'_')
            .count();
        if length == 0 || rest.as_bytes()[0].is_ascii_digit() {
            return Err(self.unexpected("a name"));
        }
        let word = rest[..length].to_owned();
        self.at += length;
        Ok(word)
    }

    fn named(&mut self) -> Result<Expression, String> {
        let word = self.word()?;
        match word.as_str() {
            "true" => return Ok(Expression::Boolean(true)),
            "false" => return Ok(Expression::Boolean(false)),
            _ => {}
        }
        if self.rest().starts_with('.') {
            self.at += 1;
            return Ok(Expression::Field(word, self.word()?));
        }
        if !self.take("(") {
            return Ok(Expression::Name(word));
        }
        Ok(Expression::Call(word, self.separated(")")?))
    }

    /// Parses expressions separated by commas. Consumes the closing symbol `close`.
    fn separated(&mut self, close: &str) -> Result<Vec<Expression>, String> {
        let mut found = Vec::new();
        if self.take(close) {
            return Ok(found);
        }
        loop {
            found.push(self.nested(|parser| parser.binary(1))?);
            if !self.take(",") {
                self.expect(close)?;
                return Ok(found);
            }
        }
    }
}

impl Expression {
    /// Calls `visit` with `(variable, field)` for every field of a variable that the expression
    /// reads. A name without a field may also be a variable; `visit` then gets an empty field.
    pub(crate) fn visit_fields<'a>(&'a self, visit: &mut impl FnMut(&'a str, &'a str)) {
        match self {
            Expression::Field(variable, field) => visit(variable, field),
            Expression::Name(name) => visit(name, ""),
            Expression::Unary(_, inner) | Expression::Part(inner, _) => inner.visit_fields(visit),
            Expression::Binary(_, left, right) => {
                left.visit_fields(visit);
                right.visit_fields(visit);
            }
            Expression::Call(_, arguments) | Expression::List(arguments) => {
                arguments
                    .iter()
                    .for_each(|argument| argument.visit_fields(visit));
            }
            Expression::Integer(_)
            | Expression::Real(_)
            | Expression::Boolean(_)
            | Expression::Text(_) => {}
        }
    }

    /// Appends to `into` the conditions that the operator `&&` joins at the top level of the
    /// expression.
    pub(crate) fn conjuncts(self, into: &mut Vec<Expression>) {
        match self {
            Expression::Binary(BinaryOperator::And, left, right) => {
                left.conjuncts(into);
                right.conjuncts(into);
            }
            other => into.push(other),
        }
    }
}
