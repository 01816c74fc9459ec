//! `status`, `doctor` and `demo`.

mod support;

use serde_json::Value;
use support::{Home, stdout};

#[test]
fn status_tells_who_holds_a_lock() {
    let home = Home::new();
    let free = home.output(["status", "n"]);
    assert_eq!((free.status.code(), stdout(&free)), (Some(0), "free\n".to_owned()));

    let mut holder = home.start(["run", "n", "--", "sh", "-c", "echo held; sleep 1000"]);
    assert_eq!(holder.line(), "held");
    let held = home.output(["status", "n"]);
    assert_eq!(held.status.code(), Some(75));
    let told = stdout(&held);
    assert!(told.starts_with("held by "), "{told}");
    assert!(told.contains(&holder.pid().to_string()), "{told}");
    assert!(told.contains("(token 1)"), "{told}");

    let json: Value =
        serde_json::from_slice(&home.output(["status", "--json", "n"]).stdout).unwrap();
    assert_eq!(
        (&json["held"], &json["token"], &json["name"]),
        (&true.into(), &1.into(), &"n".into())
    );
}

#[test]
fn doctor_tells_what_a_lock_is_worth() {
    let home = Home::new();
    let told = stdout(&home.output(["doctor"]));
    for word in ["file store", "fencing:", "a session, no term", "CLOCK_BOOTTIME", "µs"] {
        assert!(told.contains(word), "{word} is not in {told}");
    }
    let json: Value = serde_json::from_slice(&home.output(["doctor", "--json"]).stdout).unwrap();
    assert!(json["round_trip_us"].is_u64(), "{json}");
    assert!(json["clock"]["resolution_ns"].is_u64(), "{json}");
}

#[test]
fn the_demo_shows_the_three_scenes() {
    let home = Home::new();
    let told = stdout(&home.output(["demo"]));
    assert!(!told.contains('\x1b'), "no colours but on a terminal");
    let scenes: Vec<&str> = told.split("\n\n").collect();
    let [_, without, fenced, late, _] = scenes[..] else { panic!("{told}") };
    assert!(without.contains("A writes 110, over 130"), "{without}");
    assert!(without.contains("The balance is 110"), "{without}");
    assert!(fenced.contains("refused, stale token 33: 34 is installed"), "{fenced}");
    assert!(fenced.contains("The balance is 130"), "{fenced}");
    assert!(late.contains("A writes 110 with token 33, over 100"), "{late}");
    assert!(late.contains("B writes 130 with token 34, over 110"), "{late}");
    assert_eq!(told, stdout(&home.output(["demo"])), "the same at every run");
}
