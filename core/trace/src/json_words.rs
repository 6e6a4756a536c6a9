//! Rewrites the reasons of the JSON reader in plain words, with what is allowed and what to do.

/// The reasons of serde_json that say nothing about JSON's rules, and these rules.
const RULES: [(&str, &str); 11] = [
    ("expected `:`", "a colon must follow the key of an object"),
    ("expected value", "must be a JSON value"),
    ("expected ident", "must be true, false or null"),
    ("expected `,` or `]`", "a comma or ] must follow the value"),
    ("expected `,` or `}`", "a comma or } must follow the value"),
    (
        "key must be a string",
        "the key of an object must be a text in quotation marks",
    ),
    ("trailing comma", "a value must follow the comma"),
    ("trailing characters", "only another document may follow"),
    ("invalid number", "a number must have the form -1.5e3"),
    ("invalid escape", "a text has an unknown escape sequence"),
    (
        "recursion limit exceeded",
        "objects and lists are nested too deeply",
    ),
];

/// Returns `reason`, the text of an error of serde_json in a trace, in plain words. A reason of an
/// unknown form is returned unchanged.
pub fn in_words(reason: &str) -> String {
    if let Some(part) = reason.strip_prefix("EOF while parsing ") {
        return format!("the file ends within {part}: copy or record it again");
    }
    let typed = reason
        .strip_prefix("invalid type: ")
        .and_then(|types| types.rsplit_once(", expected "));
    if let Some((found, expected)) = typed {
        let found = match found {
            "map" => "an object".to_owned(),
            "sequence" => "a list".to_owned(),
            other => other.replace('`', ""),
        };
        return format!("is {found}, must be {expected}; correct or remove the record");
    }
    match RULES.iter().find(|(known, _)| *known == reason) {
        Some((_, rule)) => format!("{rule}; correct or remove the record"),
        None => reason.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_of_the_json_reader_become_plain_words() {
        let document = serde_json::from_str::<serde_json::Value>;
        for (text, words) in [
            ("{\"a\" 1}", "a colon must follow"),
            ("{1: 2}", "the key of an object must be a text"),
            ("[1 2]", "a comma or ] must follow"),
            ("{\"a\": 1 \"b\": 2}", "a comma or } must follow"),
            ("[1,]", "a value must follow the comma"),
            ("nu", "the file ends within a value"),
            ("nulx", "must be true, false or null"),
            ("{\"a\": ]}", "must be a JSON value"),
            ("[1", "the file ends within a list: copy or record it again"),
            ("\"\\x\"", "a text has an unknown escape"),
            ("1 2", "only another document may follow"),
            ("-x", "a number must have the form"),
        ] {
            let error = document(text).expect_err(text).to_string();
            let reason = &error[..error.rfind(" at line ").expect("a position")];
            let found = in_words(reason);
            assert!(found.starts_with(words), "{text}: {found}");
            assert!(!found.contains('`'), "{found}");
        }
    }

    #[test]
    fn types_are_named_in_the_words_of_json() {
        assert_eq!(
            in_words("invalid type: integer `7`, expected an OTLP trace document"),
            "is integer 7, must be an OTLP trace document; correct or remove the record"
        );
        assert!(in_words("invalid type: map, expected a list").starts_with("is an object, must"));
        assert_eq!(in_words("wrong wire type"), "wrong wire type");
    }
}
