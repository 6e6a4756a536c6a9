//! The steps that operations consist of, and their names in reports.

/// A step of a logical operation: one call on the target. The last variants are calls to the
/// metadata server that a client library makes within another step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    Create,
    Open,
    Append,
    Read,
    Write,
    Fsync,
    Close,
    Stat,
    List,
    Rename,
    Delete,
    Mkdir,
    Exists,
    Rmdir,
    Truncate,
    Chmod,
    SetXattr,
    GetXattr,
    Lock,
    Unlock,
    OpenGetBlockLocations,
    CreateCreate,
    AppendAppend,
    WriteAddBlock,
    CloseComplete,
}

impl Step {
    /// All steps, in the order of the variants.
    pub const ALL: [Step; 25] = [
        Step::Create,
        Step::Open,
        Step::Append,
        Step::Read,
        Step::Write,
        Step::Fsync,
        Step::Close,
        Step::Stat,
        Step::List,
        Step::Rename,
        Step::Delete,
        Step::Mkdir,
        Step::Exists,
        Step::Rmdir,
        Step::Truncate,
        Step::Chmod,
        Step::SetXattr,
        Step::GetXattr,
        Step::Lock,
        Step::Unlock,
        Step::OpenGetBlockLocations,
        Step::CreateCreate,
        Step::AppendAppend,
        Step::WriteAddBlock,
        Step::CloseComplete,
    ];

    pub fn name(self) -> &'static str {
        const NAMES: [&str; Step::ALL.len()] = [
            "create",
            "open",
            "append",
            "read",
            "write",
            "fsync",
            "close",
            "stat",
            "list",
            "rename",
            "delete",
            "mkdir",
            "exists",
            "rmdir",
            "truncate",
            "chmod",
            "set_xattr",
            "get_xattr",
            "lock",
            "unlock",
            "open/getBlockLocations",
            "create/create",
            "append/append",
            "write/addBlock",
            "close/complete",
        ];
        NAMES[self as usize]
    }

    /// Returns the step that stands for the metadata-server call `call`, which the client library
    /// makes within this step. None if the call is not reported separately.
    pub fn inner(self, call: &str) -> Option<Step> {
        match (self, call) {
            (Step::Open, "getBlockLocations") => Some(Step::OpenGetBlockLocations),
            (Step::Create, "create") => Some(Step::CreateCreate),
            (Step::Append, "append") => Some(Step::AppendAppend),
            (Step::Write, "addBlock") => Some(Step::WriteAddBlock),
            (Step::Close, "complete") => Some(Step::CloseComplete),
            _ => None,
        }
    }

    /// Whether the step is a metadata-server call within another step.
    pub fn is_inner(self) -> bool {
        self >= Step::OpenGetBlockLocations
    }
}
