//! Generates random numbers. Each number is a function of a key, so it does not depend on how many
//! numbers were drawn before it.

/// Returns 64 random bits for the key (seed, a, b, purpose). `a` and `b` are any numbers that
/// identify the draw, such as a client and a file. The finalising function of SplitMix64 (Steele et
/// al. 2014) is applied to each word of the key. The same key always gives the same bits.
pub fn draw(seed: u64, a: u64, b: u64, purpose: u64) -> u64 {
    Keyed::new(seed, a).at(b).bits(purpose)
}

/// The hash of the first part of a key. The hash is computed once for all random numbers whose keys
/// begin with this part.
#[derive(Clone, Copy)]
pub(crate) struct Keyed(u64);

impl Keyed {
    pub fn new(seed: u64, a: u64) -> Self {
        Keyed(word(mix(seed ^ 0x9e37_79b9_7f4a_7c15), a))
    }

    #[inline]
    pub fn at(self, b: u64) -> Keyed {
        Keyed(word(self.0, b))
    }

    #[inline]
    pub fn bits(self, purpose: u64) -> u64 {
        word(self.0, purpose)
    }
}

#[inline]
fn word(state: u64, word: u64) -> u64 {
    mix(state ^ word.wrapping_add(0x9e37_79b9_7f4a_7c15))
}

#[inline]
fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Maps 64 random bits to a number in [0, 1).
#[inline]
pub fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

/// Computes a standard normal number from two independent words of random bits by the method of Box
/// and Muller.
pub fn normal(first: u64, second: u64) -> f64 {
    let radius = (-2.0 * (1.0 - unit(first)).ln()).sqrt();
    radius * (std::f64::consts::TAU * unit(second)).cos()
}
