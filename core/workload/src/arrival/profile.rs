//! A rate that changes over time.

/// A rate over time as its running total, walked forwards: arrivals of rate 1 become those of the
/// profile where their time is sent through the inverse (Çinlar 1975, non-homogeneous Poisson).
pub(super) struct Profile {
    /// (time, rate) where lines begin.
    points: Vec<(f64, f64)>,
    piece: usize,
    /// Arrivals expected before the present piece.
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

    /// When the running total reaches `total`, which never falls from call to call.
    pub fn time_of(&mut self, total: f64) -> f64 {
        loop {
            let (start, rate) = self.points[self.piece];
            let left = total - self.before;
            let Some((end, next)) = self.points.get(self.piece + 1).copied() else {
                return start + left / rate;
            };
            let (span, in_piece) = (end - start, (end - start) * (rate + next) / 2.0);
            if left <= in_piece && in_piece > 0.0 {
                // rate t + (next - rate) t² / (2 span) = left, in the form that stays exact.
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
