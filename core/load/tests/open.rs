//! Tests of the load generator: open workloads, the layers that wrap a target (the file system
//! under load), phases, shared files, and replays of recorded operations.

use std::fs;
use std::path::PathBuf;

use dfslab_load::{run, Control, Outcome, Plan};
use dfslab_stats::Histogram;

fn ran(text: &str) -> Outcome {
    let outcome = run(&Plan::parse(text).unwrap(), &Control::default()).unwrap();
    assert!(outcome.report.complete, "{:?}", outcome.report.errors);
    outcome
}

#[test]
fn a_generator_on_time_says_so_and_a_late_one_too() {
    let report = ran(&NULL.replace("RATE", "1000.0").replace("EACH", "400"));
    let generator = report.report.generator;
    assert_eq!(generator.late.count, 400);
    assert!(generator.own_ns_per_op > 0.0 && generator.call_floor_ns > 0.0);
    // A worker cannot start 200 million operations per second, so operations start late, which the
    // response times must show.
    let text = NULL.replace("RATE", "2e8").replace("EACH", "200000");
    let report = ran(&text).report;
    let response = report.operations["stat"].response.clone().unwrap();
    assert!(response.p50_s > report.operations["stat"].latency.p50_s);
}

#[test]
fn live_latencies_are_those_of_the_report() {
    for arrival in [r#","arrival":{"open":{"rate_per_s":20000.0}}"#, ""] {
        let text = NULL.replace(r#","arrival":{"open":{"rate_per_s":RATE}}"#, arrival);
        let plan = Plan::parse(&text.replace("EACH", "3000")).unwrap();
        let control = Control::default();
        let report = run(&plan, &control).unwrap().report;
        let stat = &report.operations["stat"];
        let latency = stat.response.as_ref().unwrap_or(&stat.latency);
        let live = control.live_counts();
        assert_eq!((live.count, latency.count), (3000, 3000));
        let mut observed = Histogram::new();
        for (middle_ns, count) in live.latencies {
            observed.record_many(middle_ns, count);
        }
        assert_eq!(observed.count(), 3000);
        for (q, exact_s) in [(0.5, latency.p50_s), (0.99, latency.p99_s)] {
            let live_s = observed.quantile_ns(q) as f64 * 1e-9;
            let most_s = 0.05 * exact_s + 5e-9;
            assert!(
                (live_s - exact_s).abs() <= most_s,
                "{q}: {live_s} {exact_s}"
            );
        }
    }
}

const NULL: &str = r#"{"stream":{"seed":1,"clients":1,"operations_per_client":EACH,
    "files_per_client":1,"mix":[{"operation":"stat"}],"file_size":{"fixed":0},
    "transfer_size_bytes":4096,"arrival":{"open":{"rate_per_s":RATE}}},"target":{"kind":"null"},
    "run_directory":"x"}"#;

#[test]
fn sessions_think_and_ramps_climb() {
    let session =
        r#""rate_per_s":50.0,"process":"poisson","session":{"requests":4.0,"think_time_s":0.01}"#;
    let text = NULL
        .replace(r#""rate_per_s":RATE"#, session)
        .replace("EACH", "200");
    let report = ran(&text).report;
    // The 200 requests form about 50 sessions. Sessions arrive at 50 per second, so the run takes
    // about 1 s. The limit is only 0.4 s, since arrivals and session lengths are random.
    assert!(report.window_s > 0.4, "{}", report.window_s);
    let ramp = r#""rate_per_s":400.0,"profile":[[0,0],[2,1]]"#;
    let text = NULL
        .replace(r#""rate_per_s":RATE"#, ramp)
        .replace("EACH", "400");
    let report = ran(&text).report;
    let counts: Vec<u64> = report.seconds.iter().map(|second| second.count).collect();
    // The ramp schedules 100 operations in the first second and 300 in the next one. The test only
    // compares the two numbers, since a busy machine delays some operations into the next second.
    assert!(counts[1] > counts[0], "{counts:?}");
}

#[test]
fn layers_do_what_they_say() {
    let closed = NULL.replace(r#","arrival":{"open":{"rate_per_s":RATE}}"#, "");
    let with = |layers: &str, each: &str| {
        let more = format!(r#""run_directory":"x","max_errors":100000,"layers":[{layers}]"#);
        let text = closed
            .replace(r#""run_directory":"x""#, &more)
            .replace("EACH", each);
        run(&Plan::parse(&text).unwrap(), &Control::default())
            .unwrap()
            .report
    };
    let throttled = with(r#"{"throttle":{"calls_per_s":1000.0}}"#, "300");
    // A throttle never lets a call pass before its time, so the lower limit holds on a busy machine
    // too. A unit test of the layer covers threads that wake up late.
    assert!(throttled.window_s >= 0.279, "{}", throttled.window_s);
    assert!(throttled.layers["throttled"] > 0);
    let faulty = with(r#"{"fault":{"probability":0.25}}"#, "2000");
    let failed = faulty.operations["stat"].errors as f64;
    // Each of 2000 calls fails with a probability of 0.25. The expected number of failures is 500,
    // with a standard deviation of 19.4. The limit is five standard deviations.
    assert!((failed - 500.0).abs() < 97.0, "{failed}");
    assert_eq!(faulty.layers["failed"] as f64, failed);
    assert!(
        faulty.errors[0]
            .first
            .contains("\"c0/f0\": a planted fault"),
        "{:?}",
        faulty.errors
    );
    let late = with(
        r#"{"timeout":{"after_s":0.002}},{"delay":{"by_s":0.005}}"#,
        "10",
    );
    assert_eq!(late.operations["stat"].errors, 10);
    assert_eq!(late.errors[0].kind, "timeout");
    let wrong = closed.replace(
        r#""run_directory":"x""#,
        r#""run_directory":"x","layers":[{"fault":{"probability":2}}]"#,
    );
    assert!(Plan::parse(&wrong.replace("EACH", "1"))
        .unwrap_err()
        .to_string()
        .contains("layers"));
}

fn place(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("dfslab-open-{name}-{}", std::process::id()));
    fs::create_dir_all(&path).unwrap();
    path
}

#[test]
fn phases_begin_at_a_common_time_and_read_what_neighbours_wrote() {
    let root = place("phases");
    let text = format!(
        r#"{{"stream":{{"seed":3,"clients":3,"file_size":{{"uniform":{{"low":1,"high":50000}}}},
        "transfer_size_bytes":4096,"layout":{{"depth":1,"branches":2}},"phases":[
        {{"name":"write","operations_per_client":10,"mix":[{{"operation":"write"}}]}},
        {{"name":"read","operations_per_client":20,"mix":[{{"operation":"read"}}],
        "files":{{"neighbour":1}},"access":{{"order":"shuffled"}}}},
        {{"name":"rewrite","operations_per_client":10,"mix":[{{"operation":"overwrite"}}],
        "access":{{"order":{{"strided":3}}}}}},
        {{"name":"remove","operations_per_client":10,"mix":[{{"operation":"delete"}}]}}]}},
        "target":{{"kind":"posix","root":{:?}}},"run_directory":"r","verify":"inline"}}"#,
        root.display().to_string()
    );
    let report = ran(&text).report;
    let names: Vec<&str> = report
        .phases
        .iter()
        .map(|phase| phase.name.as_str())
        .collect();
    assert_eq!(names, ["write", "read", "rewrite", "remove"]);
    let counts: Vec<u64> = report.phases.iter().map(|phase| phase.count).collect();
    assert_eq!(counts, [30, 60, 30, 30]);
    assert_eq!(report.phases[1].bytes, 2 * report.phases[0].bytes);
    assert_eq!(report.phases[2].bytes, report.phases[0].bytes);
    assert_eq!(report.verified_bytes, report.phases[1].bytes);
    for pair in report.phases.windows(2) {
        assert!(pair[1].start_s >= pair[0].start_s + pair[0].window_s);
    }
    let windows: f64 = report.phases.iter().map(|phase| phase.window_s).sum();
    assert!((report.window_s - windows).abs() < 1e-9);
    let mut ends = Histogram::new();
    report
        .phases
        .iter()
        .for_each(|phase| ends.merge(&phase.ends));
    assert_eq!(ends.count(), 150);
    fs::remove_dir(&root).unwrap();
}

#[test]
fn a_neighbours_renamed_files_are_found_under_their_new_names() {
    let root = place("renamed");
    let text = format!(
        r#"{{"stream":{{"seed":3,"clients":3,"file_size":{{"fixed":5000}},
        "transfer_size_bytes":4096,"phases":[
        {{"name":"write","operations_per_client":6,"mix":[{{"operation":"write"}}]}},
        {{"name":"rename","operations_per_client":9,"mix":[{{"operation":"rename"}}],
        "file_choice":"uniform"}},
        {{"name":"read","operations_per_client":30,"mix":[{{"operation":"read"}}],
        "files":{{"neighbour":1}}}},
        {{"name":"again","operations_per_client":4,"mix":[{{"operation":"rename"}}]}},
        {{"name":"look","operations_per_client":60,"mix":[{{"operation":"stat"}}],
        "files":"shared"}}]}},
        "target":{{"kind":"posix","root":{:?}}},"run_directory":"r","verify":"inline"}}"#,
        root.display().to_string()
    );
    let report = ran(&text).report;
    assert!(report.complete, "{:?}", report.errors);
    assert_eq!(report.verified_bytes, 3 * 30 * 5000);
    assert_eq!(report.operations["stat"].count, 180);
    fs::remove_dir(&root).unwrap();
}

#[test]
fn a_shared_file_is_written_in_turns_through_every_kind_of_call() {
    for options in [
        "",
        r#","mmap":true"#,
        r#","sync_io":"data""#,
        r#","fsync":"write""#,
    ] {
        let root = place("shared");
        let text = format!(
            r#"{{"stream":{{"seed":3,"clients":4,"file_size":{{"fixed":262144}},"files_together":1,
            "transfer_size_bytes":4096,"layout":{{"shared_directory":true}},"phases":[
            {{"operations_per_client":16,"mix":[{{"operation":"pwrite"}}],"files":"shared",
            "access":{{"order":"interleaved"}}}},
            {{"operations_per_client":64,"mix":[{{"operation":"pread"}}],"files":"shared",
            "access":{{"order":"random"}}}}]}},"target":{{"kind":"posix","root":{:?}{options}}},
            "run_directory":"r","verify":"inline"}}"#,
            root.display().to_string()
        );
        let report = ran(&text).report;
        assert_eq!(report.operations["pwrite"].bytes, 262_144);
        assert_eq!(report.verified_bytes, 64 * 4 * 4096);
        fs::remove_dir(&root).unwrap();
    }
}

#[test]
fn given_operations_run_at_given_times() {
    let text = r#"{"stream":{"seed":3,"clients":2,"file_size":{"fixed":0},
        "transfer_size_bytes":4096,"given":[{"operation":"pread","file":3,"size_bytes":100,
        "offset_bytes":40},{"client":1,"operation":"create","file":0},
        {"operation":"delete","file":3},{"client":1,"operation":"stat","file":0}],
        "arrival":{"given":[[0.0,0.05],[0.01,0.1]]}},"target":{"kind":"posix","root":ROOT},
        "run_directory":"r"}"#;
    let root = place("given");
    let report = ran(&text.replace("ROOT", &format!("{:?}", root.display().to_string()))).report;
    let counts: u64 = report.operations.values().map(|o| o.count).sum();
    assert_eq!(counts, 4);
    // The last scheduled start is at 0.1 s, so the run ends no earlier. It ends at the latest after
    // this start plus the longest response time.
    let responses = report
        .operations
        .values()
        .filter_map(|one| one.response.as_ref());
    let most_s = responses.map(|response| response.max_s).fold(0.0, f64::max);
    let window_s = 0.1..=0.1 + most_s + 1e-6;
    assert!(window_s.contains(&report.window_s), "{}", report.window_s);
    fs::remove_dir(&root).unwrap();
}
