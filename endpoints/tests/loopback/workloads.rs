//! Workloads over TCP, on loopback: video, on/off sources, requests; and options of connections.

use crate::common::{
    client, file, free_port, now_ns, options, server, wait_until, Ended, Role, NEVER,
};
use serde_json::{json, Value};

/// Long enough that something happens on a machine whose cores are busy with something else, ns.
const A_SECOND: i64 = 1_000_000_000;

/// Runs a server and a client to their ends; a server that does not end by itself is told to.
fn run(
    workload: &Value,
    connections: u32,
    stop_ns: Option<i64>,
    options: &Value,
) -> (Ended, Ended) {
    let port = free_port();
    let (mut serving, mut asking) =
        (server(port, connections), client(port, connections, workload));
    for description in [&mut serving, &mut asking] {
        description["workload"] = workload.clone();
        description["options"] = options.clone();
    }
    asking["stop_ns"] = json!(stop_ns);
    let server = Role::serve(&serving);
    let client = Role::start("tcp-client", &asking).end();
    if workload["kind"] == "requests" {
        server.signal(libc::SIGTERM);
    }
    (server.end(), client)
}

fn constant(value: f64) -> Value {
    json!({"kind": "constant", "parameters": {"value": value}})
}

/// A video of 1 byte per us that starts with 100 ms and stalls with 20 ms.
fn video(length_ms: i64, burst_ms: i64, factor: f64) -> Value {
    json!({"kind": "video", "bitrate_bps": 8_000_000, "length_ns": length_ms * 1_000_000,
        "burst_ns": burst_ms * 1_000_000, "chunk_bytes": 10_000, "factor": factor,
        "play_ns": 100_000_000, "stall_ns": 20_000_000, "send_buffer_bytes": 2_000_000})
}

fn requests(size: f64, every_s: f64) -> Value {
    json!({"kind": "requests", "size": constant(size), "every": constant(every_s), "seed": 1})
}

fn t_ns(event: &Value) -> i64 {
    event["t_ns"].as_i64().expect("a time")
}

fn number(event: &Value, name: &str) -> i64 {
    event[name].as_i64().unwrap_or_else(|| panic!("{name} of {event} is a number"))
}

#[test]
fn a_video_comes_at_its_rate_and_is_played_for_its_length() {
    let (server, client) = run(&video(500, 200, 1.25), 2, None, &options());
    assert_eq!((server.status, client.status), (0, 0), "{:?}", client.events);
    assert_eq!(server.one("listening")["send_buffer_bytes"], 4_000_000);
    for connection in 0..2 {
        let one = |event: &str| {
            let all: Vec<&Value> = client.all(event);
            *all.iter().find(|one| one["connection"] == connection).expect("one of each")
        };
        assert_eq!(number(one("done"), "bytes"), 500_000);
        // 300,000 bytes in 30 chunks, 8 ms from one to the next, the first right after the burst. A
        // client on a busy machine may notice late that it is connected.
        assert!(t_ns(one("done")) - t_ns(one("opened")) >= 29 * 8_000_000);
        assert!(one("playing")["buffered_s"].as_f64().expect("a number") >= 0.1);
        if client.all("stalled").is_empty() {
            assert_eq!(t_ns(one("played")) - t_ns(one("playing")), 500_000_000);
        }
    }
}

#[test]
fn a_video_that_comes_too_slowly_stalls_and_is_played_to_its_end() {
    // 280 ms of playing time come at 0.4 times their rate.
    let (server, client) = run(&video(400, 120, 0.4), 1, None, &options());
    assert_eq!((server.status, client.status), (0, 0), "{:?}", client.events);
    let changes: Vec<&Value> = client
        .events
        .iter()
        .filter(|event| ["playing", "stalled", "played"].iter().any(|name| event["event"] == *name))
        .collect();
    assert!(client.all("stalled").len() >= 2, "{changes:?}");
    assert!(client.all("stalled").iter().all(|event| event["buffered_s"] == 0.02));
    // It plays, then does not, in turns; all the time that it plays is the length of the video.
    let mut shown_ns = 0;
    for pair in changes.chunks(2) {
        assert_eq!(pair[0]["event"], "playing");
        shown_ns += t_ns(pair[1]) - t_ns(pair[0]);
    }
    assert_eq!(
        (shown_ns, &changes.last().expect("an end")["event"]),
        (400_000_000, &json!("played"))
    );
}

#[test]
fn a_video_that_is_stopped_is_not_played_to_its_end() {
    let (server, client) = run(&video(60_000, 10, 1.25), 1, Some(A_SECOND), &options());
    assert_eq!((server.status, client.status), (0, 0), "{:?}", client.events);
    assert!(client.all("played").is_empty() && client.all("done").is_empty());
    assert!(number(client.one("stopped"), "bytes") > 0);
    assert_eq!(server.all("stopped").len(), 1);
}

#[test]
fn an_on_off_source_sends_no_faster_than_it_may() {
    let workload = json!({"kind": "onoff", "rate_bps": 8_000_000, "on": constant(0.05),
        "off": constant(0.05), "packet_bytes": 1000, "seed": 1});
    let (server, client) = run(&workload, 1, Some(A_SECOND), &options());
    assert_eq!((server.status, client.status), (0, 0), "{:?}", client.events);
    assert!(server.one("request")["bytes"].is_null());
    let bytes = number(client.one("stopped"), "bytes");
    let passed_ns = t_ns(client.one("stopped")) - t_ns(client.one("opened"));
    // 52 of the 1000 bytes are headers; on for 50 of every 100 ms, in which 50 packets go out.
    let periods = passed_ns / 100_000_000 + 1;
    assert!(bytes > 0 && bytes <= periods * 50 * 948, "{bytes} bytes in {passed_ns} ns");
    assert_eq!(bytes % 948, 0);
}

#[test]
fn every_request_is_a_connection_of_its_own_at_its_own_time() {
    let (server, client) = run(&requests(5_000.0, 0.01), 2, Some(A_SECOND), &options());
    assert_eq!((server.status, client.status), (0, 0), "{:?}", client.events);
    for connection in 0..2 {
        let of = |ended: &Ended, event: &str| -> Vec<Value> {
            let all = ended.all(event).into_iter();
            all.filter(|one| one["connection"] == connection).cloned().collect()
        };
        let fetched = of(&client, "fetched");
        assert!(fetched.len() >= 10, "{:?}", client.events);
        for line in &fetched {
            let opened_ns = number(line, "opened_ns");
            assert!(opened_ns >= number(line, "request") * 10_000_000);
            assert!(opened_ns <= number(line, "first_byte_ns"));
            assert!(number(line, "first_byte_ns") <= t_ns(line));
            assert_eq!(number(line, "bytes"), 5_000);
        }
        let (came, stopped) = (of(&server, "served"), of(&client, "stopped"));
        let unfinished: i64 =
            of(&client, "unfinished").iter().map(|line| number(line, "bytes")).sum();
        assert_eq!(number(&stopped[0], "bytes") - unfinished, 5_000 * fetched.len() as i64);
        assert!(number(&came[0], "requests") >= fetched.len() as i64);
        assert!(number(&came[0], "bytes") >= 5_000 * fetched.len() as i64);
        for event in ["opened", "connected", "first-byte"] {
            assert_eq!(of(&client, event).len(), 1, "{event}");
        }
        assert_eq!(of(&server, "accepted").len(), 1);
    }
    // What would be said of each connection is left out: there may be a hundred thousand.
    assert!(server.all("sample").is_empty() && server.all("request").is_empty());
}

#[test]
fn requests_do_not_wait_for_each_other() {
    // Nobody answers, so that none ends.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let mut asking = client(port, 1, &requests(5_000.0, 0.005));
    asking["stop_ns"] = json!(A_SECOND);
    let ended = Role::start("tcp-client", &asking).end();
    assert_eq!(ended.status, 0, "{:?}", ended.events);
    let unfinished = ended.all("unfinished");
    assert!(unfinished.len() >= 10, "{:?}", ended.events);
    assert!(unfinished.iter().all(|line| line["bytes"] == 0 && line["wanted"] == 5_000));
    assert_eq!(ended.one("stopped")["bytes"], 0);
}

#[test]
fn requests_wait_for_a_server_and_fail_without_one() {
    let port = free_port();
    let workload = requests(100.0, 0.02);
    let mut asking = client(port, 1, &workload);
    asking["stop_ns"] = json!(NEVER);
    let client = Role::start("tcp-client", &asking);
    std::thread::sleep(std::time::Duration::from_millis(50));
    let mut serving = server(port, 1);
    serving["workload"] = workload.clone();
    let server = Role::serve(&serving);
    let opened = now_ns();
    wait_until(|| now_ns() > opened + 2 * A_SECOND);
    client.signal(libc::SIGTERM);
    let client = client.end();
    server.signal(libc::SIGTERM);
    assert_eq!((server.end().status, client.status), (0, 0), "{:?}", client.events);
    assert!(client.all("fetched").iter().any(|line| line["request"] == 0), "it was tried again");

    asking["port"] = json!(free_port());
    asking["stop_ns"] = json!(100_000_000);
    let alone = Role::start("tcp-client", &asking).end();
    assert!(alone.error().contains("of connection 0: could not connect"), "{}", alone.error());
}

#[test]
fn a_request_that_fails_ends_the_client_and_says_which() {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let answer = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        stream.read_exact(&mut [0; 16]).expect("a request");
        stream.write_all(&[0; 99]).expect("it takes them");
    });
    let ended = Role::start("tcp-client", &client(port, 1, &requests(100.0, 3600.0))).end();
    answer.join().expect("the server did its part");
    let words = "request 0 of connection 0: the server closed after 99 bytes";
    assert_eq!(ended.error(), words);
}

#[test]
fn what_a_connection_is_like_is_read_back() {
    let mut options = options();
    options["receive_window_bytes"] = json!(65_536);
    options["pacing"] = json!(true);
    let (server, client) = run(&file(200_000), 1, None, &options);
    assert_eq!((server.status, client.status), (0, 0), "{:?}", client.events);
    assert_eq!(client.one("connected")["receive_window_bytes"], 65_536);
    let accepted = server.one("accepted");
    let of_this_machine = |name: &str| {
        let path = format!("/proc/sys/net/ipv4/{name}");
        std::fs::read_to_string(path).expect("a Linux machine").trim() != "0"
    };
    assert_eq!(accepted["sack"], of_this_machine("tcp_sack"));
    assert_eq!(accepted["timestamps"], of_this_machine("tcp_timestamps"));
    assert_eq!((&accepted["ecn"], &accepted["fast_open"]), (&json!(false), &json!(false)));
    assert_eq!(accepted["initial_window_packets"], 10);
    assert_eq!(accepted["max_pacing_bps"], 8_i64 << 40);
}

#[test]
fn a_rate_is_one_of_packets_and_the_kernel_is_told_that_of_payload() {
    let port = free_port();
    let mut serving = server(port, 1);
    serving["rate_bps"] = json!(80_000_000);
    let server = Role::serve(&serving);
    let client = Role::start("tcp-client", &client(port, 1, &file(1))).end();
    let server = server.end();
    assert_eq!((server.status, client.status), (0, 0));
    let mss = number(server.one("sample"), "mss");
    let headers = if server.one("accepted")["timestamps"] == true { 52 } else { 40 };
    let payload = 10_000_000 * mss / (mss + headers);
    assert_eq!(server.one("accepted")["max_pacing_bps"], 8 * payload);
}

#[test]
fn fast_open_works_where_the_machine_allows_it_and_is_an_error_elsewhere() {
    let allowed = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_fastopen").expect("Linux");
    let allowed: u32 = allowed.trim().parse().expect("a number");
    let mut options = options();
    options["fast_open"] = json!(true);
    let port = free_port();
    let (mut serving, mut asking) = (server(port, 2), client(port, 2, &file(1_000)));
    serving["options"] = options.clone();
    asking["options"] = options;
    // The first brings the cookie that the second needs.
    asking["starts_ns"] = json!([0, 100_000_000]);
    let server = Role::serve(&serving);
    let client = Role::start("tcp-client", &asking).end();
    if allowed & 1 == 0 {
        server.kill();
        assert!(client.all("error")[0].to_string().contains("Fast Open is off on this host"));
        return;
    }
    let server = server.end();
    assert_eq!((server.status, client.status), (0, 0), "{:?}", client.events);
    assert_eq!(client.all("done").len(), 2);
    let accepted: Vec<&Value> =
        server.all("accepted").iter().map(|one| &one["fast_open"]).collect();
    assert_eq!(accepted[1], &json!(allowed & 2 != 0), "{accepted:?}");
}
