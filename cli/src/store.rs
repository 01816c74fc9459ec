use std::{
    env,
    ffi::{OsStr, OsString},
    fmt,
    os::{fd::OwnedFd, unix::ffi::OsStrExt},
    path::PathBuf,
    sync::Arc,
};

use tenure::{ConnectError, LockName, Store, file::FileStore, redis::RedisStore};
use url::Url;

use crate::{args::StoreArgs, exit::Failure, state};

/// The variable that names the store; it may hold a password.
pub(crate) const VARIABLE: &str = "TENURE_STORE";

/// Where a store is. Shown without credentials.
pub(crate) enum Address {
    File(PathBuf),
    Redis(Url),
}

impl Address {
    /// What the command line says, or [`VARIABLE`], or this machine's own store.
    pub(crate) fn of(args: StoreArgs) -> Result<Self, Failure> {
        match args.store_file {
            Some(folder) => Ok(Self::File(folder)),
            None => Self::of_url(args.store),
        }
    }

    /// The same, where only a URL can be given.
    pub(crate) fn of_url(url: Option<OsString>) -> Result<Self, Failure> {
        match url.or_else(|| env::var_os(VARIABLE).filter(|url| !url.is_empty())) {
            Some(url) => Self::parse(&url),
            None => state::folder().map(|state| Self::File(state.join("locks"))).ok_or_else(|| {
                Failure::usage(
                    "there is no place for a file store: set HOME or XDG_STATE_HOME, \
                     or name one with --store-file",
                )
            }),
        }
    }

    /// Never repeats `url` in an error: it may hold a password.
    fn parse(url: &OsStr) -> Result<Self, Failure> {
        let forms = "write redis://HOST, rediss://HOST or file:///FOLDER";
        let url = url.to_str().and_then(|url| Url::parse(url).ok()).ok_or_else(|| {
            Failure::usage(format_args!("the store's URL makes no sense: {forms}"))
        })?;
        match url.scheme() {
            "redis" | "rediss" | "unix" => Ok(Self::Redis(url)),
            "file" => url.to_file_path().map(Self::File).map_err(|()| {
                Failure::usage("a file store is on this machine: write file:///FOLDER")
            }),
            scheme => {
                Err(Failure::usage(format_args!("there is no store for {scheme}:// URLs: {forms}")))
            }
        }
    }

    /// Connects, and has the store check itself.
    pub(crate) async fn open(&self) -> Result<Opened, Failure> {
        match self {
            Self::File(folder) => FileStore::open(folder).map(Arc::new).map(Opened::File),
            Self::Redis(url) => {
                RedisStore::connect(url.as_str()).await.map(Arc::new).map(Opened::Redis)
            }
        }
        .map_err(|error| match error {
            ConnectError::Unreachable(_) => Failure::unavailable(error),
            ConnectError::Invalid(_) | ConnectError::Unsafe(_) | _ => Failure::usage(error),
        })
    }

    /// What tells this store's locks from another's; `None` where tokens need no remembering, because
    /// the store never loses them.
    pub(crate) fn identity(&self) -> Option<String> {
        match self {
            Self::File(_) => None,
            Self::Redis(_) => Some(self.to_string()),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(folder) => write!(f, "file store {}", folder.display()),
            Self::Redis(url) => {
                write!(f, "{}://", url.scheme())?;
                if let Some(host) = url.host_str() {
                    write!(f, "{host}:{}", url.port().unwrap_or(6379))?;
                }
                f.write_str(url.path().trim_end_matches('/'))
            }
        }
    }
}

/// A store that was reached.
pub(crate) enum Opened {
    File(Arc<FileStore>),
    Redis(Arc<RedisStore>),
}

impl Opened {
    pub(crate) fn store(&self) -> Arc<dyn Store> {
        match self {
            Self::File(store) => Arc::clone(store) as _,
            Self::Redis(store) => Arc::clone(store) as _,
        }
    }

    /// The descriptor that holds `name` on this machine, where there is one: whoever keeps it open
    /// keeps the lock.
    pub(crate) fn descriptor(&self, name: &LockName) -> Result<Option<OwnedFd>, Failure> {
        match self {
            Self::File(store) => store.descriptor(name).map(Some).ok_or_else(|| {
                Failure::system("the lock's file cannot be handed on: too many open files?")
            }),
            Self::Redis(_) => Ok(None),
        }
    }
}

/// The lock that a person named.
pub(crate) fn lock_name(name: &OsStr) -> Result<LockName, Failure> {
    LockName::new(name.as_bytes()).map_err(Failure::usage)
}
