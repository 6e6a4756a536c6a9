//! The stream specification, as data.

use serde::{Deserialize, Serialize};

use crate::{Access, Arrival, OperationKind, Size};

/// Everything that decides a stream of operations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StreamSpec {
    /// Seed of everything random.
    pub seed: u64,
    /// Number of clients.
    pub clients: u32,
    /// Operations of each client.
    #[serde(default)]
    pub operations_per_client: u64,
    /// Files that each client starts with, where the mix needs any.
    #[serde(default)]
    pub files_per_client: u64,
    /// Files that all clients together start with, instead: file f of them belongs to client f
    /// modulo the number of clients.
    #[serde(default)]
    pub files_together: Option<u64>,
    /// Operations and their weights.
    #[serde(default)]
    pub mix: Vec<Share>,
    /// How the next operation of the mix is taken.
    #[serde(default)]
    pub mix_order: MixOrder,
    /// Bytes of a file.
    pub file_size: Size,
    /// Bytes of one read or write call, at most.
    pub transfer_size_bytes: u64,
    /// Which file an operation takes.
    #[serde(default)]
    pub file_choice: FileChoice,
    /// How the bytes of a file are gone through.
    #[serde(default)]
    pub access: Access,
    /// Whose files are taken.
    #[serde(default)]
    pub files: Files,
    /// Pause between the operations of a client, in seconds.
    #[serde(default)]
    pub think_time_s: f64,
    /// Parts that all clients begin together, instead of one mix.
    #[serde(default)]
    pub phases: Vec<Phase>,
    /// Exactly these operations, instead of any mix.
    #[serde(default)]
    pub given: Vec<Given>,
    /// When operations are meant to start.
    #[serde(default)]
    pub arrival: Arrival,
    /// Where files lie.
    #[serde(default)]
    pub layout: Layout,
    /// Whether the files that clients start with hold their bytes.
    #[serde(default)]
    pub prepare: Prepare,
    /// Share of every written page that is zeros, 0 to 1.
    #[serde(default)]
    pub compressible: f64,
}

/// A part of a stream that all clients begin together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// A name for the report; need not be unique.
    #[serde(default)]
    pub name: String,
    /// Operations of each client.
    pub operations_per_client: u64,
    /// Operations and their weights.
    pub mix: Vec<Share>,
    /// How the next operation of the mix is taken.
    #[serde(default)]
    pub mix_order: MixOrder,
    /// Which file an operation takes.
    #[serde(default)]
    pub file_choice: FileChoice,
    /// How the bytes of a file are gone through.
    #[serde(default)]
    pub access: Access,
    /// Whose files are taken.
    #[serde(default)]
    pub files: Files,
    /// Pause between the operations of a client, in seconds.
    #[serde(default)]
    pub think_time_s: f64,
}

/// An operation's part of the mix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// The operation.
    pub operation: OperationKind,
    /// Its weight, relative to the others.
    #[serde(default = "one")]
    pub weight: f64,
    /// How it goes through a file, where that differs from the phase.
    #[serde(default)]
    pub access: Option<Access>,
    /// Which file it takes, where that differs from the phase; not Zipf.
    #[serde(default)]
    pub file_choice: Option<FileChoice>,
    /// Whether what it writes is forced to disk; else as the target says.
    #[serde(default)]
    pub fsync: Option<bool>,
    /// Pause before it, seconds, where that differs from the phase.
    #[serde(default)]
    pub think_time_s: Option<f64>,
}

fn one() -> f64 {
    1.0
}

impl Share {
    /// An operation with a weight and nothing of its own.
    pub fn of(operation: OperationKind, weight: f64) -> Self {
        Share {
            operation,
            weight,
            access: None,
            file_choice: None,
            fsync: None,
            think_time_s: None,
        }
    }
}

/// How the next operation of a mix is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MixOrder {
    /// Drawn by weight.
    #[default]
    Random,
    /// One after the other, and again from the first; weights do not matter.
    Cycle,
}

/// Which file an operation takes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum FileChoice {
    /// One after the other, and again from the first.
    #[default]
    Sequential,
    /// Each with the same probability.
    Uniform,
    /// The k-th file with probability proportional to k to the power of minus this.
    Zipf(f64),
    /// The one made last.
    Newest,
}

/// Whose files operations take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Files {
    /// The client's own.
    #[default]
    Own,
    /// Those of the client so many numbers further on, as they are when the phase begins.
    Neighbour(u32),
    /// Those of all clients, as they are when the phase begins.
    Shared,
}

/// One operation of a given sequence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Given {
    /// Who does it.
    #[serde(default)]
    pub client: u32,
    /// What is done.
    pub operation: OperationKind,
    /// The file, numbered within its owner.
    #[serde(default)]
    pub file: u64,
    /// Bytes moved.
    #[serde(default)]
    pub size_bytes: u64,
    /// Where a single transfer begins.
    #[serde(default)]
    pub offset_bytes: u64,
    /// The client that the file belongs to; without: the one who does it.
    #[serde(default)]
    pub owner: Option<u32>,
}

/// Where files lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Layout {
    /// All clients' files in one directory, instead of one for each client.
    pub shared_directory: bool,
    /// Levels of directories below a client's own.
    pub depth: u32,
    /// Directories in each directory of these levels.
    pub branches: u32,
}

impl Layout {
    /// Directories of a client, its own first; the k-th directory's parent is (k - 1) / branches.
    pub fn directories(&self) -> u64 {
        let level = |depth| u64::from(self.branches).saturating_pow(depth);
        let all = (0..=self.depth).map(level);
        all.fold(0, u64::saturating_add).max(1)
    }
}

/// Whether files that clients start with hold their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Prepare {
    /// They are written.
    #[default]
    Written,
    /// They are only made; their bytes come from positional writes.
    Empty,
}

impl StreamSpec {
    /// The phases: those that are given, or the one that the specification itself describes.
    pub fn all_phases(&self) -> Vec<Phase> {
        if !self.phases.is_empty() {
            return self.phases.clone();
        }
        vec![Phase {
            name: String::new(),
            operations_per_client: self.operations_per_client,
            mix: self.mix.clone(),
            mix_order: self.mix_order,
            file_choice: self.file_choice.clone(),
            access: self.access.clone(),
            files: self.files,
            think_time_s: self.think_time_s,
        }]
    }

    /// Operations of one client over all phases.
    pub fn operations_of(&self, client: u32) -> u64 {
        if !self.given.is_empty() {
            return self.given.iter().filter(|o| o.client == client).count() as u64;
        }
        match self.phases.is_empty() {
            true => self.operations_per_client,
            false => self.phases.iter().map(|p| p.operations_per_client).sum(),
        }
    }

    /// Whether any client takes another's files: nobody may remove his own before all are done.
    pub fn takes_others(&self) -> bool {
        let given = |one: &Given| one.owner.is_some_and(|owner| owner != one.client);
        self.given.iter().any(given) || self.all_phases().iter().any(|p| p.files != Files::Own)
    }

    /// Every kind of operation that can come.
    pub fn kinds(&self) -> Vec<OperationKind> {
        use OperationKind::{Close, Create, GetXattr, Mkdir, Open, Rmdir, SetXattr};
        let given = self.given.iter().map(|o| o.operation);
        let phases = self.all_phases();
        let mixed = phases
            .iter()
            .flat_map(|p| p.mix.iter().map(|s| s.operation));
        let mut kinds: Vec<OperationKind> = given.chain(mixed).collect();
        // What comes instead where an operation is not possible.
        for (kind, instead) in [
            (GetXattr, SetXattr),
            (Rmdir, Mkdir),
            (Open, Close),
            (Close, Open),
        ] {
            if kinds.contains(&kind) {
                kinds.push(instead);
            }
        }
        let makes_up = |kind: &OperationKind| *kind == OperationKind::Delete;
        if kinds.iter().any(makes_up) {
            kinds.push(Create);
        }
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }
}
