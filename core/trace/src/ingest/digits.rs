//! Parses decimal numbers and hexadecimal ids fast, eight digits at a time in one machine word.

const LOW: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = LOW << 7;

/// Parses a text of one to twenty decimal digits. None for other texts and for numbers beyond 64
/// bits.
#[inline(always)]
pub fn digits(text: &[u8]) -> Option<u64> {
    let mut value = 0u64;
    let mut rest = text;
    if rest.is_empty() || rest.len() > 20 {
        return None;
    }
    while let Some((eight, behind)) = rest.split_first_chunk::<8>() {
        let part = eight_digits(u64::from_le_bytes(*eight))?;
        value = value.checked_mul(100_000_000)?.checked_add(part)?;
        rest = behind;
    }
    for &byte in rest {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    Some(value)
}

/// Parses eight decimal digits, given as the eight bytes of one word. Computes the number in three
/// steps, each of which combines adjacent groups of digits. None if a byte is not a digit.
#[inline(always)]
fn eight_digits(word: u64) -> Option<u64> {
    let low = word.wrapping_sub(LOW * 0x30);
    let above_nine = word.wrapping_add(LOW * 0x46);
    if (low | above_nine) & HIGH != 0 {
        return None;
    }
    let pairs = low.wrapping_mul(10).wrapping_add(low >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = pairs.wrapping_mul(100).wrapping_add(pairs >> 16) & 0x0000_ffff_0000_ffff;
    Some(fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xffff_ffff)
}

/// Parses an id of exactly `digits` hexadecimal digits (16 or 32). None for anything else.
#[inline(always)]
pub fn from_hexadecimal(text: &[u8], digits: usize) -> Option<u128> {
    if text.len() != digits {
        return None;
    }
    // Each half of 16 digits fits a machine word, which makes the conversion fast.
    let (high, low) = text.split_at(digits - 16);
    let eight = |from: &[u8]| eight_hexadecimal(u64::from_le_bytes(*from.first_chunk()?));
    let word = |half: &[u8]| {
        let (left, right) = half.split_at(8);
        Some(u64::from(eight(left)?) << 32 | u64::from(eight(right)?))
    };
    let above = if high.is_empty() { 0 } else { word(high)? };
    Some(u128::from(above) << 64 | u128::from(word(low)?))
}

/// Parses eight hexadecimal digits, given as the eight bytes of one word. First converts each byte
/// to its digit. Then computes the number in three steps, each of which combines adjacent groups of
/// digits. None if a byte is not a digit.
#[inline(always)]
fn eight_hexadecimal(word: u64) -> Option<u32> {
    // Adding 0x80 - `least` sets the top bit of each byte that is at least `least`.
    let at_least = |bytes: u64, least: u8| bytes.wrapping_add(LOW * u64::from(0x80 - least));
    let digit = at_least(word, b'0') & !at_least(word, b'9' + 1);
    let lower = word | (LOW * 0x20);
    let letter = at_least(lower, b'a') & !at_least(lower, b'f' + 1);
    if word & HIGH != 0 || (digit | letter) & HIGH != HIGH {
        return None;
    }
    let values = (word & (LOW * 0x0f)) + (word >> 6 & LOW) * 9;
    let pairs = (values << 4 | values >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs | pairs >> 8) & 0x0000_ffff_0000_ffff;
    Some(((fours | fours >> 16) as u32).swap_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_the_standard_library_reads_them() {
        let texts = [
            "0",
            "7",
            "12345678",
            "123456789",
            "1700000000000000000",
            "18446744073709551615",
            "18446744073709551616",
            "99999999999999999999",
            "1234567a",
            "12 45678",
            "",
            "1x",
        ]; // texts of eight digits, which are parsed as one word, and of other lengths
        for text in texts {
            assert_eq!(digits(text.as_bytes()), text.parse().ok(), "{text:?}");
        }
        for byte in (0..=255u8).filter(|byte| !byte.is_ascii_digit()) {
            for at in 0..8 {
                let mut word = *b"12345678";
                word[at] = byte;
                assert_eq!(digits(&word), None, "{word:?}");
            }
        }
    }

    #[test]
    fn ids_are_read_as_the_standard_library_reads_them() {
        for byte in 0..=255u8 {
            for at in 0..16 {
                let mut id = *b"0123456789abcDEF";
                id[at] = byte;
                let text = std::str::from_utf8(&id).ok();
                // The standard library accepts a leading sign, which the parser must not accept.
                let text = text.filter(|_| byte != b'+');
                let expected = text.and_then(|text| u128::from_str_radix(text, 16).ok());
                assert_eq!(from_hexadecimal(&id, 16), expected, "{byte} at {at}");
            }
        }
        let id = b"0123456789abcdeffedcba9876543210";
        let expected = 0x0123_4567_89ab_cdef_fedc_ba98_7654_3210;
        assert_eq!(from_hexadecimal(id, 32), Some(expected));
        assert_eq!(from_hexadecimal(id, 16), None);
    }
}
