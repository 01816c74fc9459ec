//! What lies in the folder, and who may touch it.

#![allow(clippy::unwrap_used, reason = "what fails here fails the test")]

mod support;

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::Path,
    process::Command,
};

use support::*;
use tenure_core::{Failure, Token};
use tenure_file::FileStore;
use tenure_store::ConnectError;

const REFUSED: Failure = Failure::Refused { permanent: true, retry_after: None };

fn mode(path: impl AsRef<Path>) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

#[test]
fn folder_and_files_are_their_owners_alone() {
    let fixture = Fixture::new();
    let folder = fixture.path("state/tenure");
    let store = FileStore::open(&folder).unwrap();
    token(acquire(&store, "nightly", 1), 1);
    assert_eq!((mode(&folder), mode(fixture.path("state"))), (0o700, 0o700));
    assert_eq!(mode(folder.join("nightly.lock")), 0o600);
    assert_eq!(mode(folder.join("nightly.token")), 0o600);
}

#[test]
fn the_lock_file_stays_the_same_file() {
    let fixture = Fixture::new();
    token(acquire(&fixture.store, "nightly", 1), 1);
    let file = fixture.path("nightly.lock");
    let before = fs::metadata(&file).unwrap().ino();
    release(&fixture.store, "nightly", 1).unwrap();
    token(acquire(&fixture.store, "nightly", 2), 2);
    release(&fixture.store, "nightly", 2).unwrap();
    assert_eq!(fs::metadata(&file).unwrap().ino(), before);
}

#[test]
fn nothing_but_lock_and_counter_is_left() {
    let fixture = Fixture::new();
    token(acquire(&fixture.store, "nightly", 1), 1);
    release(&fixture.store, "nightly", 1).unwrap();
    let mut names: Vec<_> = fs::read_dir(fixture.folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["nightly.lock", "nightly.token"]);
    assert_eq!(fs::read_to_string(fixture.path("nightly.token")).unwrap(), "1\n");
    let record = fs::read_to_string(fixture.path("nightly.lock")).unwrap();
    assert_eq!(record, "tenure-lock 1\nname nightly\ntoken 1\nend\n", "nobody has it");
}

#[test]
fn tokens_go_on_in_the_next_store() {
    let fixture = Fixture::new();
    assert_eq!(token(acquire(&fixture.store, "nightly", 1), 1), 1);
    drop(fixture.store);
    let store = FileStore::open(fixture.folder.path()).unwrap();
    assert_eq!(token(acquire(&store, "nightly", 1), 1), 2);
    assert_eq!(token(acquire(&store, "weekly", 2), 2), 1, "each lock counts for itself");
}

#[test]
fn a_counter_that_makes_no_sense_is_never_started_over() {
    for content in ["", "0\n", "7", "seven\n", "\0\0", "-1\n", "9223372036854775808\n"] {
        let fixture = Fixture::new();
        let counter = fixture.path("nightly.token");
        fs::write(&counter, content).unwrap();
        let error = acquire(&fixture.store, "nightly", 1).unwrap_err();
        assert_eq!(error.failure(), REFUSED);
        let text = error.to_string();
        assert!(text.contains(&format!("echo TOKEN > {}", counter.display())), "{text}");
        assert_eq!(fs::read_to_string(&counter).unwrap(), content, "it is left as it was");

        // What the error says to do helps, and the failed attempt left the lock free.
        fs::write(&counter, "41\n").unwrap();
        assert_eq!(token(acquire(&fixture.store, "nightly", 2), 2), 42);
    }
}

#[test]
fn a_counter_that_went_back_or_away_is_noticed() {
    let fixture = Fixture::new();
    let counter = fixture.path("nightly.token");
    for number in 1..=3 {
        token(acquire(&fixture.store, "nightly", number), number);
        release(&fixture.store, "nightly", number).unwrap();
    }
    for content in [Some("2\n"), None] {
        match content {
            Some(content) => fs::write(&counter, content).unwrap(),
            None => fs::remove_file(&counter).unwrap(),
        }
        let error = acquire(&fixture.store, "nightly", 4).unwrap_err();
        assert_eq!(error.failure(), REFUSED);
        assert!(error.to_string().contains("at least 3"), "{error}");
    }
}

#[test]
fn the_highest_token_is_the_last() {
    let fixture = Fixture::new();
    let last = Token::MAX.get();
    fs::write(fixture.path("nightly.token"), format!("{}\n", last - 1)).unwrap();
    assert_eq!(token(acquire(&fixture.store, "nightly", 1), 1), last);
    release(&fixture.store, "nightly", 1).unwrap();
    let error = acquire(&fixture.store, "nightly", 2).unwrap_err();
    assert_eq!(error.failure(), REFUSED);
    assert!(error.to_string().contains("another name"), "{error}");
}

#[test]
fn a_crash_between_write_and_rename_is_forgotten() {
    let fixture = Fixture::new();
    token(acquire(&fixture.store, "nightly", 1), 1);
    release(&fixture.store, "nightly", 1).unwrap();
    fs::write(fixture.path("nightly.token.new"), "99").unwrap();
    assert_eq!(token(acquire(&fixture.store, "nightly", 2), 2), 2);
}

#[test]
fn a_lock_record_that_makes_no_sense_is_written_anew() {
    let fixture = Fixture::new();
    assert_eq!(token(acquire(&fixture.store, "nightly", 1), 1), 1);
    release(&fixture.store, "nightly", 1).unwrap();
    fs::write(fixture.path("nightly.lock"), [0xff; 9_000]).unwrap();
    assert_eq!(token(acquire(&fixture.store, "nightly", 2), 2), 2);
}

#[test]
fn symbolic_links_are_not_followed() {
    let fixture = Fixture::new();
    let target = fixture.path("target");
    for file in ["nightly.lock", "nightly.token", "nightly.token.new"] {
        fs::write(&target, "7\n").unwrap();
        symlink(&target, fixture.path(file)).unwrap();
        let error = acquire(&fixture.store, "nightly", 1).unwrap_err();
        assert_eq!(error.failure(), REFUSED);
        assert!(error.to_string().contains("symbolic link"), "{error}");
        assert_eq!(fs::read_to_string(&target).unwrap(), "7\n");
        fs::remove_file(fixture.path(file)).unwrap();
    }

    let link = fixture.path("link");
    symlink(fixture.folder.path(), &link).unwrap();
    for link in [link.clone(), link.join(""), link.join(".")] {
        let error = FileStore::open(&link).unwrap_err();
        assert!(matches!(error, ConnectError::Unreachable(_)), "{link:?}: {error:?}");
        assert!(error.to_string().contains("symbolic link"), "{error}");
    }
}

#[test]
fn only_regular_files_are_locked() {
    let fixture = Fixture::new();
    for file in ["nightly.lock", "nightly.token"] {
        fs::create_dir(fixture.path(file)).unwrap();
        assert_eq!(acquire(&fixture.store, "nightly", 1).unwrap_err().failure(), REFUSED);
        fs::remove_dir(fixture.path(file)).unwrap();
        // A pipe that nobody writes to would hang whoever opens it.
        assert!(Command::new("mkfifo").arg(fixture.path(file)).status().unwrap().success());
        assert_eq!(acquire(&fixture.store, "nightly", 1).unwrap_err().failure(), REFUSED);
        fs::remove_file(fixture.path(file)).unwrap();
    }
    token(acquire(&fixture.store, "nightly", 1), 1);
}

#[test]
fn a_folder_that_others_can_write_to_is_refused() {
    let fixture = Fixture::new();
    let folder = fixture.path("locks");
    let store = FileStore::open(&folder).unwrap();
    for bad in [0o770, 0o702, 0o1777] {
        fs::set_permissions(&folder, fs::Permissions::from_mode(bad)).unwrap();
        let error = FileStore::open(&folder).unwrap_err();
        assert!(matches!(error, ConnectError::Unsafe(_)), "{bad:o}: {error:?}");
        assert!(error.to_string().contains("chmod go-w"), "{error}");
        assert_eq!(acquire(&store, "nightly", 1).unwrap_err().failure(), REFUSED);
    }
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    token(acquire(&store, "nightly", 1), 1);
}

#[test]
fn a_folder_of_somebody_else_is_refused() {
    // One that is not ours, whoever we are: root's, or one given away by root.
    let fixture = Fixture::new();
    let given_away = fixture.path("given-away");
    fs::create_dir(&given_away).unwrap();
    let folder = match std::os::unix::fs::chown(&given_away, Some(65_534), None) {
        Ok(()) => given_away,
        Err(_) => "/usr".into(),
    };
    let error = FileStore::open(folder).unwrap_err();
    assert!(matches!(error, ConnectError::Unsafe(_)), "{error:?}");
    assert!(error.to_string().contains("belongs to user"), "{error}");
}

#[test]
fn a_file_in_place_of_the_folder_is_refused() {
    let fixture = Fixture::new();
    let file = fixture.path("file");
    fs::write(&file, "").unwrap();
    assert!(matches!(FileStore::open(&file), Err(ConnectError::Unreachable(_))));
    assert!(matches!(FileStore::open(""), Err(ConnectError::Invalid(_))));
}
