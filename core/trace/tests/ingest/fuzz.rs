//! Tests that no hostile file crashes the readers. The files are a stored corpus of hostile traces
//! in every format, and valid traces with seeded random damage.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use dfslab_trace::{folded, profile_files, write_file, ErrorKind, OutputFormat, Reading};

use crate::support::{random_forest, report_of, temporary, Random};

const TURNS: u64 = 250;
const SEED: u64 = 20_181_015;

/// Reads a file. Returns its number of spans and its losses, or the error, which must be one line.
fn outcome(path: &Path) -> Result<(u64, String), String> {
    match profile_files(&[path], &Reading::default()) {
        Ok(profile) => {
            let counted: u64 = profile
                .nodes()
                .iter()
                .map(|node| node.statistics.count)
                .sum();
            assert!(profile.spans > 0, "an empty profile without an error");
            assert_eq!(counted, profile.spans);
            assert!(report_of(&profile).len() > 2 && !folded(&profile).is_empty());
            Ok((profile.spans, profile.losses.in_words()))
        }
        Err(error) => {
            assert_eq!(error.kind, ErrorKind::Input);
            let line = error.to_string();
            assert!(line.starts_with("reading trace "), "{line}");
            assert!(!line.contains('\n') && line.len() < 1000, "{line}");
            Err(error.reason)
        }
    }
}

fn corpus(kind: &str) -> BTreeMap<String, PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let entries = fs::read_dir(folder).expect("the corpus");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let name = |path: &Path| {
        path.file_name()?
            .to_str()?
            .strip_prefix(kind)
            .map(str::to_owned)
    };
    paths
        .filter_map(|path| Some((name(&path)?, path)))
        .collect()
}

#[test]
fn every_hostile_file_says_what_was_lost_or_why_it_is_refused() {
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/OUTCOMES");
    let mut reported = String::new();
    for (name, path) in corpus("evil-") {
        reported += &match outcome(&path) {
            Ok((spans, losses)) => format!("{name}: {spans} spans; {losses}\n"),
            Err(reason) => format!("{name}: refused: {reason}\n"),
        };
    }
    if std::env::var_os("DFSLAB_RECORD").is_some() {
        fs::write(&recorded, &reported).expect("a writable corpus");
    }
    let expected = fs::read_to_string(recorded).expect("recorded outcomes");
    assert_eq!(reported, expected);
}

#[test]
fn every_sound_file_loses_nothing_that_it_should_not() {
    let sound = corpus("sound-");
    assert!(sound.len() >= 9, "{sound:?}");
    for (name, path) in sound {
        let (spans, losses) = outcome(&path).expect(&name);
        assert!(spans >= 2, "{name}");
        assert!(!losses.contains("truncated"), "{name}: {losses}");
    }
}

/// Hostile sequences of bytes, with which parts of a valid file are replaced.
const EVIL: [&[u8]; 16] = [
    b"",
    b"\xff",
    b"\x00",
    b"\"",
    b"{",
    b"}",
    b"[[[[[[[[",
    b"]",
    b"-1",
    b"1e999",
    b"null",
    b"\n",
    b"99999999999999999999999999",
    b"18446744073709551615",
    b"\\ud800",
    b",",
];

fn damaged(whole: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    let place =
        |random: &mut Random, bytes: &[u8]| random.below(bytes.len().max(1) as u64) as usize;
    match random.below(5) {
        0 => bytes.truncate(place(random, whole)),
        1 => bytes.extend_from_slice(whole),
        2 => {
            let mut lines: Vec<&[u8]> = whole.split(|&byte| byte == b'\n').collect();
            random.shuffle(&mut lines);
            bytes = lines.join(&b'\n');
        }
        3 => {
            // A piece of the file is copied over another piece, so that ids occur in wrong places.
            let (from, to) = (place(random, whole), place(random, whole));
            let length = (random.below(80) as usize).min(whole.len() - from.max(to));
            bytes.copy_within(from..from + length, to);
        }
        _ => {}
    }
    for _ in 0..random.below(4) {
        let at = place(random, &bytes);
        let until = (at + random.below(12) as usize).min(bytes.len());
        let evil = EVIL[random.below(EVIL.len() as u64) as usize];
        bytes.splice(at.min(until)..until, evil.iter().copied());
    }
    bytes
}

#[test]
fn seeded_damage_to_every_format_never_crashes_and_never_says_nothing() {
    let mut sound: Vec<(String, Vec<u8>)> = corpus("sound-")
        .into_iter()
        .map(|(name, path)| (name, fs::read(path).expect("the corpus")))
        .collect();
    let path = temporary("fuzz");
    write_file(&random_forest(1, 6, 9, 3), &path, OutputFormat::Protobuf).expect("a folder");
    sound.push(("protobuf".to_owned(), fs::read(&path).expect("a trace")));
    for (number, (name, whole)) in (0..).zip(&sound) {
        let mut read = 0;
        for turn in 0..TURNS {
            let mut random = Random(SEED + number * TURNS + turn);
            let bytes = damaged(whole, &mut random);
            fs::write(&path, &bytes).expect("a writable folder");
            let found = std::panic::catch_unwind(|| outcome(&path));
            let found = found.unwrap_or_else(|_| panic!("{name}, turn {turn} of seed {SEED}"));
            read += u64::from(found.is_ok());
        }
        assert!(
            read > TURNS / 20,
            "{name}: only {read} of {TURNS} were borne"
        );
    }
    fs::remove_file(&path).expect("a file of this test");
}
