//! UDP server and client, over loopback.

use crate::common::{bulk, file, free_port, now_ns, options, wait_until, Ended, Role, NEVER};
use serde_json::{json, Value};
use std::net::UdpSocket;

/// Descriptions of a server and a client whose connections start 100 ms after the epoch.
fn pair(port: u16, connections: usize, workload: &Value, rate_bps: Option<u64>) -> (Value, Value) {
    let mut server = json!({"flow": "u", "address": "127.0.0.1", "port": port, "peer": "127.0.0.2",
        "connections": connections, "workload": workload, "rate_bps": rate_bps,
        "options": options(), "starts_ns": vec![100_000_000; connections], "stop_ns": null});
    if workload["kind"] != "onoff" && workload["kind"] != "ping" {
        server["packet_bytes"] = json!(1500);
    }
    let mut client = server.clone();
    client["progress_every_ns"] = json!(NEVER);
    client["poll_every_ns"] = json!(100_000_000);
    (server, client)
}

/// Runs both to their ends, on one epoch.
fn run(server: &Value, client: &Value) -> (Ended, Ended) {
    let epoch_ns = now_ns();
    let client = Role::start_at("udp-client", epoch_ns, &client.to_string());
    let server = Role::start_at("udp-server", epoch_ns, &server.to_string());
    (server.end(), client.end())
}

fn number(event: &Value, name: &str) -> i64 {
    event[name].as_i64().unwrap_or_else(|| panic!("{name} of {event} is a number"))
}

#[test]
fn a_file_arrives_at_its_rate() {
    // 100 packets, one per ms.
    let (serving, asking) = pair(free_port(), 2, &file(146_000), Some(12_000_000));
    let (server, client) = run(&serving, &asking);
    assert_eq!((server.status, client.status), (0, 0), "{:?}", client.events);
    for connection in 0..2 {
        let of = |ended: &Ended, event: &str| -> Value {
            let all = ended.all(event);
            let found: Vec<&&Value> =
                all.iter().filter(|one| one["connection"] == connection).collect();
            assert_eq!(found.len(), 1, "{event}");
            (*found[0]).clone()
        };
        let (sent, received) = (of(&server, "sent"), of(&client, "received"));
        assert_eq!([number(&sent, "packets"), number(&sent, "bytes")], [100, 146_000]);
        assert_eq!(number(&sent, "refused"), 0);
        assert!(number(&sent, "late_us") >= 0);
        for (name, expected) in [
            ("packets", 100),
            ("bytes", 146_000),
            ("lost", 0),
            ("reordered", 0),
            ("duplicates", 0),
            ("overflowed", 0),
        ] {
            assert_eq!(number(&received, name), expected, "{name}");
        }
        assert!(received["jitter_us"].as_f64().expect("a number") > 0.0);
        assert_eq!(number(&of(&client, "done"), "bytes"), 146_000);
        // The last packet is due 99 ms after the start, and none leaves before it is due.
        assert!(number(&of(&client, "done"), "t_ns") >= 199_000_000);
        assert!(number(&of(&client, "first-byte"), "t_ns") >= 100_000_000);
        assert!(number(&of(&client, "opened"), "t_ns") >= 100_000_000);
    }
    let logged = client.one("logged");
    assert_eq!((&logged["file"], number(logged, "records")), (&json!("u.client.transits"), 200));
}

#[test]
fn bulk_lasts_until_the_stop() {
    let (mut serving, mut asking) = pair(free_port(), 1, &bulk(), Some(12_000_000));
    serving["stop_ns"] = json!(200_000_000);
    asking["stop_ns"] = json!(250_000_000);
    asking["progress_every_ns"] = json!(50_000_000);
    let (server, client) = run(&serving, &asking);
    assert_eq!((server.status, client.status), (0, 0), "{:?}", client.events);
    // Datagrams 0 to 99 are due before the stop, whenever they are sent.
    assert_eq!(number(server.one("sent"), "packets"), 100);
    assert_eq!(number(client.one("received"), "packets"), 100);
    assert_eq!(number(client.one("stopped"), "bytes"), 147_200);
    let progress: Vec<i64> =
        client.all("progress").iter().map(|event| number(event, "bytes")).collect();
    assert!(!progress.is_empty() && progress.is_sorted(), "{progress:?}");
}

#[test]
fn an_on_off_source_pauses() {
    let constant = |value: f64| json!({"kind": "constant", "parameters": {"value": value}});
    let workload = json!({"kind": "onoff", "rate_bps": 8_000_000, "on": constant(0.02),
        "off": constant(0.08), "packet_bytes": 1000, "seed": 1});
    let (mut serving, mut asking) = pair(free_port(), 1, &workload, None);
    serving["stop_ns"] = json!(400_000_000);
    asking["stop_ns"] = json!(450_000_000);
    let (server, client) = run(&serving, &asking);
    assert_eq!((server.status, client.status), (0, 0), "{:?}", client.events);
    // Three on periods of 20 packets, one per ms.
    assert_eq!(number(server.one("sent"), "packets"), 60);
    assert_eq!(number(client.one("received"), "bytes"), 60 * 972);
}

#[test]
fn pings_leave_at_regular_times_and_come_back_as_they_were() {
    let ping = json!({"kind": "ping", "every_ns": 20_000_000, "packet_bytes": 84});
    let (mut serving, mut asking) = pair(free_port(), 2, &ping, None);
    (serving["stop_ns"], asking["stop_ns"]) = (json!(300_000_000), json!(350_000_000));
    let (server, client) = run(&serving, &asking);
    assert_eq!((server.status, client.status), (0, 0), "{:?}", client.events);
    // Due from 100 ms to before 300 ms, by each of two connections.
    for (sent, received) in server.all("sent").iter().zip(client.all("received")) {
        assert_eq!([number(sent, "packets"), number(sent, "bytes")], [10, 560]);
        assert_eq!([number(received, "packets"), number(received, "duplicates")], [10, 0]);
    }
}

#[test]
fn a_ping_is_echoed_at_once() {
    let port = free_port();
    let ping = json!({"kind": "ping", "every_ns": 20_000_000, "packet_bytes": 84});
    let (_, asking) = pair(port, 1, &ping, None);
    let client = Role::start_at("udp-client", now_ns(), &asking.to_string());
    wait_until(|| bound(port));
    let socket = UdpSocket::bind(("127.0.0.1", port)).expect("a port");
    socket.set_read_timeout(Some(std::time::Duration::from_secs(30))).expect("a timeout");
    for number in [0_u8, 1, 1, 7] {
        let mut bytes = [0; 56];
        bytes[..6].copy_from_slice(b"fair\0\x01");
        (bytes[15], bytes[23]) = (number, 9);
        socket.send_to(&bytes, ("127.0.0.2", port)).expect("it takes a datagram");
        let mut echo = [1; 100];
        let (length, from) = socket.recv_from(&mut echo).expect("an echo");
        assert_eq!((&echo[..length], from.port()), (&bytes[..], port));
    }
    client.signal(libc::SIGTERM);
    assert_eq!(number(client.end().one("received"), "duplicates"), 1);
}

#[test]
fn a_file_whose_last_packet_is_lost_ends_and_is_not_complete() {
    let port = free_port();
    let (_, mut asking) = pair(port, 1, &file(4_416), Some(12_000_000));
    asking["starts_ns"] = json!([0]);
    let client = Role::start_at("udp-client", now_ns(), &asking.to_string());
    wait_until(|| bound(port));
    let socket = UdpSocket::bind(("127.0.0.1", port)).expect("a port");
    let datagram = |number: u8| {
        let mut bytes = [0; 1_472];
        bytes[..6].copy_from_slice(b"fair\0\x01");
        bytes[15] = number;
        bytes
    };
    for number in [1, 0, 1] {
        socket.send_to(&datagram(number), ("127.0.0.2", port)).expect("it takes a datagram");
    }
    let client = client.end();
    assert_eq!(client.status, 0, "{:?}", client.events);
    let received = client.one("received");
    let counts = ["packets", "lost", "reordered", "duplicates"].map(|name| number(received, name));
    assert_eq!(counts, [2, 0, 1, 1]);
    assert_eq!(number(client.one("stopped"), "bytes"), 2_944);
    assert!(client.all("done").is_empty());
}

#[test]
fn a_datagram_of_somebody_else_is_an_error() {
    let port = free_port();
    let (_, mut asking) = pair(port, 1, &bulk(), Some(12_000_000));
    asking["progress_every_ns"] = json!(10_000_000);
    let client = Role::start_at("udp-client", now_ns(), &asking.to_string());
    wait_until(|| bound(port));
    let socket = UdpSocket::bind(("127.0.0.1", port)).expect("a port");
    for _ in 0..3 {
        socket.send_to(b"GET / HTTP/1.1", ("127.0.0.2", port)).expect("it takes a datagram");
    }
    client.signal(libc::SIGTERM);
    let client = client.end();
    assert!(client.error().contains("that the server did not send"), "{}", client.error());
    assert_eq!(number(client.one("received"), "packets"), 0);
}

#[test]
fn sigterm_ends_both_in_order() {
    let port = free_port();
    let (serving, asking) = pair(port, 3, &bulk(), Some(1_000_000));
    let client = Role::start("udp-client", &asking);
    wait_until(|| bound(port));
    let server = Role::start("udp-server", &serving);
    wait_until(|| server.blocks_sigterm());
    client.signal(libc::SIGTERM);
    server.signal(libc::SIGTERM);
    let (server, client) = (server.end(), client.end());
    assert_eq!((server.status, client.status), (0, 0));
    assert_eq!((server.all("sent").len(), client.all("received").len()), (3, 3));
}

#[test]
fn packets_that_do_not_fit_and_ports_in_use_are_errors() {
    let constant = json!({"kind": "constant", "parameters": {"value": 1}});
    // The loopback interface takes 65,536 bytes, an IP packet has at most 65,535.
    let workload = json!({"kind": "onoff", "rate_bps": 1_000_000, "on": constant, "off": constant,
        "packet_bytes": 65_536, "seed": 1});
    let (serving, _) = pair(free_port(), 1, &workload, None);
    let ended = Role::start("udp-server", &serving).end();
    assert_eq!(ended.status, 2);
    assert!(ended.stderr.contains("`workload.packet_bytes` is 65536"), "{}", ended.stderr);

    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let port = socket.local_addr().expect("an address").port();
    let (serving, _) = pair(port, 1, &bulk(), Some(1_000_000));
    let ended = Role::start("udp-server", &serving).end();
    assert!(ended.error().contains(&format!("cannot use 127.0.0.1:{port}")), "{}", ended.error());
}

/// Whether a socket of this machine is bound to a UDP port.
fn bound(port: u16) -> bool {
    let table = std::fs::read_to_string("/proc/net/udp").expect("a Linux machine");
    let end = format!(":{port:04X}");
    table.lines().skip(1).any(|line| {
        // sl local_address rem_address st ...
        line.split_whitespace().nth(1).is_some_and(|local| local.ends_with(&end))
    })
}
