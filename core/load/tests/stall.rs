//! Tests that the reported response times are right while the target does not answer.

#[path = "support/stalling.rs"]
mod stalling;

use dfslab_load::Plan;
use stalling::{
    added, assert_near, dues_and_ends, mean, off_the_truth, ran, released, stalling, tried, truths,
    REQUESTS,
};

/// Shows that response times include a stall of the target. A busy machine also delays requests;
/// this added time is measured separately. The example `stall` shows that the generator adds less
/// than 1 % to the response times on an idle machine.
#[test]
fn response_times_are_true_while_the_target_stalls() {
    for workers in [1, 8, 64] {
        tried(workers, 5);
    }
}

#[test]
fn a_generator_that_is_late_is_off_the_truth() {
    let truths = truths(8);
    assert_eq!(off_the_truth(truths, truths), 0.0);
    for place in 0..truths.len() {
        let mut reported = truths;
        reported[place] *= 1.012;
        assert!(off_the_truth(reported, truths) > 0.01);
    }
    assert!(off_the_truth(truths.map(|truth| truth + 0.1), truths) > 0.2);
}

/// Shows that response times include a stall when arrivals are random. The true response times then
/// differ from run to run. They follow from the scheduled starts of the run, and the measured
/// response times are compared with them.
#[test]
fn random_arrivals_lose_nothing_either() {
    let plan = Plan::parse(&stalling(5, 4, r#""poisson""#)).unwrap();
    let outcome = ran(&plan);
    let all = dues_and_ends(&plan, &outcome);
    let response = outcome.report.operations["stat"].response.as_ref().unwrap();
    assert_eq!(response.count, u64::from(REQUESTS));
    assert_eq!(all.len() as u64, response.count);
    let truth = mean(all.iter().map(|(due, _)| released(*due) - due));
    // A quarter of 4000 requests is delayed. The standard error of the mean delay is about 2 ms,
    // and the limit is six standard errors.
    assert!((truth - 0.0625).abs() < 0.012, "{truth}");
    let more = mean(added(&all).into_iter());
    assert_near(response.mean_s, truth + more, 1e-3, "mean");
    assert!(response.max_s > 0.49, "{}", response.max_s);
}
