//! A target that stalls periodically, and the error of the response times that are measured on this
//! target.

use dfslab_load::{run, Control, Outcome, Plan};
use dfslab_workload::{Schedule, Start};

/// The plan of an open workload: 1000 requests a second. The target does nothing but stall for the
/// last 0.5 s of every 2 s. `process` is the arrival process.
pub fn stalling(seed: u64, workers: u32, process: &str) -> String {
    let each = REQUESTS.div_ceil(workers);
    format!(
        r#"{{"stream":{{"seed":{seed},"clients":{workers},"operations_per_client":{each},
        "files_per_client":1,"mix":[{{"operation":"stat"}}],"file_size":{{"fixed":0}},
        "transfer_size_bytes":4096,"arrival":{{"open":{{"rate_per_s":1000.0,
        "process":{process}}}}}}},"target":{{"kind":"null"}},"run_directory":"x",
        "layers":[{{"stall":{{"period_s":{PERIOD_S:?},"length_s":{LENGTH_S:?}}}}}],
        "spans":{{"limit":{}}}}}"#,
        // Largest number of spans: an operation has one span, and its only step has another span.
        // The operations are distributed evenly over the clients.
        2 * each * workers
    )
}

pub const REQUESTS: u32 = 4000;
const PERIOD_S: f64 = 2.0;
const LENGTH_S: f64 = 0.5;

fn requests(workers: u32) -> u64 {
    u64::from(REQUESTS.div_ceil(workers) * workers)
}

pub fn ran(plan: &Plan) -> Outcome {
    let outcome = run(plan, &Control::default()).unwrap();
    assert!(outcome.report.complete, "{:?}", outcome.report.errors);
    outcome
}

/// Returns (scheduled start, end) of each request in seconds after the common start, ordered by
/// client. The scheduled starts are computed from the stream's schedule. The ends are recorded.
pub fn dues_and_ends(plan: &Plan, outcome: &Outcome) -> Vec<(f64, f64)> {
    let (stream, zero) = (&plan.stream, outcome.report.start_unix_ns);
    let schedule = |client| Schedule::new(&stream.arrival, stream.seed, client, 0.0);
    let clients = 0..stream.clients;
    let mut schedules: Vec<Schedule> = clients.map(|c| schedule((c, stream.clients))).collect();
    let operations = outcome.spans.iter().filter(|span| span.parent_id == 0);
    operations
        .map(
            |span| match schedules[span.thread as usize].next_start(None) {
                Start::At(due_ns) => (
                    due_ns as f64 * 1e-9,
                    (span.end_unix_ns - zero) as f64 * 1e-9,
                ),
                other => panic!("an open schedule says {other:?}"),
            },
        )
        .collect()
}

/// Returns the time in seconds that the machine added to each request: the time from the target's
/// release of the request to the recorded end. `all` has (scheduled start, end) in seconds.
pub fn added(all: &[(f64, f64)]) -> Vec<f64> {
    let added: Vec<f64> = all.iter().map(|(due, end)| end - released(*due)).collect();
    assert!(
        added.iter().all(|more| *more >= -2e-6),
        "nothing is released before its time"
    );
    added
}

pub fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    values.sum::<f64>() / count
}

/// Returns the time in seconds at which the target releases a request that arrives at `due_s`.
pub fn released(due_s: f64) -> f64 {
    match due_s % PERIOD_S >= PERIOD_S - LENGTH_S - 1e-9 {
        true => ((due_s + 1e-9) / PERIOD_S).floor() * PERIOD_S + PERIOD_S,
        false => due_s,
    }
}

pub fn assert_near(observed: f64, truth: f64, share: f64, what: &str) {
    assert!(
        (observed - truth).abs() <= share * truth,
        "{what}: {observed}, not {truth}"
    );
}

/// Returns the fraction of requests that a stall delays. A request that arrives t seconds before
/// the end of a stall takes t seconds; t is uniform from 0 to 0.5 s. All other requests take no
/// time. The number of requests is rounded up to a multiple of the clients, so the run may end
/// shortly after the last stall.
fn stalled_share(workers: u32) -> f64 {
    let stalls = (f64::from(REQUESTS) / 1000.0 / PERIOD_S).floor();
    stalls * LENGTH_S * 1000.0 / requests(workers) as f64
}

const QUANTILES: [f64; 3] = [0.9, 0.99, 0.999];

/// Returns the mean and the 90 %, 99 % and 99.9 % quantiles of the response times that the stalls
/// imply, s.
pub fn truths(workers: u32) -> [f64; 4] {
    let share = stalled_share(workers);
    let [p90, p99, p999] = QUANTILES.map(|q| LENGTH_S * (q - (1.0 - share)) / share);
    [LENGTH_S * share / 2.0, p90, p99, p999]
}

/// Returns the largest relative error of the mean and the three quantiles in `reported`, compared
/// with `truths`.
pub fn off_the_truth(reported: [f64; 4], truths: [f64; 4]) -> f64 {
    let off = reported
        .iter()
        .zip(truths)
        .map(|(reported, t)| (reported - t).abs() / t);
    off.fold(0.0, f64::max)
}

/// Executes one run and returns the largest relative error of its response times. Asserts two facts
/// that hold on a machine of any speed: no response time is below the true response time, and none
/// exceeds the true response time by more than the time that the machine added. The added time
/// follows from the recorded ends.
pub fn tried(workers: u32, seed: u64) -> f64 {
    let plan = Plan::parse(&stalling(seed, workers, r#""even""#)).unwrap();
    let outcome = ran(&plan);
    let (report, all) = (&outcome.report, dues_and_ends(&plan, &outcome));
    let observed = &report.operations["stat"];
    let response = observed.response.clone().unwrap();
    assert_eq!(response.count, requests(workers), "no sample is lost");
    assert_eq!(all.len() as u64, requests(workers));
    // The latency counts from the actual start. It therefore omits most of a stall: during the
    // stall, each worker has only one request in progress, and the other requests have not started.
    assert!(observed.latency.mean_s < response.mean_s);
    assert!(report.layers["stalled"] >= 2);
    let added = added(&all);
    let more = mean(added.iter().copied());
    let most = added.iter().copied().fold(0.0, f64::max);
    let (truths, quantiles) = (
        truths(workers),
        [response.p90_s, response.p99_s, response.p999_s],
    );
    assert_near(response.mean_s, truths[0] + more, 0.01, "mean");
    let mut exact: Vec<f64> = all.iter().map(|(due, end)| end - due).collect();
    exact.sort_by(f64::total_cmp);
    for ((q, reported), truth) in QUANTILES.into_iter().zip(quantiles).zip(&truths[1..]) {
        let place = (q * exact.len() as f64).ceil() as usize - 1;
        assert_near(reported, exact[place], 0.005, "what the report tells");
        assert!(
            reported >= 0.99 * truth,
            "{q}: {reported} is less than {truth}"
        );
        assert!(
            reported <= 1.01 * truth + most,
            "{q}: {reported}, not {truth}"
        );
    }
    let [p90, p99, p999] = quantiles;
    let off = off_the_truth([response.mean_s, p90, p99, p999], truths);
    println!("{workers} workers: the machine added {more} s, at most {most} s; off by {off}");
    off
}
