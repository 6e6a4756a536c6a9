//! Tests the predicted savings from faster steps. The predictions are made from the trace of a
//! simulated program. The predictions must equal the savings that are measured when the simulation
//! is repeated with one component faster.

#[path = "support/pipeline.rs"]
mod pipeline;
mod support;

use dfslab_trace::{
    savings, Forest, ReportOptions, Saving, SavingVerdict, Savings, Span, SpanStore,
};
use pipeline::Pipeline;

fn predicted(store: SpanStore) -> Savings {
    savings(&Forest::recover(store), &ReportOptions::default())
}

fn of<'a>(found: &'a Savings, step: &str) -> &'a Saving {
    let one = found.steps.iter().find(|one| one.step == step);
    one.unwrap_or_else(|| panic!("{step} is not ranked"))
}

fn truth(planted: &Pipeline, component: &str) -> f64 {
    let before = planted.took_ns() as f64;
    1.0 - planted.faster(component, 2).took_ns() as f64 / before
}

fn first_by(found: &Savings, value: impl Fn(&Saving) -> f64) -> &str {
    let steps = found.steps.iter();
    let first = steps.max_by(|left, right| value(left).total_cmp(&value(right)));
    &first.expect("steps").step
}

/// Compares predicted with actual savings, for each component made faster. The actual saving is
/// measured by repeating the simulation with this component faster. Fails if two savings differ by
/// more than `tolerance`. Returns the predictions.
fn check(planted: &Pipeline, tolerance: f64) -> Savings {
    let found = predicted(planted.trace());
    let components = Pipeline::components();
    for component in &components {
        let (one, truth) = (of(&found, component), truth(planted, component));
        let error = (one.saving - truth).abs();
        assert!(
            error <= tolerance,
            "{component} {:.4}, truly {truth:.4}: {planted:?}",
            one.saving
        );
    }
    let by_truth =
        |left: &&String, right: &&String| truth(planted, left).total_cmp(&truth(planted, right));
    let best = components.iter().max_by(by_truth).expect("components");
    assert_eq!(&found.steps[0].step, best, "{planted:?}");
    // A single tree gives no confidence interval, so the verdict states nothing about other calls.
    assert_eq!(found.trees, 1);
    let verdict = found.steps[0].verdict;
    assert_eq!(verdict, SavingVerdict::Inconclusive, "{planted:?}");
    found
}

#[test]
fn the_slow_disk_is_found_where_sums_and_last_finishers_name_others() {
    for waits_shown in [true, false] {
        let planted = Pipeline {
            waits_shown,
            ..Pipeline::default()
        };
        let found = check(&planted, 0.005);
        assert_eq!(found.steps[0].step, "dn2:disk");
        assert_ne!(first_by(&found, |one| one.summed_share), "dn2:disk");
        assert_ne!(
            first_by(&found, |one| one.last_finisher_share.unwrap()),
            "dn2:disk"
        );
        assert!(of(&found, "dn2:disk").last_finisher_share.unwrap() < 0.01);
        assert!(of(&found, "dn2:disk").utilisation.unwrap() > 0.7);
    }
}

#[test]
fn planted_pipelines_of_every_bottleneck_are_recovered() {
    let mut random = support::Random(7);
    for seed in 1..=24 {
        let mut planted = Pipeline {
            seed,
            packets: 150 + random.below(150) as usize,
            window: 20 + random.below(80) as usize,
            buffer: 2 + random.below(20) as usize,
            spread_percent: random.below(40),
            waits_shown: seed % 2 == 0,
            ..Pipeline::default()
        };
        let slow = 130_000 + random.below(80_000);
        match seed % 6 {
            0 => planted.send_ns = slow,
            node @ 1..=3 => {
                planted.disk_ns[1] = 60_000;
                planted.disk_ns[node as usize - 1] = slow;
            }
            node => {
                planted.disk_ns[1] = 60_000;
                planted.mirror_ns[node as usize - 4] = slow;
            }
        }
        // The tolerance is larger if waits are not recorded. Then the trace does not show how long
        // a call would have taken without waiting.
        check(&planted, if planted.waits_shown { 0.02 } else { 0.1 });
    }
}

/// One call, as (name, service, thread, index of the parent or None, start in ns, end in ns,
/// whether it is a wait).
type Row<'a> = (&'a str, &'a str, u64, Option<usize>, u64, u64, bool);

fn trees(rows: &[Row<'_>]) -> SpanStore {
    let mut store = SpanStore::default();
    let mut traces: Vec<u128> = Vec::new();
    for (place, &(name, service, thread, parent, start_ns, end_ns, wait)) in rows.iter().enumerate()
    {
        traces.push(parent.map_or(place as u128 + 1, |parent| traces[parent]));
        let (name, service) = (store.intern(name), store.intern(service));
        store.spans.push(Span {
            trace_id: traces[place],
            span_id: place as u64 + 1,
            parent_id: parent.map_or(0, |parent| parent as u64 + 1),
            name,
            service,
            start_ns,
            end_ns,
            thread,
            wait,
            ..Span::default()
        });
    }
    store
}

#[test]
fn a_back_off_that_nobody_ends_is_named_and_not_the_server() {
    let mut rows: Vec<Row<'_>> = Vec::new();
    for file in 0..20u64 {
        let (at, root) = (1000 + file * 10_000, rows.len());
        let mut row = |name, (service, thread), above: usize, (from, to), wait| {
            let parent = (above > 0).then(|| root + above - 1);
            rows.push((name, service, thread, parent, at + from, at + to, wait));
        };
        let (client, server) = (("client", 1), ("server", 5));
        row("put", client, 0, (0, 9000), false);
        row("rpc_create", client, 1, (100, 900), true);
        row("create", server, 2, (200, 800), false);
        row("close", client, 1, (1000, 9000), false);
        row("back_off", client, 4, (1500, 8500), true);
        row("rpc_complete", client, 4, (8500, 8900), true);
        row("complete", server, 6, (8600, 8800), false);
    }
    let found = predicted(trees(&rows));
    assert_eq!(
        (found.trees, found.steps[0].step.as_str()),
        (20, "client:back_off")
    );
    let exactly = |step: &str, ns: f64| {
        let one = of(&found, step);
        assert!(
            (one.saving - ns / 2.0 / 9000.0).abs() < 1e-9,
            "{step}: {}",
            one.saving
        );
        assert!(one.low <= one.saving && one.saving <= one.high);
    };
    exactly("client:back_off", 7000.0);
    exactly("server:create", 600.0);
    exactly("server:complete", 200.0);
    exactly("client:rpc_create", 200.0);
    assert_eq!(of(&found, "client:back_off").verdict, SavingVerdict::Faster);
}

#[test]
fn clients_that_queue_for_one_thread_gain_more_than_their_own_call() {
    let mut rows: Vec<Row<'_>> = Vec::new();
    for client in 0..10u64 {
        // All clients call at the same time, and the server handles their calls one after the
        // other, 1000 ns each.
        let (root, done) = (rows.len(), 1000 + (client + 1) * 1000);
        rows.push(("read", "client", client + 1, None, 1000, done, false));
        rows.push(("serve", "server", 99, Some(root), done - 1000, done, false));
    }
    let found = predicted(trees(&rows));
    let one = of(&found, "server:serve");
    assert!((one.saving - 0.5).abs() < 1e-9, "{}", one.saving);
}

#[test]
fn a_pause_that_nothing_ends_gives_no_verdict() {
    let rows: [Row<'_>; 4] = [
        ("write", "client", 1, None, 0, 10_000, false),
        ("prepare", "client", 1, Some(0), 0, 3000, false),
        // The client pauses from 3000 to 9000 ns while the server works, and no event in the trace
        // explains the end of the pause.
        ("stream", "server", 2, Some(0), 2500, 9_800, false),
        ("finish", "client", 1, Some(0), 9000, 10_000, false),
    ];
    let found = predicted(trees(&rows));
    let unexplained = found.unexplained.unwrap();
    assert!(unexplained > 0.5, "{unexplained}");
    let one = of(&found, "client:prepare");
    assert_eq!(one.verdict, SavingVerdict::Inconclusive, "{one:?}");
    assert!(one.low < 0.01 && one.high > 0.14, "{one:?}");
}

/// Tests that the replay treats calls in the order of time even if they were moved up because their
/// level was too deep. Such calls are stored in the order of their ids, which may differ from the
/// order of time.
#[test]
fn calls_hung_up_from_too_deep_are_replayed_in_the_order_of_time() {
    let level = |place: u64| {
        let parent = (place > 0).then(|| place as usize - 1);
        ("level", "client", 1, parent, place, 10_000 - place, false)
    };
    let mut rows: Vec<Row<'_>> = (0..199).map(level).collect();
    rows.push(("serve", "server", 2, Some(198), 1000, 9000, false));
    rows.push(("late", "client", 1, Some(199), 5000, 6000, false));
    rows.push(("early", "client", 1, Some(199), 2000, 4000, false));
    let forest = Forest::recover(trees(&rows));
    assert_eq!(forest.losses.deep_spans, 2);
    let found = savings(&forest, &ReportOptions::default());
    assert!((found.end_to_end_s - 1e-5).abs() < 1e-12);
    assert!((of(&found, "client:early").work_s - 2e-6).abs() < 1e-12);
    assert!((of(&found, "client:late").work_s - 1e-6).abs() < 1e-12);
}

#[test]
fn damaged_traces_are_replayed_as_they_are() {
    for seed in 0..200 {
        let store = support::random_forest(seed, 6, 60, 4);
        let found = predicted(store);
        for one in &found.steps {
            let sound = one.low <= one.saving + 1e-9 && one.saving <= one.high + 1e-9;
            assert!(sound && one.saving < 1.0 + 1e-9, "seed {seed}: {one:?}");
        }
    }
}
