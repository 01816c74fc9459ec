//! The command line: what makes no sense exits 64 and says what to write.

mod support;

use std::os::unix::process::CommandExt;

use support::{Home, stderr, stdout};

#[test]
fn usage_errors_exit_64_and_say_what_to_write() {
    let home = Home::new();
    let cases: [(&[&str], &str); 16] = [
        (&[], "Usage"),
        (&["fly"], "unrecognized subcommand"),
        (&["run"], "Usage"),
        (&["run", "n"], "<CMD>"),
        (&["run", "n", "true"], "unexpected argument"),
        (&["run", "", "--", "true"], "a name of at least one byte"),
        (&["run", "--ttl", "30", "n", "--", "true"], "30s"),
        (&["run", "--ttl", "-1s", "n", "--", "true"], "cannot be negative"),
        (&["run", "--ttl", "0s", "n", "--", "true"], "zero"),
        (&["run", "--ttl", "99999999999999999999s", "n", "--", "true"], "too long"),
        (&["run", "--wait", "soon", "n", "--", "true"], "write a duration as"),
        (&["run", "--wait", "1s", "--no-wait", "n", "--", "true"], "cannot be used with"),
        (&["run", "-E", "256", "n", "--", "true"], "256"),
        (&["run", "--store", "ftp://h", "n", "--", "true"], "no store for ftp://"),
        (&["run", "--store", "no url", "n", "--", "true"], "redis://HOST"),
        (&["run", "--ttl", "3s", "--grace", "3s", "n", "--", "true"], "grace"),
    ];
    for (arguments, hint) in cases {
        let output = home.output(arguments);
        let told = stderr(&output);
        assert_eq!(output.status.code(), Some(64), "{arguments:?}: {told}");
        assert!(told.contains(hint), "{arguments:?}: {told}");
        assert_eq!(stdout(&output), "", "{arguments:?}");
    }
}

#[test]
fn the_watchdog_is_not_for_people() {
    let home = Home::new();
    for control in ["0", "77", "-1"] {
        let mut command = home.tenure(["--control", control, "--", "true"]);
        let output = command.arg0("tenure-watchdog").output().unwrap();
        assert_eq!(output.status.code(), Some(64), "{}", stderr(&output));
    }
}

#[test]
fn help_and_version_are_no_errors() {
    let home = Home::new();
    for arguments in [["--help"].as_slice(), &["--version"], &["run", "--help"], &["help", "run"]] {
        let output = home.output(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert_ne!(stdout(&output), "", "{arguments:?}");
        assert!(!stdout(&output).contains("watchdog --"), "{arguments:?}");
    }
}

#[test]
fn a_password_is_never_repeated() {
    let home = Home::new();
    for url in ["redis://user:s3cret@127.0.0.1:1/0", "redis://user:s3cret@[", "nats://s3cret@h"] {
        let output = home.output(["run", "--store", url, "n", "--", "true"]);
        assert!(!stderr(&output).contains("s3cret"), "{}", stderr(&output));
        assert_ne!(output.status.code(), Some(0));
    }
}

#[test]
fn a_store_that_cannot_be_reached_exits_69() {
    let home = Home::new();
    let url = "redis://127.0.0.1:1";
    for arguments in [
        ["run", "--store", url, "n", "--", "true"].as_slice(),
        &["status", "--store", url, "n"],
        &["doctor", url],
    ] {
        let output = home.output(arguments);
        assert_eq!(output.status.code(), Some(69), "{arguments:?}: {}", stderr(&output));
    }
    let output = home.output(["run", "--json", "--store", url, "n", "--", "true"]);
    assert_eq!(output.status.code(), Some(69));
    let told: serde_json::Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!(told["event"], "failed");
}

#[test]
fn man_pages_and_completions_are_printed() {
    let home = Home::new();
    let page = stdout(&home.output(["man"]));
    assert!(page.contains(".TH tenure 1"), "{page}");
    let page = stdout(&home.output(["man", "run"]));
    assert!(page.contains(".TH tenure-run 1"), "{page}");
    for word in ["TENURE_TOKEN", "\\-\\-grace", "SYNOPSIS", ".SH \"EXIT STATUS\""] {
        assert!(page.contains(word), "{word} is not in {page}");
    }
    assert_eq!(home.output(["man", "watchdog"]).status.code(), Some(64));
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = stdout(&home.output(["completions", shell]));
        assert!(script.contains("no-wait"), "{shell}");
        assert!(!script.contains("watchdog"), "{shell} offers what is hidden");
    }
}
