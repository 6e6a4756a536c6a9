//! Applies the user's selection of calls: which calls are kept, and which names they get.
//!
//! Below a dropped call, the remaining calls are moved to the nearest caller that is kept. The time
//! of the dropped call counts as self time of this caller. The report states for each rule which
//! calls it dropped, so that nothing disappears silently.

pub(crate) mod pattern;

use std::collections::{BTreeMap, HashMap};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::selection::pattern::matches;
use crate::span::{Span, SpanStore, TextId, Texts};
use crate::tree::shape::Mixing;
use crate::tree::{Forest, NONE};

/// A rule of the user's selection. A call matches the rule if it matches all patterns that are set
/// in the rule.
#[derive(Clone, Debug, Default)]
struct Rule {
    step: Option<String>,
    service: Option<String>,
    host: Option<String>,
    wait: Option<bool>,
}

impl Rule {
    /// Parses a rule. The text is either a pattern for the names of calls, or a list of terms such
    /// as "service=…,kind=wait". An error names the wrong term and says what is allowed.
    fn parse(text: &str) -> Result<Rule, String> {
        let mut rule = Rule::default();
        const KEYS: [&str; 4] = ["step", "service", "host", "kind"];
        let head = text.split_once('=').map(|(key, _)| key.trim());
        if !head.is_some_and(|key| KEYS.contains(&key)) {
            rule.step = Some(text.to_owned());
            return Ok(rule);
        }
        for term in text.split(',') {
            let (key, pattern) = term.split_once('=').unwrap_or((term, ""));
            let pattern = Some(pattern.trim().to_owned());
            match key.trim() {
                "step" => rule.step = pattern,
                "service" => rule.service = pattern,
                "host" => rule.host = pattern,
                "kind" => {
                    rule.wait = match pattern.as_deref() {
                        Some("wait") => Some(true),
                        Some("work") => Some(false),
                        _ => return Err("kind: must be wait or work".to_owned()),
                    }
                }
                other => return Err(format!("{other}: must be step, service, host or kind")),
            }
        }
        Ok(rule)
    }

    fn fits(&self, span: &Span, texts: &Texts) -> bool {
        let fits = |pattern: &Option<String>, id| {
            let is_match = |pattern: &String| matches(pattern, texts.text(id));
            pattern.as_ref().is_none_or(is_match)
        };
        fits(&self.step, span.name)
            && fits(&self.service, span.service)
            && fits(&self.host, span.host)
            && self.wait.is_none_or(|wait| wait == span.wait)
    }
}

/// The user's rules as text. Empty lists of rules have no effect.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct CallChoice {
    /// Rules for calls to keep. If the list has rules, calls that match none of the rules are
    /// dropped.
    pub keep: Vec<String>,
    /// Rules for calls to drop.
    pub drop: Vec<String>,
    /// New names for calls. Each entry has a new name and patterns; a call whose name matches one
    /// of the patterns gets the new name. If several entries match a call, the first entry counts.
    /// The rules `keep` and `drop` refer to the new names.
    pub steps: Vec<(String, Vec<String>)>,
}

/// Sums over the calls that one rule dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct LeftOut {
    /// Number of dropped calls.
    pub calls: u64,
    /// Number of dropped calls that have no kept caller. Their time is attributed to no call.
    pub without_caller: u64,
    /// Bytes moved by the dropped calls.
    pub bytes: u128,
    /// Sum of the durations of the dropped calls, ns.
    pub total_ns: u128,
    /// Sum of the self times of the dropped calls, ns. If there is a kept caller, this time counts
    /// as the caller's self time.
    pub self_ns: u128,
}

/// A map from the text of each rule to the sums over the calls that the rule dropped.
pub type AllLeftOut = BTreeMap<String, LeftOut>;

/// Adds the counts of `other` to `sum`.
pub fn add_left_out(sum: &mut AllLeftOut, other: &AllLeftOut) {
    for (rule, more) in other {
        let held = sum.entry(rule.clone()).or_default();
        held.calls += more.calls;
        held.without_caller += more.without_caller;
        held.bytes += more.bytes;
        held.total_ns += more.total_ns;
        held.self_ns += more.self_ns;
    }
}

/// The key in `AllLeftOut` of calls that were dropped because they match none of the `keep` rules.
const NOT_KEPT: &str = "not among those to keep";

/// Maximum number of cached decisions, at which the cache is emptied. Only forged traces have more
/// distinct names.
const VERDICTS_MAX: usize = 1 << 16;

/// The user's selection with parsed rules, and a cache of its decisions by name.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    keep: Vec<Rule>,
    drop: Vec<Rule>,
    /// The texts of the rules for the report: one for each `drop` rule, and a last text for calls
    /// that match no `keep` rule.
    names: Vec<String>,
    steps: Vec<(String, Vec<String>)>,
    /// A cache: for the number of each name that occurred, the number of the name that replaces it.
    renamed: HashMap<TextId, TextId, Mixing>,
    /// A cache of decisions. The key is (name, service, host, whether the call is a wait). The
    /// value is None if calls with this key are kept. Otherwise the value is the index in `names`
    /// of the rule that drops them.
    verdicts: HashMap<(TextId, TextId, TextId, bool), Option<usize>, Mixing>,
}

impl Selection {
    /// Parses the user's rules.
    ///
    /// # Errors
    ///
    /// One line that names the wrong rule and says what is allowed.
    pub fn of(choice: &CallChoice) -> Result<Self, String> {
        let parse = |list: &str, rules: &[String]| -> Result<Vec<Rule>, String> {
            let each = rules.iter().map(|text| {
                Rule::parse(text).map_err(|reason| format!("{list} {text:?}: {reason}"))
            });
            each.collect()
        };
        let mut names = choice.drop.clone();
        names.push(NOT_KEPT.to_owned());
        Ok(Selection {
            keep: parse("keep", &choice.keep)?,
            drop: parse("drop", &choice.drop)?,
            names,
            steps: choice.steps.clone(),
            ..Selection::default()
        })
    }

    /// Whether the selection has rules that can drop calls.
    pub fn drops(&self) -> bool {
        !self.keep.is_empty() || !self.drop.is_empty()
    }

    /// Returns the number of trees in a sample that remain after the selection is applied.
    pub fn trees_of(&mut self, sample: &Forest) -> u64 {
        if !self.drops() {
            return sample.trees();
        }
        let mut chosen = sample.clone();
        self.apply(&mut chosen, &sample.texts);
        chosen.trees()
    }

    /// Renames calls as the user's rules say. If the name of a call matches a pattern of a step,
    /// the call gets the name of the step. If several steps match, the first step counts.
    pub fn rename(&mut self, spans: &mut [Span], store: &mut SpanStore) {
        if self.steps.is_empty() {
            return;
        }
        for span in spans {
            let known = self.renamed.get(&span.name).copied();
            let name = known.unwrap_or_else(|| self.step_of(span.name, store));
            self.renamed.insert(span.name, name);
            span.name = name;
        }
    }

    fn step_of(&self, name: TextId, store: &mut SpanStore) -> TextId {
        let text = store.texts.text(name).to_owned();
        let fits = |(_, patterns): &&(String, Vec<String>)| {
            patterns.iter().any(|pattern| matches(pattern, &text))
        };
        match self.steps.iter().find(fits) {
            Some((step, _)) => store.intern(step),
            None => name,
        }
    }

    /// Drops calls from a forest as the user's rules say. `texts` is the table of names, to which
    /// the calls refer by index. Returns the sums over the dropped calls, by rule.
    pub fn apply(&mut self, forest: &mut Forest, texts: &Texts) -> AllLeftOut {
        let mut left_out = AllLeftOut::new();
        if !self.drops() {
            return left_out;
        }
        let dropped: Vec<Option<usize>> = forest
            .spans
            .iter()
            .map(|span| self.verdict(span, texts))
            .collect();
        // For each call, its nearest kept caller. Callers precede their calls in `order`.
        let mut around = vec![NONE; forest.spans.len()];
        for &node in &forest.order {
            let parent = forest.parents[node as usize];
            if parent != NONE {
                around[node as usize] = match dropped[parent as usize] {
                    Some(_) => around[parent as usize],
                    None => parent,
                };
            }
        }
        for (node, rule) in dropped.iter().enumerate() {
            let Some(rule) = *rule else { continue };
            let span = &forest.spans[node];
            let found = LeftOut {
                calls: 1,
                without_caller: u64::from(around[node] == NONE),
                bytes: span.bytes.into(),
                total_ns: span.duration_ns().into(),
                self_ns: forest.self_ns[node].into(),
            };
            let one = AllLeftOut::from([(self.names[rule].clone(), found)]);
            add_left_out(&mut left_out, &one);
        }
        if !left_out.is_empty() {
            forest.retain(|node| dropped[node].is_none(), &around);
        }
        left_out
    }

    fn verdict(&mut self, span: &Span, texts: &Texts) -> Option<usize> {
        let key = (span.name, span.service, span.host, span.wait);
        if let Some(&known) = self.verdicts.get(&key) {
            return known;
        }
        let by_rule = self.drop.iter().position(|rule| rule.fits(span, texts));
        let kept = self.keep.is_empty() || self.keep.iter().any(|rule| rule.fits(span, texts));
        let verdict = by_rule.or((!kept).then_some(self.drop.len()));
        if self.verdicts.len() >= VERDICTS_MAX {
            self.verdicts.clear();
        }
        self.verdicts.insert(key, verdict);
        verdict
    }
}
