//! Simulated time: integer nanoseconds, seconds only at the border.

/// The longest delay, so that a sum of delays cannot leave 64 bits unnoticed.
const NANOSECONDS_MAX: f64 = 9e18;

/// Seconds to the nearest nanosecond; none when negative, not a number or too long.
#[inline]
pub(crate) fn nanoseconds(seconds: f64) -> Option<u64> {
    let scaled = seconds * 1e9;
    let fits = (0.0..=NANOSECONDS_MAX).contains(&scaled);
    // Adding a half and cutting rounds like `round` here and needs no library call.
    let cut = if scaled < 4.5e15 {
        scaled + 0.5
    } else {
        scaled
    };
    fits.then_some(cut as u64)
}

/// Nanoseconds to seconds.
pub(crate) fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

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
