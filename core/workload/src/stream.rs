//! A specification and a client become a valid, reproducible sequence of operations.

use std::collections::VecDeque;

use crate::random::{normal, unit};
use crate::{draw, FileChoice, FileSize, Operation, OperationKind, StreamSpec};

/// What a random number is for; part of its key.
#[derive(Clone, Copy)]
enum Purpose {
    Kind = 1,
    File = 2,
    Size = 3,
    SizeAgain = 4,
}

/// Bytes of a client's file: a pure function of seed, client and file.
pub fn size_of(spec: &StreamSpec, client: u32, file: u64) -> u64 {
    let bits = |purpose: Purpose| draw(spec.seed, u64::from(client), file, purpose as u64);
    match spec.file_size {
        FileSize::Fixed(bytes) => bytes,
        FileSize::Uniform { low, high } => {
            low + (unit(bits(Purpose::Size)) * (high - low + 1) as f64) as u64
        }
        FileSize::Lognormal { median, sigma, max } => {
            let z = normal(bits(Purpose::Size), bits(Purpose::SizeAgain));
            ((median * (sigma * z).exp()) as u64).min(max)
        }
    }
}

/// The files (number, bytes) that a client must find before its first operation.
pub fn prepared_files(spec: &StreamSpec, client: u32) -> Vec<(u64, u64)> {
    let needed = spec.mix.iter().any(|share| share.operation.needs_file());
    let count = if needed { spec.files_per_client } else { 0 };
    (0..count)
        .map(|file| (file, size_of(spec, client, file)))
        .collect()
}

/// The operations of one client, in order. Every operation is possible when it is reached: files
/// are read, renamed and deleted only while they exist; a deletion that finds none left becomes a
/// creation.
pub struct Stream<'a> {
    spec: &'a StreamSpec,
    client: u32,
    index: u64,
    /// Files that exist, with their bytes.
    live: VecDeque<(u64, u64)>,
    next_file: u64,
    turn: usize,
    cumulative: Vec<f64>,
}

impl<'a> Stream<'a> {
    /// The stream of `client`; the specification must be valid.
    pub fn new(spec: &'a StreamSpec, client: u32) -> Self {
        debug_assert!(spec.validate().is_ok());
        let live = VecDeque::from(prepared_files(spec, client));
        let mut total = 0.0;
        let cumulative = match spec.file_choice {
            FileChoice::Zipf(exponent) => (1..=live.len())
                .map(|rank| {
                    total += (rank as f64).powf(-exponent);
                    total
                })
                .collect(),
            _ => Vec::new(),
        };
        let next_file = live.len() as u64;
        Stream {
            spec,
            client,
            index: 0,
            live,
            next_file,
            turn: 0,
            cumulative,
        }
    }

    fn kind(&self) -> OperationKind {
        let total: f64 = self.spec.mix.iter().map(|share| share.weight).sum();
        let mut point = unit(self.bits(Purpose::Kind)) * total;
        for share in &self.spec.mix {
            point -= share.weight;
            if point < 0.0 {
                return share.operation;
            }
        }
        self.spec
            .mix
            .last()
            .expect("a valid mix is not empty")
            .operation
    }

    fn bits(&self, purpose: Purpose) -> u64 {
        draw(
            self.spec.seed,
            u64::from(self.client) | 1 << 32,
            self.index,
            purpose as u64,
        )
    }

    /// Position in the live set of the file to take.
    fn position(&mut self) -> usize {
        let count = self.live.len();
        let point = unit(self.bits(Purpose::File));
        match self.spec.file_choice {
            FileChoice::Sequential => {
                self.turn += 1;
                (self.turn - 1) % count
            }
            FileChoice::Uniform => ((point * count as f64) as usize).min(count - 1),
            FileChoice::Zipf(_) => {
                let total = self.cumulative.last().copied().unwrap_or(1.0);
                self.cumulative.partition_point(|c| *c <= point * total) % count
            }
        }
    }

    fn new_file(&mut self, bytes: u64) -> (u64, u64) {
        let file = self.next_file;
        self.next_file += 1;
        self.live.push_back((file, bytes));
        (file, bytes)
    }

    /// The file that `kind` takes, and the bytes it moves.
    fn file_for(&mut self, kind: OperationKind) -> (u64, u64) {
        match kind {
            OperationKind::Write => self.new_file(size_of(self.spec, self.client, self.next_file)),
            OperationKind::Create => self.new_file(0),
            OperationKind::Mkdir => {
                // Directories share the numbers of files but are never read or deleted.
                self.next_file += 1;
                (self.next_file - 1, 0)
            }
            OperationKind::List => (0, 0),
            OperationKind::Delete => {
                // Both take constant time; the oldest first is what "sequential" means here.
                let removed = if self.spec.file_choice == FileChoice::Sequential {
                    self.live.pop_front()
                } else {
                    let position = self.position();
                    self.live.swap_remove_back(position)
                };
                (
                    removed
                        .expect("a deletion is drawn only while files live")
                        .0,
                    0,
                )
            }
            OperationKind::Append => {
                let position = self.position();
                let file = self.live[position].0;
                let added = size_of(self.spec, self.client, file);
                self.live[position].1 = self.live[position].1.saturating_add(added);
                (file, added)
            }
            OperationKind::Read | OperationKind::Stat | OperationKind::Rename => {
                let position = self.position();
                let (file, bytes) = self.live[position];
                (
                    file,
                    if kind == OperationKind::Read {
                        bytes
                    } else {
                        0
                    },
                )
            }
        }
    }
}

impl Iterator for Stream<'_> {
    type Item = Operation;

    fn next(&mut self) -> Option<Operation> {
        if self.index >= self.spec.operations_per_client {
            return None;
        }
        let mut kind = self.kind();
        if self.live.is_empty() && kind.needs_file() && kind != OperationKind::List {
            kind = OperationKind::Create;
        }
        let (file, size_bytes) = self.file_for(kind);
        let operation = Operation {
            client: self.client,
            index: self.index,
            kind,
            file,
            size_bytes,
            transfer_size_bytes: self.spec.transfer_size_bytes,
        };
        self.index += 1;
        Some(operation)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::{decode, encode, Share};

    fn spec(mix: &[(OperationKind, f64)]) -> StreamSpec {
        StreamSpec {
            seed: 42,
            clients: 3,
            operations_per_client: 4_000,
            files_per_client: 20,
            mix: mix
                .iter()
                .map(|(operation, weight)| Share {
                    operation: *operation,
                    weight: *weight,
                })
                .collect(),
            file_size: FileSize::Lognormal {
                median: 1e5,
                sigma: 1.0,
                max: 1 << 22,
            },
            transfer_size_bytes: 65_536,
            file_choice: FileChoice::Uniform,
            think_time_s: 0.0,
        }
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
        assert_ne!(run(&first, 0)[0].size_bytes, run(&first, 1)[0].size_bytes);
    }

    #[test]
    fn the_bytes_of_one_stream_are_known() {
        let bytes = encode(&run(&everything(), 2));
        let digest = bytes.iter().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        });
        // A change of this number changes every recorded experiment: say so in the changelog.
        assert_eq!(digest, GOLDEN_DIGEST, "{digest:#x}");
    }

    const GOLDEN_DIGEST: u64 = 0x9345_f92a_1c16_eee0;

    #[test]
    fn every_operation_is_possible_when_it_is_reached() {
        let spec = everything();
        for client in 0..3 {
            let mut bytes: HashMap<u64, u64> = prepared_files(&spec, client).into_iter().collect();
            for operation in run(&spec, client) {
                let file = operation.file;
                match operation.kind {
                    OperationKind::Write => {
                        assert_eq!(bytes.insert(file, operation.size_bytes), None);
                    }
                    OperationKind::Create => assert_eq!(bytes.insert(file, 0), None),
                    OperationKind::Delete => assert!(bytes.remove(&file).is_some()),
                    OperationKind::Read => assert_eq!(bytes[&file], operation.size_bytes),
                    OperationKind::Append => {
                        *bytes.get_mut(&file).unwrap() += operation.size_bytes;
                    }
                    OperationKind::Stat | OperationKind::Rename => {
                        assert!(bytes.contains_key(&file));
                    }
                    OperationKind::List | OperationKind::Mkdir => {}
                }
            }
        }
    }

    #[test]
    fn the_mix_is_as_asked() {
        let spec = spec(&[(OperationKind::Read, 4.0), (OperationKind::Write, 1.0)]);
        let reads = run(&spec, 0)
            .iter()
            .filter(|o| o.kind == OperationKind::Read)
            .count() as f64;
        // 4000 draws with p = 0.8: standard deviation 25.3; five of them allow one in two million.
        assert!((reads - 3200.0).abs() < 5.0 * 25.3, "{reads} reads of 3200");
    }

    #[test]
    fn all_kinds_come_as_often_as_weighed() {
        let weights = |kind: OperationKind| 1.0 + f64::from(kind as u32);
        let mut spec = spec(&OperationKind::ALL.map(|kind| (kind, weights(kind))));
        // Enough files that no deletion has to become a creation.
        spec.files_per_client = 4_000;
        let all: Vec<Operation> = (0..3).flat_map(|client| run(&spec, client)).collect();
        let chi_square: f64 = OperationKind::ALL
            .iter()
            .map(|kind| {
                let seen = all.iter().filter(|o| o.kind == *kind).count() as f64;
                let expected = all.len() as f64 * weights(*kind) / 45.0;
                (seen - expected).powi(2) / expected
            })
            .sum();
        // Eight degrees of freedom: 26.1 is exceeded once in a thousand.
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
        // Of 10001 values 159 per mille lie above one standard deviation, 100 kB times e.
        let above = lognormal.iter().filter(|size| **size > 271_828).count() as f64;
        assert!((above - 1586.7).abs() < 5.0 * 36.6, "{above}");
        assert!(lognormal[10_000] <= 1 << 22);
        spec.file_size = FileSize::Uniform { low: 10, high: 19 };
        let uniform = sizes(&spec);
        assert_eq!((uniform[0], uniform[10_000]), (10, 19));
        let chi_square: f64 = (10..20)
            .map(|size| uniform.iter().filter(|seen| **seen == size).count() as f64)
            .map(|seen| (seen - 1000.1).powi(2) / 1000.1)
            .sum();
        // Nine degrees of freedom: 27.9 is exceeded once in a thousand.
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
        assert_eq!(decode(&[0; 39]), None);
        assert_eq!(decode(&[0xff; 40]), None);
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
                    file_size: FileSize::Uniform {
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
                    file_size: FileSize::Uniform { low: 2, high: 1 },
                    ..right.clone()
                },
                "file_size",
            ),
        ] {
            assert_eq!(wrong.validate().unwrap_err().key, key);
        }
    }
}
