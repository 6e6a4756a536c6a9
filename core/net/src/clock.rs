//! Simulated time is kept in integer nanoseconds; inputs and outputs are in seconds.

/// The longest delay in nanoseconds. The sum of two such delays still fits in 64 bits.
const NANOSECONDS_MAX: f64 = 9e18;

/// Converts seconds to the nearest nanosecond. None when the duration is negative, not a number, or
/// above `NANOSECONDS_MAX`.
#[inline]
pub(crate) fn nanoseconds(seconds: f64) -> Option<u64> {
    let scaled = seconds * 1e9;
    // Below 4.5e15, adding a half and truncating gives the same result as `round` and needs no
    // library call. The conversion to a signed number takes half as many instructions as that to an
    // unsigned one.
    if (0.0..4.5e15).contains(&scaled) {
        return Some((scaled + 0.5) as i64 as u64);
    }
    let fits = (0.0..=NANOSECONDS_MAX).contains(&scaled);
    fits.then_some(scaled as u64)
}

/// Converts nanoseconds to seconds.
pub(crate) fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}

/// Largest number of seconds that a message writes with all its digits.
const PLAIN_MAX_S: f64 = 1e15;

/// Seconds as text for a message. Large numbers are written with an exponent, such as 1e300, since
/// their digits would fill the message.
pub(crate) fn seconds_text(seconds: f64) -> String {
    match seconds.is_finite() && seconds.abs() > PLAIN_MAX_S {
        true => format!("{seconds:e}"),
        false => seconds.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_seconds_are_written_with_an_exponent() {
        let texts = [-3.0, 0.5, 1e12, -1e300, f64::INFINITY].map(seconds_text);
        assert_eq!(texts, ["-3", "0.5", "1000000000000", "-1e300", "inf"]);
    }

    #[test]
    fn rounds_to_the_nearest_nanosecond() {
        assert_eq!(nanoseconds(0.000635), Some(635_000));
        assert_eq!(nanoseconds(1.4e-9), Some(1));
        assert_eq!(nanoseconds(1.6e-9), Some(2));
        assert_eq!(nanoseconds(0.0), Some(0));
        assert_eq!(nanoseconds(1e9), Some(1_000_000_000_000_000_000));
        for bad in [-1e-9, f64::NAN, f64::INFINITY, 1e10] {
            assert_eq!(nanoseconds(bad), None, "{bad}");
        }
        assert!((seconds(1_500_000_000) - 1.5).abs() < 1e-12);
    }
}
