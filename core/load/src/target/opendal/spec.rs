//! The options of an OpenDAL target, and the capabilities of the service behind its URI.

use opendal::services::{FsConfig, MemoryConfig, S3Config};
use opendal::{Configurator, Operator, OperatorUri};
use schemars::JsonSchema;
use serde::Deserialize;

use super::super::{root_directory, Capabilities, DropCaches, Fsync};
use super::call::cause;
use crate::{Error, Result};

/// The capabilities that all services of OpenDAL have. `Spec::capabilities` adds the capabilities
/// that only some services have. Objects are written once and as a whole, and are durable once
/// written. Objects have no permissions, attributes or locks.
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

/// Options of an S3 service that a URI may set. Credentials come from the environment.
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

/// The smallest part of a multipart upload that S3 accepts, bytes. Only the last part may be
/// smaller.
const PART_BYTES_LEAST: u64 = 5 << 20;
const PART_BYTES_MOST: u64 = 5 << 30;

/// A storage service as a URI, and how to use it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Spec {
    /// The URI of the service: s3://BUCKET/PREFIX?endpoint=URL&region=NAME, fs:///DIRECTORY or
    /// memory:///.
    pub uri: String,
    /// The path below the URI in which the run's directory is created. If the service is a
    /// directory, this path must exist.
    #[serde(default = "root_directory")]
    pub root: String,
    /// Size in bytes of the parts in which larger objects are written.
    #[serde(default = "part_bytes")]
    pub part_size_bytes: u64,
    /// Whether all threads share one client with its connections. Otherwise each thread has a
    /// separate client.
    #[serde(default)]
    pub shared_client: bool,
    /// Whether to bypass the page cache. Only false is supported; true is an error.
    #[serde(default)]
    pub direct: bool,
    /// When data is forced to disk. Only "never" is supported; other values are an error.
    #[serde(default)]
    pub fsync: Fsync,
    /// Caches to drop before the timed part.
    #[serde(default)]
    pub drop_caches: DropCaches,
}

fn part_bytes() -> u64 {
    8 << 20
}

/// The services of OpenDAL that are compiled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    S3,
    Directory,
    Memory,
}

impl Spec {
    /// Checks for values that no service accepts.
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
            // Building an OpenDAL operator for a directory would create the directory, which only
            // the start of a run may do.
            Service::Directory => Ok(()),
            _ => self.operator().map(drop),
        }
    }

    /// Parses the URI and determines which service it names.
    pub fn address(&self) -> Result<(Service, OperatorUri)> {
        let shown = &self.uri;
        let wrong = |reason: String| Error::input("target.uri", reason);
        let nothing: [(String, String); 0] = [];
        let uri = OperatorUri::new(shown, nothing).map_err(|error| {
            let cause = cause(&error);
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

    /// The directory or prefix in which the run's directory is created. It is the path of the URI
    /// followed by the option `root`.
    pub fn place(&self, uri: &OperatorUri) -> String {
        let parts = [uri.root().unwrap_or_default(), &self.root];
        let parts = parts.iter().flat_map(|part| part.split('/'));
        let names: Vec<&str> = parts.filter(|name| !name.is_empty()).collect();
        format!("/{}", names.join("/"))
    }

    /// Creates a client of the service. The client has not yet sent any request.
    pub fn operator(&self) -> Result<Operator> {
        let (service, uri) = self.address()?;
        // A root that is computed from the URI and the options replaces the root in the URI.
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
            let (shown, cause) = (&self.uri, cause(&error));
            Error::input("target.uri", format!("{shown:?}: {cause}"))
        })
    }

    /// The capabilities of the service that the URI names.
    pub fn capabilities(&self) -> Capabilities {
        match self.address() {
            Ok((Service::Directory, _)) => Capabilities {
                append: true,
                rename: true,
                ..CAPABILITIES
            },
            // On S3, the target renames an object by a copy followed by a removal.
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
