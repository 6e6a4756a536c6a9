//! Removes the files and directories that a client created, and nothing else.

use crate::client::Client;
use crate::execution::watch::Work;
use crate::step::Step;
use crate::{ErrorKind, Result, Status};

impl Client<'_> {
    /// Removes the files and directories that this client created, and nothing else. Continues
    /// after an error and returns the first error. Ends at a temporary error, which shows that the
    /// target does not answer, and returns this error.
    pub fn clean_up(&mut self) -> Result<()> {
        self.slot.work(Work::CleanUp);
        self.open_files.clear();
        self.open_files_of_others.clear();
        let mut first = Ok(());
        for file in self.own_files() {
            let made = std::mem::take(&mut self.files[file as usize]);
            self.go_to_name(file, made.renamed);
            // If a change of a file failed, the file may have its first or its alternative name.
            // The code checks which name exists, since object stores report no error when a missing
            // object is deleted.
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

/// Handles the outcome of a removal. A missing file is no error. A temporary error, which shows
/// that the target does not answer, is returned at once. Any other error is stored in `first`,
/// unless `first` already has an error.
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
