//! Checks the form of the names in a net.

/// Whether a word is a name: letters, digits and underscores, not beginning with a digit, and no
/// keyword of the inscription language.
pub(super) fn is_name(word: &str) -> bool {
    let mut letters = word.chars();
    let starts = letters
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == '_');
    let keyword = matches!(word, "true" | "false");
    starts && !keyword && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}
