//! Matches names with patterns: `*` stands for any text and `?` for any one character.

/// Whether the pattern matches the whole of `text`. The time is at most proportional to the product
/// of both lengths, never exponential.
pub fn matches(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    let (mut at, mut read) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while read < text.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, read));
                at += 1;
            }
            Some(&expected) if expected == '?' || expected == text[read] => {
                at += 1;
                read += 1;
            }
            // On a mismatch, the latest `*` is extended by one more character.
            _ => match star {
                Some((star_at, star_read)) => {
                    star = Some((star_at, star_read + 1));
                    at = star_at + 1;
                    read = star_read + 1;
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|&rest| rest == '*')
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn stars_and_question_marks() {
        assert!(matches("*wait*", "lock wait for write"));
        assert!(matches("DataNode.*/queue", "DataNode.rpc/queue"));
        assert!(matches("p?cket", "päcket") && !matches("p?cket", "pcket"));
        assert!(matches("*", "") && matches("", "") && !matches("", "a"));
        assert!(!matches("wait", "await") && !matches("*lock", "lock held"));
        assert!(!matches(&"*a".repeat(50), &"b".repeat(2000)));
    }
}
