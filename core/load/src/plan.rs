//! The plan of one load run: everything that determines it, as read from JSON.

use std::ops::Range;

use dfslab_workload::{Access, Order, Prepare, StreamSpec};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::target::layer::Layer;
use crate::target::TargetSpec;
use crate::{Error, Result};

/// Largest time limit of a run that a plan may set, s: one year.
const LONGEST_LIMIT_S: f64 = 31_557_600.0;

/// When the content of files is compared with the expected content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verify {
    /// Content is never checked.
    #[default]
    None,
    /// During the timed part, the first and last bytes of some reads are checked. Afterwards, some
    /// files are checked: their size, their first and last bytes, and the last writes. Nothing is
    /// checked where the content is not known, that is, on a null target and in replays. Files are
    /// not checked afterwards where clients access files of other clients.
    Sample,
    /// After the timed part, the whole content of all remaining files is checked.
    After,
    /// The content of every read is checked, within the timed part.
    Inline,
}

impl Verify {
    /// Whether all content is checked. If so, the byte range of every overwrite has to be recorded.
    #[inline]
    pub fn checks_all(self) -> bool {
        matches!(self, Verify::After | Verify::Inline)
    }
}

/// The limit on recorded spans.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spans {
    /// Maximum number of spans that are recorded over all clients; 0 records none.
    pub limit: usize,
}

/// Everything that determines one load run.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The specification of the streams of operations, one for each client.
    pub stream: StreamSpec,
    /// The target on which the operations are executed.
    pub target: TargetSpec,
    /// The directory that this run creates under the target's root.
    pub run_directory: String,
    /// When the content of files is compared with the expected content.
    #[serde(default)]
    pub verify: Verify,
    /// The limit on recorded spans.
    #[serde(default)]
    pub spans: Spans,
    /// Whether the run returns the operations that it executed.
    #[serde(default)]
    pub record: bool,
    /// Time limit in seconds after the common start, after which no operation starts. By default
    /// there is no limit.
    #[serde(default)]
    pub time_limit_s: Option<f64>,
    /// Time in seconds that a call may last beyond `time_limit_s`, or beyond the stop of the run.
    /// After this time, the run is given up. The default depends on the time limit.
    #[serde(default)]
    pub grace_s: Option<f64>,
    /// Largest number of failed operations. The run stops when more operations have failed.
    #[serde(default)]
    pub max_errors: u64,
    /// Number of the first client that this shard runs; 0 by default. Other shards run the other
    /// clients of the stream.
    #[serde(default)]
    pub clients_from: Option<u32>,
    /// One more than the number of the last client that this shard runs. The default is the number
    /// of all clients.
    #[serde(default)]
    pub clients_to: Option<u32>,
    /// Whether other shards of the run use the same run directory. The first shard creates the
    /// directory, and the last shard removes it.
    #[serde(default)]
    pub shared: bool,
    /// Whether to wait at the barrier also at the end of each phase, before files are checked and
    /// removed.
    #[serde(default)]
    pub barrier_after_phases: bool,
    /// Whether the files stay after the run instead of being removed.
    #[serde(default)]
    pub keep: bool,
    /// Layers around the target, which throttle, stall, delay or fail its calls; the outermost
    /// first.
    #[serde(default)]
    pub layers: Vec<Layer>,
}

impl Plan {
    /// Parses a plan from JSON and checks it against the capabilities of its target. Creates and
    /// contacts nothing.
    pub fn parse(text: &str) -> Result<Plan> {
        let plan: Plan = serde_json::from_str(text).map_err(|error| Error::input("plan", error))?;
        plan.stream
            .validate()
            .map_err(|error| Error::input("plan", error))?;
        let name = &plan.run_directory;
        if name.is_empty() || name.starts_with('.') || name.contains(['/', '\0', '\n']) {
            return Err(Error::input(
                "run_directory",
                format!("{name:?} is no plain name"),
            ));
        }
        let clients = plan.clients();
        if clients.is_empty() || clients.end > plan.stream.clients {
            let reason = format!("{clients:?}; allowed: parts of 0..{}", plan.stream.clients);
            return Err(Error::input("clients_from, clients_to", reason));
        }
        let limit = plan.time_limit_s.unwrap_or(1.0);
        if !(limit > 0.0 && limit <= LONGEST_LIMIT_S) {
            let reason = format!("{limit} is not above 0 and at most {LONGEST_LIMIT_S}");
            return Err(Error::input("time_limit_s", reason));
        }
        let grace_s = plan.grace_s.unwrap_or(1.0);
        if !(grace_s > 0.0 && grace_s <= LONGEST_LIMIT_S) {
            let reason = format!("{grace_s} is not above 0 and at most {LONGEST_LIMIT_S}");
            return Err(Error::input("grace_s", reason));
        }
        plan.target.check()?;
        plan.layers.iter().try_for_each(Layer::check)?;
        plan.check_capabilities()?;
        Ok(plan)
    }

    /// The numbers of the clients that this shard runs.
    pub fn clients(&self) -> Range<u32> {
        self.clients_from.unwrap_or(0)..self.clients_to.unwrap_or(self.stream.clients)
    }

    /// Number of clients that this shard runs.
    pub fn client_count(&self) -> u32 {
        self.clients().len() as u32
    }

    fn check_capabilities(&self) -> Result<()> {
        let (name, can) = (self.target.name(), self.target.capabilities());
        for kind in self.stream.kinds() {
            if !can.supports(kind) {
                let wanted = kind.name();
                return Err(Error::input(
                    "mix",
                    format!("target {name} cannot {wanted}"),
                ));
            }
        }
        let wants = [
            (self.target.wants_direct(), can.direct_io, "direct I/O"),
            (self.wants_fsync(), can.fsync, "fsync"),
            (self.target.wants_mmap(), can.mmap, "mmap"),
            (
                self.wants_places() || self.verify == Verify::Sample,
                can.pread,
                "read in any order",
            ),
            (self.verify.checks_all(), can.verify, "verify content"),
            (
                self.target.wants_cold() == Some("files"),
                can.drop_file_cache,
                "drop file caches",
            ),
        ];
        for (wanted, possible, what) in wants {
            if wanted && !possible {
                return Err(Error::input(
                    "target",
                    format!("target {name} cannot {what}"),
                ));
            }
        }
        if self.target.wants_direct() {
            self.check_direct()?;
        }
        if self.verify == Verify::After && self.stream.prepare == Prepare::Empty {
            let reason =
                "\"after\" knows nothing of files that begin empty and are written in places";
            return Err(Error::input("verify", reason));
        }
        Ok(())
    }

    fn wants_fsync(&self) -> bool {
        let phases = self.stream.all_phases();
        let shares = phases.iter().flat_map(|phase| &phase.mix);
        let is_requested = shares.into_iter().any(|share| share.fsync == Some(true));
        is_requested || self.target.wants_fsync() || self.target.wants_fsync_of_writes()
    }

    /// Whether any operation reads or writes a file in another order than from front to back.
    fn wants_places(&self) -> bool {
        let phases = self.stream.all_phases();
        let mut accesses = phases.iter().flat_map(|phase| {
            let own = phase.mix.iter().filter_map(|share| share.access.as_ref());
            own.chain([&phase.access])
        });
        let ordered = |access: &Access| access.order != Order::Sequential;
        accesses.any(ordered)
    }

    fn check_direct(&self) -> Result<()> {
        let moves_data = self.stream.kinds().iter().any(|kind| kind.moves_data());
        let fixed = self.stream.file_size.is_multiple_of(4096) || !moves_data;
        if !self.stream.transfer_size_bytes.is_multiple_of(4096) || !fixed {
            let reason = "direct I/O needs fixed file and transfer sizes in multiples of 4096";
            return Err(Error::input("target.direct", reason));
        }
        Ok(())
    }
}
