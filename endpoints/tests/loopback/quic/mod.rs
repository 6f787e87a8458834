//! QUIC server and client together, over loopback.

mod endings;
mod files;
mod transfers;

use crate::common::{bulk, file, free_port, now_ns, wait_until, Ended, Role, NEVER};
use serde_json::{json, Value};
use std::fs;
use std::net::UdpSocket;
use std::path::PathBuf;
use std::time::Duration;

/// Time for a client to start and to have its work done or refused, on a busy machine too, ns.
const LONG_ENOUGH: i64 = 1_000_000_000;

/// Description of a server whose connections use reno. Its files are named by its port.
fn server(port: u16, connections: u32, workload: &Value) -> Value {
    json!({"flow": format!("f{port}"), "address": "127.0.0.1", "port": port,
        "cca": {"name": "reno", "parameters": {}}, "connections": connections,
        "buffer_bytes": 400_000, "workload": workload, "rate_bps": null, "options": options(),
        "starts_ns": vec![0; connections as usize], "sample_every_ns": NEVER, "qlog": false,
        "certificate_expires_ns": null, "idle_timeout_ns": null})
}

/// Description of a client whose connections start at the epoch.
fn client(port: u16, connections: u32, workload: &Value) -> Value {
    json!({"flow": format!("f{port}"), "address": "127.0.0.1", "port": port,
        "connections": connections, "buffer_bytes": 400_000, "workload": workload,
        "options": options(), "starts_ns": vec![0; connections as usize], "stop_ns": null,
        "progress_every_ns": NEVER, "idle_timeout_ns": null})
}

fn options() -> Value {
    json!({"initial_window_packets": 10, "receive_window_bytes": null, "ecn": false, "sack": true,
        "pacing": true, "fast_open": false, "idle_restart": null})
}

fn serve(description: &Value) -> Role {
    Role::start_until("quic-server", description, "listening")
}

/// Runs a server and a client to their ends.
fn run(server: &Value, client: &Value) -> (Ended, Ended) {
    let serving = serve(server);
    let client = Role::start("quic-client", client).end();
    (serving.end(), client)
}

fn numbers(events: &[&Value], name: &str) -> Vec<u64> {
    events.iter().map(|event| event[name].as_u64().expect("a number")).collect()
}

fn left_by(port: u16, ending: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("f{port}.{ending}"))
}

/// Starts both ends of a bulk transfer and waits until data flows.
fn flowing(port: u16, idle_timeout_ns: Option<i64>) -> (Role, Role) {
    let mut serving = server(port, 1, &bulk());
    serving["idle_timeout_ns"] = json!(idle_timeout_ns);
    let server = serve(&serving);
    let mut asking = client(port, 1, &bulk());
    asking["idle_timeout_ns"] = json!(idle_timeout_ns);
    let client = Role::start("quic-client", &asking);
    wait_until(|| client.has_worked(4));
    (server, client)
}
