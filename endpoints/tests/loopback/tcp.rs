//! Server and client together, over loopback.

use crate::common::{
    bulk, client, file, free_port, now_ns, server, wait_until, Ended, Role, NEVER,
};
use serde_json::{json, Value};

/// Runs a server and a client to their ends.
fn run(server: &Value, client: &Value) -> (Ended, Ended) {
    let serving = Role::serve(server);
    let client = Role::start("tcp-client", client).end();
    (serving.end(), client)
}

fn numbers(events: &[&Value], name: &str) -> Vec<u64> {
    events.iter().map(|event| event[name].as_u64().expect("a number")).collect()
}

#[test]
fn a_file_has_exactly_its_bytes() {
    for bytes in [0, 1, 65_537, 10_000_000] {
        let port = free_port();
        let (server, client) = run(&server(port, 1), &client(port, 1, &file(bytes)));
        assert_eq!((server.status, client.status), (0, 0), "{:?}", client.events);
        assert_eq!(server.one("listening")["cca"], "cubic");
        assert_eq!(server.one("accepted")["cca"], "cubic");
        assert_eq!(server.one("request")["bytes"], bytes);
        assert_eq!(client.one("done")["bytes"], bytes);
        assert_eq!(client.all("first-byte").len(), usize::from(bytes > 0));
        assert_eq!(client.all("stopped").len() + server.all("stopped").len(), 0);
        let sample = server.one("sample");
        // All acknowledged, and the FIN counts as one.
        assert_eq!(sample["bytes_acked"], bytes + 1);
        let sent = sample["bytes_sent"].as_u64().expect("a number");
        assert_eq!(sent - sample["bytes_retransmitted"].as_u64().expect("a number"), bytes);
    }
}

#[test]
fn both_ends_number_eight_connections_alike_and_each_has_its_bytes() {
    let port = free_port();
    let (server, client) = run(&server(port, 8), &client(port, 8, &file(300_000)));
    assert_eq!((server.status, client.status), (0, 0));
    for (ended, event) in [
        (&server, "accepted"),
        (&server, "request"),
        (&server, "sample"),
        (&client, "connected"),
        (&client, "first-byte"),
        (&client, "done"),
    ] {
        let mut seen = numbers(&ended.all(event), "connection");
        seen.sort_unstable();
        assert_eq!(seen, (0..8).collect::<Vec<u64>>(), "{event}");
    }
    assert_eq!(numbers(&client.all("done"), "bytes"), [300_000; 8]);
}

#[test]
fn each_congestion_control_is_read_back() {
    let path = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    let available = std::fs::read_to_string(path).expect("a Linux machine");
    assert!(available.contains("reno"));
    for cca in available.split_whitespace() {
        let port = free_port();
        let mut description = server(port, 1);
        description["cca"] = json!(cca);
        let (server, client) = run(&description, &client(port, 1, &file(100_000)));
        assert_eq!((server.status, client.status), (0, 0), "{cca}");
        assert_eq!(server.one("listening")["cca"], cca);
        assert_eq!(server.one("accepted")["cca"], cca);
    }
}

#[test]
fn an_unknown_congestion_control_is_an_error_that_lists_those_there_are() {
    let mut description = server(free_port(), 1);
    description["cca"] = json!("nosuch");
    let ended = Role::start("tcp-server", &description).end();
    assert!(ended.error().contains("`nosuch` is not available"));
    assert!(ended.error().contains("reno"));
    assert_eq!(ended.one("error")["connection"], Value::Null);
}

#[test]
fn buffers_are_fixed_to_twice_what_was_asked_for() {
    let port = free_port();
    let (server, client) = run(&server(port, 1), &client(port, 1, &file(1)));
    assert_eq!(server.one("listening")["send_buffer_bytes"], 400_000);
    assert_eq!(client.one("connected")["receive_buffer_bytes"], 400_000);
}

#[test]
fn without_a_size_buffers_are_as_large_as_the_system_allows() {
    let port = free_port();
    let (mut serving, mut asking) = (server(port, 1), client(port, 1, &file(1)));
    (serving["buffer_bytes"], asking["buffer_bytes"]) = (Value::Null, Value::Null);
    let (server, client) = run(&serving, &asking);
    let limit = |name: &str| {
        let path = format!("/proc/sys/net/core/{name}");
        2 * std::fs::read_to_string(path).unwrap().trim().parse::<u64>().unwrap()
    };
    // Past the limit where that is permitted.
    for (event, limit) in [
        (&server.one("listening")["send_buffer_bytes"], limit("wmem_max")),
        (&client.one("connected")["receive_buffer_bytes"], limit("rmem_max")),
    ] {
        let bytes = event.as_u64().unwrap();
        assert!(bytes == 1 << 30 || bytes == limit.min(1 << 30), "{bytes}, limit {limit}");
    }
}

#[test]
fn long_transfers_are_taken_by_threads_unless_every_segment_is_to_wake_the_program() {
    let tasks = |role: &Role| {
        let path = format!("/proc/{}/task", role.id());
        std::fs::read_dir(path).map_or(0, Iterator::count)
    };
    for (variables, expected) in [(&[][..], 3), (&[("FAIRC_WAKE_PER_SEGMENT", "1")][..], 1)] {
        let port = free_port();
        let serving = Role::serve(&server(port, 2));
        let description = client(port, 2, &bulk()).to_string();
        let asking = Role::start_with("tcp-client", now_ns(), &description, variables);
        wait_until(|| asking.has_worked(1) || tasks(&asking) > 1);
        wait_until(|| tasks(&asking) == expected);
        asking.signal(libc::SIGTERM);
        let client = asking.end();
        assert_eq!((client.status, serving.end().status), (0, 0), "{:?}", client.events);
        assert!(numbers(&client.all("stopped"), "bytes").iter().all(|bytes| *bytes > 0));
    }
}

#[test]
fn bulk_lasts_until_stop_and_is_reported_at_every_multiple() {
    const TICK_NS: i64 = 20_000_000;
    let port = free_port();
    let mut serving = server(port, 2);
    serving["sample_every_ns"] = json!(TICK_NS);
    let mut asking = client(port, 2, &bulk());
    asking["progress_every_ns"] = json!(TICK_NS);
    asking["stop_ns"] = json!(10 * TICK_NS);
    let (server, client) = run(&serving, &asking);
    assert_eq!((server.status, client.status), (0, 0), "{:?}", client.events);
    assert!(server.all("request").iter().all(|request| request["bytes"].is_null()));
    for connection in 0..2_u64 {
        let of = |ended: &Ended, event: &str| -> Vec<(i64, u64)> {
            let name = if event == "sample" { "bytes_acked" } else { "bytes" };
            let all = ended.all(event).into_iter().filter(|one| one["connection"] == connection);
            all.map(|one| (one["t_ns"].as_i64().unwrap(), one[name].as_u64().unwrap())).collect()
        };
        let (progress, stopped) = (of(&client, "progress"), of(&client, "stopped"));
        assert_eq!(stopped.len(), 1);
        assert!(stopped[0].0 >= 10 * TICK_NS);
        assert!(!progress.is_empty(), "{:?}", client.events);
        assert!(progress.iter().all(|(t_ns, _)| *t_ns >= TICK_NS && *t_ns < stopped[0].0));
        let mut bytes: Vec<u64> = progress.iter().map(|(_, bytes)| *bytes).collect();
        bytes.push(stopped[0].1);
        assert!(bytes.windows(2).all(|pair| pair[0] <= pair[1]), "{bytes:?}");
        // The last sample comes after the client's end, and says what got through.
        let samples = of(&server, "sample");
        assert!(samples.len() >= 2, "ticks and the end: {samples:?}");
        let acknowledged = of(&server, "stopped");
        assert_eq!(acknowledged.len(), 1);
        assert_eq!(samples.last().unwrap().1, acknowledged[0].1);
        // Acknowledgements may be under way when the client resets, so only what was sent is sure
        // to cover what was delivered.
        let all = server.all("sample");
        let last = all.iter().rev().find(|one| one["connection"] == connection).unwrap();
        assert!(last["bytes_sent"].as_u64().unwrap() >= stopped[0].1);
    }
}

#[test]
fn sigterm_stops_the_client_and_then_the_server_in_order() {
    let port = free_port();
    let serving = Role::serve(&server(port, 3));
    let mut asking = client(port, 2, &bulk());
    asking["progress_every_ns"] = json!(1_000_000);
    let client = Role::start("tcp-client", &asking);
    wait_until(|| established(port).len() >= 4);
    client.signal(libc::SIGTERM);
    let client = client.end();
    assert_eq!((client.status, client.all("stopped").len()), (0, 2));
    // The third connection never came, so the server waits for it.
    serving.signal(libc::SIGTERM);
    let server = serving.end();
    assert_eq!(server.status, 0);
    assert_eq!(server.all("sample").len(), server.all("stopped").len());
}

#[test]
fn sigterm_stops_a_server_in_the_middle() {
    let port = free_port();
    let serving = Role::serve(&server(port, 1));
    let client = Role::start("tcp-client", &client(port, 1, &bulk()));
    wait_until(|| sends(port));
    serving.signal(libc::SIGTERM);
    let server = serving.end();
    assert_eq!(server.status, 0);
    // For the client this is no end that it knows of.
    assert!(client.end().error().contains("after"), "the client says how far it came");
}

#[test]
fn a_client_that_is_killed_does_not_take_the_server_along() {
    for workload in [bulk(), file(1 << 40)] {
        let port = free_port();
        let serving = Role::serve(&server(port, 2));
        let victim = Role::start("tcp-client", &client(port, 1, &workload));
        wait_until(|| sends(port));
        victim.kill();
        let server = {
            // The server goes on for its other connection, number 1.
            use std::io::{Read, Write};
            let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).expect("it listens");
            stream.write_all(&request(1, 1, 70_000)).expect("it takes a request");
            let mut bytes = Vec::new();
            stream.read_to_end(&mut bytes).expect("it sends");
            assert_eq!(bytes.len(), 70_000);
            drop(stream);
            serving.end()
        };
        assert_eq!(server.status, 0, "{:?}", server.events);
        assert_eq!(server.one("stopped")["connection"], 0);
        let mut sampled = numbers(&server.all("sample"), "connection");
        sampled.sort_unstable();
        assert_eq!(sampled, [0, 1]);
    }
}

#[test]
fn a_stranger_is_an_error_and_the_work_goes_on() {
    use std::io::{Read, Write};
    let port = free_port();
    let serving = Role::serve(&server(port, 1));
    for strange in [*b"GET / HTTP/1.1\r\n", request(2, 0, 1), request(1, 1, 1)] {
        let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).expect("it listens");
        stream.write_all(&strange).expect("it takes 16 bytes");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("it closes");
        assert!(answer.is_empty());
    }
    let client = Role::start("tcp-client", &client(port, 1, &file(5))).end();
    assert_eq!(client.one("done")["bytes"], 5);
    let server = serving.end();
    assert_eq!(server.status, 1);
    let all = server.all("error");
    let messages: Vec<&str> = all.iter().map(|error| error["message"].as_str().unwrap()).collect();
    assert_eq!(messages.len(), 3);
    assert!(messages[0].contains("does not come from fairc-endpoints"));
    assert!(messages[1].contains("version 2"));
    assert!(messages[2].contains("number 1, but 1 connections were announced"));
}

#[test]
fn a_client_accepts_neither_fewer_nor_more_bytes_and_tells_of_a_reset() {
    for (sent, words) in [(99, "closed after 99 bytes"), (101, "more than was requested")] {
        let ended = against(move |stream| {
            use std::io::Write;
            stream.write_all(&vec![0; sent]).expect("it takes them");
        });
        assert!(ended.error().contains(words), "{}", ended.error());
        assert_eq!(ended.one("error")["connection"], 0);
        assert!(ended.all("done").is_empty());
    }
    let reset = against(|stream| {
        use std::os::fd::AsRawFd;
        let linger = libc::linger { l_onoff: 1, l_linger: 0 };
        // SAFETY: `linger` is live and has this length.
        let result = unsafe {
            libc::setsockopt(
                stream.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_LINGER,
                (&raw const linger).cast(),
                size_of::<libc::linger>() as libc::socklen_t,
            )
        };
        assert_eq!(result, 0);
    });
    let reason = reset.one("stopped")["reason"].as_str().expect("why").to_owned();
    assert!(reason.contains("Connection reset by peer"), "{reason}");
    assert!(reset.all("done").is_empty());
}

/// Runs a client that wants 100 bytes against a server that does `answer` and closes.
fn against(answer: impl FnOnce(&mut std::net::TcpStream) + Send + 'static) -> Ended {
    use std::io::Read;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        let mut asked = [0; 16];
        stream.read_exact(&mut asked).expect("a request");
        assert_eq!(asked, request(1, 0, 100));
        answer(&mut stream);
    });
    let ended = Role::start("tcp-client", &client(port, 1, &file(100))).end();
    server.join().expect("the server did its part");
    ended
}

#[test]
fn a_refused_connection_is_tried_again() {
    let port = free_port();
    let client = Role::start("tcp-client", &client(port, 2, &file(1000)));
    // Nothing tells from outside that an attempt was refused; one retry is due every 100 ms.
    std::thread::sleep(std::time::Duration::from_millis(150));
    let server = Role::serve(&server(port, 2)).end();
    let client = client.end();
    assert_eq!((server.status, client.status), (0, 0), "{:?}", client.events);
    assert_eq!((client.all("opened").len(), client.all("done").len()), (2, 2));
}

#[test]
fn a_server_that_never_comes_is_an_error_at_the_stop() {
    let mut description = client(free_port(), 1, &file(1));
    description["stop_ns"] = json!(50_000_000);
    let ended = Role::start("tcp-client", &description).end();
    assert!(ended.error().contains("could not connect"), "{}", ended.error());
    assert!(ended.error().contains("refused"), "{}", ended.error());
}

#[test]
fn a_client_that_is_stopped_before_its_start_has_nothing_and_no_error() {
    let mut description = client(free_port(), 2, &file(1));
    description["starts_ns"] = json!([NEVER, NEVER]);
    let client = Role::start("tcp-client", &description);
    wait_until(|| client.blocks_sigterm());
    client.signal(libc::SIGTERM);
    let ended = client.end();
    assert_eq!(ended.status, 0);
    assert_eq!(numbers(&ended.all("stopped"), "bytes"), [0, 0]);
}

#[test]
fn each_connection_opens_at_its_own_start() {
    // Far apart and not at once: a busy machine starts and wakes the client late.
    const STARTS_NS: [i64; 3] = [2_000_000_000, 1_000_000_000, 2_000_000_000];
    let port = free_port();
    let serving = Role::serve(&server(port, 3));
    let mut asking = client(port, 3, &file(10));
    asking["starts_ns"] = json!(STARTS_NS);
    let client = Role::start_at("tcp-client", now_ns(), &asking.to_string()).end();
    assert_eq!((serving.end().status, client.status), (0, 0));
    assert_eq!(numbers(&client.all("opened"), "connection"), [1, 0, 2]);
    for event in ["opened", "connected", "done"] {
        assert_eq!(client.all(event).len(), 3);
        for line in client.all(event) {
            let start_ns = STARTS_NS[line["connection"].as_u64().unwrap() as usize];
            assert!(line["t_ns"].as_i64().unwrap() >= start_ns, "{line}");
        }
    }
}

#[test]
fn a_connection_whose_start_is_after_the_stop_has_nothing_and_is_no_error() {
    let port = free_port();
    let serving = Role::serve(&server(port, 2));
    let mut asking = client(port, 2, &bulk());
    asking["starts_ns"] = json!([NEVER, 0]);
    asking["stop_ns"] = json!(1_000_000_000);
    let client = Role::start_at("tcp-client", now_ns(), &asking.to_string()).end();
    serving.signal(libc::SIGTERM);
    assert_eq!((serving.end().status, client.status), (0, 0));
    assert_eq!(client.one("opened")["connection"], 1);
    let unopened = client.all("stopped").into_iter().find(|line| line["connection"] == 0);
    assert_eq!(unopened.expect("its end")["bytes"], 0);
}

#[test]
fn a_port_that_is_taken_is_an_error() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let ended = Role::start("tcp-server", &server(port, 1)).end();
    assert!(ended.error().contains(&format!("cannot listen on 127.0.0.1:{port}")));
}

/// A request as docs/build/endpoints.md lays it out.
fn request(version: u16, connection: u16, bytes: u64) -> [u8; 16] {
    let mut header = *b"fair............";
    header[4..6].copy_from_slice(&version.to_be_bytes());
    header[6..8].copy_from_slice(&connection.to_be_bytes());
    header[8..].copy_from_slice(&bytes.to_be_bytes());
    header
}

/// Established connections over this port of this machine, both ends counted: local port, and
/// bytes that wait to be sent or acknowledged.
fn established(port: u16) -> Vec<(u16, u64)> {
    let table = std::fs::read_to_string("/proc/net/tcp").expect("a Linux machine");
    let hex = |text: &str| u64::from_str_radix(text, 16).expect("hexadecimal digits");
    let ends = |line: &str| {
        // sl local_address rem_address st tx_queue:rx_queue ...
        let columns: Vec<&str> = line.split_whitespace().collect();
        let port_of = |address: &str| hex(address.split_once(':').expect("a port").1) as u16;
        let (local, remote) = (port_of(columns[1]), port_of(columns[2]));
        let waiting = hex(columns[4].split_once(':').expect("two queues").0);
        (columns[3] == "01" && (local == port || remote == port)).then_some((local, waiting))
    };
    table.lines().skip(1).filter_map(ends).collect()
}

/// Whether a server has begun to send.
fn sends(port: u16) -> bool {
    established(port).iter().any(|(local, waiting)| *local == port && *waiting > 0)
}
