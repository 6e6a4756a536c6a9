//! One client of a run: a thread that executes file operations on the target (the file system under
//! load). A client creates its files, tracks the state of each file, and removes the files at the
//! end.

mod empty_file;
pub(crate) mod perform;
pub(crate) mod preparation;
mod removal;
mod sampling;
mod single_transfer;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use dfslab_workload::{prepared_files, OperationKind, Prepare};

use crate::clock::Clock;
use crate::content::generations::Generations;
use crate::content::sample::ReadSample;
use crate::execution::setup::Setup;
use crate::execution::watch::{CallSlot, Work};
use crate::plan::Verify;
use crate::record::completed::Done;
use crate::step::Step;
use crate::target::{Call, File, Target};
use crate::{Error, ErrorKind, Result};

/// Alignment of buffers in bytes, as direct I/O requires.
const ALIGNMENT: usize = 4096;

/// The state of one file that a client created or tried to create.
#[derive(Clone, Copy, Default)]
pub struct Made {
    pub bytes: u64,
    /// True if the file exists or may exist, so that it has to be removed at the end.
    pub there: bool,
    pub renamed: bool,
    /// True while a call that changes the file is in progress, and after such a call failed. The
    /// file's content and name are then unknown, because the call may or may not have changed them.
    pub doubtful: bool,
    /// Number of overwrites of the file so far, whichever bytes they wrote. This number determines
    /// the content that the latest overwrite wrote.
    pub generation: u32,
}

/// A client, its connection to the target, and the files that it created. A client removes only
/// files that it created.
pub struct Client<'a> {
    pub number: u32,
    pub(crate) setup: &'a Setup<'a>,
    pub(crate) target: Box<dyn Target>,
    /// State of each file, indexed by file number. Clients number their files from 0 without gaps.
    pub(crate) files: Vec<Made>,
    pub(crate) directories: Vec<u64>,
    /// Paths of the directories that this client created for its files; they are removed at the
    /// end.
    pub(crate) own_directories: Vec<String>,
    prefix: String,
    pub(crate) path: String,
    /// The file of this client to which `path` leads: the file's number, and whether `path` is the
    /// file's alternative name, which it has after a rename. None if `path` leads to no file of
    /// this client.
    leads_to: Option<(u64, bool)>,
    /// Files kept open between operations. `open_files` has the client's own files, by file number.
    /// `open_files_of_others` has the files of other clients, by (owner, number).
    pub(crate) open_files: Vec<Option<Box<dyn File>>>,
    pub(crate) open_files_of_others: BTreeMap<(u32, u64), Box<dyn File>>,
    pub(crate) buffer: Vec<u8>,
    pub(crate) buffer_start: usize,
    /// Cache of one entry for `first_page`. It has the file (owner, number) that was requested
    /// last, and the page of the content pool at which this file begins.
    paged: Option<((u32, u64), u64)>,
    pub(crate) done: Vec<Done>,
    /// Metadata-server calls within the last step; empty if the target does not report such calls.
    server_calls: Vec<Call>,
    pub(crate) reports_calls: bool,
    pub(crate) clock: Clock,
    /// Whether each read is compared with the expected content.
    pub verifies: bool,
    /// Decides which reads and writes are checked, if the plan requests a sample.
    pub(crate) sample: ReadSample,
    /// Files (owner, number) of other clients that this client has renamed to their alternative
    /// name since the phase began.
    pub renamed_by_others: BTreeSet<(u32, u64)>,
    /// For each file number, which overwrite wrote each byte. Empty unless the plan checks all
    /// content.
    pub(crate) generations: BTreeMap<u64, Generations>,
    /// The time at which the next step starts, in ns of the monotonic clock. It is the end of the
    /// last call, or a later reading of the clock.
    pub(crate) now: u64,
    /// The call in progress, for threads that watch the run.
    pub(crate) slot: Arc<CallSlot>,
    /// When the client's counts were last copied for the threads that watch the run, ns of the
    /// monotonic clock.
    pub(crate) copied_ns: u64,
}

impl<'a> Client<'a> {
    pub fn new(number: u32, setup: &'a Setup<'a>, target: Box<dyn Target>) -> Self {
        let buffer = vec![0; setup.plan.stream.transfer_size_bytes as usize + ALIGNMENT];
        let buffer_start = buffer.as_ptr().align_offset(ALIGNMENT);
        let mut clock = Clock::new();
        let reports_calls = target.reports_calls();
        Client {
            number,
            setup,
            target,
            files: Vec::new(),
            directories: Vec::new(),
            own_directories: Vec::new(),
            prefix: setup.prefix(number),
            path: String::with_capacity(256),
            leads_to: None,
            open_files: Vec::new(),
            open_files_of_others: BTreeMap::new(),
            buffer,
            buffer_start,
            paged: None,
            done: Vec::with_capacity(64),
            server_calls: Vec::new(),
            reports_calls,
            verifies: setup.plan.verify == Verify::Inline,
            sample: ReadSample::new(setup.plan),
            renamed_by_others: BTreeSet::new(),
            generations: BTreeMap::new(),
            now: clock.now(),
            clock,
            slot: Arc::default(),
            copied_ns: 0,
        }
    }

    /// The state of one of the client's files; None if the file does not exist.
    #[inline]
    pub(crate) fn made(&self, file: u64) -> Option<Made> {
        self.files
            .get(file as usize)
            .copied()
            .filter(|made| made.there)
    }

    #[inline]
    pub(crate) fn set_made(&mut self, file: u64, made: Made) {
        match self.files.get_mut(file as usize) {
            Some(known) => *known = made,
            None => self.add_made(file, made),
        }
    }

    #[inline(never)]
    fn add_made(&mut self, file: u64, made: Made) {
        self.files.resize(file as usize, Made::default());
        self.files.push(made);
    }

    /// Sets `self.path` to the path of file number `file` of the client `owner`. Returns false if
    /// `self.path` was this path already. Returns true if the path had to be built, which takes
    /// time.
    #[inline]
    pub(crate) fn go_to(&mut self, owner: u32, file: u64) -> bool {
        if owner != self.number {
            self.go_to_others(owner, file);
            return true;
        }
        let renamed = self.made(file).is_some_and(|made| made.renamed);
        self.go_to_name(file, renamed)
    }

    fn go_to_others(&mut self, owner: u32, file: u64) {
        self.leads_to = None;
        let prefix = self.setup.prefix(owner);
        let renamed = self.renamed_by_others.contains(&(owner, file));
        let letter = if renamed { 'r' } else { 'f' };
        self.setup.file_path(&mut self.path, &prefix, letter, file);
    }

    #[inline]
    pub(crate) fn go_to_name(&mut self, file: u64, renamed: bool) -> bool {
        if self.leads_to == Some((file, renamed)) {
            return false;
        }
        self.leads_to = Some((file, renamed));
        let letter = if renamed { 'r' } else { 'f' };
        self.setup
            .file_path(&mut self.path, &self.prefix, letter, file);
        true
    }

    /// Sets `self.path` to the path of directory number `directory` of this client, which an
    /// operation is about to create.
    pub(crate) fn go_to_directory(&mut self, directory: u64) {
        self.leads_to = None;
        self.path.clear();
        self.path.push_str(&self.prefix);
        self.path.push('d');
        self.path.push_str(&directory.to_string());
    }

    /// Sets `self.path` to the path of a directory that an operation is about to list. The
    /// directory has the number `directory` below the root of the client `owner`.
    pub(crate) fn go_to_listed(&mut self, owner: u32, directory: u64) {
        self.leads_to = None;
        self.path = self.setup.directory(owner, directory);
    }

    /// Returns the state of file number `file` of this client, to which `self.path` leads. Returns
    /// an error if the file does not exist because its creation failed.
    pub(crate) fn must_be_own(&self, operation: &'static str, file: u64) -> Result<Made> {
        let reason = "making it failed before";
        self.made(file)
            .ok_or_else(|| Error::new(ErrorKind::NotFound, operation, &self.path, reason))
    }

    /// Adds `self.path` to an error that has no path. Errors of open files have no path, because an
    /// open file does not know its path.
    pub(crate) fn named(&self, mut error: Error) -> Error {
        if error.path.is_empty() {
            error.path = self.path.clone();
        }
        error
    }

    /// Creates the client's directories, and the files that must exist before the client's first
    /// operation. Calls `prepared` after each file. Returns early once `stop` returns true.
    pub fn prepare(&mut self, stop: &dyn Fn() -> bool, prepared: &dyn Fn()) -> Result<()> {
        if self.setup.own_directories() {
            let own = format!("c{}", self.number);
            self.make_own_directory(own)?;
            for below in self.setup.below() {
                self.make_own_directory(format!("c{}/{below}", self.number))?;
            }
        }
        if self.makes_sparse_files() {
            return self.prepare_sparse(stop, prepared);
        }
        let empty = self.setup.plan.stream.prepare == Prepare::Empty;
        for (file, bytes) in prepared_files(&self.setup.plan.stream, self.number) {
            if stop() {
                return Ok(());
            }
            self.done.clear();
            let written = self.write_file(file, if empty { 0 } else { bytes }, false);
            written.map_err(|error| self.named(error))?;
            prepared();
        }
        Ok(())
    }

    /// Marks the prepared files as existing, for a target that stores nothing.
    pub fn pretend(&mut self) {
        for (file, bytes) in prepared_files(&self.setup.plan.stream, self.number) {
            let made = Made {
                bytes,
                there: true,
                ..Made::default()
            };
            self.set_made(file, made);
        }
    }

    fn make_own_directory(&mut self, path: String) -> Result<()> {
        self.slot.work(Work::Prepare);
        self.target.mkdir(&path)?;
        self.own_directories.push(path);
        Ok(())
    }

    /// Opens the client's files before the timed part, if all operations are single transfers or
    /// syncs in open files. The time of opening is then not part of the first transfers. Does
    /// nothing if there are more than MOST_OPENED_BEFORE files.
    pub fn open_kept_files(&mut self) -> Result<()> {
        let stream = &self.setup.plan.stream;
        let kinds = stream.kinds();
        let single = |kind: &OperationKind| {
            matches!(
                kind,
                OperationKind::Pread | OperationKind::Pwrite | OperationKind::Fsync
            )
        };
        let opens = kinds.iter().any(|kind| matches!(kind, OperationKind::Open));
        if opens || !kinds.iter().all(single) || self.files.len() > MOST_OPENED_BEFORE {
            return Ok(());
        }
        for file in 0..self.files.len() as u64 {
            self.done.clear();
            self.ensure_open(self.number, file)?;
        }
        Ok(())
    }

    /// Drops the client's files from the page cache, one by one, if the plan requests it
    /// (`wants_cold` returns "files"). Files whose state is doubtful are not dropped.
    ///
    /// In any case, returns the path and the size in bytes of at most `most` files, which are
    /// evenly spaced among the client's files. The caller then checks how many bytes of them are
    /// still cached.
    pub fn leave_cache(&mut self, most: usize) -> Result<Vec<(String, u64)>> {
        let of_each = self.setup.plan.target.wants_cold() == Some("files");
        let mut files = self.own_files();
        files.retain(|file| !self.files[*file as usize].doubtful);
        let every = files.len().div_ceil(most).max(1);
        let mut some = Vec::new();
        for (place, file) in files.into_iter().enumerate() {
            self.go_to(self.number, file);
            if of_each {
                self.slot.work(Work::DropCaches);
                self.target.drop_cache(&self.path)?;
            }
            if place % every == 0 {
                some.push((self.path.clone(), self.files[file as usize].bytes));
            }
        }
        Ok(some)
    }

    pub(crate) fn own_files(&self) -> Vec<u64> {
        let files = self.files.iter().zip(0u64..);
        files
            .filter(|(made, _)| made.there)
            .map(|(_, file)| file)
            .collect()
    }

    /// Reads the clock again, so that work since the last call on the target is not counted in the
    /// latency of the next call.
    #[inline]
    pub(crate) fn read_clock(&mut self) {
        self.now = self.clock.now();
    }

    /// Takes the client's transfer buffer out of the client; `return_buffer` puts the buffer back.
    #[inline]
    pub(crate) fn take_buffer(&mut self) -> (Vec<u8>, usize) {
        (std::mem::take(&mut self.buffer), self.buffer_start)
    }

    #[inline]
    pub(crate) fn return_buffer(&mut self, buffer: Vec<u8>) {
        self.buffer = buffer;
    }

    /// Makes one call on the target, which is one step of an operation, and measures its time. The
    /// end of a step counts as the start of the next step, so a step costs only one clock read.
    /// Returns the call's outcome. A failed call is not recorded as a step.
    #[inline]
    pub(crate) fn timed<T>(
        &mut self,
        step: Step,
        bytes: u64,
        call: impl FnOnce(&mut dyn Target, &str) -> Result<T>,
    ) -> Result<T> {
        let file = self.leads_to.map(|(file, _)| file);
        self.slot.begin(step, file, self.now);
        let outcome = call(self.target.as_mut(), &self.path);
        self.noted(step, bytes, outcome)
    }

    /// Records a call that has just returned as a step, unless the call failed. The step lasted
    /// from the end of the previous call until now. Returns the call's outcome.
    #[inline]
    pub(crate) fn noted<T>(&mut self, step: Step, bytes: u64, outcome: Result<T>) -> Result<T> {
        let start = self.now;
        let end = self.clock.now();
        self.now = end;
        if self.reports_calls {
            self.ask_for_calls();
        }
        let value = outcome?;
        self.done.push(Done {
            step,
            start,
            end,
            bytes,
        });
        if self.reports_calls {
            self.note_calls(step);
        }
        Ok(value)
    }

    #[cold]
    fn ask_for_calls(&mut self) {
        self.server_calls.clear();
        self.target.calls(&mut self.server_calls);
    }

    /// Records the metadata-server calls within the step `outer`, which has just ended.
    #[cold]
    fn note_calls(&mut self, outer: Step) {
        for call in self.server_calls.drain(..) {
            if let Some(step) = outer.inner(&call.name) {
                self.done.push(Done {
                    step,
                    start: call.start,
                    end: call.end,
                    bytes: 0,
                });
            }
        }
    }

    /// Returns the page of the content pool at which a file's content begins. All files are filled
    /// from this pool. The result for the file that was requested last is cached.
    #[inline]
    pub(crate) fn first_page(&mut self, owner: u32, file: u64) -> u64 {
        match self.paged {
            Some((of, page)) if of == (owner, file) => page,
            _ => {
                let page = self.setup.content.first_page(owner, file);
                self.paged = Some(((owner, file), page));
                page
            }
        }
    }

    /// Returns `length` bytes, from `offset`, of the content with which this client creates a file.
    fn content(&self, file: u64, offset: u64, length: u64) -> Bytes {
        let content = &self.setup.content;
        content.slice(self.number, (file, 0), offset, length as usize)
    }

    /// Sets `self.path` to the path of a file that is about to be created. Registers the file
    /// before it is created, so that it is removed even after a partial failure. Returns the state
    /// of the file after its creation, when it is empty.
    #[inline]
    pub(crate) fn expect_made(&mut self, file: u64) -> Made {
        self.go_to_name(file, false);
        self.sample.forget(file);
        if !self.generations.is_empty() {
            self.generations.remove(&file);
        }
        let (there, doubtful) = (true, true);
        let made = Made {
            there,
            ..Made::default()
        };
        self.set_made(file, Made { doubtful, ..made });
        made
    }

    /// Updates a file's state after its creation failed with `error`. If the error states that the
    /// file existed already, the file belongs to another writer, and this client does not remove
    /// it. Object stores report this error only when the new object is closed.
    #[cold]
    pub(crate) fn disown(&mut self, file: u64, error: &Error) {
        if error.kind == ErrorKind::Exists {
            self.set_made(file, Made::default());
        }
    }

    pub(crate) fn write_file(&mut self, file: u64, bytes: u64, fsync: bool) -> Result<()> {
        let made = self.expect_made(file);
        let created = self.timed(Step::Create, 0, |target, path| target.create(path));
        let filled = created.and_then(|open| self.fill(open, file, made, bytes, fsync));
        filled.inspect_err(|error| self.disown(file, error))
    }

    /// Appends `bytes` bytes to file number `file`, which has the state `made` and is open as
    /// `open`, and closes the file. Syncs the file after each write call if the target's options
    /// request this. Otherwise, syncs it once before the close if `fsync` is true.
    pub(crate) fn fill(
        &mut self,
        mut open: Box<dyn File>,
        file: u64,
        made: Made,
        bytes: u64,
        fsync: bool,
    ) -> Result<()> {
        let from = made.bytes;
        let transfer = self.setup.plan.stream.transfer_size_bytes;
        let every = self.setup.plan.target.wants_fsync_of_writes();
        let mut written = 0;
        while written < bytes {
            let length = transfer.min(bytes - written);
            let chunk = self.content(file, from + written, length);
            self.timed(Step::Write, length, |_, _| open.write(chunk))?;
            if every {
                self.timed(Step::Fsync, 0, |_, _| open.fsync())?;
            }
            written += length;
        }
        if fsync && !every {
            self.timed(Step::Fsync, 0, |_, _| open.fsync())?;
        }
        self.timed(Step::Close, 0, |_, _| open.close())?;
        let bytes = made.bytes + bytes;
        self.set_made(file, Made { bytes, ..made });
        Ok(())
    }
}

/// Largest number of files that are opened before the timed part. The number of descriptors is
/// limited. If there are more files, each is opened at its first use.
const MOST_OPENED_BEFORE: usize = 256;
