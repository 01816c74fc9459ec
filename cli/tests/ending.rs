//! However `tenure run` ends, its command ends first, and the lock is let go of last.

mod support;

use nix::{
    sys::{
        signal::{Signal, kill},
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
    unistd::Pid,
};
use support::{Home, Running, boottime_ms, exists, until_gone};

/// Prints the process ids of itself, a child and a grandchild in a session of its own; then sleeps.
const FAMILY: &str = "sleep 1000 & echo $!; \
    setsid sh -c 'echo $$; sleep 1000' & wait_for_it=$!; echo $$; wait";

fn family(run: &mut Running) -> Vec<String> {
    (0..3).map(|_| run.line()).collect()
}

/// What to run to see whether `pids` are gone when the lock was had.
fn check(pids: &[String]) -> String {
    let pids = pids.join(" ");
    format!("for pid in {pids}; do kill -0 $pid 2>/dev/null && echo $pid is alive; done; echo held")
}

#[test]
fn a_killed_holders_command_is_gone_before_the_next_holder_starts() {
    let home = Home::new();
    let mut holder = home.start(["run", "n", "--", "sh", "-c", FAMILY]);
    let pids = family(&mut holder);
    let mut next = home.start(["run", "n", "--", "sh", "-c", &check(&pids)]);
    next.tells("waiting for");

    let killed = boottime_ms();
    holder.signal(Signal::SIGKILL);
    assert_eq!(next.line(), "held");
    let took = boottime_ms() - killed;
    assert!(took < 500, "the next holder had to wait for {took} ms");
    assert_eq!(next.code(), 0);

    let token = home.output(["run", "n", "--", "sh", "-c", "echo $TENURE_TOKEN"]);
    assert_eq!(support::stdout(&token), "3\n", "tokens rise over a kill");
}

#[test]
fn the_watchdog_has_the_lock_open_and_the_command_has_not() {
    let home = Home::new();
    let list = "readlink /proc/$PPID/fd/*; echo; readlink /proc/$$/fd/*";
    let output = support::stdout(&home.output(["run", "n", "--", "sh", "-c", list]));
    let (watchdog, command) = output.split_once("\n\n").unwrap();
    assert!(watchdog.contains("/tenure/locks/"), "{watchdog}");
    assert!(!command.contains("/tenure/locks/"), "{command}");
}

#[test]
fn a_killed_watchdog_takes_the_command_with_it() {
    let home = Home::new();
    let mut holder = home.start(["run", "n", "--", "sh", "-c", &format!("echo $PPID; {FAMILY}")]);
    let watchdog = holder.line();
    let pids = family(&mut holder);
    let watchdog = Pid::from_raw(watchdog.parse().unwrap());
    kill(watchdog, Signal::SIGKILL).unwrap();
    holder.tells("the watchdog has died");
    assert_eq!(holder.code(), 71);
    for pid in pids {
        assert!(!exists(&pid), "{pid} is still there");
    }
}

#[test]
fn both_killed_at_once_still_end_the_command() {
    let home = Home::new();
    let script = "echo $PPID; echo $$; exec sleep 1000";
    let mut holder = home.start(["run", "n", "--", "sh", "-c", script]);
    let watchdog = Pid::from_raw(holder.line().parse().unwrap());
    let command = holder.line();
    holder.signal(Signal::SIGSTOP);
    kill(watchdog, Signal::SIGKILL).unwrap();
    holder.signal(Signal::SIGKILL);
    assert_eq!(holder.rest(), [""; 0], "the command's output ends with it");
    until_gone(&command);
}

#[test]
fn a_run_within_a_run_ends_with_it() {
    let home = Home::new();
    let tenure = env!("CARGO_BIN_EXE_tenure");
    let inner = [tenure, "run", "inner", "--", "sh", "-c", FAMILY];
    let mut outer = home.start(["run", "outer", "--"].iter().chain(&inner));
    let pids = family(&mut outer);
    outer.signal(Signal::SIGKILL);
    assert_eq!(outer.rest(), [""; 0]);
    let mut next = home.start(["run", "outer", "--", "sh", "-c", &check(&pids)]);
    assert_eq!(next.line(), "held");
    assert_eq!(home.output(["run", "inner", "--", "true"]).status.code(), Some(0));
}

#[test]
fn a_signal_that_is_ignored_stays_ignored() {
    let home = Home::new();
    let tenure = env!("CARGO_BIN_EXE_tenure");
    let script = format!("trap '' HUP; exec {tenure} run n -- sh -c 'kill -HUP $$; echo survived'");
    let mut command = std::process::Command::new("sh");
    command.env("XDG_STATE_HOME", home.folder.path()).args(["-c", &script]);
    assert_eq!(Running::of(&mut command).line(), "survived");
}

#[test]
fn a_suspended_command_suspends_tenure_and_goes_on_with_it() {
    let home = Home::new();
    let mut run =
        home.start(["run", "n", "--", "sh", "-c", "echo $$; kill -TSTP $$; echo went on"]);
    let command = Pid::from_raw(run.line().parse().unwrap());
    let stopped = waitpid(run.pid(), Some(WaitPidFlag::WUNTRACED)).unwrap();
    assert_eq!(stopped, WaitStatus::Stopped(run.pid(), Signal::SIGSTOP));
    assert!(exists(&command.to_string()));
    run.signal(Signal::SIGCONT);
    assert_eq!(run.line(), "went on");
    assert_eq!(run.code(), 0);
}

#[test]
fn signals_are_passed_on() {
    let home = Home::new();
    let script = "for s in HUP INT QUIT USR1 USR2 WINCH; do trap \"echo $s\" $s; done; \
        trap 'echo TERM; exit 4' TERM; echo ready; while :; do sleep 1000 & wait $!; kill $!; done";
    let mut run = home.start(["run", "n", "--", "bash", "-c", script]);
    assert_eq!(run.line(), "ready");
    for (signal, name) in [
        (Signal::SIGHUP, "HUP"),
        (Signal::SIGINT, "INT"),
        (Signal::SIGQUIT, "QUIT"),
        (Signal::SIGUSR1, "USR1"),
        (Signal::SIGUSR2, "USR2"),
        (Signal::SIGWINCH, "WINCH"),
        (Signal::SIGTERM, "TERM"),
    ] {
        run.signal(signal);
        assert_eq!(run.line(), name);
    }
    assert_eq!(run.code(), 4);
}

#[test]
fn a_signal_ends_the_waiting() {
    let home = Home::new();
    let mut holder = home.start(["run", "n", "--", "sh", "-c", "echo held; sleep 1000"]);
    assert_eq!(holder.line(), "held");
    for (signal, code) in [(Signal::SIGTERM, 143), (Signal::SIGINT, 130), (Signal::SIGHUP, 129)] {
        let mut waiter = home.start(["run", "n", "--", "echo", "run"]);
        waiter.tells("waiting for");
        waiter.signal(signal);
        assert_eq!(waiter.code(), code);
        assert_eq!(waiter.rest(), [""; 0]);
    }
}

#[test]
fn a_lost_lock_stops_the_command() {
    let home = Home::new();
    let script = "trap 'echo TERM; exit 0' TERM; echo held; while :; do sleep 0.01; done";
    let mut holder = home.start(["run", "--ttl", "900ms", "--json", "n", "--", "sh", "-c", script]);
    assert_eq!(holder.line(), "held");
    std::fs::remove_dir_all(home.folder.path().join("tenure/locks")).unwrap();
    assert_eq!(holder.line(), "TERM");
    holder.tells(r#""event":"lost""#);
    assert_eq!(holder.code(), 70);
}

#[test]
fn a_command_that_does_not_listen_is_killed() {
    let home = Home::new();
    let script = format!("trap '' TERM; {FAMILY}");
    let mut holder = home.start(["run", "--ttl", "900ms", "n", "--", "sh", "-c", &script]);
    let pids = family(&mut holder);
    std::fs::remove_dir_all(home.folder.path().join("tenure/locks")).unwrap();
    assert_eq!(holder.code(), 70);
    for pid in pids {
        assert!(!exists(&pid), "{pid} is still there");
    }
}
