//! A rate that changes over time.

/// A time-dependent rate as its cumulative integral, evaluated forwards. Arrivals of a process of
/// rate 1 are mapped through the inverse of the integral (Çinlar 1975, non-homogeneous Poisson
/// processes).
pub(super) struct Profile {
    /// (time, rate) at the vertices of the piecewise linear rate.
    points: Vec<(f64, f64)>,
    piece: usize,
    /// Integral of the rate up to the current piece.
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

    /// The time at which the integral reaches `total`, which must not decrease from call to call.
    pub fn time_of(&mut self, total: f64) -> f64 {
        loop {
            let (start, rate) = self.points[self.piece];
            let left = total - self.before;
            let Some((end, next)) = self.points.get(self.piece + 1).copied() else {
                return start + left / rate;
            };
            let (span, in_piece) = (end - start, (end - start) * (rate + next) / 2.0);
            if left <= in_piece && in_piece > 0.0 {
                // Solves rate t + (next - rate) t² / (2 span) = left for t, in a form without
                // cancellation.
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
