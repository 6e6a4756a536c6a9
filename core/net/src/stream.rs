//! Random streams for the engine. The n-th number of a stream is a function only of the stream's
//! key and n.

use rand_core::{impls, RngCore};

/// The increment of SplitMix64 (Steele, Lea and Flood 2014): odd, with well mixed bits.
const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// The random stream of one transition in one replication. Its n-th number depends only on four
/// values: the seed of the run, the replication, the transition and n. It does not depend on the
/// number of threads or on the order in which transitions fire.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    key: u64,
    drawn: u64,
}

impl Stream {
    /// The random stream number `index` of a replication; `seed` is the seed of the run.
    pub(crate) fn new(seed: u64, replication: u64, index: u64) -> Self {
        let key = mix(mix(mix(seed) ^ replication.wrapping_add(GOLDEN_GAMMA)) ^ index);
        Self { key, drawn: 0 }
    }

    /// A random whole number in `0..bound`, computed by multiplication. Its bias is below bound /
    /// 2^64.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next_u64()) * bound as u128) >> 64) as usize
    }

    /// A random real in `[0, 1)` with 53 random bits.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (-53f64).exp2()
    }
}

/// The finalising function of the SplitMix64 generator, with the constants of Stafford's variant
/// 13.
fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

impl RngCore for Stream {
    fn next_u64(&mut self) -> u64 {
        self.drawn += 1;
        mix(self.key.wrapping_add(self.drawn.wrapping_mul(GOLDEN_GAMMA)))
    }

    fn next_u32(&mut self) -> u32 {
        (self.next_u64() >> 32) as u32
    }

    fn fill_bytes(&mut self, bytes: &mut [u8]) {
        impls::fill_bytes_via_next(self, bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_pinned_and_independent() {
        let first: Vec<u64> = (0..3)
            .map(|_| 0)
            .scan(Stream::new(1, 0, 0), |stream, _: u64| {
                Some(stream.next_u64())
            })
            .collect();
        let mut again = Stream::new(1, 0, 0);
        assert_eq!(
            first,
            [again.next_u64(), again.next_u64(), again.next_u64()]
        );
        for other in [
            Stream::new(2, 0, 0),
            Stream::new(1, 1, 0),
            Stream::new(1, 0, 1),
        ] {
            assert_ne!(first[0], other.clone().next_u64());
        }
    }

    #[test]
    fn units_are_uniform() {
        let mut stream = Stream::new(7, 3, 2);
        let mut cells = [0u32; 100];
        for _ in 0..100_000 {
            cells[(stream.unit() * 100.0) as usize] += 1;
        }
        let excess = |&n: &u32| (f64::from(n) - 1000.0).powi(2) / 1000.0;
        let chi_square: f64 = cells.iter().map(excess).sum();
        // The chi-square statistic has 99 degrees of freedom. It exceeds 160 with a probability
        // below 1e-4.
        assert!(chi_square < 160.0, "chi-square {chi_square}");
        assert!((0..1000).all(|_| stream.below(3) < 3));
    }
}
