//! What an OpenDAL target is told, and what the service of its address can.

use opendal::services::{FsConfig, MemoryConfig, S3Config};
use opendal::{Configurator, Operator, OperatorUri};
use serde::Deserialize;

use super::super::{root_directory, Capabilities, DropCaches, Fsync};
use crate::{Error, Result};

/// Of every service; `Spec::capabilities` knows what some have beside it. Objects are written whole
/// and once, have no permissions, attributes or locks, and are safe when they are written at all.
pub const CAPABILITIES: Capabilities = Capabilities {
    append: false,
    rename: false,
    pwrite: false,
    truncate: false,
    chmod: false,
    xattr: false,
    lock: false,
    fsync: false,
    sync_io: false,
    mmap: false,
    direct_io: false,
    drop_file_cache: false,
    ..Capabilities::ALL
};

/// What an address of S3 may say of its service; who asks is told by the environment.
const S3_OPTIONS: [&str; 11] = [
    "endpoint",
    "region",
    "enable_virtual_host_style",
    "skip_signature",
    "disable_config_load",
    "disable_ec2_metadata",
    "disable_list_objects_v2",
    "checksum_algorithm",
    "default_storage_class",
    "server_side_encryption",
    "enable_request_payer",
];

/// S3 takes no smaller parts but the last, and no larger ones.
const PART_BYTES_LEAST: u64 = 5 << 20;
const PART_BYTES_MOST: u64 = 5 << 30;

/// An address and how its service is used.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// s3://BUCKET/PREFIX?endpoint=URL&region=NAME, fs:///DIRECTORY or memory:///.
    pub uri: String,
    /// Where below it; of a directory it must exist.
    #[serde(default = "root_directory")]
    pub root: String,
    /// Objects of more bytes are written in parts of so many.
    #[serde(default = "part_bytes")]
    pub part_size_bytes: u64,
    /// One client for all threads, with its connections, instead of one each.
    #[serde(default)]
    pub shared_client: bool,
    /// Not possible; named so that asking is a clear error.
    #[serde(default)]
    pub direct: bool,
    /// Not possible but never, likewise.
    #[serde(default)]
    pub fsync: Fsync,
    /// Caches to empty before the timed part.
    #[serde(default)]
    pub drop_caches: DropCaches,
}

fn part_bytes() -> u64 {
    8 << 20
}

/// The services that are compiled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    S3,
    Directory,
    Memory,
}

impl Spec {
    /// Values that no service takes.
    pub fn check(&self) -> Result<()> {
        let root = &self.root;
        if !root.starts_with('/') || root.split('/').any(|part| part == "..") {
            let reason = format!("{root:?} must begin with / and go through no ..");
            return Err(Error::input("target.root", reason));
        }
        if !(PART_BYTES_LEAST..=PART_BYTES_MOST).contains(&self.part_size_bytes) {
            let reason = format!("{}; allowed: 5 MiB to 5 GiB", self.part_size_bytes);
            return Err(Error::input("target.part_size_bytes", reason));
        }
        let (service, uri) = self.address()?;
        let allowed: &[&str] = match service {
            Service::S3 => &S3_OPTIONS,
            _ => &[],
        };
        let mut options: Vec<&String> = uri.options().keys().collect();
        options.sort();
        if let Some(unknown) = options.into_iter().find(|o| !allowed.contains(&o.as_str())) {
            let known = match allowed.is_empty() {
                true => "none".to_string(),
                false => allowed.join(", "),
            };
            let reason = format!(
                "{unknown:?} is no option of this address; allowed: {known} (credentials come \
                 from the environment)"
            );
            return Err(Error::input("target.uri", reason));
        }
        match service {
            // Building one makes its directory where there is none: that is for who begins a run.
            Service::Directory => Ok(()),
            _ => self.operator().map(drop),
        }
    }

    /// The service of the address, and the address taken apart.
    pub fn address(&self) -> Result<(Service, OperatorUri)> {
        let shown = &self.uri;
        let wrong = |reason: String| Error::input("target.uri", reason);
        let nothing: [(String, String); 0] = [];
        let uri = OperatorUri::new(shown, nothing).map_err(|error| {
            let cause = super::cause(&error);
            wrong(format!("{shown:?}: {cause}"))
        })?;
        let service = match uri.scheme() {
            "s3" => Service::S3,
            "fs" => Service::Directory,
            "memory" => Service::Memory,
            _ => {
                let allowed = "s3://BUCKET/PREFIX, fs:///DIRECTORY, memory:///";
                return Err(wrong(format!("{shown:?}; allowed: {allowed}")));
            }
        };
        if uri.username().is_some() || uri.password().is_some() {
            let reason = "a user or password in an address; credentials come from the environment";
            return Err(wrong(reason.to_string()));
        }
        match (service, uri.name()) {
            (Service::S3, None) => Err(wrong(format!("{shown:?} names no bucket"))),
            (Service::Directory, Some(_)) => {
                Err(wrong(format!("{shown:?}; allowed: fs:///DIRECTORY")))
            }
            _ => Ok((service, uri)),
        }
    }

    /// Where the run's directory is made: the address' own place and the root below it.
    pub fn place(&self, uri: &OperatorUri) -> String {
        let parts = [uri.root().unwrap_or_default(), &self.root];
        let parts = parts.iter().flat_map(|part| part.split('/'));
        let names: Vec<&str> = parts.filter(|name| !name.is_empty()).collect();
        format!("/{}", names.join("/"))
    }

    /// A client of its own, which asks nobody yet.
    pub fn operator(&self) -> Result<Operator> {
        let (service, uri) = self.address()?;
        // The place goes before what an address says of its root.
        let bare = format!("{}://{}", uri.scheme(), uri.name().unwrap_or_default());
        let root = ("root".to_string(), self.place(&uri));
        let options = uri.options().clone().into_iter().chain([root]);
        let there = OperatorUri::new(&bare, options);
        let built = there.and_then(|there| match service {
            Service::S3 => finished(S3Config::from_uri(&there)?),
            Service::Directory => finished(FsConfig::from_uri(&there)?),
            Service::Memory => finished(MemoryConfig::from_uri(&there)?),
        });
        built.map_err(|error| {
            let (shown, cause) = (&self.uri, super::cause(&error));
            Error::input("target.uri", format!("{shown:?}: {cause}"))
        })
    }

    /// What the service of the address can.
    pub fn capabilities(&self) -> Capabilities {
        match self.address() {
            Ok((Service::Directory, _)) => Capabilities {
                append: true,
                rename: true,
                ..CAPABILITIES
            },
            // A copy and a removal, as everybody renames objects.
            Ok((Service::S3, _)) => Capabilities {
                rename: true,
                ..CAPABILITIES
            },
            _ => CAPABILITIES,
        }
    }
}

fn finished(config: impl Configurator) -> opendal::Result<Operator> {
    Ok(Operator::from_config(config)?.finish())
}
