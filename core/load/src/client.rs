//! One client: creates its files, tracks what it created, and removes it.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use dfslab_workload::{prepared_files, OperationKind, Prepare};

use crate::clock::Clock;
use crate::ended::Done;
use crate::generations::Generations;
use crate::plan::Verify;
use crate::setup::Setup;
use crate::step::Step;
use crate::target::{Call, File, Target};
use crate::{Error, ErrorKind, Result, Status};

/// Buffers are aligned to this, as direct I/O demands.
const ALIGNMENT: usize = 4096;

/// The state of a file that a client may have created.
#[derive(Clone, Copy, Default)]
pub struct Made {
    pub bytes: u64,
    /// The file exists, or may exist.
    pub there: bool,
    pub renamed: bool,
    /// A call that changes the file is in progress, or one failed: its content and name may be
    /// those before or after that call.
    pub doubtful: bool,
    /// Number of times any of its bytes were overwritten.
    pub generation: u32,
}

/// A client with its connection and the files it created; it changes no others.
pub struct Client<'a> {
    pub number: u32,
    pub(crate) setup: &'a Setup<'a>,
    pub(crate) target: Box<dyn Target>,
    /// Indexed by file number: clients number their files from 0 without gaps.
    pub(crate) files: Vec<Made>,
    pub(crate) directories: Vec<u64>,
    /// The client's own directories that were created.
    own_directories: Vec<String>,
    prefix: String,
    pub(crate) path: String,
    /// The client's own file to which `path` leads, and whether under its alternative name.
    leads_to: Option<(u64, bool)>,
    /// Open files: the client's own by number, and those of other clients.
    pub(crate) held: Vec<Option<Box<dyn File>>>,
    pub(crate) held_of_others: BTreeMap<(u32, u64), Box<dyn File>>,
    pub(crate) buffer: Vec<u8>,
    pub(crate) buffer_start: usize,
    /// The file last written to, and the page of content with which it begins.
    paged: Option<((u32, u64), u64)>,
    pub(crate) done: Vec<Done>,
    /// Metadata-server calls of the last step, where the target reports them.
    asked: Vec<Call>,
    pub(crate) tells_calls: bool,
    pub(crate) clock: Clock,
    /// Whether content is checked at every read.
    pub verifies: bool,
    /// Other clients' files that have their alternative name since the phase began.
    pub renamed_by_others: BTreeSet<(u32, u64)>,
    /// Generations of overwritten files, where their content is going to be checked.
    pub(crate) generations: BTreeMap<u64, Generations>,
    /// Clock reading at the end of the last call, or later if the clock was read since; the next
    /// step starts then.
    pub(crate) now: u64,
}

impl<'a> Client<'a> {
    pub fn new(number: u32, setup: &'a Setup<'a>, target: Box<dyn Target>) -> Self {
        let buffer = vec![0; setup.plan.stream.transfer_size_bytes as usize + ALIGNMENT];
        let buffer_start = buffer.as_ptr().align_offset(ALIGNMENT);
        let mut clock = Clock::new();
        let tells_calls = target.tells_calls();
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
            held: Vec::new(),
            held_of_others: BTreeMap::new(),
            buffer,
            buffer_start,
            paged: None,
            done: Vec::with_capacity(64),
            asked: Vec::new(),
            tells_calls,
            verifies: setup.plan.verify == Verify::Inline,
            renamed_by_others: BTreeSet::new(),
            generations: BTreeMap::new(),
            now: clock.now(),
            clock,
        }
    }

    /// The state of one of the client's own files.
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

    /// Sets `self.path` to the path of a file of `owner`; returns whether it changed.
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

    /// Sets `self.path` to the path of a directory that an operation creates.
    pub(crate) fn go_to_directory(&mut self, directory: u64) {
        self.leads_to = None;
        self.path.clear();
        self.path.push_str(&self.prefix);
        self.path.push('d');
        self.path.push_str(&directory.to_string());
    }

    /// Sets `self.path` to the client directory with this number.
    pub(crate) fn go_to_listed(&mut self, owner: u32, directory: u64) {
        self.leads_to = None;
        self.path = self.setup.directory(owner, directory);
    }

    /// Returns the state of the file at the current path; an error unless this client created it.
    pub(crate) fn must_be_own(&self, operation: &'static str, file: u64) -> Result<Made> {
        let reason = "making it failed before";
        self.made(file)
            .ok_or_else(|| Error::new(ErrorKind::NotFound, operation, &self.path, reason))
    }

    /// Adds the current path to an error of an open file, which does not know its path.
    pub(crate) fn named(&self, mut error: Error) -> Error {
        if error.path.is_empty() {
            error.path = self.path.clone();
        }
        error
    }

    /// Creates the client's directories and the files that its stream starts with.
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

    /// Marks the prepared files as existing without creating them, for a target that stores
    /// nothing.
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
        self.target.mkdir(&path)?;
        self.own_directories.push(path);
        Ok(())
    }

    /// Opens the files that the stream's first operations expect to be open. With single transfers
    /// to a few files, the time to open them must not be part of the first transfers.
    pub fn open_held(&mut self) -> Result<()> {
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
            self.ensure_held(self.number, file)?;
        }
        Ok(())
    }

    /// Drops the files whose content is certain from the page cache, where the plan asks for it;
    /// returns paths and bytes of at most `most` of them.
    pub fn leave_cache(&mut self, most: usize) -> Result<Vec<(String, u64)>> {
        let of_each = self.setup.plan.target.wants_cold() == Some("files");
        let mut files = self.own_files();
        files.retain(|file| !self.files[*file as usize].doubtful);
        let every = files.len().div_ceil(most).max(1);
        let mut some = Vec::new();
        for (place, file) in files.into_iter().enumerate() {
            self.go_to(self.number, file);
            if of_each {
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

    /// Reads the clock, so that work since the last call is not attributed to the next one.
    #[inline]
    pub(crate) fn look_anew(&mut self) {
        self.now = self.clock.now();
    }

    /// Takes the client's transfer buffer; `return_buffer` puts it back.
    #[inline]
    pub(crate) fn take_buffer(&mut self) -> (Vec<u8>, usize) {
        (std::mem::take(&mut self.buffer), self.buffer_start)
    }

    #[inline]
    pub(crate) fn return_buffer(&mut self, buffer: Vec<u8>) {
        self.buffer = buffer;
    }

    /// Times one call; the end of a step is the start of the next, so a step costs one clock read.
    #[inline]
    pub(crate) fn timed<T>(
        &mut self,
        step: Step,
        bytes: u64,
        call: impl FnOnce(&mut dyn Target, &str) -> Result<T>,
    ) -> Result<T> {
        let outcome = call(self.target.as_mut(), &self.path);
        self.noted(step, bytes, outcome)
    }

    /// Records a call that has just returned: its step lasts from the end of the last call until
    /// now.
    #[inline]
    pub(crate) fn noted<T>(&mut self, step: Step, bytes: u64, outcome: Result<T>) -> Result<T> {
        let start = self.now;
        let end = self.clock.now();
        self.now = end;
        if self.tells_calls {
            self.ask_for_calls();
        }
        let value = outcome?;
        self.done.push(Done {
            step,
            start,
            end,
            bytes,
        });
        if self.tells_calls {
            self.note_calls(step);
        }
        Ok(value)
    }

    #[cold]
    fn ask_for_calls(&mut self) {
        self.asked.clear();
        self.target.calls(&mut self.asked);
    }

    /// Records the metadata-server calls inside the step that has just ended.
    #[cold]
    fn note_calls(&mut self, outer: Step) {
        for call in self.asked.drain(..) {
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

    /// The page of content with which a file begins, cached for the last file.
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

    /// The bytes of a file as it is created.
    fn content(&self, file: u64, offset: u64, length: u64) -> Bytes {
        let content = &self.setup.content;
        content.slice(self.number, (file, 0), offset, length as usize)
    }

    /// Goes to a file that is about to be created and returns its state as an empty file. The file
    /// is registered before it is created, so that it is removed even after a partial failure.
    #[inline]
    pub(crate) fn expect_made(&mut self, file: u64) -> Made {
        self.go_to_name(file, false);
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

    /// Creating a file failed. Object stores report only at the close that the object existed: then
    /// it belongs to another writer and must not be removed.
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

    /// Appends `bytes` bytes to an open file in state `made`, and closes it.
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

    /// Removes everything this client created, and nothing else. Returns the first error; the
    /// remaining files are still tried, unless the target is unreachable.
    pub fn clean_up(&mut self) -> Result<()> {
        self.held.clear();
        self.held_of_others.clear();
        let mut first = Ok(());
        for file in self.own_files() {
            let made = std::mem::take(&mut self.files[file as usize]);
            self.go_to_name(file, made.renamed);
            // Object stores report no error for a missing object, so its existence is checked.
            if made.doubtful && self.target.exists(&self.path).is_ok_and(|there| !there) {
                self.go_to_name(file, !made.renamed);
            }
            let outcome = self.target.delete(&self.path);
            keep_first(&mut first, outcome)?;
        }
        for directory in std::mem::take(&mut self.directories) {
            self.go_to_directory(directory);
            keep_first(&mut first, self.target.rmdir(&self.path))?;
        }
        for directory in std::mem::take(&mut self.own_directories).iter().rev() {
            keep_first(&mut first, self.target.rmdir(directory))?;
        }
        first
    }
}

/// Beyond this number, files are opened at their first use: descriptors are limited.
const MOST_OPENED_BEFORE: usize = 256;

/// Keeps the first relevant error; an error that the target is unreachable is returned at once.
fn keep_first(first: &mut Result<()>, outcome: Result<()>) -> Result<()> {
    match outcome {
        Err(error) if error.status() == Status::Temporary => Err(error),
        Err(error) if error.kind != ErrorKind::NotFound && first.is_ok() => {
            *first = Err(error);
            Ok(())
        }
        _ => Ok(()),
    }
}
