//! What only another process can show: exclusion, death, a stop, an inherited descriptor, a full disk.

#![allow(clippy::unwrap_used, reason = "what fails here fails the test")]

mod support;

use std::{
    env, fs,
    io::{BufRead, BufReader, Read, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use support::*;
use tenure_core::{Failure, Reply};
use tenure_file::FileStore;
use tenure_store::Inspection;

const FOLDER: &str = "TENURE_FILE_TEST_FOLDER";

/// A process that has the lock "nightly" until its standard input ends.
struct Holder {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    token: u64,
}

impl Holder {
    fn start(fixture: &Fixture) -> Self {
        let mut child = this_test("child_that_holds")
            .env(FOLDER, fixture.folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdin = child.stdin.take();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        let token = loop {
            line.clear();
            assert_ne!(stdout.read_line(&mut line).unwrap(), 0, "the child did not get the lock");
            if let Some(token) = line.trim().strip_prefix("token ") {
                break token.parse().unwrap();
            }
        };
        Self { child, stdin, stdout, token }
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// This test binary again, running one of its tests.
fn this_test(test: &str) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]);
    command
}

/// Not a test of its own: what [`Holder`] runs.
#[test]
fn child_that_holds() {
    let Ok(folder) = env::var(FOLDER) else { return };
    let store = FileStore::open(folder).unwrap();
    // The harness has begun a line.
    println!("\ntoken {}", token(acquire(&store, "nightly", 1), 1));
    std::io::stdout().flush().unwrap();
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    assert_reply(renew(&store, "nightly", 1), Reply::Renewed { term: TERM });
    assert_reply(release(&store, "nightly", 1), Reply::Released);
}

#[test]
fn processes_exclude_each_other() {
    let fixture = Fixture::new();
    let mut holder = Holder::start(&fixture);
    assert_busy(acquire(&fixture.store, "nightly", 2));
    let Inspection::Held { holder: Some(who), .. } = inspect(&fixture.store, "nightly") else {
        panic!("not held")
    };
    assert!(who.starts_with(&format!("pid {} on ", holder.child.id())), "{who}");

    drop(holder.stdin.take());
    holder.stdout.read_to_end(&mut Vec::new()).unwrap();
    assert!(holder.child.wait().unwrap().success());
    assert_eq!(inspect(&fixture.store, "nightly"), Inspection::Free);
    assert_eq!(token(acquire(&fixture.store, "nightly", 2), 2), holder.token + 1);
}

/// Not a test of its own: takes the lock again and again, and counts in a file that only the lock
/// protects.
#[test]
fn child_that_counts() {
    let Ok(folder) = env::var("TENURE_FILE_TEST_COUNT") else { return };
    let store = FileStore::open(&folder).unwrap();
    let count = Path::new(&folder).join("count");
    for round in 0..ROUNDS {
        let granted = loop {
            match acquire(&store, "nightly", round) {
                Ok(Reply::Granted { token, .. }) => break token,
                reply => assert_busy(reply),
            }
        };
        let before: u64 = fs::read_to_string(&count).map_or(0, |text| text.parse().unwrap());
        fs::write(&count, (before + 1).to_string()).unwrap();
        assert_eq!(granted.get(), before + 1, "one token for each grant, in their order");
        assert_reply(release(&store, "nightly", round), Reply::Released);
    }
}

const ROUNDS: u8 = 8;

#[test]
fn processes_that_race_lose_no_count_and_share_no_token() {
    const PROCESSES: u64 = 3;
    let fixture = Fixture::new();
    let children: Vec<Child> = (0..PROCESSES)
        .map(|_| {
            this_test("child_that_counts")
                .env("TENURE_FILE_TEST_COUNT", fixture.folder.path())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
    let next = token(acquire(&fixture.store, "nightly", 1), 1);
    assert_eq!(next, PROCESSES * u64::from(ROUNDS) + 1);
}

/// The lock is free when the dead process has been waited for, and tokens go on.
#[test]
fn a_killed_holder_frees_at_once() {
    let fixture = Fixture::new();
    let mut last = 0;
    for number in 2..5 {
        let holder = Holder::start(&fixture);
        assert!(holder.token > last);
        last = holder.token;
        holder.kill();
        assert_eq!(inspect(&fixture.store, "nightly"), Inspection::Free);
        let next = token(acquire(&fixture.store, "nightly", number), number);
        assert!(next > last);
        last = next;
        release(&fixture.store, "nightly", number).unwrap();
    }
}

#[test]
fn a_stopped_holder_keeps_it() {
    let fixture = Fixture::new();
    let holder = Holder::start(&fixture);
    kill_process(holder.pid(), Signal::STOP).unwrap();
    let (_, status) = waitpid(Some(holder.pid()), WaitOptions::UNTRACED).unwrap().unwrap();
    assert!(status.stopped());
    assert_busy(acquire(&fixture.store, "nightly", 2));
    assert!(matches!(inspect(&fixture.store, "nightly"), Inspection::Held { .. }));
    holder.kill();
    token(acquire(&fixture.store, "nightly", 2), 2);
}

/// What `tenure run` rests on: the lock outlives its holder in whoever was handed its descriptor.
#[test]
fn a_descriptor_in_another_process_holds_the_lock() {
    let Fixture { store, folder } = Fixture::new();
    token(acquire(&store, "nightly", 1), 1);
    let descriptor = store.descriptor(&name("nightly")).unwrap();
    let mut heir =
        Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::from(descriptor)).spawn().unwrap();
    drop(store);

    let store = FileStore::open(folder.path()).unwrap();
    assert_busy(acquire(&store, "nightly", 2));
    drop(heir.stdin.take());
    assert!(heir.wait().unwrap().success());
    // Another test's child may have a copy too, between its fork and its exec.
    while !matches!(acquire(&store, "nightly", 2), Ok(Reply::Granted { .. })) {}
}

/// Not a test of its own: run with no room for a single byte.
#[test]
fn child_without_room() {
    let Ok(folder) = env::var("TENURE_FILE_TEST_NO_ROOM") else { return };
    let store = FileStore::open(folder).unwrap();
    let error = acquire(&store, "nightly", 1).unwrap_err();
    assert_eq!(error.failure(), Failure::Refused { permanent: true, retry_after: None });
    assert!(error.to_string().contains("nightly.token"), "{error}");
    assert!(error.to_string().contains("ulimit -f"), "{error}");
    assert_reply(release(&store, "nightly", 1), Reply::Gone);
}

/// A real failing write, by the limit on a file's size; every other failure is injected, next to the
/// store's code.
#[test]
fn without_room_nothing_is_granted() {
    let fixture = Fixture::new();
    let test = this_test("child_without_room");
    let outcome = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 0; \"$@\" | cat; exit $?", "sh"])
        .arg(test.get_program())
        .args(test.get_args())
        .env("TENURE_FILE_TEST_NO_ROOM", fixture.folder.path())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&outcome.stdout);
    assert!(text.contains("1 passed"), "{text}{}", String::from_utf8_lossy(&outcome.stderr));
    assert_eq!(token(acquire(&fixture.store, "nightly", 1), 1), 1);
}
