//! Maps arrivals at a constant rate to arrivals at a rate that changes over time.

/// A rate of arrivals that changes over time, and its cumulative integral. This type converts the
/// arrivals of a process with the rate 1: an arrival at time t is moved to the time at which the
/// integral reaches t (Çinlar 1975, on non-homogeneous Poisson processes). Times must be requested
/// in ascending order.
pub(super) struct Profile {
    /// The vertices of the piecewise linear rate, as (time in s, rate in 1/s).
    points: Vec<(f64, f64)>,
    piece: usize,
    /// Integral of the rate from 0 to the start of the current piece.
    before: f64,
}

impl Profile {
    pub fn new(points: &[(f64, f64)], rate_per_s: f64) -> Self {
        let scaled = |(time, factor): &(f64, f64)| (*time, factor * rate_per_s);
        let mut points: Vec<(f64, f64)> = points.iter().map(scaled).collect();
        match points.first() {
            None => points.push((0.0, rate_per_s)),
            Some((time, rate)) if *time > 0.0 => points.insert(0, (0.0, *rate)),
            _ => {}
        }
        Profile {
            points,
            piece: 0,
            before: 0.0,
        }
    }

    /// The time in s at which the integral of the rate reaches `total`. From call to call, `total`
    /// must not decrease.
    pub fn time_of(&mut self, total: f64) -> f64 {
        loop {
            let (start, rate) = self.points[self.piece];
            let left = total - self.before;
            let Some((end, next)) = self.points.get(self.piece + 1).copied() else {
                return start + left / rate;
            };
            let (span, in_piece) = (end - start, (end - start) * (rate + next) / 2.0);
            if left <= in_piece && in_piece > 0.0 {
                // During the piece, which lasts `span`, the rate changes linearly from `rate` to
                // `next`. `left` is the integral of the rate from the start of the piece to the
                // time that is sought. Solves `rate t + (next - rate) t² / (2 span) = left` for the
                // time t after the start, in a form that subtracts no nearly equal numbers.
                let slope = (next - rate) / span;
                let root = (rate * rate + 2.0 * slope * left).max(0.0).sqrt();
                let after = if left > 0.0 {
                    2.0 * left / (rate + root)
                } else {
                    0.0
                };
                return start + after.min(span);
            }
            self.before += in_piece;
            self.piece += 1;
        }
    }
}
