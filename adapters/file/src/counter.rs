use std::{
    io::{Read, Write},
    path::Path,
};

use rustix::fs::OFlags;
use tenure_core::Token;

use crate::{
    failure::{Doing, Failure, attempt},
    file_name::FileName,
    folder::Folder,
    lock_file::LastGrant,
};

/// The next fencing token, durable when it is returned (S15). Only for whoever has the lock.
pub(crate) fn next(folder: &Folder, name: &FileName, last: &LastGrant) -> Result<Token, Failure> {
    let path = folder.path_of(&name.counter());
    let current = read(folder, name, &path)?;
    let value = match (current, last) {
        (None, LastGrant::Never) => 0,
        (None, LastGrant::Unreadable | LastGrant::Known(_)) => {
            return Err(broken(&path, "is missing", last));
        }
        (Some(current), LastGrant::Known(record)) if current < record.token => {
            return Err(broken(&path, &format!("says {current}"), last));
        }
        (Some(current), _) => current.get(),
    };
    let Some(token) = Token::new(value + 1) else {
        return Err(Failure::needs_repair(format!(
            "{} has reached the highest token there is; use a lock of another name",
            path.display()
        )));
    };
    write(folder, name, token)?;
    Ok(token)
}

fn read(folder: &Folder, name: &FileName, path: &Path) -> Result<Option<Token>, Failure> {
    let Some(file) = folder.open_existing(&name.counter(), OFlags::RDONLY)? else {
        return Ok(None);
    };
    let mut bytes = Vec::new();
    attempt(Doing::Read, path, || file.take(MAX_LEN).read_to_end(&mut bytes))?;
    match decode(&bytes) {
        Some(token) => Ok(Some(token)),
        None => {
            let found = format!("holds no token but \"{}\"", bytes.escape_ascii());
            Err(broken(path, &found, &LastGrant::Never))
        }
    }
}

fn write(folder: &Folder, name: &FileName, token: Token) -> Result<(), Failure> {
    let new = name.next_counter();
    let path = folder.path_of(&new);
    let mut file = folder.open_file(&new, OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC)?;
    attempt(Doing::Write, &path, || file.write_all(encode(token).as_bytes()))?;
    attempt(Doing::Sync, &path, || file.sync_all())?;
    folder.replace(&new, &name.counter())
}

/// Longer than any counter, so that one that is too long shows.
const MAX_LEN: u64 = 32;

/// Decimal digits and a newline, without which a cut number would pass for a smaller one.
fn encode(token: Token) -> String {
    format!("{token}\n")
}

fn decode(bytes: &[u8]) -> Option<Token> {
    let digits = bytes.strip_suffix(b"\n")?;
    // `parse` would take a sign.
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Token::new(std::str::from_utf8(digits).ok()?.parse().ok()?)
}

fn broken(path: &Path, found: &str, last: &LastGrant) -> Failure {
    let path = path.display();
    let known = match last {
        LastGrant::Known(record) => format!(" (at least {})", record.token),
        LastGrant::Never | LastGrant::Unreadable => String::new(),
    };
    Failure::needs_repair(format!(
        "the token counter {path} {found}, and a token must never be granted twice; find the highest \
         token that was ever granted for this lock{known} and run: echo TOKEN > {path}"
    ))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_a_whole_number_is_a_token() {
        for bad in [
            &b""[..],
            b"\n",
            b"7",
            b"0\n",
            b"+7\n",
            b"-7\n",
            b" 7\n",
            b"7\n\n",
            b"7\r\n",
            b"0x7\n",
            b"\0\0\0\0",
            b"9223372036854775808\n",
            b"99999999999999999999999\n",
        ] {
            assert_eq!(decode(bad), None, "{}", bad.escape_ascii());
        }
        assert_eq!(decode(b"9223372036854775807\n"), Some(Token::MAX));
    }

    proptest! {
        #[test]
        fn a_cut_counter_is_no_counter(value in 1..=Token::MAX.get(), cut in 0_usize..20) {
            let text = encode(Token::new(value).unwrap());
            prop_assert_eq!(decode(text.as_bytes()).map(Token::get), Some(value));
            prop_assert!(text.len() < usize::try_from(MAX_LEN).unwrap());
            prop_assume!(cut < text.len());
            prop_assert_eq!(decode(&text.as_bytes()[..cut]), None);
        }
    }
}
