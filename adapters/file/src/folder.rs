use std::{
    fs::{self, DirBuilder, File},
    io,
    os::{fd::OwnedFd, unix::fs::DirBuilderExt},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{Mode, OFlags},
    process::geteuid,
};

use crate::{
    failure::{Doing, Failure, attempt},
    medium::Medium,
};

/// The folder that the locks lie in, open: what is done by one `Folder` is done in one folder, even
/// if another is put in its place meanwhile.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    fd: OwnedFd,
}

impl Folder {
    /// Makes the folder and those above it, durably, where they are missing.
    pub(crate) fn create(path: &Path) -> Result<(), Failure> {
        let make = || DirBuilder::new().mode(0o700).create(path);
        let above = path.parent().unwrap_or(path);
        let made = match make() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Self::create(above)?;
                make()
            }
            made => made,
        };
        match made {
            // Whether it is a folder shows when it is opened.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            made => {
                attempt(Doing::Create, path, || made)?;
                attempt(Doing::SyncFolder, above, || File::open(above)?.sync_all())
            }
        }
    }

    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = attempt(Doing::Open, path, || rustix::fs::open(path, flags, Mode::empty()))?;
        Ok(Self { path: path.to_owned(), fd })
    }

    /// What makes it unfit to hold locks, and what to do about it: whoever can write to the folder
    /// can take any lock away.
    pub(crate) fn unfit(&self) -> Result<Option<String>, Failure> {
        let stat = attempt(Doing::Look, &self.path, || rustix::fs::fstat(&self.fd))?;
        let path = self.path.display();
        let user = geteuid().as_raw();
        Ok(if stat.st_uid != user {
            Some(format!(
                "{path} belongs to user {}, who could take any lock in it away; \
                 use a folder that belongs to this user ({user})",
                stat.st_uid
            ))
        } else if Mode::from_raw_mode(stat.st_mode).intersects(Mode::WGRP | Mode::WOTH) {
            Some(format!(
                "others may write to {path} and take any lock in it away; run: chmod go-w {path}"
            ))
        } else {
            None
        })
    }

    pub(crate) fn medium(&self) -> Result<Medium, Failure> {
        let stat = attempt(Doing::Look, &self.path, || rustix::fs::fstatfs(&self.fd))?;
        Ok(Medium::of(&stat))
    }

    pub(crate) fn path_of(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Opens a regular file of the folder; one that `flags` create gets mode 0600.
    pub(crate) fn open_file(&self, name: &str, flags: OFlags) -> Result<File, Failure> {
        self.open_existing(name, flags)?.ok_or_else(|| {
            let path = self.path_of(name);
            Failure::for_now(format!(
                "{} was removed while it was opened; try again",
                path.display()
            ))
        })
    }

    /// The same; `None` if there is no such file.
    pub(crate) fn open_existing(&self, name: &str, flags: OFlags) -> Result<Option<File>, Failure> {
        let path = self.path_of(name);
        // A pipe that somebody put there must not hang the opening.
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let mode = Mode::RUSR | Mode::WUSR;
        let opened = attempt(Doing::Open, &path, || {
            match rustix::fs::openat(&self.fd, name, flags, mode) {
                Err(rustix::io::Errno::NOENT) => Ok(None),
                opened => opened.map(|fd| Some(File::from(fd))),
            }
        })?;
        let Some(file) = opened else { return Ok(None) };
        if attempt(Doing::Look, &path, || file.metadata())?.is_file() {
            Ok(Some(file))
        } else {
            let path = path.display();
            Err(Failure::needs_repair(format!("{path} is not a regular file; move it away")))
        }
    }

    /// Puts one file in the place of another, durably.
    pub(crate) fn replace(&self, new: &str, old: &str) -> Result<(), Failure> {
        let path = self.path_of(old);
        attempt(Doing::Replace, &path, || rustix::fs::renameat(&self.fd, new, &self.fd, old))?;
        attempt(Doing::SyncFolder, &self.path, || rustix::fs::fsync(&self.fd))
    }
}

/// The folder's path, the same for the process's whole life, and without the trailing slash that
/// would have a symbolic link followed.
pub(crate) fn absolute(path: &Path) -> io::Result<PathBuf> {
    Ok(std::path::absolute(path)?.components().collect())
}

/// Whether `path` still names `file`.
pub(crate) fn names(path: &Path, file: &File) -> Result<bool, Failure> {
    use std::os::unix::fs::MetadataExt;

    let there = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        there => attempt(Doing::Look, path, || there)?,
    };
    let here = attempt(Doing::Look, path, || file.metadata())?;
    Ok((there.dev(), there.ino()) == (here.dev(), here.ino()))
}
