//! Tests that operation streams are valid, reproducible and as specified.

use std::collections::HashMap;

use crate::*;

/// Operation types for tests in which every operation must occur exactly as drawn. A stream
/// normally replaces an impossible operation by one of another type; an example is the removal of a
/// directory that does not exist. As long as a file exists, none of the types in this list is
/// impossible.
const FIRST: [OperationKind; 9] = [
    OperationKind::Read,
    OperationKind::Write,
    OperationKind::Append,
    OperationKind::Create,
    OperationKind::Stat,
    OperationKind::List,
    OperationKind::Rename,
    OperationKind::Delete,
    OperationKind::Mkdir,
];

fn spec(mix: &[(OperationKind, f64)]) -> StreamSpec {
    StreamSpec {
        operations_per_client: 4_000,
        files_per_client: 20,
        mix: mix
            .iter()
            .map(|(kind, weight)| Share::of(*kind, *weight))
            .collect(),
        file_size: Size::Lognormal {
            median: 1e5,
            sigma: 1.0,
            max: 1 << 22,
        },
        file_choice: FileChoice::Uniform,
        ..minimal()
    }
}

fn minimal() -> StreamSpec {
    let text = r#"{"seed":42,"clients":3,"file_size":{"fixed":4096},"transfer_size_bytes":65536}"#;
    serde_json::from_str(text).unwrap()
}

fn everything() -> StreamSpec {
    let kinds: Vec<_> = OperationKind::ALL.iter().map(|kind| (*kind, 1.0)).collect();
    spec(&kinds)
}

fn run(spec: &StreamSpec, client: u32) -> Vec<Operation> {
    Stream::new(spec, client).collect()
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_does_not() {
    let first = everything();
    let other = StreamSpec {
        seed: 43,
        ..first.clone()
    };
    assert_eq!(encode(&run(&first, 1)), encode(&run(&first, 1)));
    assert_ne!(encode(&run(&first, 1)), encode(&run(&other, 1)));
    assert_ne!(encode(&run(&first, 0)), encode(&run(&first, 1)));
    assert_ne!(size_of(&first, 0, 0), size_of(&first, 1, 0));
}

#[test]
fn the_bytes_of_one_stream_are_known() {
    let nine = spec(&FIRST.map(|kind| (kind, 1.0)));
    // The digest covers only the first 40 bytes of each encoded operation. Later versions of the
    // encoding appended the offset and the phase, but did not change these bytes.
    let encoded = encode(&run(&nine, 2));
    let bytes: Vec<u8> = encoded
        .chunks(56)
        .flat_map(|one| one[..40].to_vec())
        .collect();
    let digest = bytes.iter().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    // A change of this digest changes every recorded experiment, so it must be noted in the change
    // log.
    assert_eq!(digest, GOLDEN_DIGEST, "{digest:#x}");
}

const GOLDEN_DIGEST: u64 = 0x9345_f92a_1c16_eee0;

#[test]
fn every_operation_is_possible_when_it_is_reached() {
    let spec = everything();
    for client in 0..3 {
        let mut bytes: HashMap<u64, u64> = prepared_files(&spec, client).into_iter().collect();
        let mut directories = std::collections::HashSet::new();
        for operation in run(&spec, client) {
            let file = operation.file;
            match operation.kind {
                OperationKind::Write => {
                    assert_eq!(bytes.insert(file, operation.size_bytes), None);
                }
                OperationKind::Create => assert_eq!(bytes.insert(file, 0), None),
                OperationKind::Delete => assert!(bytes.remove(&file).is_some()),
                OperationKind::Read | OperationKind::Overwrite => {
                    assert_eq!(bytes[&file], operation.size_bytes);
                }
                OperationKind::Pread | OperationKind::Pwrite => {
                    assert!(operation.offset_bytes + operation.size_bytes <= bytes[&file]);
                }
                OperationKind::Append => {
                    *bytes.get_mut(&file).unwrap() += operation.size_bytes;
                }
                OperationKind::Truncate => {
                    let before = bytes.insert(file, operation.size_bytes).unwrap();
                    assert_eq!(operation.size_bytes, before / 2);
                }
                OperationKind::Mkdir => assert!(directories.insert(file)),
                OperationKind::Rmdir => assert!(directories.remove(&file)),
                OperationKind::List => {}
                _ => assert!(bytes.contains_key(&file)),
            }
        }
    }
}

#[test]
fn the_mix_is_as_specified() {
    let spec = spec(&[(OperationKind::Read, 4.0), (OperationKind::Write, 1.0)]);
    let reads = run(&spec, 0)
        .iter()
        .filter(|o| o.kind == OperationKind::Read)
        .count() as f64;
    // The standard deviation of 4000 draws with p = 0.8 is 25.3. A difference of five standard
    // deviations occurs once in two million.
    assert!((reads - 3200.0).abs() < 5.0 * 25.3, "{reads} reads of 3200");
}

#[test]
fn all_kinds_come_as_often_as_weighed() {
    let weights = |kind: OperationKind| 1.0 + f64::from(kind as u32);
    let mut spec = spec(&FIRST.map(|kind| (kind, weights(kind))));
    // There are enough files for every deletion; a deletion without a file would become a creation.
    spec.files_per_client = 4_000;
    let all: Vec<Operation> = (0..3).flat_map(|client| run(&spec, client)).collect();
    let chi_square: f64 = FIRST
        .iter()
        .map(|kind| {
            let observed = all.iter().filter(|o| o.kind == *kind).count() as f64;
            let expected = all.len() as f64 * weights(*kind) / 45.0;
            (observed - expected).powi(2) / expected
        })
        .sum();
    // The chi-square statistic has eight degrees of freedom. The statistic exceeds 26.1 once in a
    // thousand.
    assert!(chi_square < 26.1, "{chi_square}");
}

#[test]
fn sizes_follow_their_distribution() {
    let mut spec = everything();
    let sizes = |spec: &StreamSpec| -> Vec<u64> {
        let mut sizes: Vec<u64> = (0..10_001).map(|file| size_of(spec, 0, file)).collect();
        sizes.sort_unstable();
        sizes
    };
    let lognormal = sizes(&spec);
    assert!(
        (lognormal[5_000] as f64 / 1e5).ln().abs() < 0.06,
        "{}",
        lognormal[5_000]
    );
    // The median is 100 kB, and the standard deviation of the logarithm is 1. A size above 100 kB
    // times e is therefore more than one standard deviation above the median. This is expected for
    // 1586.7 of 10001 sizes.
    let above = lognormal.iter().filter(|size| **size > 271_828).count() as f64;
    assert!((above - 1586.7).abs() < 5.0 * 36.6, "{above}");
    assert!(lognormal[10_000] <= 1 << 22);
    spec.file_size = Size::Uniform { low: 10, high: 19 };
    let uniform = sizes(&spec);
    assert_eq!((uniform[0], uniform[10_000]), (10, 19));
    let chi_square: f64 = (10..20)
        .map(|size| uniform.iter().filter(|observed| **observed == size).count() as f64)
        .map(|observed| (observed - 1000.1).powi(2) / 1000.1)
        .sum();
    // The chi-square statistic has nine degrees of freedom. The statistic exceeds 27.9 once in a
    // thousand.
    assert!(chi_square < 27.9, "{chi_square}");
}

#[test]
fn sequential_choice_takes_files_in_order() {
    let mut reading = spec(&[(OperationKind::Read, 1.0)]);
    reading.file_choice = FileChoice::Sequential;
    let files: Vec<u64> = run(&reading, 0).iter().take(25).map(|o| o.file).collect();
    assert_eq!(files, (0..25).map(|n| n % 20).collect::<Vec<_>>());
    let mut deleting = spec(&[(OperationKind::Delete, 1.0)]);
    deleting.file_choice = FileChoice::Sequential;
    let files: Vec<u64> = run(&deleting, 0).iter().take(20).map(|o| o.file).collect();
    assert_eq!(files, (0..20).collect::<Vec<_>>());
}

#[test]
fn deleting_more_than_there_is_creates() {
    let spec = spec(&[(OperationKind::Delete, 1.0)]);
    let kinds: Vec<_> = run(&spec, 0).iter().take(22).map(|o| o.kind).collect();
    assert!(kinds[..20]
        .iter()
        .all(|kind| *kind == OperationKind::Delete));
    assert_eq!(kinds[20..], [OperationKind::Create, OperationKind::Delete]);
}

#[test]
fn the_encoding_reads_back() {
    let operations = run(&everything(), 0);
    assert_eq!(decode(&encode(&operations)), Some(operations));
    assert_eq!(decode(&[0; 55]), None);
    assert_eq!(decode(&[0xff; 56]), None);
}

#[test]
fn zipf_prefers_the_first() {
    let mut spec = spec(&[(OperationKind::Read, 1.0)]);
    spec.file_choice = FileChoice::Zipf(1.0);
    let first = run(&spec, 0).iter().filter(|o| o.file == 0).count() as f64 / 4000.0;
    let harmonic: f64 = (1..=20).map(|k| 1.0 / f64::from(k)).sum();
    assert!((first - 1.0 / harmonic).abs() < 0.04, "{first}");
}

#[test]
fn a_huge_wrong_number_is_printed_with_an_exponent() {
    let fast = StreamSpec {
        arrival: serde_json::from_str(r#"{"open": {"rate_per_s": 1e300}}"#).unwrap(),
        ..everything()
    };
    assert!(fast
        .validate()
        .unwrap_err()
        .to_string()
        .contains("= 1e300:"));
    for (value, text) in [(1e300, "1e300"), (1e-300, "1e-300"), (1e9, "1000000000")] {
        let wrong = StreamSpec {
            think_time_s: if value < 1.0 { -value } else { value },
            ..everything()
        };
        let error = wrong.validate().unwrap_err().to_string();
        assert!(error.contains(text), "{error}");
        assert!(error.len() < 100, "{error}");
    }
}

#[test]
fn wrong_specifications_name_the_key() {
    let right = everything();
    for (wrong, key) in [
        (
            StreamSpec {
                clients: 0,
                ..right.clone()
            },
            "clients",
        ),
        (
            StreamSpec {
                mix: vec![],
                ..right.clone()
            },
            "mix",
        ),
        (
            StreamSpec {
                files_per_client: 0,
                ..right.clone()
            },
            "files_per_client",
        ),
        (
            StreamSpec {
                files_per_client: u64::MAX,
                ..right.clone()
            },
            "files_per_client",
        ),
        (
            StreamSpec {
                file_size: Size::Uniform {
                    low: 0,
                    high: u64::MAX,
                },
                ..right.clone()
            },
            "file_size",
        ),
        (
            StreamSpec {
                transfer_size_bytes: 0,
                ..right.clone()
            },
            "transfer_size_bytes",
        ),
        (
            StreamSpec {
                think_time_s: f64::NAN,
                ..right.clone()
            },
            "think_time_s",
        ),
        (
            StreamSpec {
                file_size: Size::Uniform { low: 2, high: 1 },
                ..right.clone()
            },
            "file_size",
        ),
    ] {
        assert_eq!(wrong.validate().unwrap_err().key, key);
    }
}

#[test]
fn more_distributions_have_their_mean() {
    let mut spec = minimal();
    let mean = |spec: &StreamSpec| {
        let sizes = (0..40_000).map(|file| size_of(spec, 0, file) as f64);
        sizes.sum::<f64>() / 40_000.0
    };
    // The tolerance is five standard errors: for 40000 values, 2.5 % of one standard deviation.
    for (size, expected, sd) in [
        (
            r#"{"gamma":{"mean":131072,"shape":1.5,"max":1073741824}}"#,
            131_072.0,
            107_020.0,
        ),
        (
            r#"{"gamma":{"mean":131072,"shape":0.5,"max":1073741824}}"#,
            131_072.0,
            185_364.0,
        ),
        (
            r#"{"normal":{"mean":1e6,"sd":1e5,"max":1073741824}}"#,
            1e6,
            1e5,
        ),
        (r#"{"choice":[[4096,3],[8192,1]]}"#, 5120.0, 1774.0),
    ] {
        spec.file_size = serde_json::from_str(size).unwrap();
        spec.file_size.validate("file_size").unwrap();
        let observed = mean(&spec);
        assert!(
            (observed - expected).abs() < 0.025 * sd + 1.0,
            "{size}: {observed}"
        );
    }
}

fn phases(text: &str) -> StreamSpec {
    let spec = StreamSpec {
        phases: serde_json::from_str(text).unwrap(),
        files_per_client: 0,
        ..minimal()
    };
    spec.validate().unwrap();
    spec
}

#[test]
fn a_cycle_goes_round_and_takes_the_newest() {
    let spec = phases(
        r#"[{"operations_per_client":12,"mix_order":"cycle","file_choice":"newest","mix":[
        {"operation":"mkdir"},{"operation":"create"},{"operation":"exists"},
        {"operation":"rename"},{"operation":"delete"},{"operation":"rmdir"}]}]"#,
    );
    let observed: Vec<(&str, u64)> = run(&spec, 1)
        .iter()
        .map(|o| (o.kind.name(), o.file))
        .collect();
    let turn = |n| {
        [
            ("mkdir", n),
            ("create", n + 1),
            ("exists", n + 1),
            ("rename", n + 1),
            ("delete", n + 1),
            ("rmdir", n),
        ]
    };
    assert_eq!(observed, [turn(0), turn(2)].concat());
}

#[test]
fn a_later_phase_takes_what_a_neighbour_wrote() {
    let text = r#"[{"name":"write","operations_per_client":N,"mix":[{"operation":"write"}]},
        {"name":"read","operations_per_client":N,"mix":[{"operation":"read"}],
        "files":{"neighbour":1}},
        {"operations_per_client":30,"mix":[{"operation":"stat"}],"files":"shared"}]"#;
    let spec = phases(&text.replace('N', "5"));
    let observed = run(&spec, 2);
    let reads: Vec<(u32, u64)> = observed[5..10].iter().map(|o| (o.owner, o.file)).collect();
    assert_eq!(reads, (0..5).map(|file| (0, file)).collect::<Vec<_>>());
    assert!(observed[5..10]
        .iter()
        .all(|o| o.phase == 1 && o.size_bytes == 4096));
    let stats: Vec<(u32, u64)> = observed[10..25].iter().map(|o| (o.owner, o.file)).collect();
    let all = (0..3).flat_map(|owner| (0..5).map(move |file| (owner, file)));
    assert_eq!(stats, all.collect::<Vec<_>>());
    let wrong = text
        .replace('N', "5")
        .replace(r#"[{"operation":"read"}]"#, r#"[{"operation":"delete"}]"#);
    let wrong = StreamSpec {
        phases: serde_json::from_str(&wrong).unwrap(),
        ..minimal()
    };
    assert_eq!(wrong.validate().unwrap_err().key, "files");
}

#[test]
fn the_files_of_all_clients_are_shared_out() {
    let spec = StreamSpec {
        files_together: Some(4),
        operations_per_client: 8,
        mix: vec![Share::of(OperationKind::Pread, 1.0)],
        files: Files::Shared,
        ..minimal()
    };
    spec.validate().unwrap();
    let counts: Vec<usize> = (0..3)
        .map(|client| prepared_files(&spec, client).len())
        .collect();
    assert_eq!(counts, [2, 1, 1]);
    let places: Vec<(u32, u64)> = run(&spec, 1).iter().map(|o| (o.owner, o.file)).collect();
    assert_eq!(places[..4], [(0, 0), (0, 1), (1, 0), (2, 0)]);
}

#[test]
fn given_operations_come_as_they_are_and_find_their_files() {
    let spec = StreamSpec {
        given: serde_json::from_str(
            r#"[{"client":1,"operation":"pread","file":7,"size_bytes":100,"offset_bytes":50},
            {"operation":"write","file":0,"size_bytes":10},
            {"client":1,"operation":"read","file":0,"size_bytes":10,"owner":0},
            {"client":1,"operation":"delete","file":7}]"#,
        )
        .unwrap(),
        ..minimal()
    };
    spec.validate().unwrap();
    assert_eq!(prepared_files(&spec, 1), [(7, 150)]);
    assert_eq!(prepared_files(&spec, 0), []);
    let observed: Vec<(&str, u64)> = run(&spec, 1)
        .iter()
        .map(|o| (o.kind.name(), o.index))
        .collect();
    assert_eq!(observed, [("pread", 0), ("read", 1), ("delete", 2)]);
    assert_eq!(spec.operations_of(1), 3);
}
