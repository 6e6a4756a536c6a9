//! Draws from the distributions of the inscription language.

use rand_distr::{Distribution, Exp1, Gamma, StandardNormal, Weibull};

use super::function::Draw;
use super::program::Fault;
use crate::stream::Stream;

/// One value; `second` is read by distributions with two parameters alone.
pub(crate) fn draw(kind: Draw, first: f64, second: f64, stream: &mut Stream) -> Result<u64, Fault> {
    let wrong = |value: f64| Fault::Parameter { draw: kind, value };
    let at_least_zero = |value: f64| match value >= 0.0 && value.is_finite() {
        true => Ok(value),
        false => Err(wrong(value)),
    };
    let positive = |value: f64| match value > 0.0 && value.is_finite() {
        true => Ok(value),
        false => Err(wrong(value)),
    };
    let value = match kind {
        Draw::Exponential => {
            let unit: f64 = Exp1.sample(stream);
            unit * at_least_zero(first)?
        }
        Draw::Uniform => {
            let width = at_least_zero(second - first)?;
            first + width * stream.unit()
        }
        Draw::Erlang => {
            // A sum of k exponentials is a gamma variable of shape k.
            let shape = positive(first.round())?;
            gamma(shape, at_least_zero(second)? / shape, stream).ok_or_else(|| wrong(first))?
        }
        Draw::Normal => normal(at_least_zero(first)?, at_least_zero(second)?, stream),
        Draw::Lognormal => {
            let variance = (at_least_zero(second)?.powi(2)).ln_1p();
            let unit: f64 = StandardNormal.sample(stream);
            positive(first)? * (variance.sqrt() * unit - variance / 2.0).exp()
        }
        Draw::Weibull => {
            let scaled = Weibull::new(positive(first)?, positive(second)?);
            scaled.map_err(|_| wrong(second))?.sample(stream)
        }
        Draw::Gamma => {
            gamma(positive(first)?, positive(second)?, stream).ok_or_else(|| wrong(first))?
        }
        Draw::Discrete => {
            if !(0.0..=1.0).contains(&first) {
                return Err(wrong(first));
            }
            return Ok(u64::from(stream.unit() < first));
        }
    };
    Ok(value.to_bits())
}

fn gamma(shape: f64, scale: f64, stream: &mut Stream) -> Option<f64> {
    if scale == 0.0 {
        return Some(0.0);
    }
    Some(Gamma::new(shape, scale).ok()?.sample(stream))
}

/// A normal variable conditioned on being at least 0, by rejection: the mean is at least 0, so
/// every second try succeeds at worst.
fn normal(mean: f64, standard_deviation: f64, stream: &mut Stream) -> f64 {
    loop {
        let unit: f64 = StandardNormal.sample(stream);
        let value = mean + standard_deviation * unit;
        if value >= 0.0 {
            return value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sample mean and sd against the distribution's own, within 4 standard errors.
    fn agrees(kind: Draw, first: f64, second: f64, mean: f64, standard_deviation: f64) {
        const DRAWS: u32 = 200_000;
        let mut stream = Stream::new(11, 0, kind as u64);
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..DRAWS {
            let word = draw(kind, first, second, &mut stream).expect("good parameters");
            let value = match kind {
                Draw::Discrete => word as f64,
                _ => f64::from_bits(word),
            };
            sum += value;
            squares += value * value;
        }
        let count = f64::from(DRAWS);
        let found = sum / count;
        let error = standard_deviation / count.sqrt();
        assert!(
            (found - mean).abs() <= 4.0 * error,
            "{kind:?}: mean {found}, not {mean}"
        );
        let spread = (squares / count - found * found).sqrt();
        let far = (spread - standard_deviation).abs() > 0.02 * standard_deviation;
        assert!(!far, "{kind:?}: sd {spread}, not {standard_deviation}");
    }

    #[test]
    fn moments_are_those_of_the_textbook() {
        agrees(Draw::Exponential, 2.0, 0.0, 2.0, 2.0);
        agrees(Draw::Uniform, 1.0, 5.0, 3.0, 4.0 / 12f64.sqrt());
        agrees(Draw::Erlang, 4.0, 2.0, 2.0, 1.0);
        agrees(Draw::Normal, 10.0, 1.0, 10.0, 1.0);
        agrees(Draw::Lognormal, 3.0, 0.5, 3.0, 1.5);
        // Weibull(scale 2, shape 2): mean 2 G(3/2), variance 4 (G(2) - G(3/2)^2).
        let half = std::f64::consts::PI.sqrt() / 2.0;
        agrees(
            Draw::Weibull,
            2.0,
            2.0,
            2.0 * half,
            2.0 * (1.0 - half * half).sqrt(),
        );
        agrees(Draw::Gamma, 4.0, 0.5, 2.0, 1.0);
        agrees(Draw::Discrete, 0.3, 0.0, 0.3, 0.21f64.sqrt());
        // Half a normal: mean sqrt(2/pi), variance 1 - 2/pi.
        let half_normal = (2.0 / std::f64::consts::PI).sqrt();
        agrees(
            Draw::Normal,
            0.0,
            1.0,
            half_normal,
            (1.0 - half_normal.powi(2)).sqrt(),
        );
    }

    #[test]
    fn meaningless_parameters_are_faults() {
        let mut stream = Stream::new(1, 0, 0);
        for (kind, first, second) in [
            (Draw::Exponential, -1.0, 0.0),
            (Draw::Exponential, f64::NAN, 0.0),
            (Draw::Uniform, 2.0, 1.0),
            (Draw::Erlang, 0.0, 1.0),
            (Draw::Normal, 1.0, -1.0),
            (Draw::Lognormal, 0.0, 1.0),
            (Draw::Weibull, 1.0, 0.0),
            (Draw::Gamma, -1.0, 1.0),
            (Draw::Discrete, 1.5, 0.0),
        ] {
            assert!(draw(kind, first, second, &mut stream).is_err(), "{kind:?}");
        }
    }
}
