//! Tests that the user's selection counts the dropped calls and their times exactly, and leaves the
//! other calls unchanged.

mod support;

use std::collections::BTreeSet;

use dfslab_trace::{
    merge_parts, summarise_files, write_file, CallChoice, Forest, OutputFormat, Part, Reading,
    Report, ReportOptions, Selection, Span, SpanProfile, SpanStore, TraceSummary, Window,
};
use proptest::prelude::*;
use support::{hdfs_like, profile_of, random_forest, temporary};

fn texts(list: &[&str]) -> Vec<String> {
    list.iter().map(|text| (*text).to_owned()).collect()
}

fn choice(keep: &[&str], drop: &[&str]) -> CallChoice {
    CallChoice {
        keep: texts(keep),
        drop: texts(drop),
        steps: Vec::new(),
    }
}

fn summary(store: &SpanStore, choice: &CallChoice) -> TraceSummary {
    let path = temporary("selection");
    write_file(store, &path, OutputFormat::Protobuf).expect("a writable folder");
    let reading = Reading {
        selection: Selection::of(choice).expect("sound rules"),
        ..Reading::default()
    };
    let found = summarise_files(&[&path], Window::default(), &reading).expect("a sound trace");
    std::fs::remove_file(&path).expect("the file just written");
    found
}

fn names(profile: &SpanProfile) -> BTreeSet<&str> {
    profile
        .nodes()
        .iter()
        .map(|node| profile.name(node))
        .collect()
}

#[test]
fn a_dropped_call_is_its_callers_own_time() {
    let store = hdfs_like(30, 5);
    let (all, some) = (
        profile_of(&store),
        summary(&store, &choice(&[], &["receivePacket"])),
    );
    let sums = |profile: &SpanProfile, name: &str| {
        let nodes = profile
            .nodes()
            .iter()
            .filter(|node| profile.name(node) == name);
        nodes.fold((0, 0, 0), |sum, node| {
            let it = &node.statistics;
            (sum.0 + it.count, sum.1 + it.total_ns, sum.2 + it.self_ns)
        })
    };
    let some = &some.profile;
    let left = some.left_out["receivePacket"];
    let packets = sums(&all, "receivePacket");
    assert_eq!((left.calls, left.total_ns, left.self_ns), packets);
    assert_eq!((left.without_caller, some.trees, all.trees), (0, 30, 30));
    assert_eq!(some.spans + left.calls, all.spans);
    // The packet calls were dropped. The disk and mirror calls within them are now children of the
    // block. The self time of the packet calls is now part of the block's self time.
    for step in ["diskWrite", "mirrorWrite"] {
        assert_eq!(sums(some, step), sums(&all, step));
    }
    let (before, now) = (sums(&all, "receiveBlock"), sums(some, "receiveBlock"));
    assert_eq!((now.0, now.1), (before.0, before.1));
    assert!(now.2 > before.2 && now.2 <= before.2 + packets.2);
}

#[test]
fn a_dropped_root_leaves_its_calls_as_roots_and_its_time_to_nobody() {
    let found = summary(&hdfs_like(9, 5), &choice(&[], &["write"])).profile;
    assert_eq!(found.trees, 18);
    assert_eq!(found.left_out["write"].without_caller, 9);
    assert!(!names(&found).contains("write"));
}

#[test]
fn rules_ask_for_step_service_host_and_kind() {
    let mut store = hdfs_like(6, 5);
    let (client, other) = (store.texts.intern("client"), store.texts.intern("host-2"));
    for span in &mut store.spans {
        match store.texts.text(span.name) {
            "write" | "addBlock" => span.service = client,
            "mirrorWrite" => span.host = other,
            "diskWrite" => span.wait = true,
            _ => {}
        }
    }
    let kept = |keep: &[&str], drop: &[&str]| -> BTreeSet<String> {
        let found = summary(&store, &choice(keep, drop)).profile;
        names(&found).into_iter().map(str::to_owned).collect()
    };
    let set = |list: &[&str]| -> BTreeSet<String> { texts(list).into_iter().collect() };
    assert_eq!(kept(&["service=client"], &[]), set(&["write", "addBlock"]));
    assert_eq!(kept(&["host=host-2"], &[]), set(&["mirrorWrite"]));
    assert_eq!(kept(&["kind=wait"], &[]), set(&["diskWrite"]));
    assert_eq!(kept(&["*Write"], &["kind=wait"]), set(&["mirrorWrite"]));
    let both = &["service=data*, step=receive*"];
    assert_eq!(kept(both, &[]), set(&["receiveBlock", "receivePacket"]));
    let rest = kept(&[], &["receive?????t", "host=host-2"]);
    assert_eq!(
        rest,
        set(&["write", "addBlock", "receiveBlock", "diskWrite"])
    );
}

#[test]
fn wrong_rules_are_named() {
    for (rule, named) in [
        ("kind=slow", "must be wait or work"),
        ("step=a,size=1", "size: must"),
    ] {
        let reported = Selection::of(&choice(&[], &[rule])).expect_err(rule);
        assert!(
            reported.contains(named) && reported.contains(rule),
            "{reported}"
        );
    }
    let nothing = summary(&hdfs_like(2, 1), &choice(&["no such step"], &[]))
        .profile
        .some_kept();
    let Err(reported) = nothing else {
        panic!("nothing is kept");
    };
    assert!(reported.starts_with("no call is kept: all "), "{reported}");
}

#[test]
fn calls_of_many_names_are_one_step() {
    let mut store = SpanStore::default();
    for (number, name) in (1u64..).zip(["Local.open", "Hdfs.open", "Hdfs.openFile", "Hdfs.read"]) {
        let name = store.intern(name);
        store.spans.push(Span {
            trace_id: number.into(),
            span_id: 1,
            name,
            end_ns: number,
            ..Span::default()
        });
    }
    let choice = CallChoice {
        steps: vec![
            ("open".to_owned(), texts(&["*.open"])),
            ("other".to_owned(), texts(&["Hdfs.open*"])),
        ],
        keep: texts(&["open", "other"]),
        ..CallChoice::default()
    };
    let found = summary(&store, &choice).profile;
    let reported = |name: &str| {
        let node = found.nodes().iter().find(|node| found.name(node) == name);
        node.expect(name).statistics.count
    };
    assert_eq!(
        (reported("open"), reported("other"), found.trees),
        (2, 1, 3)
    );
    assert_eq!(found.left_out.values().map(|one| one.calls).sum::<u64>(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn self_times_are_those_of_the_definition(
        seed: u64, traces in 1u64..8, spans in 1u64..25, first in 0u64..4
    ) {
        let store = random_forest(seed, traces, spans, 4);
        let dropped = format!("call {first}");
        let found = summary(&store, &choice(&[], &[&dropped]));
        let mut forest = Forest::recover(store);
        let is_kept: Vec<bool> = forest
            .spans
            .iter()
            .map(|span| forest.texts.text(span.name) != dropped)
            .collect();
        // Each kept call is linked to its nearest kept caller, and a forest is built from the kept
        // calls.
        for node in 0..forest.spans.len() {
            let mut above = forest.parents[node];
            while above != u32::MAX && !is_kept[above as usize] {
                above = forest.parents[above as usize];
            }
            forest.spans[node].parent_id = match above {
                u32::MAX => 0,
                above => forest.spans[above as usize].span_id,
            };
        }
        let mut kept = SpanStore { texts: forest.texts.clone(), ..SpanStore::default() };
        let spans = forest.spans.iter().zip(&is_kept);
        kept.spans = spans.filter(|(_, kept)| **kept).map(|(span, _)| *span).collect();
        let mut expected = profile_of(&kept);
        expected.losses = found.profile.losses.clone();
        expected.left_out = found.profile.left_out.clone();
        let text = |profile: &SpanProfile| {
            let report = Report::of(profile, &ReportOptions::default());
            serde_json::to_string(&report).expect("plain data")
        };
        prop_assert_eq!(text(&found.profile), text(&expected));
    }
}

#[test]
fn merged_parts_report_what_was_left_out() {
    let store = hdfs_like(12, 3);
    let chosen = choice(&[], &["receiveBlock"]);
    let part = |number: u128| {
        let mut part = store.clone();
        part.spans
            .retain(|span| (span.trace_id >> 64) % 2 == number);
        Part::of(&number.to_string(), &summary(&part, &chosen))
    };
    let selection = Selection::of(&chosen).expect("sound rules");
    let found = merge_parts(vec![part(1), part(0)], selection);
    let whole = summary(&store, &chosen);
    assert_eq!(found.profile.left_out, whole.profile.left_out);
    assert_eq!(found.profile.left_out["receiveBlock"].calls, 12);
    assert_eq!((found.trees_left_out, found.profile.trees), (0, 12));
}
