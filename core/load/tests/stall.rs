//! The stall test: response times are true while the target does not answer. Alone in its process,
//! so that other tests take no processor from it.

use dfslab_load::{run, Control, Outcome, Plan};

/// 1000 requests a second to a target that does nothing but stall 0.5 s in every 2 s.
fn stalling(workers: u32, process: &str) -> String {
    let each = REQUESTS.div_ceil(workers);
    format!(
        r#"{{"stream":{{"seed":5,"clients":{workers},"operations_per_client":{each},
        "files_per_client":1,"mix":[{{"operation":"stat"}}],"file_size":{{"fixed":0}},
        "transfer_size_bytes":4096,"arrival":{{"open":{{"rate_per_s":1000.0,
        "process":{process}}}}}}},"target":{{"kind":"null"}},"run_directory":"x",
        "layers":[{{"stall":{{"period_s":{PERIOD_S:?},"length_s":{LENGTH_S:?}}}}}]}}"#
    )
}

const REQUESTS: u32 = 4000;
const PERIOD_S: f64 = 2.0;
const LENGTH_S: f64 = 0.5;

fn requests(workers: u32) -> u64 {
    u64::from(REQUESTS.div_ceil(workers) * workers)
}

/// Others may compute here, too; where it is allowed, they wait for the threads of this test.
fn ahead() {
    // SAFETY: it takes three numbers; where it is not allowed nothing changes.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -15) };
}

fn ran(text: &str) -> Outcome {
    let outcome = run(&Plan::parse(text).unwrap(), &Control::default()).unwrap();
    assert!(outcome.report.complete, "{:?}", outcome.report.errors);
    outcome
}

/// How far a number is from the truth, as a share of it.
fn error(seen_s: f64, truth_s: f64) -> f64 {
    (seen_s / truth_s - 1.0).abs()
}

/// A machine that others use at the same time now and then gives a thread its processor some
/// milliseconds late, which is no fault of the arithmetic that is tested here.
const ATTEMPTS: usize = 15;

/// A request that comes t before the end of a stall takes t, all others nothing: a quarter of all
/// are spread evenly from 0 to 0.5 s.
#[test]
fn response_times_are_true_while_the_target_stalls() {
    ahead();
    let share = LENGTH_S / PERIOD_S;
    let quantile = |q: f64| LENGTH_S * (q - (1.0 - share)) / share;
    for workers in [1, 8, 64] {
        let attempt = || {
            let report = ran(&stalling(workers, r#""even""#)).report;
            let seen = &report.operations["stat"];
            let response = seen.response.clone().unwrap();
            assert_eq!(response.count, requests(workers), "no sample is lost");
            // What others show instead: one request of each worker saw a stall.
            assert!(seen.latency.mean_s < response.mean_s);
            assert!(report.layers["stalled"] >= 2);
            let errors = [
                error(response.mean_s, LENGTH_S * share / 2.0),
                error(response.p90_s, quantile(0.9)),
                error(response.p99_s, quantile(0.99)),
                error(response.p999_s, quantile(0.999)),
            ];
            println!(
                "{workers} workers: {errors:?}, late {:?}",
                report.generator.late
            );
            errors.into_iter().fold(0.0, f64::max)
        };
        let best = (0..ATTEMPTS)
            .map(|_| attempt())
            .find(|worst| *worst <= 0.01);
        assert!(
            best.is_some(),
            "{workers} workers: never within 1 % of the truth"
        );
    }
}

/// Random arrivals differ from the truth by chance; against what their own intended starts say,
/// they do not.
#[test]
fn random_arrivals_lose_nothing_either() {
    let report = ran(&stalling(4, r#""poisson""#)).report;
    let response = report.operations["stat"].response.as_ref().unwrap();
    assert_eq!(response.count, u64::from(REQUESTS));
    // 1000 of 4000 stalled: the standard error of the mean is some 2 ms.
    assert!(
        (response.mean_s - 0.0625).abs() < 0.012,
        "{}",
        response.mean_s
    );
    assert!((response.max_s - 0.5).abs() < 0.1, "{}", response.max_s);
    let stalled = &report.seconds[1];
    assert!(stalled.latency_ns_max < 1_000_000_000);
}
