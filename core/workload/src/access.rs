//! Determines the offsets and lengths of an operation's transfers within a file, and their order.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::random::unit;
use crate::{draw, Size, SpecError};

/// Number of rounds of the Feistel network that puts blocks into random order. Four rounds suffice
/// for a pseudorandom permutation (Luby and Rackoff 1988).
const ROUNDS: u64 = 4;
/// Identifiers of the random numbers that this module draws, one for each purpose. Numbers with
/// different identifiers are independent. `stream/live.rs`, `prepared.rs` and `arrival.rs` define
/// further identifiers.
const PLACE: u64 = 16;
const LENGTH: u64 = 17;
const ROUND: u64 = 32;

/// The order of transfers in a file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Order {
    /// Front to back.
    #[default]
    Sequential,
    /// Back to front.
    Backward,
    /// The block of each transfer is drawn independently, so some blocks are transferred several
    /// times and others never.
    Random,
    /// Every block once, in random order.
    Shuffled,
    /// Each transfer begins this number of blocks after the previous one. At the end of the file, a
    /// new pass begins one block later than the previous pass. Every block is therefore visited.
    Strided(u64),
    /// This number of bytes is skipped after every transfer.
    Skip(u64),
    /// One block, drawn once for each file, is transferred repeatedly.
    Same,
    /// Client c of n takes blocks c, c + n, c + 2 n, …
    Interleaved,
    /// Client c of n takes the c-th of n contiguous segments.
    Segmented,
}

/// The access pattern within a file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Access {
    /// The order of transfers.
    pub order: Order,
    /// Maximum number of transfers in one operation; 0: no limit.
    pub transfers_per_operation: u64,
    /// Distribution of transfer sizes, up to `transfer_size_bytes`. If it is None, every transfer
    /// has `transfer_size_bytes` bytes. Transfers begin at multiples of `transfer_size_bytes`,
    /// except in sequential order.
    pub transfer_size: Option<Size>,
    /// Whether to close and open the file between transfers.
    pub reopen: bool,
}

impl Access {
    pub(crate) fn validate(&self, transfer_size_bytes: u64) -> Result<(), SpecError> {
        let wrong = |key, value: String, allowed| {
            Err(SpecError {
                key,
                value,
                allowed,
            })
        };
        match self.order {
            Order::Strided(0) => {
                return wrong("access.order.strided", "0".into(), "at least 1 block");
            }
            Order::Skip(bytes) if bytes > 1 << 50 => {
                return wrong("access.order.skip", bytes.to_string(), "at most 1 PiB");
            }
            _ => {}
        }
        let Some(size) = &self.transfer_size else {
            return Ok(());
        };
        size.validate("access.transfer_size")?;
        if size.largest() > transfer_size_bytes {
            let value = size.largest().to_string();
            return wrong("access.transfer_size", value, "at most transfer_size_bytes");
        }
        Ok(())
    }

    /// Whether one operation transfers the whole file from its start to its end.
    pub fn is_whole(&self) -> bool {
        self.order == Order::Sequential && self.transfers_per_operation == 0
    }
}

/// One operation of one client on one file, with all values that determine the offsets of its
/// transfers.
#[derive(Clone, Copy, Debug)]
pub struct Passage {
    /// Seed of the operation stream.
    pub seed: u64,
    /// The client that executes the operation.
    pub client: u32,
    /// Number of clients that share the operation stream.
    pub clients: u32,
    /// Number of the file.
    pub file: u64,
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Maximum size of a transfer, bytes.
    pub transfer_size_bytes: u64,
    /// Number of the operation among all operations of its client.
    pub index: u64,
}

/// Iterates over the transfers of one operation, as (offset, length) in bytes, in order.
pub struct TransferSequence<'a> {
    access: &'a Access,
    passage: Passage,
    turn: u64,
    end: u64,
    cursor: u64,
}

impl<'a> TransferSequence<'a> {
    /// Makes the iterator over all transfers of one operation on a file.
    pub fn new(access: &'a Access, passage: Passage) -> Self {
        let all = count(access, &passage);
        let end = match access.transfers_per_operation {
            0 => all,
            // With the orders `Random` and `Same`, a block can be transferred repeatedly, so the
            // blocks are never exhausted. The operation ends when `transfers_per_operation` is
            // reached. The only exception is a file without a block.
            most if matches!(access.order, Order::Random | Order::Same) && all > 0 => most,
            most => most.min(all),
        };
        TransferSequence {
            access,
            passage,
            turn: 0,
            end,
            cursor: 0,
        }
    }

    /// Sum of the bytes of all transfers of one operation.
    pub fn bytes(access: &Access, passage: Passage) -> u64 {
        if access.is_whole() {
            return passage.file_bytes;
        }
        TransferSequence::new(access, passage)
            .map(|(_, bytes)| bytes)
            .sum()
    }
}

impl Iterator for TransferSequence<'_> {
    type Item = (u64, u64);

    #[inline]
    fn next(&mut self) -> Option<(u64, u64)> {
        let cumulates = self.access.order == Order::Sequential;
        if cumulates && self.cursor >= self.passage.file_bytes
            || !cumulates && self.turn >= self.end
            || self.turn >= self.end && self.access.transfers_per_operation > 0
        {
            return None;
        }
        let length = length(self.access, &self.passage, self.turn);
        let offset = match cumulates {
            true => self.cursor,
            false => offset(self.access, &self.passage, self.turn),
        };
        let length = length.min(self.passage.file_bytes - offset);
        self.cursor += length;
        self.turn += 1;
        Some((offset, length))
    }
}

/// Returns the transfer with the number `turn` in a file, as (offset, length) in bytes. When all
/// blocks were transferred, the order begins again. If the order is random, the offset depends on
/// the random number `bits` instead.
#[inline]
pub(crate) fn single(access: &Access, passage: &Passage, turn: u64, bits: u64) -> (u64, u64) {
    let offset = match access.order {
        _ if passage.file_bytes == 0 => return (0, 0),
        Order::Random => {
            let drawn = (u128::from(bits) * u128::from(blocks(passage))) >> 64;
            drawn as u64 * passage.transfer_size_bytes
        }
        Order::Same => offset(access, passage, turn),
        _ => match count(access, passage) {
            0 => return (0, 0),
            count => offset(access, passage, turn % count),
        },
    };
    let length = length(access, passage, passage.index);
    (offset, length.min(passage.file_bytes - offset))
}

/// Number of blocks of the file; the last block may be partial.
#[inline]
fn blocks(passage: &Passage) -> u64 {
    let transfer = passage.transfer_size_bytes;
    match transfer.is_power_of_two() {
        // A division is slow. If the transfer size is a power of two, a shift suffices.
        true => (passage.file_bytes + transfer - 1) >> transfer.trailing_zeros(),
        false => passage.file_bytes.div_ceil(transfer),
    }
}

/// Returns the length in bytes of transfer number `turn`, before it is truncated at the end of the
/// file.
fn length(access: &Access, passage: &Passage, turn: u64) -> u64 {
    match &access.transfer_size {
        None => passage.transfer_size_bytes,
        Some(size) => {
            let key = key(passage) ^ passage.index.rotate_left(32);
            size.drawn(|n| draw(passage.seed, key, turn, LENGTH + 64 * n))
                .max(1)
        }
    }
}

/// Returns the word that stands for the client in the keys of this module's random numbers. The
/// word differs from the client's number, which is used in the keys of the random numbers that
/// choose operations and file sizes. The two sets of random numbers are therefore independent.
fn key(passage: &Passage) -> u64 {
    u64::from(passage.client) | 2 << 32
}

/// Number of transfers until the client has accessed each of its blocks of the file once.
fn count(access: &Access, passage: &Passage) -> u64 {
    let blocks = blocks(passage);
    let (client, clients) = (u64::from(passage.client), u64::from(passage.clients));
    match access.order {
        Order::Skip(bytes) => passage
            .file_bytes
            .div_ceil(passage.transfer_size_bytes + bytes),
        Order::Interleaved => (blocks + clients - 1 - client) / clients,
        Order::Segmented => blocks * (client + 1) / clients - blocks * client / clients,
        _ => blocks,
    }
}

fn offset(access: &Access, passage: &Passage, turn: u64) -> u64 {
    let transfer = passage.transfer_size_bytes;
    let blocks = blocks(passage);
    let (client, clients) = (u64::from(passage.client), u64::from(passage.clients));
    let random = |by: u64, turn: u64| {
        let bits = draw(passage.seed, key(passage) ^ by, turn, PLACE);
        ((unit(bits) * blocks as f64) as u64).min(blocks - 1)
    };
    let block = match access.order {
        Order::Sequential => turn,
        Order::Backward => blocks - 1 - turn,
        Order::Random => random(passage.index.rotate_left(32), turn),
        Order::Shuffled => shuffled(passage, blocks, turn),
        Order::Strided(stride) => strided(blocks, stride, turn),
        Order::Skip(bytes) => return turn * (transfer + bytes),
        Order::Same => random(0, passage.file),
        Order::Interleaved => turn * clients + client,
        Order::Segmented => blocks * client / clients + turn,
    };
    block * transfer
}

/// Returns the number of the block at position `turn` of a strided order. In one pass over the
/// file, each block is `stride` blocks after the previous one. Each pass begins one block later
/// than the previous pass.
fn strided(blocks: u64, stride: u64, turn: u64) -> u64 {
    let (rows, longer) = (blocks / stride, blocks % stride);
    // The first `longer` passes over the file have one block more than the later passes.
    let in_longer = longer * (rows + 1);
    match turn < in_longer {
        true => turn / (rows + 1) + turn % (rows + 1) * stride,
        false => longer + (turn - in_longer) / rows + (turn - in_longer) % rows * stride,
    }
}

/// Returns the number of the block at position `turn` of a random permutation of the blocks. A
/// Feistel network permutes the numbers below a bound. The bound is the smallest power of two with
/// an even exponent that is at least the number of blocks. If the result is not the number of a
/// block, the network is applied again (cycle walking; Black and Rogaway 2002, "Ciphers with
/// arbitrary finite domains").
fn shuffled(passage: &Passage, blocks: u64, turn: u64) -> u64 {
    let bits = (64 - (blocks - 1).leading_zeros())
        .max(2)
        .next_multiple_of(2);
    let (half, mask) = (bits / 2, (1u64 << (bits / 2)) - 1);
    let mut value = turn;
    loop {
        let (mut left, mut right) = (value >> half, value & mask);
        for round in 0..ROUNDS {
            let key = key(passage) ^ passage.file.rotate_left(32);
            let mixed = draw(passage.seed, key, right, ROUND + round) & mask;
            (left, right) = (right, left ^ mixed);
        }
        value = left << half | right;
        if value < blocks {
            return value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passage(file_bytes: u64) -> Passage {
        Passage {
            seed: 3,
            client: 1,
            clients: 4,
            file: 5,
            file_bytes,
            transfer_size_bytes: 1000,
            index: 9,
        }
    }

    fn with(order: Order) -> Access {
        Access {
            order,
            ..Access::default()
        }
    }

    fn offsets(order: Order, file_bytes: u64) -> Vec<u64> {
        let access = with(order);
        TransferSequence::new(&access, passage(file_bytes))
            .map(|(offset, length)| {
                assert!(length > 0 && offset + length <= file_bytes);
                offset / 1000
            })
            .collect()
    }

    #[test]
    fn orders_are_what_they_say() {
        assert_eq!(offsets(Order::Sequential, 4500), [0, 1, 2, 3, 4]);
        assert_eq!(offsets(Order::Backward, 4500), [4, 3, 2, 1, 0]);
        assert_eq!(offsets(Order::Strided(3), 8000), [0, 3, 6, 1, 4, 7, 2, 5]);
        assert_eq!(offsets(Order::Strided(9), 3000), [0, 1, 2]);
        assert_eq!(offsets(Order::Skip(2000), 8000), [0, 3, 6]);
        assert_eq!(offsets(Order::Interleaved, 10_000), [1, 5, 9]);
        assert_eq!(offsets(Order::Segmented, 10_000), [2, 3, 4]);
        let same = offsets(Order::Same, 9000);
        assert!(same.iter().all(|place| *place == same[0]) && same.len() == 9);
        assert_eq!(offsets(Order::Sequential, 0), Vec::<u64>::new());
        assert_eq!(offsets(Order::Random, 0), Vec::<u64>::new());
    }

    #[test]
    fn the_clients_of_a_shared_file_meet_every_block_of_it() {
        for order in [Order::Interleaved, Order::Segmented] {
            let access = with(order);
            let of = |client| {
                let passage = Passage {
                    client,
                    ..passage(10_500)
                };
                TransferSequence::new(&access, passage).collect::<Vec<_>>()
            };
            let mut met: Vec<(u64, u64)> = (0..4).flat_map(of).collect();
            met.sort_unstable();
            assert_eq!(
                met.iter()
                    .map(|(offset, _)| offset / 1000)
                    .collect::<Vec<_>>(),
                (0..11).collect::<Vec<_>>()
            );
            assert_eq!(met.iter().map(|(_, length)| length).sum::<u64>(), 10_500);
        }
    }

    #[test]
    fn shuffled_is_a_permutation_and_random_is_not() {
        for blocks in [1u64, 2, 3, 17, 64, 1000] {
            let mut met = offsets(Order::Shuffled, blocks * 1000 - 300);
            assert!(blocks < 64 || met.windows(2).any(|pair| pair[1] != pair[0] + 1));
            met.sort_unstable();
            assert_eq!(met, (0..blocks).collect::<Vec<_>>());
        }
        let mut drawn = offsets(Order::Random, 1_000_000);
        assert_eq!(drawn.len(), 1000);
        drawn.sort_unstable();
        drawn.dedup();
        // The expected number of distinct blocks is 632. If 1000 blocks are drawn 1000 times with
        // replacement, a fraction 1 / e of them is never drawn. These are 368 blocks, with a
        // standard deviation of about 9.9.
        assert!((drawn.len() as f64 - 632.0).abs() < 60.0, "{}", drawn.len());
    }

    #[test]
    fn drawn_transfers_cover_a_file_in_sequence() {
        let access = Access {
            transfer_size: Some(Size::Uniform { low: 1, high: 700 }),
            ..Access::default()
        };
        let mut at = 0;
        for (offset, length) in TransferSequence::new(&access, passage(50_000)) {
            assert_eq!(offset, at);
            assert!((1..=700).contains(&length));
            at += length;
        }
        assert_eq!(at, 50_000);
        assert_eq!(TransferSequence::bytes(&access, passage(50_000)), 50_000);
    }

    #[test]
    fn single_transfers_go_round() {
        let access = with(Order::Sequential);
        let places: Vec<(u64, u64)> = (0..4)
            .map(|n| single(&access, &passage(2500), n, 0))
            .collect();
        assert_eq!(places, [(0, 1000), (1000, 1000), (2000, 500), (0, 1000)]);
        assert_eq!(single(&access, &passage(0), 7, 1), (0, 0));
        let random = with(Order::Random);
        assert_eq!(single(&random, &passage(2500), 7, 0), (0, 1000));
        assert_eq!(single(&random, &passage(2500), 7, u64::MAX), (2000, 500));
    }

    #[test]
    fn a_limit_of_transfers_is_kept() {
        for (order, expected) in [
            (Order::Sequential, 2),
            (Order::Skip(500), 2),
            (Order::Random, 9),
        ] {
            let access = Access {
                transfers_per_operation: expected,
                ..with(order)
            };
            assert_eq!(
                TransferSequence::new(&access, passage(4000)).count() as u64,
                expected
            );
        }
    }
}
