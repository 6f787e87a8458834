//! What the program says to people: help, version, and what is wrong with a command line.

use crate::common::{client, file, now_ns, server, Role};
use serde_json::json;
use std::process::{Command, Output};

fn program(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fairc-endpoints"));
    command.args(arguments).output().expect("the program starts")
}

#[test]
fn help_names_every_role() {
    let output = program(&["--help"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0));
    for role in ["tcp-server", "tcp-client", "udp-server", "udp-client", "monitor", "capture"] {
        assert!(text.contains(role), "{text}");
    }
}

#[test]
fn version_is_that_of_the_crate() {
    let output = program(&["--version"]);
    let expected = format!("fairc-endpoints {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
}

#[test]
fn an_unknown_role_is_127_and_the_roles_are_listed() {
    let ended = Role::start_at("tftp-server", now_ns(), "{}").end();
    assert_eq!(ended.status, 127);
    assert!(ended.stderr.contains("`tftp-server`; roles: tcp-server, tcp-client,"));
}

#[test]
fn a_bad_command_line_is_2() {
    for arguments in [&["monitor"][..], &["monitor", "{}"], &["--what"], &[]] {
        let output = program(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(!output.stderr.is_empty() && output.stdout.is_empty(), "{arguments:?}");
    }
}

#[test]
fn a_bad_description_is_2_and_says_what_is_wrong() {
    let mut extra = server(5000, 1);
    extra["colour"] = json!("red");
    let mut early = client(5000, 1, &file(1));
    early["stop_ns"] = json!(0);
    for (role, description, words) in [
        ("tcp-server", extra.to_string(), "unknown field `colour`"),
        ("tcp-server", server(0, 1).to_string(), "`port` is 0"),
        ("tcp-client", early.to_string(), "`stop_ns` 0 is not after the first of `starts_ns`, 0"),
        (
            "tcp-client",
            client(1, 1, &json!({"kind": "x"})).to_string(),
            "`workload.kind`: unknown variant `x`, expected one of `file`",
        ),
        ("monitor", r#"{"every_ns": "1s"}"#.into(), "`every_ns` is \"1s\""),
        (
            "capture",
            r#"{"interface": "lo", "direction": "up"}"#.into(),
            "`direction`: unknown variant `up`",
        ),
        ("monitor", "{}".into(), "`every_ns` is missing"),
        ("monitor", "[]".into(), "not a JSON object"),
        ("monitor", "\u{0}\u{fffd}".into(), "not JSON"),
    ] {
        // A process cannot be given a zero byte; the others pass as they are.
        let ended = Role::start_at(role, now_ns(), &description.replace('\0', "?")).end();
        assert_eq!(ended.status, 2, "{description}");
        assert!(ended.stderr.contains(words), "{}", ended.stderr);
        assert!(ended.stderr.starts_with("fairc-endpoints: ") && ended.events.is_empty());
    }
}
