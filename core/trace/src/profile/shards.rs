//! Encodes and merges shards. When many trace files are read by several processes, a shard is the
//! result of one process. Shards may be merged in any order.
//!
//! A shard has the tables of a profile and a sample of complete traces. Samples and histograms
//! merge exactly, and shards are sorted by name before they are merged. The result is therefore
//! independent of which process read which files, and when.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::profile::{ProfileTables, Sampled, SpanProfile};
use crate::replay::TraceSample;
use crate::selection::{AllLeftOut, Selection};
use crate::span::losses::SpanLosses;
use crate::span::{Span, Texts};
use crate::stream::TraceSummary;

/// The result of reading some of many trace files: a shard.
#[derive(Clone, Serialize, Deserialize)]
pub struct Part {
    /// The name of the first file read, by which shards are sorted.
    name: String,
    spans: u64,
    trees: u64,
    losses: SpanLosses,
    sampled: Sampled,
    left_out: AllLeftOut,
    texts: Vec<String>,
    tables: ProfileTables,
    /// The spans of the sampled traces, trace by trace; `sample_texts` is the table of their names.
    sample: Vec<Span>,
    sample_texts: Vec<String>,
}

impl Part {
    /// Converts the result of reading files to a shard with the name `name`.
    pub fn of(name: &str, summary: &TraceSummary) -> Self {
        let profile = &summary.profile;
        Part {
            name: name.to_owned(),
            spans: profile.spans,
            trees: profile.trees,
            losses: profile.losses.clone(),
            sampled: profile.sampled,
            left_out: profile.left_out.clone(),
            texts: profile.texts().all(),
            tables: profile.tables(),
            sample: summary.sample.spans.clone(),
            sample_texts: summary.sample.texts.all(),
        }
    }

    /// Encodes the shard for another process, which must have the same version of this crate.
    ///
    /// # Errors
    ///
    /// The error of the encoder serde_json.
    pub fn to_bytes(&self) -> Result<Vec<u8>, serde_json::Error> {
        serde_json::to_vec(self)
    }

    /// Decodes a shard that `to_bytes` encoded.
    ///
    /// # Errors
    ///
    /// The error of the decoder serde_json.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(bytes)
    }

    fn profile(&self) -> SpanProfile {
        let mut profile = SpanProfile::from_tables(&self.tables, texts_of(&self.texts));
        (profile.spans, profile.trees) = (self.spans, self.trees);
        (profile.losses, profile.sampled) = (self.losses.clone(), self.sampled);
        profile.left_out = self.left_out.clone();
        profile
    }
}

fn texts_of(all: &[String]) -> Texts {
    let mut texts = Texts::default();
    for text in all {
        texts.intern(text);
    }
    texts
}

/// Finds shards that have spans of the same traces. Returns groups of two or more indices into
/// `parts`. Only the sampled traces of the shards are compared. Whether a trace is sampled depends
/// on its id alone, so shards that share many traces also have some sampled traces in common.
pub fn sharing(parts: &[Part]) -> Vec<Vec<usize>> {
    let mut group: Vec<usize> = (0..parts.len()).collect();
    let mut first_with: HashMap<u128, usize> = HashMap::new();
    for (place, part) in parts.iter().enumerate() {
        for span in &part.sample {
            let other = *first_with.entry(span.trace_id).or_insert(place);
            let (mine, theirs) = (group[place], group[other]);
            if mine != theirs {
                let (keep, drop) = (mine.min(theirs), mine.max(theirs));
                group
                    .iter_mut()
                    .filter(|one| **one == drop)
                    .for_each(|one| *one = keep);
            }
        }
    }
    let mut groups: Vec<Vec<usize>> = vec![Vec::new(); parts.len()];
    for (place, group) in group.into_iter().enumerate() {
        groups[group].push(place);
    }
    groups.retain(|group| group.len() > 1);
    groups
}

/// Merges shards into one result. The result equals that of reading the files of all shards at
/// once. No trace may have spans in two shards, and all shards must have been read with
/// `selection`.
pub fn merge_parts(mut parts: Vec<Part>, mut selection: Selection) -> TraceSummary {
    parts.sort_by(|left, right| left.name.cmp(&right.name));
    let (mut profile, mut sample, mut texts) = (
        SpanProfile::default(),
        TraceSample::default(),
        Texts::default(),
    );
    for part in &parts {
        profile.merge(&part.profile());
        let names = texts_of(&part.sample_texts);
        let mut known = |id| texts.intern(names.text(id));
        let spans: Vec<Span> = part
            .sample
            .iter()
            .map(|span| Span {
                name: known(span.name),
                service: known(span.service),
                host: known(span.host),
                // The sample serves only replays, which do not use sampling weights.
                sampling: 0,
                ..*span
            })
            .collect();
        for trace in spans.chunk_by(|left, right| left.trace_id == right.trace_id) {
            sample.offer(trace);
        }
    }
    let sample = sample.forest(&texts);
    TraceSummary {
        trees_left_out: profile.trees.saturating_sub(selection.trees_of(&sample)),
        clocks: crate::clocks(&sample),
        profile,
        sample,
    }
}
