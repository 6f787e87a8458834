//! Every congestion controller in a QUIC server, over loopback.

use crate::common::{file, free_port, Role, NEVER};
use serde_json::{json, Value};

/// The names and settings of the controllers; what is not given has its default.
fn controllers() -> Vec<Value> {
    vec![
        json!({"name": "cubic", "parameters": {}}),
        json!({"name": "cubic", "parameters": {"connections": 5, "hystart": true, "max_window_packets": 20}}),
        json!({"name": "reno", "parameters": {}}),
        json!({"name": "bbr", "parameters": {}}),
        json!({"name": "pcc", "parameters": {}}),
        json!({"name": "ledbat", "parameters": {}}),
    ]
}

fn options() -> Value {
    json!({"initial_window_packets": 10, "receive_window_bytes": null, "ecn": false, "sack": true,
        "pacing": true, "fast_open": false, "idle_restart": null})
}

#[test]
fn every_controller_delivers_a_file_and_tells_its_window() {
    for cca in controllers() {
        let (port, workload) = (free_port(), file(3_000_000));
        let server = json!({"flow": format!("c{port}"), "address": "127.0.0.1", "port": port,
            "cca": cca, "connections": 1, "buffer_bytes": 400_000, "workload": workload,
            "rate_bps": null, "options": options(), "starts_ns": [0], "sample_every_ns": NEVER,
            "qlog": false, "certificate_expires_ns": null, "idle_timeout_ns": null});
        let client = json!({"flow": format!("c{port}"), "address": "127.0.0.1", "port": port,
            "connections": 1, "buffer_bytes": 400_000, "workload": workload, "options": options(),
            "starts_ns": [0], "stop_ns": null, "progress_every_ns": NEVER,
            "idle_timeout_ns": null});
        let serving = Role::start_until("quic-server", &server, "listening");
        let client = Role::start("quic-client", &client).end();
        let server = serving.end();
        assert_eq!((server.status, client.status), (0, 0), "{cca} {:?}", client.events);
        assert_eq!(client.one("done")["bytes"], 3_000_000, "{cca}");
        assert_eq!(server.one("listening")["initial_window_bytes"], 14_720, "{cca}");
        let window = server.one("sample")["cwnd_bytes"].as_u64().expect("a number");
        println!("{cca}: {}", server.one("sample"));
        assert!(window >= 2 * 1472, "{cca}: {window}");
        if let Some(cap) = cca["parameters"]["max_window_packets"].as_u64() {
            assert_eq!(window, cap * 1472, "{cca}");
        }
    }
}
