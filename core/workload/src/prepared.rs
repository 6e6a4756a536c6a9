//! Determines the files that exist before the clients' first operations, and the sizes of files.

use std::collections::{BTreeMap, BTreeSet};

use crate::spec::{Phase, StreamSpec};
use crate::{draw, OperationKind};

/// Identifiers of the random numbers that this module draws, one for each purpose. Numbers with
/// different identifiers are independent.
const SIZE: u64 = 3;
const SIZE_AGAIN: u64 = 4;
const SIZE_MORE: u64 = 100;

/// Size in bytes of a client's file number `file`. The size depends only on the seed, the client
/// and the file.
pub fn size_of(spec: &StreamSpec, client: u32, file: u64) -> u64 {
    let purpose = |n: u64| match n {
        0 => SIZE,
        1 => SIZE_AGAIN,
        more => SIZE_MORE + more,
    };
    let bits = |n| draw(spec.seed, u64::from(client), file, purpose(n));
    spec.file_size.drawn(bits)
}

/// Returns the files of a client, as (number, bytes), that must exist before the client's first
/// operation.
pub fn prepared_files(spec: &StreamSpec, client: u32) -> Vec<(u64, u64)> {
    if !spec.given.is_empty() {
        return found_by_given(spec, client);
    }
    let needs_files = |phase: &Phase| phase.mix.iter().any(|s| s.operation.needs_file());
    let needed = spec.all_phases().iter().any(needs_files);
    let clients = u64::from(spec.clients);
    let count = match (needed, spec.files_together) {
        (false, _) => 0,
        (true, None) => spec.files_per_client,
        (true, Some(total)) => (total + clients - 1 - u64::from(client)) / clients,
    };
    (0..count)
        .map(|file| (file, size_of(spec, client, file)))
        .collect()
}

/// Returns the byte ranges of each prepared file that the operations of a replay read or overwrite.
/// The key is the number of the file; a range is (from, to). The ranges of a file are in ascending
/// order and do not touch. Bytes outside the ranges may be a hole.
pub fn prepared_extents(spec: &StreamSpec, client: u32) -> BTreeMap<u64, Vec<(u64, u64)>> {
    use OperationKind::{Pread, Pwrite, Read};
    let mut touched: BTreeMap<u64, Vec<(u64, u64)>> = BTreeMap::new();
    for one in &spec.given {
        let is_own = one.owner.unwrap_or(one.client) == client;
        if is_own && one.size_bytes > 0 && matches!(one.operation, Read | Pread | Pwrite) {
            let extent = (one.offset_bytes, one.offset_bytes + one.size_bytes);
            touched.entry(one.file).or_default().push(extent);
        }
    }
    for extents in touched.values_mut() {
        extents.sort_unstable();
        let mut apart: Vec<(u64, u64)> = Vec::with_capacity(extents.len());
        for &(from, to) in extents.iter() {
            match apart.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(to),
                _ => apart.push((from, to)),
            }
        }
        *extents = apart;
    }
    touched
}

/// Returns the files, as (number, bytes), that must exist before a replayed sequence of operations.
/// Each file is as large as the operations on it require.
fn found_by_given(spec: &StreamSpec, client: u32) -> Vec<(u64, u64)> {
    use OperationKind::{Append, Create, List, Mkdir, Pread, Pwrite, Read, Rmdir, Write};
    let mut found: BTreeMap<u64, u64> = BTreeMap::new();
    let mut made = BTreeSet::new();
    for one in &spec.given {
        if one.owner.unwrap_or(one.client) != client {
            continue;
        }
        match one.operation {
            Write | Create => {
                made.insert(one.file);
            }
            Mkdir | Rmdir | List => {}
            _ if made.contains(&one.file) => {}
            kind => {
                let needed = match kind {
                    Read | Pread | Pwrite => one.offset_bytes + one.size_bytes,
                    Append => 0,
                    _ => one.size_bytes,
                };
                let bytes = found.entry(one.file).or_default();
                *bytes = needed.max(*bytes);
            }
        }
    }
    found.into_iter().collect()
}
