//! Encodes markings as short texts of bytes, in which they are stored and compared.

use super::bag::{Bag, Run};
use super::Places;
use crate::compiled::CompiledNet;

/// Encodes a marking whose tokens are in ascending order. For each place, the code has the number
/// of runs of equal tokens. For each run, the code has the number of tokens and the field values.
pub(super) fn code_of(places: &Places) -> Vec<u8> {
    let mut code = Vec::new();
    for bag in places {
        write(&mut code, bag.runs().len() as u64);
        for run in bag.runs() {
            write(&mut code, run.count as u64);
            run.row.iter().for_each(|&word| write(&mut code, word));
        }
    }
    code
}

/// Decodes a marking that `code_of` encoded for the same net.
pub(super) fn places_of(net: &CompiledNet, code: &[u8]) -> Places {
    let mut rest = code.iter().copied();
    let bag_of = |fields: usize| {
        let mut bag = Bag::default();
        for _ in 0..read(&mut rest) {
            let count = read(&mut rest) as usize;
            let row = (0..fields).map(|_| read(&mut rest)).collect();
            bag.push_run(Run { row, count });
        }
        bag
    };
    let fields = net.places.iter().map(|place| place.fields.len());
    fields.map(bag_of).collect()
}

/// Appends a word in as many bytes as its size needs: seven bits in each byte, the lowest first.
/// The highest bit of a byte says that another byte follows.
fn write(code: &mut Vec<u8>, mut word: u64) {
    while word >= 0x80 {
        code.push(word as u8 | 0x80);
        word >>= 7;
    }
    code.push(word as u8);
}

fn read(code: &mut impl Iterator<Item = u8>) -> u64 {
    let mut word = 0;
    for (at, byte) in code.enumerate() {
        word |= u64::from(byte & 0x7f) << (7 * at);
        if byte < 0x80 {
            break;
        }
    }
    word
}

#[cfg(test)]
mod tests {
    use super::{read, write};

    #[test]
    fn every_word_is_read_as_it_was_written() {
        let words = [
            0,
            1,
            127,
            128,
            300,
            u64::from(u32::MAX),
            u64::MAX,
            1f64.to_bits(),
        ];
        let mut code = Vec::new();
        words.iter().for_each(|&word| write(&mut code, word));
        let mut rest = code.iter().copied();
        assert_eq!(words.map(|_| read(&mut rest)), words);
        assert!(rest.next().is_none());
    }
}
