//! Removes the files and directories that a client created, and nothing else.

use crate::client::Client;
use crate::execution::watch::Work;
use crate::step::Step;
use crate::{ErrorKind, Result, Status};

impl Client<'_> {
    /// Removes the files and directories that this client created, and nothing else. Returns the
    /// first error. The remaining files are still removed after an error, unless the target is
    /// unreachable.
    pub fn clean_up(&mut self) -> Result<()> {
        self.slot.work(Work::CleanUp);
        self.held.clear();
        self.held_of_others.clear();
        let mut first = Ok(());
        for file in self.own_files() {
            let made = std::mem::take(&mut self.files[file as usize]);
            self.go_to_name(file, made.renamed);
            // Object stores report no error when a missing object is deleted, so its existence is
            // checked first.
            if made.doubtful && self.target.exists(&self.path).is_ok_and(|there| !there) {
                self.go_to_name(file, !made.renamed);
            }
            self.slot.begin(Step::Delete, Some(file), self.clock.now());
            let outcome = self.target.delete(&self.path);
            keep_first(&mut first, outcome)?;
        }
        for directory in std::mem::take(&mut self.directories) {
            self.go_to_directory(directory);
            self.slot.work(Work::CleanUp);
            keep_first(&mut first, self.target.rmdir(&self.path))?;
        }
        for directory in std::mem::take(&mut self.own_directories).iter().rev() {
            self.slot.work(Work::CleanUp);
            keep_first(&mut first, self.target.rmdir(directory))?;
        }
        first
    }
}

/// Handles the outcome of a removal. Returns a temporary error, since the target does not answer.
/// Stores any other error in `first`, unless `first` already has an error. Ignores the error of a
/// missing file.
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
