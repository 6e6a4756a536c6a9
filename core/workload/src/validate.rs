//! Validates stream specifications before they are run.

use std::collections::BTreeMap;

use crate::error::SpecError;
use crate::spec::{FileChoice, Files, MixOrder, Phase, Prepare, StreamSpec};
use crate::OperationKind;

/// Largest offset or size in bytes of one operation. The sum of an offset and a size then fits a
/// signed 64-bit number, which the kernel uses for both.
const MOST_OFFSET_BYTES: u64 = 1 << 62;
/// Largest number of operations of one client. A larger number is taken for a mistake.
const MOST_OPERATIONS: u64 = 1_000_000_000;
/// Largest number of files of one client. A client keeps state for its files: 10 million files take
/// about 1 GB.
const MOST_FILES: u64 = 10_000_000;
const MOST_FILES_IN_ALL: u64 = 100_000_000;
const MOST_PHASES: usize = 10_000;
const MOST_DIRECTORIES: u64 = 1_000_000;
const LONGEST_THINK_TIME_S: f64 = 86_400.0;

fn wrong<T>(
    key: &'static str,
    value: impl ToString,
    allowed: &'static str,
) -> Result<T, SpecError> {
    Err(SpecError {
        key,
        value: value.to_string(),
        allowed,
    })
}

impl StreamSpec {
    /// Checks every value of the specification. The error names the first invalid value.
    pub fn validate(&self) -> Result<(), SpecError> {
        if self.clients == 0 || self.clients > 65_536 {
            return wrong("clients", self.clients, "1 to 65536");
        }
        if self.transfer_size_bytes == 0 || self.transfer_size_bytes > 1 << 30 {
            let value = self.transfer_size_bytes;
            return wrong("transfer_size_bytes", value, "1 byte to 1 GiB");
        }
        if !(0.0..=1.0).contains(&self.compressible) {
            return wrong("compressible", self.compressible, "0 to 1");
        }
        let directories = self.layout.directories();
        if directories > MOST_DIRECTORIES || self.layout.depth > 0 && self.layout.shared_directory {
            let value = format!("{:?}", self.layout);
            let allowed = "at most 1000000 directories; a shared directory has none below it";
            return wrong("layout", value, allowed);
        }
        self.validate_work()?;
        self.validate_files()?;
        self.file_size.validate("file_size")?;
        self.arrival.validate()
    }

    /// Checks that the specification has either a mix, or phases, or a sequence to replay.
    fn validate_work(&self) -> Result<(), SpecError> {
        if !self.given.is_empty() {
            return self.validate_given();
        }
        if self.phases.len() > MOST_PHASES {
            return wrong("phases", self.phases.len(), "at most 10000");
        }
        if !self.phases.is_empty() && !self.mix.is_empty() {
            return wrong("mix", format!("{:?}", self.mix), "none beside phases");
        }
        for phase in self.all_phases() {
            phase.validate(self)?;
        }
        let operations = self.operations_of(0);
        if operations > MOST_OPERATIONS {
            return wrong("operations_per_client", operations, "1 to 1000000000");
        }
        Ok(())
    }

    fn validate_given(&self) -> Result<(), SpecError> {
        if !self.mix.is_empty() || !self.phases.is_empty() {
            return wrong("given", "operations", "none beside a mix or phases");
        }
        for one in &self.given {
            let owner = one.owner.unwrap_or(one.client);
            let is_own = owner == one.client || one.operation.leaves_names();
            let is_there = one.client < self.clients && owner < self.clients;
            if !is_there || !is_own || one.file >= MOST_FILES || one.size_bytes > 1 << 50 {
                let allowed = "clients that there are; files below 10000000; 1 PiB; only an \
                               owner makes, removes, renames and resizes a file";
                return wrong("given", format!("{one:?}"), allowed);
            }
            let is_single = matches!(one.operation, OperationKind::Pread | OperationKind::Pwrite);
            let is_long = is_single && one.size_bytes > self.transfer_size_bytes;
            if is_long || one.offset_bytes > MOST_OFFSET_BYTES {
                let allowed =
                    "single transfers of at most transfer_size_bytes; offsets below 4 EiB";
                return wrong("given", format!("{one:?}"), allowed);
            }
        }
        Ok(())
    }

    fn validate_files(&self) -> Result<(), SpecError> {
        let each = match self.files_together {
            None => self.files_per_client,
            Some(total) => total.div_ceil(u64::from(self.clients)),
        };
        let phases = self.all_phases();
        if phases.first().is_some_and(Phase::finds_files) && each == 0 {
            return wrong("files_per_client", 0, "at least 1 for this mix");
        }
        let total = each.saturating_mul(u64::from(self.clients));
        if each > MOST_FILES || total > MOST_FILES_IN_ALL {
            let allowed = "at most 10000000, and 100000000 over all clients";
            return wrong("files_per_client", each, allowed);
        }
        let reads = |phase: &Phase| {
            use OperationKind::{Append, Read};
            let bad = |kind| matches!(kind, Read | Append);
            phase.mix.iter().any(|share| bad(share.operation))
        };
        if self.prepare == Prepare::Empty && phases.first().is_some_and(reads) {
            let allowed = "\"written\" where the first phase reads or appends";
            return wrong("prepare", "empty", allowed);
        }
        Ok(())
    }
}

impl Phase {
    /// Whether files must exist before the stream begins. False if no operation needs a file, or if
    /// the mix is cyclic and creates a file before it uses one.
    fn finds_files(&self) -> bool {
        use OperationKind::{Create, Write};
        let needs = |share: &crate::Share| share.operation.needs_file();
        let makes = |share: &crate::Share| matches!(share.operation, Create | Write);
        match self.mix_order {
            MixOrder::Random => self.mix.iter().any(needs),
            MixOrder::Cycle => self
                .mix
                .iter()
                .find(|s| needs(s) || makes(s))
                .is_some_and(needs),
        }
    }

    fn validate(&self, spec: &StreamSpec) -> Result<(), SpecError> {
        if self.operations_per_client == 0 || self.operations_per_client > MOST_OPERATIONS {
            let value = self.operations_per_client;
            return wrong("operations_per_client", value, "1 to 1000000000");
        }
        if self.mix.is_empty() {
            return wrong("mix", "[]", "at least one operation");
        }
        let shown = || format!("{:?}", self.mix);
        let is_weight = |weight: f64| weight.is_finite() && weight > 0.0;
        if !self.mix.iter().all(|share| is_weight(share.weight)) {
            return wrong("mix", shown(), "positive, finite weights");
        }
        let is_pause = |pause: f64| (0.0..=LONGEST_THINK_TIME_S).contains(&pause);
        let pauses = self.mix.iter().filter_map(|share| share.think_time_s);
        if let Some(value) = pauses.chain([self.think_time_s]).find(|p| !is_pause(*p)) {
            return wrong("think_time_s", value, "0 to 86400");
        }
        self.access.validate(spec.transfer_size_bytes)?;
        let mut firsts: BTreeMap<OperationKind, &crate::Share> = BTreeMap::new();
        for share in &self.mix {
            if let Some(access) = &share.access {
                access.validate(spec.transfer_size_bytes)?;
            }
            if matches!(share.file_choice, Some(FileChoice::Zipf(_))) {
                return wrong("mix.file_choice", "zipf", "only for a whole phase");
            }
            let first = firsts.entry(share.operation).or_insert(share);
            if first.access != share.access || first.fsync != share.fsync {
                let allowed = "one access and fsync for each operation of a phase";
                return wrong("mix", shown(), allowed);
            }
        }
        if let FileChoice::Zipf(exponent) = self.file_choice {
            if !(exponent.is_finite() && exponent >= 0.0) {
                return wrong("file_choice.zipf", exponent, "finite and not negative");
            }
        }
        let others = self.files != Files::Own;
        if let Some(share) = self
            .mix
            .iter()
            .find(|s| others && !s.operation.leaves_names())
        {
            let allowed = "\"own\" for operations that make, remove, rename or resize files";
            return wrong("files", share.operation.name(), allowed);
        }
        Ok(())
    }
}
