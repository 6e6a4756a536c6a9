//! The specification of an operation stream, as read from JSON.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Access, Arrival, OperationKind, Size};

/// Everything that determines a stream of operations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StreamSpec {
    /// Seed of all random numbers.
    pub seed: u64,
    /// Number of clients.
    pub clients: u32,
    /// Number of operations of each client.
    #[serde(default)]
    pub operations_per_client: u64,
    /// Number of files that each client has at the start, if the mix needs files.
    #[serde(default)]
    pub files_per_client: u64,
    /// Number of files of all clients together at the start. It replaces `files_per_client`. File f
    /// belongs to client f modulo the number of clients.
    #[serde(default)]
    pub files_together: Option<u64>,
    /// The mix: operation types with their weights.
    #[serde(default)]
    pub mix: Vec<Share>,
    /// How the next operation of the mix is selected.
    #[serde(default)]
    pub mix_order: MixOrder,
    /// Size of a file in bytes, or the distribution of sizes.
    pub file_size: Size,
    /// Maximum bytes of one read or write call.
    pub transfer_size_bytes: u64,
    /// How an operation selects its file.
    #[serde(default)]
    pub file_choice: FileChoice,
    /// The access pattern within a file.
    #[serde(default)]
    pub access: Access,
    /// The client or clients whose files operations select.
    #[serde(default)]
    pub files: Files,
    /// Think time between the operations of a client, in seconds.
    #[serde(default)]
    pub think_time_s: f64,
    /// Phases, which replace the single mix. All clients begin a phase together at a barrier.
    #[serde(default)]
    pub phases: Vec<Phase>,
    /// A sequence of operations to replay; it replaces the mix.
    #[serde(default)]
    pub given: Vec<Given>,
    /// When operations are scheduled to start.
    #[serde(default)]
    pub arrival: Arrival,
    /// The directories in which files are placed.
    #[serde(default)]
    pub layout: Layout,
    /// Whether the files that clients start with are filled with data.
    #[serde(default)]
    pub prepare: Prepare,
    /// Fraction of every written page that is zeros, 0 to 1.
    #[serde(default)]
    pub compressible: f64,
}

/// A phase: a part of an operation stream that all clients begin together at a barrier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// A name for the report; it need not be unique.
    #[serde(default)]
    pub name: String,
    /// Number of operations of each client.
    pub operations_per_client: u64,
    /// The mix: operation types with their weights.
    pub mix: Vec<Share>,
    /// How the next operation of the mix is selected.
    #[serde(default)]
    pub mix_order: MixOrder,
    /// How an operation selects its file.
    #[serde(default)]
    pub file_choice: FileChoice,
    /// The access pattern within a file.
    #[serde(default)]
    pub access: Access,
    /// The client or clients whose files operations select.
    #[serde(default)]
    pub files: Files,
    /// Think time between the operations of a client, in seconds.
    #[serde(default)]
    pub think_time_s: f64,
}

/// An operation of a mix, with its weight and the settings that differ from those of the phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// The operation type.
    pub operation: OperationKind,
    /// Weight of the operation, relative to the other weights.
    #[serde(default = "one")]
    pub weight: f64,
    /// The access pattern of this operation; None: the access pattern of the phase.
    #[serde(default)]
    pub access: Option<Access>,
    /// How this operation selects its file; a Zipf distribution is not allowed. None: as in the
    /// phase.
    #[serde(default)]
    pub file_choice: Option<FileChoice>,
    /// Whether the operation forces written data to disk. None: as the target is configured.
    #[serde(default)]
    pub fsync: Option<bool>,
    /// Think time before this operation, seconds; None: the think time of the phase.
    #[serde(default)]
    pub think_time_s: Option<f64>,
}

fn one() -> f64 {
    1.0
}

impl Share {
    /// An operation of a mix with a weight; all other settings are those of the phase.
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

/// How the next operation of a mix is selected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MixOrder {
    /// Randomly, by weight.
    #[default]
    Random,
    /// In the order of the mix; after the last operation, the first one follows again. Weights are
    /// ignored.
    Cycle,
}

/// How an operation selects its file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum FileChoice {
    /// The files in order; after the last file, the first one follows again.
    #[default]
    Sequential,
    /// Uniformly at random.
    Uniform,
    /// A Zipf distribution: the probability of the k-th file is proportional to 1 / k^s, where s is
    /// this exponent.
    Zipf(f64),
    /// The file that was created last.
    Newest,
}

/// The client or clients whose files operations select.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Files {
    /// The client's own files.
    #[default]
    Own,
    /// The files of client (c + this distance) modulo the number of clients, where c is the client
    /// itself. The files are those that exist when the phase begins.
    Neighbour(u32),
    /// The files of all clients, as they are when the phase begins.
    Shared,
}

/// One operation of a replayed sequence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Given {
    /// The client that executes the operation.
    #[serde(default)]
    pub client: u32,
    /// The operation type.
    pub operation: OperationKind,
    /// Number of the file among the files of its owner.
    #[serde(default)]
    pub file: u64,
    /// Number of bytes that the operation reads or writes.
    #[serde(default)]
    pub size_bytes: u64,
    /// Offset in bytes, for a single transfer.
    #[serde(default)]
    pub offset_bytes: u64,
    /// The client that owns the file. None: the client that executes the operation.
    #[serde(default)]
    pub owner: Option<u32>,
}

/// The directories in which files are placed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Layout {
    /// Whether all clients' files share one directory, instead of one directory for each client.
    pub shared_directory: bool,
    /// Number of levels of directories below a client's own directory.
    pub depth: u32,
    /// Number of subdirectories of each directory, except those of the lowest level.
    pub branches: u32,
}

impl Layout {
    /// Number of directories of a client, including its root, which is number 0. The parent of
    /// directory k is directory (k - 1) / `branches`, rounded down.
    pub fn directories(&self) -> u64 {
        let level = |depth| u64::from(self.branches).saturating_pow(depth);
        let all = (0..=self.depth).map(level);
        all.fold(0, u64::saturating_add).max(1)
    }
}

/// Whether the files that clients start with are filled with data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Prepare {
    /// The files are written with data.
    #[default]
    Written,
    /// The files are created empty; positional writes fill them later.
    Empty,
}

impl StreamSpec {
    /// The phases of the stream: those that are listed, or a single phase with the fields of the
    /// specification itself.
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

    /// Number of operations of one client in all phases together.
    pub fn operations_of(&self, client: u32) -> u64 {
        if !self.given.is_empty() {
            return self.given.iter().filter(|o| o.client == client).count() as u64;
        }
        match self.phases.is_empty() {
            true => self.operations_per_client,
            false => self.phases.iter().map(|p| p.operations_per_client).sum(),
        }
    }

    /// Whether any client accesses files of another client. If so, no client may remove its files
    /// before all clients are done.
    pub fn takes_others(&self) -> bool {
        let given = |one: &Given| one.owner.is_some_and(|owner| owner != one.client);
        self.given.iter().any(given) || self.all_phases().iter().any(|p| p.files != Files::Own)
    }

    /// Every operation type that can occur in the stream.
    pub fn kinds(&self) -> Vec<OperationKind> {
        use OperationKind::{Close, Create, GetXattr, Mkdir, Open, Rmdir, SetXattr};
        let given = self.given.iter().map(|o| o.operation);
        let phases = self.all_phases();
        let mixed = phases
            .iter()
            .flat_map(|p| p.mix.iter().map(|s| s.operation));
        let mut kinds: Vec<OperationKind> = given.chain(mixed).collect();
        // Some operations are replaced if they are not possible, such as getting an extended
        // attribute before one is set. The types of the replacing operations can occur too.
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
