//! Draws random values from the distributions of the inscription language.

use rand_distr::{Distribution, Exp1, Gamma, StandardNormal, Weibull};

use super::fault::Fault;
use super::function::Draw;
use crate::definition::TableDefinition;
use crate::stream::Stream;

/// Draws one value of the distribution `kind` and returns it as a 64-bit word. `first` and `second`
/// are its parameters in the order of the inscription. `second` is ignored if the distribution has
/// one parameter.
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
        Draw::Exponential => return Ok(exponential(at_least_zero(first)?, stream)),
        Draw::Uniform => {
            let width = at_least_zero(second - first)?;
            first + width * stream.unit()
        }
        Draw::Erlang => {
            // A sum of k exponential variables has a gamma distribution of shape k.
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

/// Draws an exponential variable with this mean. The caller has checked that the mean is valid.
#[inline]
pub(crate) fn exponential(mean: f64, stream: &mut Stream) -> u64 {
    let unit: f64 = Exp1.sample(stream);
    (unit * mean).to_bits()
}

/// A histogram from which values are drawn. First a bin is drawn with a probability proportional to
/// its weight. Then a value is drawn uniformly within the bin.
#[derive(Debug)]
pub(crate) struct Table {
    edges: Vec<f64>,
    /// For each bin, the fraction of all values that lie in this bin or in an earlier one.
    cumulative: Vec<f64>,
}

impl Table {
    /// Checks a histogram and converts its weights to cumulative fractions. The error says what is
    /// wrong with the histogram.
    pub(crate) fn new(table: &TableDefinition) -> Result<Self, String> {
        let (edges, weights) = (&table.edges, &table.weights);
        if weights.is_empty() || edges.len() != weights.len() + 1 {
            let (edges, weights) = (edges.len(), weights.len());
            return Err(format!(
                "has {edges} edges and {weights} weights; a table has at least one weight, and \
                 one edge more than weights"
            ));
        }
        let rises = |&at: &usize| edges[at].is_finite() && (at == 0 || edges[at - 1] < edges[at]);
        if let Some(at) = (0..edges.len()).find(|at| !rises(at)) {
            let edge = edges[at];
            return Err(format!(
                "edges[{at}] is {edge}; the edges of a table are finite and rise"
            ));
        }
        let total: f64 = weights.iter().sum();
        if let Some(at) = weights.iter().position(|&weight| weight < 0.0) {
            let weight = weights[at];
            return Err(format!(
                "weights[{at}] is {weight}; the weights of a table are at least 0"
            ));
        }
        if !(total > 0.0 && total.is_finite()) {
            return Err(format!(
                "the sum of the weights is {total}; it must be finite and above 0"
            ));
        }
        let mut sum = 0.0;
        let share = |weight: &f64| {
            sum += weight / total;
            sum
        };
        Ok(Self {
            edges: edges.clone(),
            cumulative: weights.iter().map(share).collect(),
        })
    }

    /// Draws one value by inverting the cumulative distribution.
    pub(crate) fn draw(&self, stream: &mut Stream) -> f64 {
        let unit = stream.unit();
        let last = self.cumulative.len() - 1;
        let bin = self
            .cumulative
            .partition_point(|&share| share <= unit)
            .min(last);
        let below = if bin == 0 {
            0.0
        } else {
            self.cumulative[bin - 1]
        };
        let share = self.cumulative[bin] - below;
        let within = if share > 0.0 {
            (unit - below) / share
        } else {
            0.0
        };
        let (low, high) = (self.edges[bin], self.edges[bin + 1]);
        low + within.clamp(0.0, 1.0) * (high - low)
    }
}

fn gamma(shape: f64, scale: f64, stream: &mut Stream) -> Option<f64> {
    if scale == 0.0 {
        return Some(0.0);
    }
    Some(Gamma::new(shape, scale).ok()?.sample(stream))
}

/// Draws a normal variable under the condition that it is at least 0: values below 0 are rejected.
/// The mean is at least 0, so at least one half of the draws is accepted.
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

    /// Asserts that the mean of draws from `kind` is within 4 standard errors of `mean`, and their
    /// standard deviation within 2 % of `standard_deviation`. `first` and `second` are the
    /// parameters of `kind`.
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
        // With scale 2 and shape 2, the Weibull distribution has the mean 2 G(3/2) and the variance
        // 4 (G(2) - G(3/2)^2), where G is the gamma function.
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
        // Under the condition that it is at least 0, a normal variable of mean 0 and deviation 1 is
        // half-normal. The half-normal distribution has the mean sqrt(2/pi) and the variance 1 -
        // 2/pi.
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
    fn a_histogram_is_drawn_by_its_shares() {
        let definition = TableDefinition {
            edges: vec![0.0, 1.0, 3.0, 4.0],
            weights: vec![2.0, 0.0, 6.0],
        };
        let table = Table::new(&definition).expect("a good table");
        let mut stream = Stream::new(4, 0, 0);
        let draws: Vec<f64> = (0..100_000).map(|_| table.draw(&mut stream)).collect();
        // The histogram has the mean 0.25 * 0.5 + 0.75 * 3.5 = 2.75. Its second moment is 0.25 / 3
        // + 0.75 * 37 / 3.
        let mean = draws.iter().sum::<f64>() / 1e5;
        let error = ((0.25 / 3.0 + 9.25 - 2.75f64.powi(2)) / 1e5).sqrt();
        assert!((mean - 2.75).abs() < 4.0 * error, "mean {mean}");
        let low = draws.iter().filter(|&&value| value < 1.0).count() as f64;
        assert!((low - 25_000.0).abs() < 4.0 * (1e5 * 0.25 * 0.75f64).sqrt());
        assert!(draws.iter().all(|value| !(1.0..3.0).contains(value)));
        for (edges, weights) in [
            (vec![0.0], vec![]),
            (vec![0.0, 1.0], vec![0.0]),
            (vec![1.0, 0.0], vec![1.0]),
            (vec![0.0, 1.0], vec![-1.0]),
        ] {
            assert!(Table::new(&TableDefinition { edges, weights }).is_err());
        }
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
