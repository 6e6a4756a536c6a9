//! Ranks calls by their self time: once by call path and once by name, with waits separate from
//! work.

use std::collections::{BTreeSet, HashMap};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ingest::InputFormat;
use crate::profile::merged::{seconds, MergedNode};
use crate::selection::pattern;
use crate::selection::{CallChoice, Selection};
use crate::span::sampling::weight_of;

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
    /// Mean duration, seconds; none if no durations are known.
    pub mean_s: Option<f64>,
    /// Self time of these calls as a fraction of the self time of all calls, work and waits.
    pub share: f64,
    /// Bytes moved.
    pub bytes: u128,
    /// Sum of durations, nanoseconds, exact.
    pub total_ns: i128,
    /// Sum of self times, nanoseconds, exact.
    pub self_ns: i128,
    /// Number of failed calls that their caller retried.
    pub again: u128,
    /// Sum of the durations of failed calls that their caller retried, ns, exact.
    pub again_ns: i128,
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
    /// Calls that work instead of wait, by name. The sums of a name that works on some call paths
    /// and waits on others are those of the paths on which it works.
    pub ranking_by_name: Vec<Entry>,
    /// Calls that wait, by call path.
    pub waits: Vec<Entry>,
    /// Number of entries that the limit leaves out of the three rankings.
    pub ranking_beyond_limit: u64,
}

/// Sums over the calls with one path or name. `read` and `waits` are numbers of recorded calls. All
/// other sums include unrecorded calls, estimated from the sampling weights.
#[derive(Clone, Debug)]
pub(crate) struct PathSums<'a> {
    read: u64,
    waits: u64,
    pub count: u128,
    timed: Option<u128>,
    errors: u128,
    pub bytes: u128,
    total_ns: i128,
    pub self_ns: i128,
    /// Number and total time of the failed calls that their caller retried.
    again: u128,
    again_ns: i128,
    ranked: bool,
    /// The cost class of the first of the added nodes.
    cost_class: Option<&'a str>,
    instances: BTreeSet<&'a str>,
}

impl<'a> PathSums<'a> {
    fn of(node: &'a MergedNode) -> Self {
        PathSums {
            read: node.read,
            waits: node.waits,
            count: node.count,
            timed: node.timed,
            errors: node.errors,
            bytes: node.bytes,
            total_ns: node.total_ns,
            self_ns: node.self_ns,
            again: if node.again { node.count } else { 0 },
            again_ns: if node.again { node.total_ns } else { 0 },
            ranked: node.ranked,
            cost_class: node.cost_class.as_deref(),
            instances: node.instances.iter().map(String::as_str).collect(),
        }
    }

    fn add(&mut self, other: PathSums<'a>) {
        self.read = self.read.saturating_add(other.read);
        self.waits = self.waits.saturating_add(other.waits);
        self.count = self.count.saturating_add(other.count);
        let timed = self.timed.zip(other.timed);
        self.timed = timed.map(|(left, right)| left.saturating_add(right));
        self.errors = self.errors.saturating_add(other.errors);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.total_ns = self.total_ns.saturating_add(other.total_ns);
        self.self_ns = self.self_ns.saturating_add(other.self_ns);
        self.again = self.again.saturating_add(other.again);
        self.again_ns = self.again_ns.saturating_add(other.again_ns);
        self.ranked |= other.ranked;
        self.instances.extend(other.instances);
    }

    fn mostly_waits(&self) -> bool {
        u128::from(self.waits) * 2 > u128::from(self.read)
    }

    fn entry(&self, name: &str, path: String, all_ns: i128) -> Entry {
        let timed = self.timed.unwrap_or(self.count);
        Entry {
            name: name.to_owned(),
            path,
            count: self.count,
            read: self.read,
            errors: self.errors,
            total_s: seconds(self.total_ns),
            self_s: seconds(self.self_ns),
            mean_s: (timed > 0).then(|| seconds(self.total_ns) / timed as f64),
            share: if all_ns == 0 {
                0.0
            } else {
                self.self_ns as f64 / all_ns as f64
            },
            bytes: self.bytes,
            total_ns: self.total_ns,
            self_ns: self.self_ns,
            again: self.again,
            again_ns: self.again_ns,
            kind: self.cost_class.map(str::to_owned),
            timed: self.timed,
            instances: self.instances.iter().map(|&one| one.to_owned()).collect(),
        }
    }
}

/// The call paths of merged calls. Nodes are merged into one path if all names from the root to the
/// node are equal, even if their shapes differ.
pub(crate) struct Paths<'a> {
    /// The paths, each as (index of the parent path, first node of the path, sums). A parent path
    /// precedes its child paths.
    paths: Vec<(Option<u32>, &'a MergedNode, PathSums<'a>)>,
}

impl<'a> Paths<'a> {
    pub(crate) fn of(nodes: &'a [MergedNode]) -> Self {
        let mut paths: Vec<(Option<u32>, &MergedNode, PathSums)> = Vec::new();
        let mut known: HashMap<(Option<u32>, &str), u32> = HashMap::new();
        let mut path_of_node: Vec<u32> = Vec::new();
        for node in nodes {
            let above = node.above.map(|parent| path_of_node[parent as usize]);
            let (next, sums) = (paths.len() as u32, PathSums::of(node));
            let path = *known.entry((above, &node.name)).or_insert(next);
            if path == next {
                paths.push((above, node, sums));
            } else {
                paths[path as usize].2.add(sums);
            }
            path_of_node.push(path);
        }
        Self { paths }
    }

    /// Iterates over the paths. For each path, yields its index and its sums.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &PathSums<'a>)> {
        (0u32..)
            .zip(&self.paths)
            .map(|(path, (_, _, sums))| (path, sums))
    }

    /// Returns the names of the calls of a path, from the root call on.
    pub(crate) fn names(&self, path: u32) -> Vec<&'a str> {
        let mut names = Vec::new();
        let mut next = Some(path);
        while let Some(path) = next {
            let (above, node, _) = &self.paths[path as usize];
            names.push(node.name.as_str());
            next = *above;
        }
        names.reverse();
        names
    }

    /// Returns the calls of all paths that are to be ranked.
    fn ranked(&self) -> Vec<Ranked<'a>> {
        let ranked = |(path, (_, node, sums)): (u32, &(_, &'a MergedNode, PathSums<'a>))| Ranked {
            path: Some(path),
            name: &node.name,
            step: &node.step,
            sums: sums.clone(),
        };
        let all = (0u32..).zip(&self.paths);
        let wanted = all.filter(|(_, (_, _, sums))| sums.ranked);
        wanted.map(ranked).collect()
    }
}

/// Calls that are to be ranked: those of one path, or those of one step in the ranking by name.
struct Ranked<'a> {
    path: Option<u32>,
    name: &'a str,
    step: &'a str,
    sums: PathSums<'a>,
}

impl<'a> Ranked<'a> {
    fn names(&self, paths: &Paths<'a>) -> Vec<&'a str> {
        self.path
            .map_or_else(|| vec![self.name], |path| paths.names(path))
    }
}

/// Sorts by descending self time. Equal self times are ordered by the number of calls, then by
/// names, so that the order does not depend on node indices.
fn sort<'a>(ranked: &mut [Ranked<'a>], paths: &Paths<'a>) {
    ranked.sort_by(|left, right| {
        let key = |one: &Ranked| (one.sums.self_ns, one.sums.count);
        let ties = || left.names(paths).cmp(&right.names(paths));
        key(right).cmp(&key(left)).then_with(ties)
    });
}

/// Returns the sums of `work` by step. The sums of a step that works on some paths and waits on
/// others are those of the paths on which it works.
fn by_step<'a>(work: &[Ranked<'a>]) -> Vec<Ranked<'a>> {
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut steps: Vec<Ranked> = Vec::new();
    for one in work {
        let place = *places.entry(one.step).or_insert(steps.len());
        if let Some(known) = steps.get_mut(place) {
            known.sums.add(one.sums.clone());
        } else {
            steps.push(Ranked {
                path: None,
                name: one.step,
                step: one.step,
                sums: one.sums.clone(),
            });
        }
    }
    steps
}

/// Ranks the call paths and the names of merged calls by self time.
pub(crate) fn rank(nodes: &[MergedNode], options: &ReportOptions) -> Rankings {
    let paths = Paths::of(nodes);
    let waits = |one: &Ranked| {
        let mut patterns = options.wait_patterns.iter();
        one.sums.mostly_waits() || patterns.any(|pattern| pattern::matches(pattern, one.name))
    };
    let mut all = paths.ranked();
    sort(&mut all, &paths);
    let own = all.iter().map(|one| one.sums.self_ns);
    let all_ns = own.fold(0, i128::saturating_add);
    let (waiting, work): (Vec<Ranked>, Vec<Ranked>) = all.into_iter().partition(waits);
    let mut names = by_step(&work);
    sort(&mut names, &paths);
    let mut beyond = 0;
    let mut list = |ranked: &[Ranked]| -> Vec<Entry> {
        beyond += ranked.len().saturating_sub(options.ranking_limit) as u64;
        let shown = ranked.iter().take(options.ranking_limit);
        let entry = |one: &Ranked| {
            let path = one.names(&paths).join("/");
            one.sums.entry(one.name, path, all_ns)
        };
        shown.map(entry).collect()
    };
    Rankings {
        ranking: list(&work),
        ranking_by_name: list(&names),
        waits: list(&waiting),
        ranking_beyond_limit: beyond,
    }
}
