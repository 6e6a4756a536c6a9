//! The immutable state that all clients of a run share. It has the plan, the content of files, the
//! access rules of each phase, and path names.

use std::fmt::Write;

use dfslab_workload::{Access, OperationKind, Phase, Share};

use crate::content::Content;
use crate::plan::Plan;

const KINDS: usize = OperationKind::ALL.len();

/// How an operation type is executed in one phase.
#[derive(Clone)]
pub struct Rule {
    /// The access pattern of the operation's transfers.
    pub access: Access,
    /// Whether written data is forced to disk at the end of the operation.
    pub fsync: bool,
}

/// The immutable state of a run.
pub struct Setup<'a> {
    pub plan: &'a Plan,
    pub content: Content,
    pub phases: Vec<Phase>,
    rules: Vec<Vec<Rule>>,
    /// The paths of the directories, relative to a client's root. The index of a path is the number
    /// of the directory. Number 0 is the root, whose path is empty. All other paths end with a
    /// slash.
    directories: Vec<String>,
    /// Whether files that are kept open are also opened for writing.
    pub holds_for_writing: bool,
    /// Whether clients access files of other clients.
    pub takes_others: bool,
}

impl<'a> Setup<'a> {
    pub fn new(plan: &'a Plan) -> Self {
        let stream = &plan.stream;
        let transfer = stream.transfer_size_bytes as usize;
        let phases = stream.all_phases();
        let rules = phases.iter().map(|phase| rules(plan, phase)).collect();
        let kinds = stream.kinds();
        use OperationKind::{Fsync, Pwrite};
        Setup {
            plan,
            content: Content::new(stream.seed, transfer, stream.compressible),
            phases,
            rules,
            directories: directories(plan),
            takes_others: stream.takes_others(),
            holds_for_writing: kinds.iter().any(|kind| matches!(kind, Pwrite | Fsync)),
        }
    }

    /// How operations of a type are executed in the phase with this number.
    #[inline]
    pub fn rule(&self, phase: u32, kind: OperationKind) -> &Rule {
        &self.rules[phase as usize][kind as usize]
    }

    /// The paths, relative to a client's root, of the directories below the root.
    pub fn below(&self) -> impl Iterator<Item = &str> {
        self.directories
            .iter()
            .skip(1)
            .map(|name| name.trim_end_matches('/'))
    }

    /// Whether each client has its own directory.
    pub fn own_directories(&self) -> bool {
        !self.plan.stream.layout.shared_directory
    }

    /// Returns the text with which the paths of a client's files begin. It is the client's
    /// directory. If all clients share one directory, it is the client's number instead.
    pub fn prefix(&self, client: u32) -> String {
        match self.own_directories() {
            true => format!("c{client}/"),
            false => format!("c{client}-"),
        }
    }

    /// Returns the path of a directory, which an operation is about to list. `number` is the number
    /// of the directory below the client's root. If all clients share one directory, the path is
    /// empty.
    pub fn directory(&self, client: u32, number: u64) -> String {
        match self.own_directories() {
            true => {
                let below = &self.directories[number as usize % self.directories.len()];
                format!("c{client}/{below}")
                    .trim_end_matches('/')
                    .to_string()
            }
            false => String::new(),
        }
    }

    /// Writes the path of a file into `path`. The memory of `path` is reused. More memory is
    /// allocated only if the path does not fit.
    #[inline]
    pub fn file_path(&self, path: &mut String, prefix: &str, letter: char, file: u64) {
        path.clear();
        path.push_str(prefix);
        if self.directories.len() > 1 {
            path.push_str(&self.directories[(file % self.directories.len() as u64) as usize]);
        }
        path.push(letter);
        path.push_str(itoa::Buffer::new().format(file));
    }
}

fn rules(plan: &Plan, phase: &Phase) -> Vec<Rule> {
    let mut rules = vec![
        Rule {
            access: phase.access.clone(),
            fsync: plan.target.wants_fsync(),
        };
        KINDS
    ];
    for share in &phase.mix {
        let rule = &mut rules[share.operation as usize];
        let Share { access, fsync, .. } = share;
        rule.access = access.clone().unwrap_or_else(|| rule.access.clone());
        rule.fsync = fsync.unwrap_or(rule.fsync);
    }
    // A single transfer is synced only in two cases: the workload's mix of operations requests it,
    // or the target has the option `fsync = "write"`.
    let single = OperationKind::Pwrite as usize;
    let is_pwrite = |share: &&Share| share.operation == OperationKind::Pwrite;
    let share_of_writes = phase.mix.iter().find(is_pwrite);
    rules[single].fsync = plan.target.wants_fsync_of_writes()
        || share_of_writes.is_some_and(|share| share.fsync == Some(true));
    rules
}

fn directories(plan: &Plan) -> Vec<String> {
    let layout = plan.stream.layout;
    let mut names = vec![String::new()];
    for number in 1..layout.directories() {
        let above = (number - 1) / u64::from(layout.branches.max(1));
        let mut name = names[above as usize].clone();
        write!(name, "t{number}/").expect("text grows");
        names.push(name);
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lie_where_the_layout_says() {
        let text = r#"{"stream":{"seed":1,"clients":1,"operations_per_client":1,
            "files_per_client":1,"mix":[{"operation":"stat"}],"file_size":{"fixed":0},
            "transfer_size_bytes":1,"layout":{"depth":2,"branches":2}},
            "target":{"kind":"null"},"run_directory":"x"}"#;
        let plan = Plan::parse(text).unwrap();
        let setup = Setup::new(&plan);
        let below: Vec<&str> = setup.below().collect();
        assert_eq!(below, ["t1", "t2", "t1/t3", "t1/t4", "t2/t5", "t2/t6"]);
        let mut path = String::new();
        setup.file_path(&mut path, &setup.prefix(7), 'f', 18);
        assert_eq!(path, "c7/t1/t4/f18");
        assert_eq!(setup.directory(7, 5), "c7/t2/t5");
    }
}
