//! Encodes a profile in the format of the tool pprof (profile.proto). There is one sample for each
//! call path, with times in nanoseconds.
//!
//! This file defines only the messages of github.com/google/pprof, proto/profile.proto, that the
//! encoder needs.

use std::collections::HashMap;

use prost::Message;

use crate::profile::rank::Paths;
use crate::profile::SpanProfile;

#[derive(Clone, PartialEq, Message)]
struct PprofProfile {
    #[prost(message, repeated, tag = "1")]
    sample_type: Vec<ValueType>,
    #[prost(message, repeated, tag = "2")]
    sample: Vec<PprofSample>,
    #[prost(message, repeated, tag = "4")]
    location: Vec<Location>,
    #[prost(message, repeated, tag = "5")]
    function: Vec<Function>,
    #[prost(string, repeated, tag = "6")]
    string_table: Vec<String>,
    #[prost(int64, tag = "14")]
    default_sample_type: i64,
}

#[derive(Clone, PartialEq, Message)]
struct ValueType {
    #[prost(int64, tag = "1")]
    kind: i64,
    #[prost(int64, tag = "2")]
    unit: i64,
}

/// One sample of pprof's format: the values of one call path, whose first location is the innermost
/// call.
#[derive(Clone, PartialEq, Message)]
struct PprofSample {
    #[prost(uint64, repeated, tag = "1")]
    location_id: Vec<u64>,
    #[prost(int64, repeated, tag = "2")]
    value: Vec<i64>,
}

#[derive(Clone, PartialEq, Message)]
struct Location {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(message, repeated, tag = "4")]
    line: Vec<Line>,
}

#[derive(Clone, PartialEq, Message)]
struct Line {
    #[prost(uint64, tag = "1")]
    function_id: u64,
}

#[derive(Clone, PartialEq, Message)]
struct Function {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(int64, tag = "2")]
    name: i64,
}

/// The names and units of the values of each sample.
const KINDS: [(&str, &str); 3] = [
    ("calls", "count"),
    ("self", "nanoseconds"),
    ("bytes", "bytes"),
];

/// The table of all texts of the file. In pprof's format, the first text must be the empty text.
#[derive(Default)]
struct Strings {
    ids: HashMap<String, i64>,
    texts: Vec<String>,
}

impl Strings {
    fn number(&mut self, text: &str) -> i64 {
        if let Some(&id) = self.ids.get(text) {
            return id;
        }
        let id = self.texts.len() as i64;
        self.texts.push(text.to_owned());
        self.ids.insert(text.to_owned(), id);
        id
    }
}

/// Encodes a profile in pprof's format. Sums beyond 2^63 - 1 are encoded as 2^63 - 1. The result is
/// uncompressed; the caller must compress it with gzip, which pprof's tools expect.
pub fn pprof(profile: &SpanProfile) -> Vec<u8> {
    let mut strings = Strings::default();
    strings.number("");
    let mut written = PprofProfile::default();
    for (kind, unit) in KINDS {
        let (kind, unit) = (strings.number(kind), strings.number(unit));
        written.sample_type.push(ValueType { kind, unit });
    }
    written.default_sample_type = written.sample_type[1].kind;
    let mut functions: HashMap<&str, u64> = HashMap::new();
    let nodes = profile.merged().nodes;
    let paths = Paths::of(&nodes);
    for (path, sums) in paths.iter() {
        let mut location_id: Vec<u64> = Vec::new();
        for name in paths.names(path).into_iter().rev() {
            let next = functions.len() as u64 + 1;
            let id = *functions.entry(name).or_insert(next);
            if id == next {
                let shown = if name.is_empty() { "(unnamed)" } else { name };
                let name = strings.number(shown);
                written.function.push(Function { id, name });
                let line = vec![Line { function_id: id }];
                written.location.push(Location { id, line });
            }
            location_id.push(id);
        }
        let cut = |sum: u128| i64::try_from(sum).unwrap_or(i64::MAX);
        let self_ns = i64::try_from(sums.self_ns).unwrap_or(i64::MAX);
        let value = vec![cut(sums.count), self_ns, cut(sums.bytes)];
        written.sample.push(PprofSample { location_id, value });
    }
    written.string_table = strings.texts;
    written.encode_to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::span::{Span, SpanStore};
    use crate::tree::Forest;

    #[test]
    fn decoded_again_it_holds_every_path_with_its_sums() {
        let mut store = SpanStore::default();
        let (write, disk) = (store.intern("write"), store.intern("disk"));
        for trace_id in 1..=3 {
            let times = (100, 200);
            let root = Span {
                trace_id,
                span_id: 1,
                name: write,
                start_ns: times.0,
                end_ns: times.1,
                ..Span::default()
            };
            let below = Span {
                span_id: 2,
                parent_id: 1,
                name: disk,
                end_ns: 130,
                bytes: 7,
                ..root
            };
            store.spans.extend([root, below]);
        }
        let bytes = pprof(&SpanProfile::of(&Forest::recover(store)));
        let read = PprofProfile::decode(&bytes[..]).expect("what was just encoded");
        assert_eq!(read.string_table[0], "");
        let stacks: Vec<(Vec<&str>, Vec<i64>)> = read
            .sample
            .iter()
            .map(|sample| {
                let name = |id: &u64| {
                    let location = &read.location[*id as usize - 1];
                    let function = &read.function[location.line[0].function_id as usize - 1];
                    read.string_table[function.name as usize].as_str()
                };
                (
                    sample.location_id.iter().map(name).collect(),
                    sample.value.clone(),
                )
            })
            .collect();
        let expected = [
            (vec!["write"], vec![3, 3 * 70, 0]),
            (vec!["disk", "write"], vec![3, 3 * 30, 21]),
        ];
        assert_eq!(stacks, expected);
    }
}
