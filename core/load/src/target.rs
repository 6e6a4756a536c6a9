//! Targets of load runs (the file systems under load): the interface of a target, its declared
//! capabilities, and all implementations.

mod calls;
mod capabilities;
mod contract;
mod hadoop;
mod hdfs;
pub(crate) mod layer;
mod nfs;
pub(crate) mod null;
mod opendal;
mod options;
mod posix;
mod spec;
mod waiting;

pub use self::calls::Call;
pub use self::capabilities::Capabilities;
pub use self::contract::{Factory, File, Target, ATTRIBUTE};
use self::options::{root_directory, DropCaches, Fsync, SyncIo};
pub use self::spec::{capabilities_of, factory, TargetSpec};
