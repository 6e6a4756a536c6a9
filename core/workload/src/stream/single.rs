//! A fast generator for phases that consist only of single transfers at random offsets.

use super::live::{Live, Purpose};
use crate::random::{unit, Keyed};
use crate::spec::{FileChoice, Files, MixOrder, Phase, Share};
use crate::{Access, OperationKind, Order};

/// Number of random bits that select one operation of a mix.
const DECIDING_BITS: u32 = 53;

/// Precomputed values of a phase of single transfers (positional reads and writes), for generating
/// its operations fast. The files of such a phase do not change, so an operation depends only on
/// its random numbers. A test checks that `Stream` generates the same operations without these
/// values.
pub(super) struct Singles {
    shares: Vec<Drawn>,
    transfer_bytes: u64,
    /// Binary logarithm of the transfer size, so that a shift replaces a slow division; None if the
    /// size is no power of two.
    shift: Option<u32>,
}

/// One operation of the mix, with the bound of the random bits that select it.
pub(super) struct Drawn {
    kind: OperationKind,
    choice: FileChoice,
    /// Exclusive upper bound of the deciding bits (the top bits of a random number) for which this
    /// operation is selected. The lower bound is the upper bound of the previous operation in the
    /// mix.
    below: u64,
}

impl Singles {
    /// Makes the fast generator for a phase. None if the phase has other operations than single
    /// transfers at random offsets of the client's own files.
    pub fn of(phase: &Phase, transfer_bytes: u64) -> Option<Self> {
        let drawn = phase.mix.len() == 1 || phase.mix_order == MixOrder::Random;
        if !drawn || phase.files != Files::Own {
            return None;
        }
        let total = phase.mix.iter().map(|share| share.weight).sum();
        let shares: Option<Vec<Drawn>> = (phase.mix.iter().enumerate())
            .map(|(place, share)| {
                let choice = share.file_choice.as_ref().unwrap_or(&phase.file_choice);
                let access = share.access.as_ref().unwrap_or(&phase.access);
                is_single(share.operation, access, choice).then(|| Drawn {
                    kind: share.operation,
                    choice: choice.clone(),
                    below: below(&phase.mix, total, place),
                })
            })
            .collect();
        Some(Singles {
            shares: shares?,
            transfer_bytes,
            shift: (transfer_bytes.is_power_of_two()).then(|| transfer_bytes.trailing_zeros()),
        })
    }

    /// Returns the operation of the mix that these random bits select.
    #[inline]
    fn drawn(&self, bits: u64) -> &Drawn {
        let deciding = bits >> (u64::BITS - DECIDING_BITS);
        let mut place = 0;
        while deciding >= self.shares[place].below {
            place += 1;
        }
        &self.shares[place]
    }

    /// Whether the mix has more than one operation.
    #[inline]
    fn is_mixed(&self) -> bool {
        self.shares.len() > 1
    }

    /// Returns the transfer that the random number `bits` selects in a file of `file_bytes` bytes,
    /// as (offset, length) in bytes.
    #[inline]
    fn place(&self, file_bytes: u64, bits: u64) -> (u64, u64) {
        if file_bytes == 0 {
            return (0, 0);
        }
        let blocks = match self.shift {
            Some(shift) => (file_bytes + self.transfer_bytes - 1) >> shift,
            None => file_bytes.div_ceil(self.transfer_bytes),
        };
        let block = ((u128::from(bits) * u128::from(blocks)) >> 64) as u64;
        let offset = block * self.transfer_bytes;
        (offset, self.transfer_bytes.min(file_bytes - offset))
    }
}

impl Singles {
    /// Returns the operation type, the file and the transfer that the random numbers `at`
    /// determine.
    #[inline(always)]
    pub(super) fn operation<'l>(
        &self,
        at: Keyed,
        own: &'l mut [Live],
        turn: &mut u64,
    ) -> (OperationKind, &'l Live, (u64, u64)) {
        let bits = match self.is_mixed() {
            true => at.bits(Purpose::Kind as u64),
            false => 0,
        };
        let drawn = self.drawn(bits);
        let count = own.len();
        let position = match drawn.choice {
            _ if count == 1 => 0,
            FileChoice::Sequential => {
                *turn += 1;
                ((*turn - 1) % count as u64) as usize
            }
            FileChoice::Uniform => {
                let point = unit(at.bits(Purpose::File as u64));
                ((point * count as f64) as usize).min(count - 1)
            }
            _ => count - 1,
        };
        let live = &mut own[position];
        live.turn = live.turn.wrapping_add(1);
        let place = self.place(live.bytes, at.bits(Purpose::Place as u64));
        (drawn.kind, live, place)
    }
}

fn is_single(kind: OperationKind, access: &Access, choice: &FileChoice) -> bool {
    matches!(kind, OperationKind::Pread | OperationKind::Pwrite)
        && access.order == Order::Random
        && access.transfer_size.is_none()
        && !matches!(choice, FileChoice::Zipf(_))
}

/// Returns the index in a mix of the operation that these random bits select by weight.
#[inline]
pub(super) fn place_in(mix: &[Share], total_weight: f64, bits: u64) -> usize {
    let mut point = unit(bits) * total_weight;
    for (place, share) in mix.iter().enumerate() {
        point -= share.weight;
        if point < 0.0 {
            return place;
        }
    }
    mix.len() - 1
}

/// Returns the exclusive upper bound of the deciding bits for operation number `place` of the mix.
/// The deciding bits are the top `DECIDING_BITS` bits of a random number. The bound is the smallest
/// value for which `place_in` selects a later operation. The bound is found by bisection with
/// `place_in`, so that rounding has the same effect in both functions.
fn below(mix: &[Share], total_weight: f64, place: usize) -> u64 {
    if place + 1 == mix.len() {
        return u64::MAX;
    }
    let (mut low, mut high) = (0, 1 << DECIDING_BITS);
    while low < high {
        let middle = (low + high) / 2;
        match place_in(mix, total_weight, middle << (u64::BITS - DECIDING_BITS)) > place {
            true => high = middle,
            false => low = middle + 1,
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{draw, Stream, StreamSpec};

    #[test]
    fn they_are_the_operations_of_any_phase() {
        let text = r#"{"seed":5,"clients":2,"files_per_client":3,
            "file_size":{"uniform":{"low":1,"high":90000}},"transfer_size_bytes":TRANSFER,
            "phases":[
            {"operations_per_client":400,"access":{"order":"random"},"file_choice":"uniform",
             "mix":[{"operation":"pread","weight":4},{"operation":"pwrite","weight":1.1}]},
            {"operations_per_client":200,"access":{"order":"random"},
             "mix":[{"operation":"pread","file_choice":"newest"},{"operation":"pread"}]},
            {"operations_per_client":40,"mix":[{"operation":"pread"}]}]}"#;
        for transfer in ["4096", "1000"] {
            let text = text.replace("TRANSFER", transfer);
            let spec: StreamSpec = serde_json::from_str(&text).unwrap();
            let (mut quick, mut other) = (Stream::new(&spec, 1), Stream::new(&spec, 1));
            for (phase, is_single) in [true, true, false].into_iter().enumerate() {
                quick.next_phase();
                assert_eq!(quick.singles.is_some(), is_single);
                while quick.is_in(phase) {
                    let mut some = Vec::new();
                    quick.ahead(phase, 64, &mut some);
                    assert!((1..=64).contains(&some.len()));
                    some.into_iter()
                        .for_each(|one| assert_eq!(Some(one), other.next()));
                }
            }
            assert_eq!((quick.next(), other.next()), (None, None));
        }
    }

    #[test]
    fn shares_are_drawn_as_their_sums_say() {
        let of = |weight| Share::of(OperationKind::Pread, weight);
        for weights in [
            vec![4.0, 1.0],
            vec![0.1, 0.2, 0.3, 1e-9],
            vec![0.0, 3.0, 7.0],
        ] {
            let mix: Vec<Share> = weights.into_iter().map(of).collect();
            let total: f64 = mix.iter().map(|share| share.weight).sum();
            let shares = (0..mix.len()).map(|place| Drawn {
                kind: OperationKind::Pread,
                choice: FileChoice::Newest,
                below: below(&mix, total, place),
            });
            let (shares, transfer_bytes, shift) = (shares.collect(), 1, None);
            let singles = Singles {
                shares,
                transfer_bytes,
                shift,
            };
            let edges: Vec<u64> = singles.shares.iter().map(|one| one.below).collect();
            let at_edges = edges
                .iter()
                .flat_map(|edge| [edge.saturating_sub(1), *edge]);
            let at_edges = at_edges.map(|edge| edge.min((1 << 53) - 1) << 11);
            for bits in at_edges.chain((0..10_000).map(|n| draw(1, n, 0, 0))) {
                let place = place_in(&mix, total, bits);
                assert_eq!(singles.drawn(bits).below, edges[place], "{bits}");
            }
        }
    }
}
