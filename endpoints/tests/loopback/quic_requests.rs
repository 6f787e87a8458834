//! Requests over QUIC, on loopback; and parts of a shared process of arrivals.

use crate::common::{free_port, now_ns, Ended, Role, NEVER};
use serde_json::{json, Value};

/// Long enough that a request whose data nobody lets through is still under way, ns.
const STOP_NS: i64 = 400_000_000;

fn constant(value: f64) -> Value {
    json!({"kind": "constant", "parameters": {"value": value}})
}

fn requests(size: f64, every_s: f64) -> Value {
    json!({"kind": "requests", "size": constant(size), "every": constant(every_s), "seed": 1})
}

fn options() -> Value {
    json!({"initial_window_packets": 2, "receive_window_bytes": null, "ecn": false, "sack": true,
        "pacing": true, "fast_open": false, "idle_restart": null})
}

fn server(port: u16, connections: u32, workload: &Value) -> Value {
    json!({"flow": format!("r{port}"), "address": "127.0.0.1", "port": port,
        "cca": {"name": "reno", "parameters": {}}, "connections": connections,
        "buffer_bytes": 400_000, "workload": workload, "rate_bps": null, "options": options(),
        "starts_ns": vec![0; connections as usize], "sample_every_ns": 100_000_000, "qlog": false,
        "certificate_expires_ns": null, "idle_timeout_ns": null})
}

fn client(port: u16, connections: u32, workload: &Value) -> Value {
    json!({"flow": format!("r{port}"), "address": "127.0.0.1", "port": port,
        "connections": connections, "buffer_bytes": 400_000, "workload": workload,
        "options": options(), "starts_ns": vec![0; connections as usize], "stop_ns": STOP_NS,
        "progress_every_ns": NEVER, "idle_timeout_ns": null})
}

fn serve(description: &Value) -> Role {
    Role::start_until("quic-server", description, "listening")
}

/// Runs a server and a client to the client's end; then the server is told to end.
fn run(server: &Value, client: &Value) -> (Ended, Ended) {
    let serving = serve(server);
    let client = Role::start("quic-client", client).end();
    serving.signal(libc::SIGTERM);
    (serving.end(), client)
}

fn number(event: &Value, name: &str) -> i64 {
    event[name].as_i64().unwrap_or_else(|| panic!("{name} of {event} is a number"))
}

#[test]
fn requests_are_connections_of_their_own_that_do_not_wait_for_each_other() {
    let port = free_port();
    let workload = requests(30_000.0, 0.01);
    let (server, client) = run(&server(port, 2, &workload), &client(port, 2, &workload));
    assert_eq!((server.status, client.status), (0, 0), "{:?}", client.events);
    let mut all_requests = 0;
    for connection in 0..2 {
        let of = |ended: &Ended, event: &str| -> Vec<Value> {
            let all = ended.all(event).into_iter().cloned();
            all.filter(|one| one["connection"] == connection).collect()
        };
        let fetched = of(&client, "fetched");
        let asked = number(&of(&client, "asked")[0], "requests");
        let unfinished = of(&client, "unfinished").len() as i64;
        assert_eq!(fetched.len() as i64 + unfinished, asked);
        // One each 10 ms, but for what a busy machine begins late.
        assert!((20..=41).contains(&asked), "{asked}");
        assert!(fetched.iter().all(|one| one["bytes"] == 30_000));
        let mut numbers: Vec<i64> = fetched.iter().map(|one| number(one, "request")).collect();
        numbers.extend(of(&client, "unfinished").iter().map(|one| number(one, "request")));
        numbers.sort_unstable();
        assert_eq!(numbers, (0..asked).collect::<Vec<i64>>());
        for event in ["opened", "connected", "first-byte", "stopped"] {
            assert_eq!(of(&client, event).len(), 1, "{event}");
        }
        assert_eq!(of(&server, "accepted").len(), 1);
        assert_eq!(of(&server, "accepted")[0]["initial_window_bytes"], 2 * 1472);
        // Handshakes that were under way at the end have asked for nothing yet.
        let came = number(&of(&server, "served")[0], "requests");
        assert!((asked - unfinished..=asked).contains(&came), "{came} of {asked}");
        all_requests += asked;
    }
    // Opened one after the other by the clock, whatever became of those before.
    assert!(all_requests >= 40);
    assert!(server.all("sample").is_empty() && server.all("request").is_empty());
}

#[test]
fn what_is_under_way_at_the_end_is_unfinished() {
    let port = free_port();
    let workload = requests(50_000_000.0, 3600.0);
    let mut serving = server(port, 1, &workload);
    serving["rate_bps"] = json!(8_000_000);
    let (server, client) = run(&serving, &client(port, 1, &workload));
    assert_eq!((server.status, client.status), (0, 0), "{:?}", client.events);
    let unfinished = client.one("unfinished");
    assert_eq!(unfinished["wanted"], 50_000_000);
    assert!((1..50_000_000).contains(&number(unfinished, "bytes")), "{unfinished}");
    assert_eq!(client.one("stopped")["bytes"], unfinished["bytes"]);
    assert_eq!(client.one("asked")["requests"], 1);
    assert!(client.all("fetched").is_empty());
}

#[test]
fn a_request_waits_for_a_server_that_is_not_there_yet() {
    let port = free_port();
    let workload = requests(1000.0, 3600.0);
    let mut asking = client(port, 1, &workload);
    asking["stop_ns"] = Value::Null;
    let client = Role::start("quic-client", &asking);
    crate::common::wait_until(|| client.blocks_sigterm());
    let server = serve(&server(port, 1, &workload));
    let left = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("r{port}.keys"));
    // Long enough for an attempt after the first one, each 100 ms, also on a busy machine.
    std::thread::sleep(std::time::Duration::from_secs(2));
    client.signal(libc::SIGTERM);
    let ended = client.end();
    server.signal(libc::SIGTERM);
    assert_eq!(server.end().status, 0);
    assert_eq!(ended.status, 0, "{:?}", ended.events);
    assert_eq!(ended.one("fetched")["bytes"], 1000);
    assert_eq!(std::fs::metadata(left).expect("there").len(), 0, "no secrets of short connections");
}

#[test]
fn a_request_that_cannot_connect_ends_the_client_and_says_which() {
    let port = free_port();
    let ended = Role::start("quic-client", &client(port, 1, &requests(100.0, 3600.0))).end();
    assert!(
        ended.error().starts_with("request 0 of connection 0: could not connect:"),
        "{ended:?}"
    );
}

#[test]
fn flows_that_share_a_process_make_its_requests_between_them() {
    let having = |low: f64, high: f64| {
        json!({"kind": "requests", "size": constant(2000.0),
            "every": {"kind": "gamma", "parameters": {"mean": 0.004, "shape": 0.5}}, "seed": 1,
            "shared": {"seed": 9, "low": low, "high": high}})
    };
    let epoch_ns = now_ns() + 200_000_000;
    let ends: Vec<(Ended, Ended)> = [having(0.0, 1.0), having(0.0, 0.8), having(0.8, 1.0)]
        .iter()
        .map(|workload| {
            let port = free_port();
            let serving = serve(&server(port, 1, workload));
            let asking = client(port, 1, workload).to_string();
            (serving, Role::start_at("quic-client", epoch_ns, &asking))
        })
        .collect::<Vec<_>>()
        .into_iter()
        .map(|(serving, asking)| {
            let client = asking.end();
            serving.signal(libc::SIGTERM);
            (serving.end(), client)
        })
        .collect();
    let asked: Vec<i64> =
        ends.iter().map(|(_, client)| number(client.one("asked"), "requests")).collect();
    assert!(ends.iter().all(|(server, client)| (server.status, client.status) == (0, 0)));
    assert_eq!(asked[0], asked[1] + asked[2]);
    assert!(asked[1] > asked[2] && asked[2] > 0, "{asked:?}");
}
