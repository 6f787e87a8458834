//! The programs that fairc runs inside emulated hosts: `fairc-endpoints ROLE --epoch-ns N
//! DESCRIPTION`.
//!
//! In order of control flow: `arguments` reads the command line, `description` the JSON object,
//! one module of `roles` does the work on a `reactor`, and `events` writes what happened as
//! newline-delimited JSON. `docs/build/endpoints.md` is the manual.
//!
//! An `io::Error` is what the kernel says: a function's `# Errors` are there where there is more to
//! say.

#[cfg(all(target_env = "gnu", not(target_feature = "crt-static"), not(doc)))]
compile_error!("not a static build: run cargo inside endpoints/, where .cargo/config.toml applies");

mod agenda;
mod arguments;
mod arrivals;
mod bbr_info;
mod block;
mod clock;
mod congestion;
mod description;
mod downloads;
mod egress;
mod events;
mod failure;
mod headers;
mod json;
mod media;
mod mptcp;
mod network;
mod options;
mod packet_ring;
mod packet_times;
mod pcap;
mod pep;
mod player;
mod policer;
#[cfg(test)]
mod protocol;
mod quic;
mod random;
mod reactor;
mod request;
mod roles;
mod service;
mod slots;
mod socket;
mod source;
mod streams;
mod sys;
mod tcp;
mod tcp_info;
mod tunnel;
mod udp;
mod web;
mod workload;

use arguments::Command;
use std::process::{abort, exit};

/// Exit status after an `error` event.
const FAILED: i32 = 1;
/// Exit status for a command line or a description that cannot be read.
const BAD_DESCRIPTION: i32 = 2;
/// Exit status for a role that does not exist, as a shell answers for a command it cannot find.
const UNKNOWN_ROLE: i32 = 127;

fn main() {
    abort_on_panic();
    let words: Vec<String> =
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    exit(match arguments::parse(&words) {
        Ok(Command::Help) => {
            print!("{}", arguments::help(roles::ROLES));
            0
        }
        Ok(Command::Version) => {
            println!("fairc-endpoints {}", env!("CARGO_PKG_VERSION"));
            0
        }
        Ok(Command::Ccas) => {
            print!("{}", congestion::exported());
            0
        }
        Ok(Command::Run { role, epoch_ns, description }) => run(&role, epoch_ns, &description),
        Err(message) => complain(&message, BAD_DESCRIPTION),
    });
}

/// Ends the program where any thread or task panics, as `panic = "abort"` in `Cargo.toml` would:
/// tests unwind, so with that line cargo compiles every crate a second time for them.
fn abort_on_panic() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        report(panic);
        abort();
    }));
}

/// Runs one role to its end and returns the exit status.
fn run(name: &str, epoch_ns: i64, description: &str) -> i32 {
    let Some(role) = roles::ROLES.iter().find(|role| role.name == name) else {
        let known: Vec<&str> = roles::ROLES.iter().map(|role| role.name).collect();
        let message = format!("unknown role `{name}`; roles: {}", known.join(", "));
        return complain(&message, UNKNOWN_ROLE);
    };
    let mut log = events::Log::new(clock::Clock::new(epoch_ns));
    if let Err(error) = (role.run)(description, &mut log) {
        match error {
            failure::Failure::Description(message) => {
                return complain(&format!("{name}: {message}"), BAD_DESCRIPTION)
            }
            failure::Failure::Work(message) => log.error(None, &message),
        }
    }
    match log.close() {
        Ok(true) => 0,
        Ok(false) => FAILED,
        Err(error) => complain(&format!("cannot write to standard output: {error}"), FAILED),
    }
}

fn complain(message: &str, status: i32) -> i32 {
    eprintln!("fairc-endpoints: {message}");
    status
}
