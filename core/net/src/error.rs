//! The errors of this crate: whose fault, where in the net or the run, and why.

/// Whose fault an error is; the border maps it to an exception.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The net or the options are wrong; running again cannot help.
    Input,
    /// The net is well formed, but a run of it went wrong.
    Run,
}

/// One clear line: the place in the net or the run, and the reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{context}: {reason}")]
pub struct NetError {
    /// Whose fault it is.
    pub kind: ErrorKind,
    /// Where: the page, transition and arc, or the replication and its time.
    pub context: String,
    /// What was found and what is allowed.
    pub reason: String,
}

/// The result of every fallible operation here.
pub type Result<T> = std::result::Result<T, NetError>;

impl NetError {
    /// The net or the options at `context` are wrong.
    pub fn input(context: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            kind: ErrorKind::Input,
            context: context.into(),
            reason: one_line(&reason.into()),
        }
    }

    /// The run stopped at `context`.
    pub fn run(context: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            kind: ErrorKind::Run,
            context: context.into(),
            reason: one_line(&reason.into()),
        }
    }
}

const REASON_CHARACTERS_MAX: usize = 400;

/// Text that may quote the input, made safe to print: no control characters, bounded length.
fn one_line(text: &str) -> String {
    let mut line: String = text
        .chars()
        .take(REASON_CHARACTERS_MAX)
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .collect();
    if text.chars().nth(REASON_CHARACTERS_MAX).is_some() {
        line.push('…');
    }
    line
}

/// The names that would have been right, for the end of a message.
pub(crate) fn known<'a>(names: impl Iterator<Item = &'a str>) -> String {
    const NAMES_MAX: usize = 12;
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    let rest = names.len().saturating_sub(NAMES_MAX);
    names.truncate(NAMES_MAX);
    match (names.is_empty(), rest) {
        (true, _) => "there is none".to_owned(),
        (false, 0) => format!("known: {}", names.join(", ")),
        (false, _) => format!("known: {} and {rest} more", names.join(", ")),
    }
}
