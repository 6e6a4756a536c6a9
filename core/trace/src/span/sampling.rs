//! Reads sampling weights. If a recorder sampled calls, the weight of a recorded call is the number
//! of calls that it represents.
//!
//! For a sampling probability p, the weight is 1 / p. The weight is stored as an integer in units
//! of 2^-20, so that sums do not depend on the order of addition. Weights are read from two places:
//! - trace states, as OpenTelemetry's "TraceState: Probability Sampling" defines them: `ot=th:`
//!   with a rejection threshold of 56 bits, or the earlier `ot=p:` with an exponent
//! - Jaeger's tags `sampler.type` and `sampler.param`

/// The weight of a call that represents only itself, in units of 2^-20.
pub const ONE: u64 = 1 << 20;

/// Largest accepted weight, in units of 2^-20. Probabilities that would need a larger weight are
/// ignored, since no real sampler uses them.
const WEIGHT_MAX: u64 = 1 << 54;

/// Returns the sampling weight for a probability, in units of 2^-20. None if the probability is not
/// in (0, 1], or if it is so small that the weight would exceed the largest accepted weight.
pub fn weight_of(probability: f64) -> Option<u64> {
    let weight = ONE as f64 / probability;
    let believed = probability > 0.0 && probability <= 1.0 && weight <= WEIGHT_MAX as f64;
    believed.then(|| weight.round() as u64)
}

/// Returns the sampling weight in a trace state such as "ot=th:c;rv:0123,vendor=x", in units of
/// 2^-20. None if the trace state has no valid weight.
pub fn weight_of_trace_state(state: &[u8]) -> Option<u64> {
    let state = std::str::from_utf8(state).ok()?;
    let members = state
        .split(',')
        .filter_map(|member| member.trim().split_once('='));
    let (_, reported) = members.into_iter().find(|(vendor, _)| *vendor == "ot")?;
    reported
        .split(';')
        .find_map(|field| match field.split_once(':')? {
            ("th", digits) if (1..=14).contains(&digits.len()) => {
                let rejected = u64::from_str_radix(digits, 16).ok()? << (4 * (14 - digits.len()));
                weight_of(1.0 - rejected as f64 / (1u64 << 56) as f64)
            }
            // By OpenTelemetry's rules, the exponent 63 means that the span represents no calls.
            ("p", exponent) => match exponent.parse::<u32>().ok()? {
                exponent @ 0..=34 => Some(ONE << exponent),
                _ => None,
            },
            _ => None,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trace_states_of_both_drafts_and_of_nobody() {
        let cases: [(&[u8], Option<u64>); 9] = [
            (b"ot=th:0", Some(ONE)),
            (b"ot=th:8", Some(2 * ONE)),
            (b"vendor=1, ot=rv:00000000000000;th:c", Some(4 * ONE)),
            (b"ot=th:ffffffffffffff", None),
            (b"ot=p:3;r:9", Some(8 * ONE)),
            (b"ot=p:63", None),
            (b"ot=th:xyz", None),
            (b"th:8", None),
            (b"\xff", None),
        ];
        for (state, expected) in cases {
            assert_eq!(weight_of_trace_state(state), expected, "{state:?}");
        }
        assert_eq!(weight_of(0.01), Some(104_857_600));
        for wrong in [0.0, -1.0, 1.5, f64::NAN, 1e-300] {
            assert_eq!(weight_of(wrong), None, "{wrong}");
        }
    }
}
