//! Generates a client's sequence of operations from a specification. The sequence is reproducible,
//! and every operation in it is possible.

mod live;
mod single;

use std::collections::{BTreeSet, VecDeque};

use self::live::{Live, Purpose};
use self::single::{place_in, Singles};
use crate::access::single;
use crate::random::{unit, Keyed};
use crate::spec::{FileChoice, Files, MixOrder, Phase, StreamSpec};
use crate::{prepared_files, size_of, Access, Operation, OperationKind, Passage, TransferSequence};

/// The file or directory that an operation accesses.
struct Taken {
    kind: OperationKind,
    owner: u32,
    file: u64,
    size_bytes: u64,
    offset_bytes: u64,
}

/// Iterates over the operations of one client, in order. Every operation is possible at its place
/// in the sequence: files are read, renamed and deleted only while they exist. An operation that
/// needs a file and finds none becomes the creation of a file.
pub struct Stream<'a> {
    spec: &'a StreamSpec,
    client: u32,
    keyed: Keyed, // the hash of seed and client; all random numbers follow from it
    phases: Vec<Phase>,
    phase: usize, // number of the current phase, from 0
    left: u64,    // operations of the current phase that were not returned yet
    /// Number of the client's next operation over all phases, a part of its random numbers' keys.
    index: u64,
    /// The client's own files that exist.
    own: VecDeque<Live>,
    /// Files of other clients. Empty if the current phase does not access such files.
    others: VecDeque<Live>,
    directories: VecDeque<u64>,
    next_file: u64,
    /// Number of operations of the current phase that chose one file after another.
    turn: u64,
    /// Index of the next operation in the mix, if the order of the mix is cyclic.
    cycle: usize,
    cumulative: Vec<f64>,
    total_weight: f64,
    /// The fast generator for phases that consist of single transfers; None in other phases.
    singles: Option<Singles>,
    /// Index of the next operation in the sequence that is replayed.
    given: usize,
}

impl<'a> Stream<'a> {
    /// Makes the stream of client number `client`. The specification must be valid.
    pub fn new(spec: &'a StreamSpec, client: u32) -> Self {
        debug_assert!(spec.validate().is_ok());
        let live = |(file, bytes)| Live {
            file,
            bytes,
            owner: client,
            turn: 0,
            held: false,
            tagged: false,
            renamed: false,
        };
        let own: VecDeque<Live> = prepared_files(spec, client).into_iter().map(live).collect();
        let next_file = own.len() as u64;
        let keyed = Keyed::new(spec.seed, u64::from(client) | 1 << 32);
        let mut stream = Stream {
            spec,
            client,
            keyed,
            phases: spec.all_phases(),
            phase: 0,
            left: 0,
            index: 0,
            own,
            others: VecDeque::new(),
            directories: VecDeque::new(),
            next_file,
            turn: 0,
            cycle: 0,
            cumulative: Vec::new(),
            total_weight: 0.0,
            singles: None,
            given: 0,
        };
        if spec.given.is_empty() {
            stream.begin_phase();
        }
        stream
    }

    fn begin_phase(&mut self) {
        let phase = &self.phases[self.phase];
        self.left = phase.operations_per_client;
        self.turn = 0;
        self.cycle = 0;
        self.total_weight = phase.mix.iter().map(|share| share.weight).sum();
        let clients = self.spec.clients;
        self.others = match phase.files {
            Files::Own => VecDeque::new(),
            Files::Neighbour(shift) => {
                let neighbour = (u64::from(self.client) + u64::from(shift)) % u64::from(clients);
                self.files_of(neighbour as u32)
            }
            Files::Shared => (0..clients).flat_map(|c| self.files_of(c)).collect(),
        };
        let mut total = 0.0;
        self.cumulative = match self.phases[self.phase].file_choice {
            FileChoice::Zipf(exponent) => (1..=self.live().len())
                .map(|rank| {
                    total += (rank as f64).powf(-exponent);
                    total
                })
                .collect(),
            _ => Vec::new(),
        };
        let singles = Singles::of(&self.phases[self.phase], self.spec.transfer_size_bytes);
        self.singles = singles.filter(|_| !self.own.is_empty());
    }

    /// Appends up to `most` remaining operations of a phase of single transfers to `operations`.
    /// Appends nothing if the phase has other operations.
    fn singles_ahead(&mut self, most: usize, operations: &mut Vec<Operation>) {
        let Some(singles) = self.singles.as_ref() else {
            return;
        };
        let count = self.left.min(most as u64);
        let (keyed, client, phase) = (self.keyed, self.client, self.phase as u32);
        let transfer_size_bytes = self.spec.transfer_size_bytes;
        let (own, mut turn) = (self.own.make_contiguous(), self.turn);
        // Each operation is constructed directly in the vector. Building it elsewhere and copying
        // it would stall the processor, since the copy loads wider words than were stored just
        // before.
        operations.extend((self.index..self.index + count).map(|index| {
            let (kind, live, (offset_bytes, size_bytes)) =
                singles.operation(keyed.at(index), own, &mut turn);
            Operation {
                client,
                index,
                kind,
                file: live.file,
                size_bytes,
                transfer_size_bytes,
                offset_bytes,
                owner: client,
                phase,
            }
        }));
        self.turn = turn;
        self.index += count;
        self.left -= count;
    }

    /// Returns the files that `client` has when the current phase begins.
    fn files_of(&self, client: u32) -> VecDeque<Live> {
        if client == self.client {
            return self.own.clone();
        }
        // In some phases, clients access files of other clients. These phases neither add nor
        // remove files, so the loop skips the operations of these phases.
        let mut spec = self.spec.clone();
        spec.phases = self.phases[..=self.phase].to_vec();
        spec.phases.iter_mut().for_each(|p| p.files = Files::Own);
        spec.phases[self.phase].operations_per_client = 1;
        spec.mix.clear();
        let mut other = Stream::new(&spec, client);
        while other.phase < self.phase {
            match self.phases[other.phase].files {
                Files::Own => {
                    let left = other.left as usize;
                    other.by_ref().take(left).for_each(|_| ());
                }
                _ => other.index += other.left,
            }
            other.phase += 1;
            other.begin_phase();
        }
        other.own
    }

    /// Returns the files of other clients in the current phase that have their alternative name, as
    /// (owner, number).
    pub fn renamed_by_others(&self) -> BTreeSet<(u32, u64)> {
        let renamed = self.others.iter().filter(|live| live.renamed);
        renamed.map(|live| (live.owner, live.file)).collect()
    }

    fn live(&mut self) -> &mut VecDeque<Live> {
        match self.phases[self.phase].files {
            Files::Own => &mut self.own,
            _ => &mut self.others,
        }
    }

    /// Returns the index in the mix of the next operation. The index is drawn by weight or, if the
    /// mix is cyclic, is the next in order.
    #[inline]
    fn share(&self) -> usize {
        let phase = &self.phases[self.phase];
        let count = phase.mix.len();
        if count == 1 {
            return 0;
        }
        if phase.mix_order == MixOrder::Cycle {
            return self.cycle;
        }
        place_in(&phase.mix, self.total_weight, self.bits(Purpose::Kind))
    }

    #[inline]
    fn bits(&self, purpose: Purpose) -> u64 {
        self.keyed.at(self.index).bits(purpose as u64)
    }

    /// Selects a file for the operation with index `share` in the mix, and returns its position
    /// among the existing files.
    #[inline]
    fn position(&mut self, share: usize) -> usize {
        let count = self.live().len();
        let phase = &self.phases[self.phase];
        let own = phase.mix[share].file_choice.as_ref();
        match own.unwrap_or(&phase.file_choice) {
            FileChoice::Newest => count - 1,
            FileChoice::Sequential => {
                let turn = self.turn;
                self.turn += 1;
                // A division is slow, and usually `turn` is already less than `count`.
                match turn < count as u64 {
                    true => turn as usize,
                    false if count == 1 => 0,
                    false => (turn % count as u64) as usize,
                }
            }
            FileChoice::Uniform => {
                let point = unit(self.bits(Purpose::File));
                ((point * count as f64) as usize).min(count - 1)
            }
            FileChoice::Zipf(_) => {
                let point = unit(self.bits(Purpose::File));
                let total = self.cumulative.last().copied().unwrap_or(1.0);
                self.cumulative.partition_point(|c| *c <= point * total) % count
            }
        }
    }

    fn access(&self, share: usize) -> &Access {
        let phase = &self.phases[self.phase];
        phase.mix[share].access.as_ref().unwrap_or(&phase.access)
    }

    fn passage(&self, live: &Live) -> Passage {
        Passage {
            seed: self.spec.seed,
            client: self.client,
            clients: self.spec.clients,
            file: live.file,
            file_bytes: live.bytes,
            transfer_size_bytes: self.spec.transfer_size_bytes,
            index: self.index,
        }
    }

    fn of_own(&self, kind: OperationKind, file: u64, size_bytes: u64) -> Taken {
        Taken {
            kind,
            owner: self.client,
            file,
            size_bytes,
            offset_bytes: 0,
        }
    }

    fn new_file(&mut self, kind: OperationKind, bytes: u64) -> Taken {
        let file = self.next_file;
        self.next_file += 1;
        self.own.push_back(Live {
            file,
            bytes,
            owner: self.client,
            turn: 0,
            held: false,
            tagged: false,
            renamed: false,
        });
        self.of_own(kind, file, bytes)
    }

    /// Selects the file or directory that an operation of type `kind` accesses, and the bytes that
    /// it moves.
    #[inline]
    fn taken(&mut self, kind: OperationKind, share: usize) -> Taken {
        match kind {
            OperationKind::Write => {
                let bytes = size_of(self.spec, self.client, self.next_file);
                self.new_file(kind, bytes)
            }
            OperationKind::Create => self.new_file(kind, 0),
            OperationKind::Rmdir if !self.directories.is_empty() => {
                let directory = self.directories.pop_front().unwrap_or_default();
                self.of_own(kind, directory, 0)
            }
            OperationKind::Mkdir | OperationKind::Rmdir => {
                // Directories are numbered together with files. Operations on files never select a
                // directory.
                self.directories.push_back(self.next_file);
                self.next_file += 1;
                self.of_own(OperationKind::Mkdir, self.next_file - 1, 0)
            }
            OperationKind::List => {
                let directory = self.index % self.spec.layout.directories();
                self.of_own(kind, directory, 0)
            }
            OperationKind::Delete => {
                let choice = self.phases[self.phase].mix[share].file_choice.as_ref();
                let choice = choice.unwrap_or(&self.phases[self.phase].file_choice);
                // Each case takes constant time. The order "sequential" removes the oldest file
                // first.
                let removed = match choice {
                    FileChoice::Sequential => self.own.pop_front(),
                    FileChoice::Newest => self.own.pop_back(),
                    _ => {
                        let position = self.position(share);
                        self.own.swap_remove_back(position)
                    }
                };
                let removed = removed.expect("a deletion is drawn only while files live");
                self.of_own(kind, removed.file, 0)
            }
            _ => self.taken_alive(kind, share),
        }
    }

    /// Selects the file that an operation of type `kind` accesses. The function is only for types
    /// of operations that do not remove the file.
    #[inline]
    fn taken_alive(&mut self, kind: OperationKind, share: usize) -> Taken {
        let position = self.position(share);
        let mut live = self.live()[position];
        let passage = self.passage(&live);
        let mut taken = Taken {
            owner: live.owner,
            ..self.of_own(kind, live.file, 0)
        };
        match kind {
            OperationKind::Read | OperationKind::Overwrite => {
                let access = self.access(share);
                taken.size_bytes = TransferSequence::bytes(access, passage);
                if !access.is_whole() {
                    taken.offset_bytes = live.bytes;
                }
                return taken;
            }
            OperationKind::Pread | OperationKind::Pwrite => {
                let turn = u64::from(live.turn);
                let bits = self.bits(Purpose::Place);
                let place = single(self.access(share), &passage, turn, bits);
                (taken.offset_bytes, taken.size_bytes) = place;
                live.turn = live.turn.wrapping_add(1);
            }
            OperationKind::Append => {
                taken.size_bytes = size_of(self.spec, self.client, live.file);
                live.bytes = live.bytes.saturating_add(taken.size_bytes);
            }
            OperationKind::Truncate => {
                live.bytes /= 2;
                taken.size_bytes = live.bytes;
            }
            OperationKind::Open | OperationKind::Close => {
                taken.kind = match live.held {
                    true => OperationKind::Close,
                    false => OperationKind::Open,
                };
                live.held = !live.held;
            }
            OperationKind::SetXattr | OperationKind::GetXattr if !live.tagged => {
                taken.kind = OperationKind::SetXattr;
                live.tagged = true;
            }
            OperationKind::Rename => live.renamed = !live.renamed,
            _ => return taken,
        }
        self.live()[position] = live;
        taken
    }

    fn next_given(&mut self) -> Option<Operation> {
        let rest = &self.spec.given[self.given..];
        let skipped = rest.iter().position(|one| one.client == self.client)?;
        let one = rest[skipped];
        self.given += skipped + 1;
        let operation = Operation {
            client: self.client,
            index: self.index,
            kind: one.operation,
            file: one.file,
            size_bytes: one.size_bytes,
            transfer_size_bytes: self.spec.transfer_size_bytes,
            offset_bytes: one.offset_bytes,
            owner: one.owner.unwrap_or(self.client),
            phase: 0,
        };
        self.index += 1;
        Some(operation)
    }

    /// The think time in seconds that the mix specifies for the next operation. None if the mix
    /// specifies no think time for this operation; the think time of the phase then applies.
    pub fn own_pause_s(&self) -> Option<f64> {
        let phase = self.phases.get(self.phase)?;
        phase.mix.get(self.share())?.think_time_s
    }

    /// Whether the next operation of the stream belongs to phase number `phase`.
    #[inline]
    pub fn is_in(&self, phase: usize) -> bool {
        if !self.spec.given.is_empty() {
            let rest = &self.spec.given[self.given..];
            return phase == 0 && rest.iter().any(|one| one.client == self.client);
        }
        self.phase == phase && self.left > 0
    }

    /// If all operations of the current phase are done, begins the next phase that has operations,
    /// and determines the files of other clients that this phase uses.
    pub fn next_phase(&mut self) {
        if self.left == 0 {
            self.advance();
        }
    }

    /// Begins the next phase that has operations, if the current phase has none left. Returns false
    /// if no phase has operations left.
    #[inline]
    fn advance(&mut self) -> bool {
        while self.left == 0 {
            if self.phase + 1 >= self.phases.len() {
                return false;
            }
            self.phase += 1;
            self.begin_phase();
        }
        true
    }
}

impl Stream<'_> {
    /// Fills the empty vector `operations` with up to `most` next operations of phase number
    /// `phase`. The iterator would return the same operations, but would take more time.
    pub fn ahead(&mut self, phase: usize, most: usize, operations: &mut Vec<Operation>) {
        debug_assert!(operations.is_empty());
        if self.is_in(phase) {
            self.singles_ahead(most, operations);
        }
        while operations.len() < most && self.is_in(phase) {
            operations.extend(self.next());
        }
    }
}

impl Iterator for Stream<'_> {
    type Item = Operation;

    fn next(&mut self) -> Option<Operation> {
        if !self.spec.given.is_empty() {
            return self.next_given();
        }
        if !self.advance() {
            return None;
        }
        let share = self.share();
        let mut kind = self.phases[self.phase].mix[share].operation;
        if kind.needs_file() && kind != OperationKind::List && self.live().is_empty() {
            kind = OperationKind::Create;
        }
        let taken = self.taken(kind, share);
        let operation = Operation {
            client: self.client,
            index: self.index,
            kind: taken.kind,
            file: taken.file,
            size_bytes: taken.size_bytes,
            transfer_size_bytes: self.spec.transfer_size_bytes,
            offset_bytes: taken.offset_bytes,
            owner: taken.owner,
            phase: self.phase as u32,
        };
        self.index += 1;
        self.left -= 1;
        // A counter replaces a modulo, since a division is slow.
        self.cycle = match self.cycle + 1 < self.phases[self.phase].mix.len() {
            true => self.cycle + 1,
            false => 0,
        };
        Some(operation)
    }
}
