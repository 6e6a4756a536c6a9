//! The errors of the net engine. An error says whether the input or the run is at fault, the place
//! in the net, and the reason.

/// Whether the input or the run is at fault. The Python bindings map each kind to a different
/// exception.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The net or the options are wrong, so the same call would fail again.
    Input,
    /// The net is well formed, but the run failed.
    Run,
}

/// An error as one line: the location in the net or the run, and the reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{context}: {reason}")]
pub struct NetError {
    /// Whether the input or the run is at fault.
    pub kind: ErrorKind,
    /// The location: page, transition and arc, or replication and simulated time.
    pub context: String,
    /// What was found and what is allowed.
    pub reason: String,
}

/// The result type of this crate.
pub type Result<T> = std::result::Result<T, NetError>;

impl NetError {
    /// Makes an error of the input. `context` is the location in the net or the options.
    pub fn input(context: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            kind: ErrorKind::Input,
            context: context.into(),
            reason: one_line(&reason.into()),
        }
    }

    /// Makes an error of a run: `context` is the location and the simulated time.
    pub fn run(context: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            kind: ErrorKind::Run,
            context: context.into(),
            reason: one_line(&reason.into()),
        }
    }
}

const REASON_CHARACTERS_MAX: usize = 400;

/// Makes a text that may quote the input safe to print. Control characters become spaces, and a
/// long text is shortened.
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

/// Lists the valid names as text for the end of an error message. If there are many names, only the
/// first ones are listed.
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
