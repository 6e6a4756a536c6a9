//! Open directories in which a client's system calls take place, reached without following a link.
//!
//! The kernel checks only the last name of a path for links (O_NOFOLLOW). Suppose that system calls
//! took whole paths, and that a directory in the middle of a path were replaced by a link during a
//! run. The run would then change or delete files that it did not create. Therefore every call
//! takes one name in an open directory, and directories are opened name by name.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::calls::{self, CPath};

/// Largest number of directories that one client keeps open. It is small for two reasons: a process
/// may have few descriptors, and a client works in few directories at a time. It is at least two,
/// since a rename needs two directories.
const MOST: usize = 8;
const FLAGS: i32 = libc::O_PATH | libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC;

/// The most recently used directories of one client, below its run directory.
#[derive(Default)]
pub struct Parents {
    /// Paths and descriptors of the open directories; the most recently used one is the last.
    known: Vec<(String, OwnedFd)>,
    name: CPath,
}

impl Parents {
    /// Splits `path`, which is relative to the directory `at`. Returns the descriptor of the
    /// directory that contains the last name of `path`, and this name. The descriptor stays open
    /// while fewer than `MOST` other directories are used.
    #[inline]
    pub fn of<'a>(&mut self, at: i32, path: &'a str) -> std::io::Result<(i32, &'a str)> {
        let Some((parent, name)) = path.rsplit_once('/') else {
            return Ok((at, path));
        };
        if let Some((known, open)) = self.known.last() {
            if known == parent {
                return Ok((open.as_raw_fd(), name));
            }
        }
        Ok((self.used_before_or_opened(at, parent)?, name))
    }

    /// Closes a directory and those below it, after the directory was removed or renamed.
    pub fn forget(&mut self, path: &str) {
        let is_below = |known: &str| {
            known
                .strip_prefix(path)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.known.retain(|(known, _)| !is_below(known));
    }

    /// Opens the directory that contains `path` again if it was open. Another client may have
    /// removed the directory and created it again. Returns true if the path therefore leads to
    /// another directory now. Returns false if the directory was not open or cannot be opened.
    pub fn is_other_now(&mut self, at: i32, path: &str) -> bool {
        let Some((parent, _)) = path.rsplit_once('/') else {
            return false;
        };
        let Some(place) = self.known.iter().position(|(known, _)| known == parent) else {
            return false;
        };
        let (_, former) = self.known.remove(place);
        match self.used_before_or_opened(at, parent) {
            Ok(open) => identity(open) != identity(former.as_raw_fd()),
            Err(_) => false,
        }
    }

    fn used_before_or_opened(&mut self, at: i32, parent: &str) -> std::io::Result<i32> {
        let place = self.known.iter().position(|(known, _)| known == parent);
        let entry = match place {
            Some(place) => self.known.remove(place),
            None => (parent.to_string(), self.opened(at, parent)?),
        };
        if self.known.len() == MOST {
            self.known.remove(0);
        }
        let open = entry.1.as_raw_fd();
        self.known.push(entry);
        Ok(open)
    }

    /// Opens the directory `path` one name after the other, so that no link is followed.
    fn opened(&mut self, at: i32, path: &str) -> std::io::Result<OwnedFd> {
        let mut open: Option<OwnedFd> = None;
        for name in path.split('/') {
            let above = open.as_ref().map_or(at, AsRawFd::as_raw_fd);
            let name = self.name.set(name);
            // SAFETY: the name ends with a zero byte and outlives the call; the descriptor is open.
            let code = unsafe { calls::open_at(above, name, FLAGS, 0) };
            if code < 0 {
                return Err(std::io::Error::last_os_error());
            }
            // SAFETY: the call has just opened the descriptor, and nothing else owns it.
            open = Some(unsafe { OwnedFd::from_raw_fd(code) });
        }
        open.ok_or_else(|| std::io::Error::from_raw_os_error(libc::ENOENT))
    }
}

/// Device number and inode number of an open directory; None if the kernel does not report them.
fn identity(open: i32) -> Option<(u64, u64)> {
    // SAFETY: a structure of zeroes is valid, and the call fills it.
    unsafe {
        let mut found: libc::stat = std::mem::zeroed();
        (libc::fstat(open, &mut found) == 0).then_some((found.st_dev, found.st_ino))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    use super::*;

    struct Folder(PathBuf, OwnedFd);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("dfslab-{name}-{}", std::process::id()));
            fs::create_dir(&path).unwrap();
            let open = fs::File::open(&path).unwrap();
            Folder(path, open.into())
        }

        fn at(&self) -> i32 {
            self.1.as_raw_fd()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_link_in_the_middle_of_a_path_is_refused() {
        let folder = Folder::new("parents-link");
        fs::create_dir_all(folder.0.join("theirs/deep")).unwrap();
        symlink("theirs", folder.0.join("c0")).unwrap();
        let mut parents = Parents::default();
        for path in ["c0/f0", "c0/deep/f0"] {
            let error = parents.of(folder.at(), path).unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::ENOTDIR), "{path}");
        }
        assert!(parents.of(folder.at(), "theirs/deep/f0").is_ok());
    }

    #[test]
    fn a_directory_that_is_swapped_for_a_link_stays_the_same() {
        let folder = Folder::new("parents-swap");
        fs::create_dir(folder.0.join("c0")).unwrap();
        fs::create_dir(folder.0.join("theirs")).unwrap();
        let mut parents = Parents::default();
        let (before, name) = parents.of(folder.at(), "c0/f0").unwrap();
        assert_eq!(name, "f0");
        let is = identity(before);
        fs::rename(folder.0.join("c0"), folder.0.join("moved")).unwrap();
        symlink("theirs", folder.0.join("c0")).unwrap();
        let (after, _) = parents.of(folder.at(), "c0/f1").unwrap();
        assert_eq!((after, identity(after)), (before, is));
        assert!(!parents.is_other_now(folder.at(), "c0/f1"));
        assert!(parents.of(folder.at(), "c0/f1").is_err());
    }

    #[test]
    fn a_directory_made_again_is_found() {
        let folder = Folder::new("parents-again");
        let path = folder.0.join("d0");
        fs::create_dir(&path).unwrap();
        let mut parents = Parents::default();
        parents.of(folder.at(), "d0/f0").unwrap();
        assert!(!parents.is_other_now(folder.at(), "d0/f0"));
        fs::remove_dir(&path).unwrap();
        fs::create_dir(folder.0.join("between")).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(parents.is_other_now(folder.at(), "d0/f0"));
        parents.forget("d0");
        assert!(parents.of(folder.at(), "d0/f0").is_ok());
    }

    #[test]
    fn few_directories_stay_open_and_the_last_two_among_them() {
        let folder = Folder::new("parents-few");
        let mut parents = Parents::default();
        for number in 0..3 * MOST {
            fs::create_dir(folder.0.join(format!("d{number}"))).unwrap();
            let path = format!("d{number}/f");
            let (first, _) = parents.of(folder.at(), &path).unwrap();
            let (second, _) = parents.of(folder.at(), "d0/f").unwrap();
            assert!(identity(first).is_some() && identity(second).is_some());
            assert!(parents.known.len() <= MOST);
        }
    }

    #[test]
    fn names_of_the_run_directory_itself_need_no_parent() {
        let mut parents = Parents::default();
        assert_eq!(parents.of(7, "f0").unwrap(), (7, "f0"));
        assert!(!parents.is_other_now(7, "f0"));
    }
}
