//! `tenure run` on the file store: one command at a time, and what the command sees.

mod support;

use std::{ffi::OsString, os::unix::ffi::OsStringExt};

use support::{Home, stderr, stdout};

#[test]
fn the_command_sees_the_name_and_a_token_that_rises() {
    let home = Home::new();
    let show = ["run", "nightly", "--", "sh", "-c", "echo $TENURE_NAME $TENURE_TOKEN"];
    let first = home.output(show);
    let second = home.output(show);
    assert_eq!((stdout(&first), stderr(&first)), ("nightly 1\n".to_owned(), String::new()));
    assert_eq!(stdout(&second), "nightly 2\n");
}

#[test]
fn the_command_does_not_see_the_store() {
    let home = Home::new();
    let folder = home.folder.path().join("elsewhere");
    let output = home
        .tenure(["run", "nightly", "--", "env"])
        .env("TENURE_STORE", format!("file://{}", folder.display()))
        .output()
        .unwrap();
    assert!(output.status.success());
    assert!(folder.is_dir(), "TENURE_STORE names the store");
    let environment = stdout(&output);
    assert!(environment.contains("TENURE_TOKEN=1\n"));
    assert!(!environment.contains("TENURE_STORE"), "{environment}");
    assert!(!environment.contains("elsewhere"), "{environment}");
}

#[test]
fn the_command_inherits_no_descriptor() {
    let home = Home::new();
    let list = ["sh", "-c", "ls /proc/$$/fd"];
    let mut plain = std::process::Command::new(list[0]);
    let plain = plain.args(&list[1..]).stdin(std::process::Stdio::null()).output().unwrap();
    let output = home.output(["run", "nightly", "--"].iter().chain(&list));
    assert_eq!(stdout(&output), stdout(&plain));
}

#[test]
fn standard_input_is_the_commands_own() {
    let home = Home::new();
    let output = home
        .tenure(["run", "nightly", "--", "cat"])
        .stdin(std::fs::File::open(file!().trim_start_matches("cli/")).unwrap())
        .output()
        .unwrap();
    assert_eq!(stdout(&output), include_str!("run.rs"));
}

#[test]
fn the_exit_code_is_the_commands_own() {
    let home = Home::new();
    let code = |script: &str| home.output(["run", "n", "--", "sh", "-c", script]).status.code();
    assert_eq!(code("exit 0"), Some(0));
    assert_eq!(code("exit 3"), Some(3));
    assert_eq!(code("exit 255"), Some(255));
    assert_eq!(code("kill -TERM $$"), Some(143));
    assert_eq!(code("kill -KILL $$"), Some(137));
    assert_eq!(code("kill -34 $$"), Some(128 + 34), "a signal that has no name");
}

#[test]
fn a_command_that_cannot_run_is_told_as_a_shell_does() {
    let home = Home::new();
    let missing = home.output(["run", "n", "--", "/no/such/command"]);
    assert_eq!(missing.status.code(), Some(127));
    assert!(stderr(&missing).contains(r#"cannot run "/no/such/command""#));
    let folder = home.output(["run", "n", "--", "/"]);
    assert_eq!(folder.status.code(), Some(126));
    assert_eq!(
        home.output(["run", "-n", "n", "--", "true"]).status.code(),
        Some(0),
        "and released"
    );
}

#[test]
fn a_second_run_is_told_that_it_is_busy() {
    let home = Home::new();
    let mut holder = home.start(["run", "deploy", "--", "sh", "-c", "echo held; sleep 1000"]);
    assert_eq!(holder.line(), "held");

    let busy = home.output(["run", "--no-wait", "deploy", "--", "echo", "run"]);
    assert_eq!((busy.status.code(), stdout(&busy)), (Some(75), String::new()));
    assert!(stderr(&busy).contains(r#""deploy" is held by"#), "{}", stderr(&busy));

    let chosen = home.output(["run", "-n", "-E", "7", "-q", "deploy", "--", "echo", "run"]);
    assert_eq!((chosen.status.code(), stderr(&chosen)), (Some(7), String::new()));

    let waited = home.output(["run", "--wait", "50ms", "deploy", "--", "echo", "run"]);
    assert_eq!((waited.status.code(), stdout(&waited)), (Some(75), String::new()));

    let other = home.output(["run", "--no-wait", "other", "--", "echo", "run"]);
    assert_eq!(stdout(&other), "run\n");
}

#[test]
fn a_second_run_waits_for_the_first() {
    let home = Home::new();
    let mut first = home.start(["run", "deploy", "--", "sh", "-c", "echo held; sleep 1000"]);
    assert_eq!(first.line(), "held");
    let log = home.folder.path().join("log");
    let script = format!("cat {}", log.display());
    let mut second = home.start(["run", "deploy", "--", "sh", "-c", &script]);
    let told = second.tells("waiting for");
    assert!(told.contains(r#"waiting for "deploy": held by "#), "{told}");
    assert!(told.contains("(token 1)"), "{told}");
    std::fs::write(&log, "the first was there\n").unwrap();
    drop(first);
    assert_eq!(second.line(), "the first was there");
    assert_eq!(second.code(), 0);
}

#[test]
fn a_process_left_in_the_background_keeps_the_lock() {
    let home = Home::new();
    let pipe = home.folder.path().join("pipe");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let script = format!("setsid sh -c 'read line < {}; exit 9' & exit 5", pipe.display());
    let mut run = home.start(["run", "n", "--", "sh", "-c", &script]);
    run.tells("something that it started still runs");
    assert_eq!(home.output(["run", "-n", "n", "--", "true"]).status.code(), Some(75));
    std::fs::write(&pipe, "end\n").unwrap();
    assert_eq!(run.code(), 5, "the exit code is the command's own");
    assert_eq!(home.output(["run", "-n", "n", "--", "true"]).status.code(), Some(0));
}

#[test]
fn a_name_is_any_bytes() {
    let home = Home::new();
    let names: [&[u8]; 8] = [
        b"/",
        b"../../etc/passwd",
        b"a\nb",
        b" ; rm",
        b"\xff\xfe",
        "größe 鍵".as_bytes(),
        b"$(touch owned)",
        &[b'x'; 5000],
    ];
    for name in names {
        let name = OsString::from_vec(name.to_vec());
        let script = "printf %s \"$TENURE_NAME\"; exec \"$@\"";
        let tenure = OsString::from(env!("CARGO_BIN_EXE_tenure"));
        let mut arguments: Vec<OsString> = vec!["run".into(), name.clone()];
        arguments.extend(["--", "sh", "-c", script, "sh"].map(OsString::from));
        arguments.extend([tenure, "status".into(), name.clone()]);
        let output = home.output(arguments);
        assert_eq!(output.status.code(), Some(75), "{name:?}: {}", stderr(&output));
        let seen = OsString::from_vec(output.stdout);
        assert!(
            seen.as_encoded_bytes().starts_with(name.as_encoded_bytes()),
            "{name:?} was passed on as {seen:?}"
        );
    }
}

#[test]
fn events_are_told_as_json() {
    let home = Home::new();
    let output = home.output(["run", "--json", "n", "--", "true"]);
    let told = stderr(&output);
    let mut events =
        told.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let acquired = events.next().unwrap();
    assert_eq!(acquired["event"], "acquired");
    assert_eq!(acquired["token"], 1);
    assert_eq!(acquired["name"], "n");
    let released = events.next().unwrap();
    assert_eq!((&released["event"], &released["confirmed"]), (&"released".into(), &true.into()));
    assert_eq!(events.next(), None);
}
