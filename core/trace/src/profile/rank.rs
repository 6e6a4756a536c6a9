//! Ranks calls by their self time: once by call path and once by name, with waits separate from
//! work.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ingest::InputFormat;
use crate::profile::statistics::CallSums;
use crate::profile::{ProfileNode, SpanProfile};
use crate::selection::pattern;
use crate::selection::{CallChoice, Selection};
use crate::span::sampling::weight_of;
use crate::tree::NONE;

/// The options that determine how trace files are read and what the report contains.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReportOptions {
    /// Patterns for the names of calls that wait and do no work. `*` stands for any text and `?`
    /// for any one character.
    pub wait_patterns: Vec<String>,
    /// Largest number of entries in each ranking. The report states how many entries are left out.
    pub ranking_limit: usize,
    /// Factor, above one, by which each step is made faster to estimate the end-to-end gain.
    #[serde(deserialize_with = "above_one")]
    pub factor: f64,
    /// Sampling probability that is assumed for calls whose recorder did not record it.
    #[serde(deserialize_with = "probability")]
    pub sampled: f64,
    /// Name of the files' format, as in `InputFormat`. If it is empty, the format is recognised by
    /// content.
    pub format: String,
    /// The user's rules for which calls are kept, and the user's new names for calls.
    pub choice: CallChoice,
}

/// The options for reading trace files, after they were checked.
#[derive(Clone, Debug)]
pub struct Reading {
    /// Sampling probability that is assumed for calls whose recorder did not record it.
    pub sampled: f64,
    /// Format of the files. If it is None, the format is recognised by content.
    pub format: Option<InputFormat>,
    /// The user's rules for which calls are kept, and the user's new names for calls.
    pub selection: Selection,
}

impl Default for Reading {
    fn default() -> Self {
        Reading {
            sampled: 1.0,
            format: None,
            selection: Selection::default(),
        }
    }
}

impl ReportOptions {
    /// Checks the options for reading files and converts them.
    ///
    /// # Errors
    ///
    /// One line that says what is invalid and what is allowed.
    pub fn reading(&self) -> Result<Reading, String> {
        let named = (!self.format.is_empty()).then(|| InputFormat::named(&self.format));
        Ok(Reading {
            sampled: self.sampled,
            format: named.transpose()?,
            selection: Selection::of(&self.choice)?,
        })
    }
}

fn probability<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let reported = f64::deserialize(deserializer)?;
    if weight_of(reported).is_some() {
        return Ok(reported);
    }
    let line = format!("sampled {reported}: must be above 0 and at most 1");
    Err(serde::de::Error::custom(line))
}

fn above_one<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let factor = f64::deserialize(deserializer)?;
    if factor > 1.0 && factor.is_finite() {
        Ok(factor)
    } else {
        let line = format!("factor {factor}: must be above 1");
        Err(serde::de::Error::custom(line))
    }
}

impl Default for ReportOptions {
    fn default() -> Self {
        Self {
            wait_patterns: Vec::new(),
            ranking_limit: 1000,
            factor: 2.0,
            sampled: 1.0,
            format: String::new(),
            choice: CallChoice::default(),
        }
    }
}

/// Sums over all calls with one call path (or with one name, in the ranking by name).
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Entry {
    /// Name of the calls.
    pub name: String,
    /// Names from the root call to this call, joined by "/". In the ranking by name, only the name.
    #[schemars(extend("format" = "call-path"))]
    pub path: String,
    /// Number of calls. If the recorder sampled calls, this number and all sums are estimates for
    /// all calls.
    pub count: u128,
    /// Number of recorded calls.
    pub read: u64,
    /// Number of calls that reported an error.
    pub errors: u128,
    /// Sum of the durations of the calls, seconds. In the ranking by name, the durations of nested
    /// calls with the same name are both added, so their common time counts twice.
    pub total_s: f64,
    /// Sum of self times, seconds.
    pub self_s: f64,
    /// Mean duration, seconds. If no durations are known, it is NaN, which is null in JSON.
    #[schemars(with = "Option<f64>")]
    pub mean_s: f64,
    /// Self time of these calls as a fraction of the self time of all calls, work and waits.
    pub share: f64,
    /// Bytes moved.
    pub bytes: u128,
    /// Sum of durations, nanoseconds, exact.
    pub total_ns: u128,
    /// Sum of self times, nanoseconds, exact.
    pub self_ns: u128,
    /// Number of failed calls that their caller retried.
    pub again: u128,
    /// Sum of the durations of failed calls that their caller retried, ns, exact.
    pub again_ns: u128,
    /// Cost class, which says what the calls do or wait for. Only in profiles of processes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Number of calls with known durations, if some servers only count calls. None if all
    /// durations are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timed: Option<u128>,
    /// The processes that made the calls. Only in profiles of processes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub instances: Vec<String>,
}

/// The rankings of one profile, each by descending self time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Rankings {
    /// Calls that work instead of wait, by call path.
    pub ranking: Vec<Entry>,
    /// Calls that work instead of wait, by name.
    pub ranking_by_name: Vec<Entry>,
    /// Calls that wait, by call path.
    pub waits: Vec<Entry>,
    /// Number of entries that the limit leaves out of the three rankings.
    pub ranking_beyond_limit: u64,
}

/// Sums over the calls with one path or name. `read` and `waits` are numbers of recorded calls.
/// `all` has the sums over all calls, and `again` has the sums over the failed calls that their
/// caller retried. `all` and `again` include unrecorded calls, estimated from the sampling weights.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PathSums {
    pub read: u64,
    /// Number of the recorded calls that the recorder classifies as waits.
    waits: u64,
    pub all: CallSums,
    /// Estimated sums over the failed calls that their caller retried.
    again: CallSums,
}

impl PathSums {
    fn add(&mut self, other: PathSums) {
        self.read += other.read;
        self.waits += other.waits;
        self.all.add(other.all);
        self.again.add(other.again);
    }

    fn of(node: &ProfileNode) -> Self {
        let all = node.statistics.estimated();
        PathSums {
            read: node.statistics.count,
            waits: node.statistics.waits,
            all,
            again: if node.again { all } else { CallSums::default() },
        }
    }

    fn mostly_waits(&self) -> bool {
        self.waits * 2 > self.read
    }

    fn entry(&self, name: &str, path: String, all_ns: u128) -> Entry {
        let all = &self.all;
        Entry {
            name: name.to_owned(),
            path,
            count: all.count,
            read: self.read,
            errors: all.errors,
            total_s: seconds(all.total_ns),
            self_s: seconds(all.self_ns),
            mean_s: seconds(all.total_ns) / all.count as f64,
            share: if all_ns == 0 {
                0.0
            } else {
                all.self_ns as f64 / all_ns as f64
            },
            bytes: all.bytes,
            total_ns: all.total_ns,
            self_ns: all.self_ns,
            again: self.again.count,
            again_ns: self.again.total_ns,
            kind: None,
            timed: None,
            instances: Vec::new(),
        }
    }
}

/// Converts nanoseconds to seconds.
pub(crate) fn seconds(nanoseconds: u128) -> f64 {
    nanoseconds as f64 / 1e9
}

/// The call paths of a profile. Nodes are merged into one path if all names from the root to the
/// node are equal, even if their shapes differ.
pub(crate) struct Paths<'a> {
    /// The paths, each as (index of the parent path or `NONE`, name of the last call, sums). A
    /// parent path precedes its child paths.
    paths: Vec<(u32, &'a str, PathSums)>,
}

impl<'a> Paths<'a> {
    pub(crate) fn of(profile: &'a SpanProfile) -> Self {
        let mut paths: Vec<(u32, &str, PathSums)> = Vec::new();
        let mut known: HashMap<(u32, &str), u32> = HashMap::new();
        let mut path_of_node: Vec<u32> = Vec::new();
        for node in profile.nodes() {
            let above = if node.parent == NONE {
                NONE
            } else {
                path_of_node[node.parent as usize]
            };
            let name = profile.name(node);
            let path = *known.entry((above, name)).or_insert_with(|| {
                paths.push((above, name, PathSums::default()));
                paths.len() as u32 - 1
            });
            paths[path as usize].2.add(PathSums::of(node));
            path_of_node.push(path);
        }
        Self { paths }
    }

    /// Iterates over the paths. For each path, yields its index, the name of its last call, and its
    /// sums.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &'a str, &PathSums)> {
        (0u32..)
            .zip(&self.paths)
            .map(|(path, (_, name, sums))| (path, *name, sums))
    }

    /// Returns the names of the calls of a path, from the root call on.
    pub(crate) fn names(&self, mut path: u32) -> Vec<&'a str> {
        let mut names = Vec::new();
        while path != NONE {
            let (above, name, _) = self.paths[path as usize];
            names.push(name);
            path = above;
        }
        names.reverse();
        names
    }
}

/// Ranks the call paths and the names of a profile by self time.
pub fn rank(profile: &SpanProfile, options: &ReportOptions) -> Rankings {
    let paths = Paths::of(profile);
    let all_ns: u128 = paths.iter().map(|(_, _, sums)| sums.all.self_ns).sum();
    let waits = |name: &str| {
        options
            .wait_patterns
            .iter()
            .any(|pattern| pattern::matches(pattern, name))
    };
    let mut by_name: HashMap<&str, (bool, PathSums)> = HashMap::new();
    let (mut work, mut waiting) = (Vec::new(), Vec::new());
    for (path, name, sums) in paths.iter() {
        let (is_wait, named) = by_name
            .entry(name)
            .or_insert_with(|| (waits(name), PathSums::default()));
        named.add(*sums);
        if *is_wait || sums.mostly_waits() {
            &mut waiting
        } else {
            &mut work
        }
        .push((path, name, *sums));
    }
    let mut names: Vec<(u32, &str, PathSums)> = by_name
        .into_iter()
        .filter(|(_, (is_wait, sums))| !is_wait && !sums.mostly_waits())
        .map(|(name, (_, sums))| (NONE, name, sums))
        .collect();
    let mut beyond = 0;
    let mut list = |ranked: &mut Vec<(u32, &str, PathSums)>| -> Vec<Entry> {
        // Paths of equal self time are ordered by their names from the root call on, so that the
        // order does not depend on the profile's node indices.
        ranked.sort_by(|left, right| {
            let ties = || (paths.names(left.0), left.1).cmp(&(paths.names(right.0), right.1));
            right.2.all.self_ns.cmp(&left.2.all.self_ns).then_with(ties)
        });
        beyond += ranked.len().saturating_sub(options.ranking_limit) as u64;
        let shown = ranked.iter().take(options.ranking_limit);
        let entry = |(path, name, sums): &(u32, &str, PathSums)| {
            let whole = if *path == NONE {
                vec![*name]
            } else {
                paths.names(*path)
            };
            sums.entry(name, whole.join("/"), all_ns)
        };
        shown.map(entry).collect()
    };
    Rankings {
        ranking: list(&mut work),
        ranking_by_name: list(&mut names),
        waits: list(&mut waiting),
        ranking_beyond_limit: beyond,
    }
}
