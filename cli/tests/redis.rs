//! `tenure run` on Redis: what happens to the command when the server, or tenure itself, is not there.

mod support;

use std::{thread::sleep, time::Duration};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::Value;
use support::{Home, Running, boottime_ms, redis::Server, stderr, stdout, until_gone};

/// Beats until it is killed, and so does a grandchild in a session of its own; TERM is told, and not
/// obeyed. Standard output ends when the last of them is gone. Descriptor 9 never has anything to
/// read: waiting for it costs less than a process that sleeps.
const BEATING: &str = "\
    beat() { while :; do read now _ </proc/uptime; echo beat $now; read -t 0.02 -u 9; done; }; \
    export -f beat; exec 9<> <(:); \
    trap 'read now _ </proc/uptime; echo TERM $now' TERM; \
    setsid bash -c \"trap '' TERM; beat\" & beat";

/// How long a busy machine's shell may take to notice TERM and to tell the time, in milliseconds.
const SLOW_SHELL: u64 = 500;

fn run<'a>(server: &Server, options: &[&'a str], command: &[&'a str]) -> Vec<String> {
    let words = ["run".to_owned(), "--store".to_owned(), server.url()];
    let rest = options.iter().chain(&["--"]).chain(command).map(ToString::to_string);
    words.into_iter().chain(rest).collect()
}

/// The time in "beat 12.34" or "TERM 12.34", in milliseconds of the clock that leases are timed by.
fn time_of(line: &str) -> u64 {
    let seconds = line.split_once(' ').and_then(|(_, seconds)| seconds.parse::<f64>().ok());
    (seconds.expect("a line should be a word and a time") * 1_000.0) as u64
}

/// Reads until all that beats is gone: when TERM came, and when the last beat did.
fn listen(run: &mut Running) -> (Option<u64>, u64) {
    let (mut term, mut last) = (None, 0);
    let give_up = boottime_ms() + 20_000;
    while let Some(line) = run.next_line() {
        let time = time_of(&line);
        assert!(time < give_up, "nothing stopped it");
        if line.starts_with("TERM") {
            term = term.or(Some(time));
        }
        last = time.max(last);
    }
    (term, last)
}

#[test]
fn a_command_may_take_longer_than_the_term() {
    let server = Server::start(&[]);
    let home = Home::new();
    let options = ["--ttl", "2s", "job"];
    let output = home.output(run(&server, &options, &["sh", "-c", "sleep 4.5; echo done"]));
    assert_eq!((output.status.code(), stdout(&output)), (Some(0), "done\n".to_owned()));
}

#[test]
fn a_silent_server_ends_the_command_by_the_deadline() {
    let server = Server::start(&[]);
    let home = Home::new();
    let options = ["--ttl", "4s", "--grace", "1s", "--json", "job"];
    let mut holder = home.start(run(&server, &options, &["bash", "-c", BEATING]));
    holder.line();
    let silent = boottime_ms();
    server.signal(Signal::SIGSTOP);
    let (term, last) = listen(&mut holder);
    // Whatever was acknowledged was sent before the server fell silent, so the deadline is not later
    // than 4 s after that.
    let term = term.expect("TERM should come before KILL");
    assert!(term <= silent + 3_000 + SLOW_SHELL, "TERM came after {} ms", term - silent);
    assert!(last <= silent + 4_000, "it still ran after {} ms", last - silent);
    assert!(last > term, "there was no grace after TERM");
    assert_eq!(holder.code(), 70);
    let told = holder.rest_told().join("\n");
    for event in ["acquired", "at_risk", "stopping"] {
        assert!(told.contains(&format!(r#""event":"{event}""#)), "{event} is not in {told}");
    }
}

#[test]
fn a_stopped_tenure_does_not_outlive_its_lease() {
    let server = Server::start(&[]);
    let home = Home::new();
    let options = ["--ttl", "4s", "--grace", "1s", "job"];
    let mut holder = home.start(run(&server, &options, &["bash", "-c", BEATING]));
    holder.line();
    let stopped = boottime_ms();
    holder.signal(Signal::SIGSTOP);
    let (term, last) = listen(&mut holder);
    let term = term.expect("TERM should come before KILL");
    assert!(term <= stopped + 3_000 + SLOW_SHELL, "TERM came after {} ms", term - stopped);
    assert!(last <= stopped + 4_000, "it still ran after {} ms", last - stopped);
    holder.signal(Signal::SIGCONT);
    assert_eq!(holder.code(), 70);
}

#[test]
fn a_stopped_watchdog_is_replaced_by_tenure_itself() {
    let server = Server::start(&[]);
    let home = Home::new();
    let options = ["--ttl", "4s", "--grace", "1s", "job"];
    let script = format!("echo $PPID; {BEATING}");
    let mut holder = home.start(run(&server, &options, &["bash", "-c", &script]));
    let watchdog = Pid::from_raw(holder.line().parse().unwrap());
    let silent = boottime_ms();
    kill(watchdog, Signal::SIGSTOP).unwrap();
    server.signal(Signal::SIGSTOP);
    let (_, last) = listen(&mut holder);
    assert!(last <= silent + 4_000, "it still ran after {} ms", last - silent);
    assert_eq!(holder.code(), 70);
}

#[test]
fn a_command_that_listens_ends_in_the_grace() {
    let server = Server::start(&[]);
    let home = Home::new();
    let script = "trap 'echo bye; exit 0' TERM; echo held; while :; do sleep 0.01; done";
    let options = ["--ttl", "3s", "--grace", "800ms", "job"];
    let mut holder = home.start(run(&server, &options, &["bash", "-c", script]));
    assert_eq!(holder.line(), "held");
    server.signal(Signal::SIGSTOP);
    assert_eq!(holder.line(), "bye");
    assert_eq!(holder.code(), 70, "it was stopped, whatever it says itself");
}

#[test]
fn a_killed_holders_lease_ends_with_its_term() {
    let server = Server::start(&[]);
    let home = Home::new();
    let options = ["--ttl", "3s", "job"];
    let script = "sleep 1000 & echo $!; echo $$; wait";
    let mut holder = home.start(run(&server, &options, &["bash", "-c", script]));
    let pids = [holder.line(), holder.line()];
    let mut next = home.start(run(&server, &options, &["sh", "-c", "echo $TENURE_TOKEN"]));
    next.tells("waiting for \"job\": held (token 1) for at most");
    holder.signal(Signal::SIGKILL);
    assert_eq!(holder.rest(), [""; 0], "the command ends with tenure, not with the term");
    pids.iter().for_each(|pid| until_gone(pid));
    assert_eq!(next.line(), "2");
}

#[test]
fn a_flushed_script_and_a_restart_lose_nothing() {
    let mut server = Server::start(&[]);
    let home = Home::new();
    let options = ["--ttl", "12s", "--json", "job"];
    let mut holder = home.start(run(&server, &options, &["sh", "-c", "echo held; sleep 1000"]));
    holder.line();
    assert_eq!(server.ask("SCRIPT FLUSH"), "+OK");
    server.stop();
    sleep(Duration::from_secs(3));
    server.start_again();
    let mut left = server.time_to_live("job");
    loop {
        let now = server.time_to_live("job");
        assert!(now > 0, "the lease is gone");
        if now > left {
            break;
        }
        left = now;
        sleep(Duration::from_millis(20));
    }
    holder.signal(Signal::SIGTERM);
    assert_eq!(holder.code(), 143);
    assert_eq!(server.time_to_live("job"), -2, "and it was released");
}

#[test]
fn a_server_that_forgot_everything_is_told_to_the_next_holder() {
    let server = Server::start(&[]);
    let home = Home::new();
    let options = ["--ttl", "3s", "--json", "job"];
    let before = home.output(run(&server, &options, &["true"]));
    assert_eq!(before.status.code(), Some(0), "{}", stderr(&before));
    let mut holder = home.start(run(&server, &options, &["sh", "-c", "echo held; sleep 1000"]));
    holder.line();
    assert_eq!(server.ask("FLUSHALL"), "+OK");
    let lost: Value = serde_json::from_str(&holder.tells(r#""event":"lost""#)).unwrap();
    assert_eq!(lost["reason"], "gone");
    assert_eq!(holder.code(), 70);

    let next = home.output(run(&server, &options, &["true"]));
    let told = stderr(&next);
    let told = told.lines().find(|line| line.contains("token_went_back")).expect(&told);
    let told: Value = serde_json::from_str(told).unwrap();
    assert_eq!((&told["seen"], &told["got"]), (&2.into(), &1.into()));
    assert_eq!(next.status.code(), Some(0));
    let warned = home.output(run(&server, &["-q", "job"], &["true"]));
    assert_eq!(stderr(&warned).lines().count(), 1, "{}", stderr(&warned));
    assert!(stderr(&warned).contains("warning"), "{}", stderr(&warned));
}

#[test]
fn a_state_folder_that_cannot_be_written_stops_nothing() {
    let server = Server::start(&[]);
    let home = Home::new();
    let output = home
        .tenure(run(&server, &["job"], &["echo", "run"]))
        .env("XDG_STATE_HOME", "/proc/none")
        .output()
        .unwrap();
    assert_eq!(stdout(&output), "run\n");
}

#[test]
fn a_plain_client_and_tenure_exclude_each_other() {
    let server = Server::start(&[]);
    let home = Home::new();
    assert_eq!(server.ask("SET job somebody NX PX 60000"), "+OK");
    let busy = home.output(run(&server, &["-n", "job"], &["true"]));
    assert_eq!(busy.status.code(), Some(75));
    assert!(stderr(&busy).contains("a client that is not Tenure"), "{}", stderr(&busy));
    assert_eq!(server.ask("DEL job"), ":1");
    let mut holder = home.start(run(&server, &["job"], &["sh", "-c", "echo held; sleep 1000"]));
    holder.line();
    assert_eq!(server.ask("SET job somebody NX PX 60000"), "$-1");
}

#[test]
fn a_password_reaches_nobody() {
    let server = Server::start(&["--requirepass", "s3cret"]);
    let home = Home::new();
    let show = "tr '\\0' '\\n' </proc/$PPID/environ; tr '\\0' '\\n' </proc/$PPID/cmdline; env; \
        find $XDG_STATE_HOME; find $XDG_STATE_HOME -type f -exec cat {} +";
    let url = format!("redis://:s3cret@127.0.0.1:{}", server.port);
    let output = home
        .tenure(["run", "--json", "job", "--", "sh", "-c", show])
        .env("TENURE_STORE", &url)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("TENURE_TOKEN=1"));
    assert!(stdout(&output).contains("tenure/seen/"), "{}", stdout(&output));
    for text in [stdout(&output), stderr(&output)] {
        assert!(!text.contains("s3cret"), "{text}");
    }
    let wrong = format!("redis://:wr0ng@127.0.0.1:{}", server.port);
    let refused = home.output(["doctor", &wrong]);
    assert_eq!(refused.status.code(), Some(69), "{}", stderr(&refused));
    assert!(!stderr(&refused).contains("wr0ng"), "{}", stderr(&refused));
}

#[test]
fn doctor_and_status_look_at_the_server() {
    let server = Server::start(&[]);
    let home = Home::new();
    let told = stdout(&home.output(["doctor", &server.url()]));
    assert!(told.contains("a bounded term"), "{told}");
    let mut holder = home.start(run(&server, &["job"], &["sh", "-c", "echo held; sleep 1000"]));
    holder.line();
    let held = home.output(["status", "--json", "--store", &server.url(), "job"]);
    assert_eq!(held.status.code(), Some(75));
    let held: Value = serde_json::from_slice(&held.stdout).unwrap();
    assert_eq!((&held["held"], &held["token"]), (&true.into(), &1.into()));
    assert!(held["remaining_ms"].as_u64().unwrap() <= 30_000, "{held}");
}
