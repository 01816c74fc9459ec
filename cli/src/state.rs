use std::{
    env, fs,
    io::Write,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};
use tenure::{LockName, Token};

/// `$XDG_STATE_HOME/tenure`, or `~/.local/state/tenure`.
pub(crate) fn folder() -> Option<PathBuf> {
    // A relative path is to be ignored, says the XDG base directory specification.
    let absolute = |path: PathBuf| path.is_absolute().then_some(path);
    let state =
        env::var_os("XDG_STATE_HOME").map(PathBuf::from).and_then(absolute).or_else(|| {
            env::var_os("HOME")
                .map(PathBuf::from)
                .and_then(absolute)
                .map(|home| home.join(".local/state"))
        })?;
    Some(state.join("tenure"))
}

/// The highest token seen of one lock, kept from run to run: how a store that lost its memory is
/// noticed. Best effort; what cannot be read or written is left out.
#[derive(Debug)]
pub(crate) struct SeenToken {
    path: PathBuf,
}

impl SeenToken {
    /// Of the lock `name` in the store `identity`, which must hold no secret.
    pub(crate) fn of(identity: &str, name: &LockName) -> Option<Self> {
        let mut hash = Sha256::new();
        hash.update(identity.as_bytes());
        hash.update([0]);
        hash.update(name.as_bytes());
        let file: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Some(Self { path: folder()?.join("seen").join(file) })
    }

    pub(crate) fn recall(&self) -> Option<Token> {
        fs::read_to_string(&self.path).ok()?.trim().parse().ok().and_then(Token::new)
    }

    /// Keeps `token`, unless a higher one is kept.
    pub(crate) fn keep(&self, token: Token) {
        if self.recall().is_none_or(|kept| token > kept) {
            let _best_effort = self.replace(token);
        }
    }

    fn replace(&self, token: Token) -> std::io::Result<()> {
        let folder = self.path.parent().unwrap_or_else(|| Path::new("/"));
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        writeln!(file, "{token}")?;
        file.persist(&self.path)?;
        Ok(())
    }
}
