//! The content of files: incompressible bytes. Each byte is a function of the seed, the client, the
//! file, the number of overwrites and the offset.

mod audit;
pub(crate) mod generations;
pub(crate) mod sample;

use std::ops::Range;

use bytes::Bytes;
use dfslab_workload::draw;

const PAGE: usize = 4096;
/// Size of the pool in pages. The content of a file repeats after this number of pages. The number
/// is prime. Two blocks of a power-of-two size in one file are therefore equal only if they are a
/// multiple of 1021 blocks apart. If a storage system exchanges two other blocks, the exchange is
/// detected.
const POOL_PAGES: usize = 1021;
const POOL_BYTES: usize = POOL_PAGES * PAGE;

/// Number of pages by which each overwrite (generation) shifts the start of a file's content in the
/// pool. The number is large because of pages that are both stale and displaced by a few pages
/// within their file. With a small shift, such a page could equal the expected page.
const PAGES_A_GENERATION: u64 = 509;

/// The content of all files of a run. A file's bytes are a range of one seeded, periodic pool. The
/// range starts at a place that the file and its number of overwrites (its generation) determine.
/// Stale bytes therefore differ from the bytes of the last overwrite.
///
/// The pool is page aligned and followed by a copy of its beginning, so any range is contiguous.
/// A write therefore needs no copy of the data: finding its bytes takes less than 30 ns. A check is
/// one comparison. The
/// periodic pool has two drawbacks. Two files of one client have the same content with probability
/// 1/1021. A storage system that deduplicates pages finds duplicates.
pub struct Content {
    seed: u64,
    bytes: Bytes,
    start: usize,
}

impl Content {
    /// Creates the pool for transfers of up to `transfer_bytes` bytes. In every page, the last part
    /// (the fraction `compressible`, from 0 to 1) is zeros.
    pub fn new(seed: u64, transfer_bytes: usize, compressible: f64) -> Self {
        let mut pool = vec![0u8; POOL_BYTES + transfer_bytes + PAGE];
        let start = pool.as_ptr().align_offset(PAGE);
        for index in 0..POOL_BYTES / 8 {
            let word = draw(seed, index as u64, 0, 0).to_le_bytes();
            pool[start + index * 8..start + index * 8 + 8].copy_from_slice(&word);
        }
        let zeros = (compressible * PAGE as f64) as usize;
        for page in 0..POOL_PAGES {
            let end = start + (page + 1) * PAGE;
            pool[end - zeros..end].fill(0);
        }
        for index in 0..transfer_bytes {
            pool[start + POOL_BYTES + index] = pool[start + index % POOL_BYTES];
        }
        Content {
            seed,
            bytes: Bytes::from(pool),
            start,
        }
    }

    /// Returns the number of the pool's page with which a newly created file of a client begins.
    pub fn first_page(&self, client: u32, file: u64) -> u64 {
        draw(self.seed, u64::from(client), file, 9) % POOL_PAGES as u64
    }

    /// The range of the pool that has `length` bytes of a file, starting at `offset` of the file.
    /// At its creation, the file began with the pool's page `page`. Since then, the file was
    /// overwritten `generation` times.
    #[inline]
    fn place(&self, (page, generation): (u64, u32), offset: u64, length: usize) -> Range<usize> {
        let moved = u64::from(generation) % POOL_PAGES as u64 * PAGES_A_GENERATION;
        let page = (page + moved) % POOL_PAGES as u64;
        let from = (page * PAGE as u64 + offset % POOL_BYTES as u64) % POOL_BYTES as u64;
        let from = self.start + from as usize;
        from..from + length
    }

    /// Returns `length` bytes of a client's file, starting at `offset`. The file is given as (file
    /// number, number of overwrites). The bytes are not copied.
    pub fn slice(&self, client: u32, of: (u64, u32), offset: u64, length: usize) -> Bytes {
        let page = self.first_page(client, of.0);
        self.bytes.slice(self.place((page, of.1), offset, length))
    }

    /// Returns the same bytes as `slice`, for a file given as (its first page in the pool, number
    /// of overwrites). The bytes are borrowed. If they were reference-counted, all threads would
    /// contend for the cache line of the reference count.
    #[inline]
    pub fn lent(&self, of: (u64, u32), offset: u64, length: usize) -> &[u8] {
        &self.bytes[self.place(of, offset, length)]
    }

    /// Compares `observed`, the bytes at `offset` of a client's file, with the expected content.
    /// The file is given as (file number, number of overwrites). Returns the offset in the file of
    /// the first byte that differs; None if all bytes are equal.
    pub fn first_difference(
        &self,
        client: u32,
        of: (u64, u32),
        offset: u64,
        observed: &[u8],
    ) -> Option<u64> {
        let page = self.first_page(client, of.0);
        let expected = self.lent((page, of.1), offset, observed.len());
        if expected == observed {
            return None;
        }
        let place = expected.iter().zip(observed).position(|(a, b)| a != b)?;
        Some(offset + place as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_is_the_same_however_it_is_cut() {
        let content = Content::new(5, 1 << 16, 0.0);
        let whole = content.slice(1, (2, 0), 10_000, 50_000);
        let (first, rest) = (
            content.slice(1, (2, 0), 10_000, 777),
            content.slice(1, (2, 0), 10_777, 49_223),
        );
        assert_eq!([&first[..], &rest[..]].concat(), whole);
        let wrapped = content.slice(1, (2, 0), 3 * POOL_BYTES as u64 + 10_000, 50_000);
        assert_eq!(wrapped, whole);
    }

    #[test]
    fn a_share_of_every_page_is_zeros() {
        let content = Content::new(5, 1 << 16, 0.75);
        let bytes = content.slice(0, (3, 0), 0, 1 << 16);
        let zeros = bytes.iter().filter(|byte| **byte == 0).count() as f64 / 65536.0;
        assert!((zeros - 0.751).abs() < 0.005, "{zeros}");
    }

    #[test]
    fn blocks_that_change_places_are_found() {
        let content = Content::new(5, 1 << 16, 0.0);
        for block in [1u64 << 12, 1 << 20, 4 << 20, 64 << 20, 128 << 20, 256 << 20] {
            let other = content.slice(1, (2, 0), block, 4096);
            assert_eq!(
                content.first_difference(1, (2, 0), 0, &other),
                Some(0),
                "{block}"
            );
        }
    }

    #[test]
    fn generations_differ_wherever_one_looks() {
        let content = Content::new(5, 1 << 16, 0.0);
        for generation in 1..200 {
            let observed = content.slice(0, (1, generation), 8192, 4096);
            assert_eq!(
                content.first_difference(0, (1, generation), 8192, &observed),
                None
            );
            for other in 0..generation {
                assert!(content
                    .first_difference(0, (1, other), 8192, &observed)
                    .is_some());
            }
        }
    }

    #[test]
    fn files_differ_and_a_flipped_byte_is_found() {
        let content = Content::new(5, 1 << 16, 0.0);
        assert_ne!(
            content.slice(0, (1, 0), 0, 4096),
            content.slice(0, (2, 0), 0, 4096)
        );
        let mut observed = content.slice(0, (1, 0), 4096, 4096).to_vec();
        assert_eq!(content.first_difference(0, (1, 0), 4096, &observed), None);
        observed[17] ^= 1;
        assert_eq!(
            content.first_difference(0, (1, 0), 4096, &observed),
            Some(4113)
        );
    }
}
