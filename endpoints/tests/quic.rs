//! QUIC server and client together, over loopback.

mod common;

use common::{bulk, file, free_port, now_ns, wait_until, Ended, Role, NEVER};
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
        "pacing": true, "fast_open": false})
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
    wait_until(|| works(&client));
    (server, client)
}

/// Whether a client is in the middle of a transfer: it has worked for longer than a start takes.
fn works(client: &Role) -> bool {
    let path = format!("/proc/{}/stat", client.id());
    let text = fs::read_to_string(path).expect("it runs");
    let after_name = text.rsplit(')').next().expect("fields");
    let mut times = after_name.split_whitespace().skip(11).map(str::parse::<u64>);
    // User and system time, in ticks of 10 ms.
    let mut next = || times.next().expect("a field").expect("a number");
    next() + next() >= 4
}

#[test]
fn a_file_has_exactly_its_bytes() {
    for bytes in [0, 1, 65_537, 10_000_000] {
        let port = free_port();
        let (server, client) = run(&server(port, 1, &file(bytes)), &client(port, 1, &file(bytes)));
        assert_eq!((server.status, client.status), (0, 0), "{:?}", client.events);
        assert_eq!(server.one("listening")["cca"], "reno");
        assert_eq!(server.one("accepted")["cca"], "reno");
        assert_eq!(server.one("request")["bytes"], bytes);
        assert_eq!(client.one("done")["bytes"], bytes);
        assert_eq!(client.all("first-byte").len(), usize::from(bytes > 0));
        assert_eq!(client.all("stopped").len() + server.all("stopped").len(), 0);
        let sample = server.one("sample");
        assert_eq!(sample["in_flight_bytes"], 0, "all of it is acknowledged");
        assert!(sample["bytes_sent"].as_u64().expect("a number") > bytes);
    }
}

#[test]
fn both_ends_number_eight_connections_alike_and_each_has_its_bytes() {
    let port = free_port();
    let workload = file(300_000);
    let (server, client) = run(&server(port, 8, &workload), &client(port, 8, &workload));
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
fn packets_are_as_long_as_those_of_tcp_and_windows_are_those_that_were_asked_for() {
    let port = free_port();
    let workload = file(5_000_000);
    let mut asking = client(port, 1, &workload);
    asking["options"]["receive_window_bytes"] = json!(100_000);
    let mut serving = server(port, 1, &workload);
    serving["options"]["initial_window_packets"] = json!(4);
    let (server, client) = run(&serving, &asking);
    // 1500 bytes of IP, 20 of which are its header, and 8 UDP's.
    assert_eq!(server.one("sample")["mtu"], 1472);
    assert_eq!(client.one("connected")["mtu"], 1472);
    assert_eq!(client.one("connected")["receive_window_bytes"], 100_000);
    assert_eq!(server.one("listening")["initial_window_bytes"], 4 * 1472);
    assert_eq!(server.one("listening")["send_buffer_bytes"], 400_000);
    let sample = server.one("sample");
    let bytes = sample["bytes_sent"].as_u64().unwrap();
    assert!(bytes / sample["packets_sent"].as_u64().unwrap() > 1400, "{sample}");
}

#[test]
fn nothing_is_marked_for_ecn_unless_it_is_asked_for() {
    let other = free_port();
    let server = serve(&server(other, 1, &file(1)));
    for ecn in [false, true] {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
        let port = socket.local_addr().expect("an address").port();
        fs::copy(left_by(other, "certificate.der"), left_by(port, "certificate.der")).expect("it");
        let mut asking = client(port, 1, &file(1));
        asking["options"]["ecn"] = json!(ecn);
        let client = Role::start("quic-client", &asking);
        let (length, bits) = first_datagram(&socket);
        // ECT(0), or nothing. The first datagram is padded (RFC 9000, section 14.1).
        assert_eq!((length, bits), (1200, if ecn { 0b10 } else { 0 }));
        client.kill();
    }
    drop(server);
}

/// Waits for a datagram: its length, and the ECN bits of its IP header.
fn first_datagram(socket: &UdpSocket) -> (isize, u8) {
    use std::os::fd::AsRawFd;
    let fd = socket.as_raw_fd();
    let (mut control, mut data) = ([0_u64; 8], [0_u8; 2000]);
    let mut slot = libc::iovec { iov_base: data.as_mut_ptr().cast(), iov_len: data.len() };
    let on: libc::c_int = 1;
    let size = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: every pointer is to live memory of the length that goes with it; the kernel fills the
    // control messages that are then read.
    unsafe {
        let option = libc::IP_RECVTOS;
        let set = libc::setsockopt(fd, libc::IPPROTO_IP, option, (&raw const on).cast(), size);
        assert_eq!(set, 0);
        let mut header: libc::msghdr = std::mem::zeroed();
        header.msg_iov = &raw mut slot;
        header.msg_iovlen = 1;
        header.msg_control = control.as_mut_ptr().cast();
        header.msg_controllen = size_of_val(&control);
        let length = libc::recvmsg(fd, &raw mut header, 0);
        let message = libc::CMSG_FIRSTHDR(&raw const header);
        assert!(!message.is_null() && (*message).cmsg_type == libc::IP_TOS);
        (length, *libc::CMSG_DATA(message) & 0b11)
    }
}

#[test]
fn bulk_lasts_until_stop_and_is_reported_at_every_multiple() {
    const TICK_NS: i64 = 20_000_000;
    let port = free_port();
    let mut serving = server(port, 2, &bulk());
    serving["sample_every_ns"] = json!(TICK_NS);
    let mut asking = client(port, 2, &bulk());
    asking["progress_every_ns"] = json!(TICK_NS);
    asking["stop_ns"] = json!(30 * TICK_NS);
    let (server, client) = run(&serving, &asking);
    assert_eq!((server.status, client.status), (0, 0), "{:?}", client.events);
    assert!(server.all("request").iter().all(|request| request["bytes"].is_null()));
    for connection in 0..2_u64 {
        let of = |ended: &Ended, event: &str, name: &str| -> Vec<(i64, u64)> {
            let all = ended.all(event).into_iter().filter(|one| one["connection"] == connection);
            all.map(|one| (one["t_ns"].as_i64().unwrap(), one[name].as_u64().unwrap())).collect()
        };
        let progress = of(&client, "progress", "bytes");
        let stopped = of(&client, "stopped", "bytes");
        assert_eq!(stopped.len(), 1);
        assert!(stopped[0].0 >= 30 * TICK_NS);
        assert!(!progress.is_empty(), "{:?}", client.events);
        assert!(progress.iter().all(|(t_ns, _)| *t_ns >= TICK_NS && *t_ns < stopped[0].0));
        let mut bytes: Vec<u64> = progress.iter().map(|(_, bytes)| *bytes).collect();
        bytes.push(stopped[0].1);
        assert!(bytes.windows(2).all(|pair| pair[0] <= pair[1]), "{bytes:?}");
        let samples = of(&server, "sample", "bytes_sent");
        assert!(samples.len() >= 2, "ticks and the end: {samples:?}");
        assert!(samples.last().unwrap().1 >= stopped[0].1);
    }
    assert_eq!(server.all("stopped").len(), 2);
    // How much of a stream is acknowledged, nobody says.
    assert!(server.all("stopped").iter().all(|one| one["bytes"].is_null()));
}

#[test]
fn sigterm_stops_the_client_and_then_the_server_in_order() {
    let port = free_port();
    let serving = serve(&server(port, 3, &bulk()));
    let client = Role::start("quic-client", &client(port, 2, &bulk()));
    wait_until(|| works(&client));
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
    let (server, client) = flowing(free_port(), None);
    server.signal(libc::SIGTERM);
    assert_eq!(server.end().status, 0);
    // For the client this is no end that it knows of.
    let client = client.end();
    assert!(client.error().contains("the server closed after"), "{}", client.error());
}

#[test]
fn a_client_that_is_killed_does_not_take_the_server_along_nor_keep_it() {
    let port = free_port();
    let mut serving = server(port, 2, &file(1 << 40));
    serving["idle_timeout_ns"] = json!(300_000_000);
    let serving = serve(&serving);
    let victim = Role::start("quic-client", &client(port, 1, &file(1 << 40)));
    wait_until(|| works(&victim));
    victim.kill();
    let server = {
        // The server goes on for its other connection, number 1.
        let mut asking = client(port, 2, &file(70_000));
        asking["starts_ns"] = json!([NEVER, 0]);
        asking["stop_ns"] = json!(LONG_ENOUGH);
        let other = Role::start("quic-client", &asking).end();
        assert_eq!(other.one("done")["connection"], 1);
        serving.end()
    };
    // Whether that was meant is the client's to say, so it is no error of the server.
    assert_eq!(server.status, 0, "{:?}", server.events);
    assert_eq!(server.one("stopped")["connection"], 0);
    let mut sampled = numbers(&server.all("sample"), "connection");
    sampled.sort_unstable();
    assert_eq!(sampled, [0, 1]);
}

#[test]
fn a_server_that_is_killed_or_falls_silent_is_an_error_in_bounded_time() {
    let (server, client) = flowing(free_port(), Some(300_000_000));
    server.signal(libc::SIGSTOP);
    let ended = client.end();
    assert!(ended.error().contains("nothing has come from the server for 0.3 s"));
    assert!(ended.error().contains("after"), "it says how far it came");
    server.kill();

    let (server, client) = flowing(free_port(), Some(300_000_000));
    server.kill();
    let ended = client.end();
    // Told by the kernel if the client says something to it, else by the silence.
    let known = ["refused", "nothing has come"];
    assert!(known.iter().any(|words| ended.error().contains(words)), "{}", ended.error());
}

#[test]
fn a_certificate_has_to_be_valid_of_this_server_and_the_pinned_one() {
    // Expired at the epoch, which is now.
    let port = free_port();
    let mut serving = server(port, 1, &file(1));
    serving["certificate_expires_ns"] = json!(-1_000_000_000);
    let serving = serve(&serving);
    let ended = Role::start("quic-client", &client(port, 1, &file(1))).end();
    assert!(ended.error().contains("expired"), "{}", ended.error());
    serving.signal(libc::SIGTERM);
    assert_eq!(serving.end().all("request").len(), 0);

    // Of an address that is not the one that was asked for.
    let port = free_port();
    let mut serving = server(port, 1, &file(1));
    serving["address"] = json!("0.0.0.0");
    let serving = serve(&serving);
    let ended = Role::start("quic-client", &client(port, 1, &file(1))).end();
    assert!(ended.error().contains("not valid for name"), "{}", ended.error());
    drop(serving);

    // Another server's certificate in its place.
    let (port, other) = (free_port(), free_port());
    let (serving, stranger) =
        (serve(&server(port, 1, &file(1))), serve(&server(other, 1, &file(1))));
    fs::copy(left_by(other, "certificate.der"), left_by(port, "certificate.der")).expect("it");
    let ended = Role::start("quic-client", &client(port, 1, &file(1))).end();
    assert!(ended.error().contains("certificate"), "{}", ended.error());
    drop((serving, stranger));
}

#[test]
fn a_server_that_comes_late_is_found() {
    let port = free_port();
    let _ = fs::remove_file(left_by(port, "certificate.der"));
    let client = Role::start("quic-client", &client(port, 2, &file(1000)));
    // Nothing tells from outside that an attempt was refused; one retry is due every 100 ms.
    std::thread::sleep(Duration::from_millis(150));
    let server = serve(&server(port, 2, &file(1000))).end();
    let client = client.end();
    assert_eq!((server.status, client.status), (0, 0), "{:?}", client.events);
    assert_eq!((client.all("opened").len(), client.all("done").len()), (2, 2));
}

#[test]
fn a_server_that_never_comes_is_an_error_at_the_stop() {
    let port = free_port();
    let mut description = client(port, 1, &file(1));
    description["stop_ns"] = json!(LONG_ENOUGH);
    let _ = fs::remove_file(left_by(port, "certificate.der"));
    let ended = Role::start("quic-client", &description).end();
    assert!(ended.error().contains("could not connect: there is no f"), "{}", ended.error());

    // One that has been there, and left its certificate.
    let gone = serve(&server(port, 1, &file(1)));
    gone.kill();
    let ended = Role::start("quic-client", &description).end();
    assert!(ended.error().contains("could not connect"), "{}", ended.error());
    assert!(ended.error().contains("refused"), "{}", ended.error());
}

#[test]
fn a_client_that_is_stopped_before_its_start_has_nothing_and_no_error() {
    let mut description = client(free_port(), 2, &file(1));
    description["starts_ns"] = json!([NEVER, NEVER - 1]);
    description["stop_ns"] = json!(NEVER);
    let client = Role::start("quic-client", &description);
    wait_until(|| blocks_sigterm(&client));
    client.signal(libc::SIGTERM);
    let ended = client.end();
    assert_eq!(ended.status, 0);
    assert_eq!(numbers(&ended.all("stopped"), "bytes"), [0, 0]);
}

#[test]
fn each_connection_opens_at_its_own_start() {
    const STARTS_NS: [i64; 3] = [180_000_000, 80_000_000, 180_000_000];
    let port = free_port();
    let serving = serve(&server(port, 3, &file(10)));
    let mut asking = client(port, 3, &file(10));
    asking["starts_ns"] = json!(STARTS_NS);
    let client = Role::start_at("quic-client", now_ns(), &asking.to_string()).end();
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
fn a_port_that_is_taken_is_an_error() {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let port = socket.local_addr().expect("an address").port();
    let ended = Role::start("quic-server", &server(port, 1, &bulk())).end();
    assert!(ended.error().contains(&format!("cannot listen on 127.0.0.1:{port}")));
}

#[test]
fn strangers_are_ignored_or_an_error_and_the_work_goes_on() {
    let port = free_port();
    let serving = serve(&server(port, 1, &file(5)));
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    for noise in [vec![0; 1], vec![0xff; 1200], vec![0xc0; 1472], vec![0x40; 60]] {
        socket.send_to(&noise, ("127.0.0.1", port)).expect("it is sent");
    }
    // A client that numbers its connections as the server does not expect.
    let mut asking = client(port, 2, &file(5));
    asking["starts_ns"] = json!([NEVER, 0]);
    asking["stop_ns"] = json!(LONG_ENOUGH);
    let stranger = Role::start("quic-client", &asking).end();
    let words = "a request has number 1, but 1 connections were announced";
    assert!(stranger.error().contains(words), "{}", stranger.error());
    let client = Role::start("quic-client", &client(port, 1, &file(5))).end();
    assert_eq!(client.one("done")["bytes"], 5);
    let server = serving.end();
    assert!(server.error().contains(words), "{}", server.error());
}

#[test]
fn a_rate_spaces_packets_and_the_window_does_not_grow_behind_it() {
    let (port, payload, rate_bps) = (free_port(), 300_000, 8_000_000);
    let mut serving = server(port, 1, &file(payload));
    serving["rate_bps"] = json!(rate_bps);
    let (server, client) = run(&serving, &client(port, 1, &file(payload)));
    assert_eq!((server.status, client.status), (0, 0));
    assert_eq!(server.one("listening")["rate_bps"], rate_bps);
    let took_ns = client.one("done")["t_ns"].as_i64().expect("a time")
        - client.one("connected")["t_ns"].as_i64().expect("a time");
    // Headers make it longer, and the first packets came before `connected`.
    let least_ns = 8 * payload as i64 * 1_000_000_000 / rate_bps;
    assert!(took_ns > least_ns, "{took_ns} ns, and the data alone takes {least_ns}");
    let sample = server.one("sample");
    assert_eq!(sample["app_limited"], true);
    let window = sample["cwnd_bytes"].as_u64().expect("bytes");
    assert!(window < 2 * 10 * 1472, "{window} bytes: what is not used does not grow");
}

#[test]
fn what_quic_cannot_do_is_refused() {
    let good = server(1, 1, &file(1));
    let changes: [(&str, Value, &str); 9] = [
        ("/options/pacing", json!(false), "always paces"),
        ("/options/sack", json!(false), "options.sack"),
        ("/options/fast_open", json!(true), "options.fast_open"),
        ("/cca/name", json!("vegas"), "vegas"),
        ("/cca/parameters", json!({"colour": 1}), "colour"),
        ("/workload", json!({"kind": "film"}), "film"),
        ("/flow", json!("../f"), "no name for a file"),
        ("/starts_ns", json!([0, 0]), "2 entries for 1 connections"),
        ("/idle_timeout_ns", json!(0), "idle_timeout_ns"),
    ];
    for (pointer, value, words) in changes {
        let mut bad = good.clone();
        *bad.pointer_mut(pointer).expect("a field") = value;
        let ended = Role::start("quic-server", &bad).end();
        assert_eq!(ended.status, 2, "{pointer}");
        assert!(ended.stderr.contains(words), "{}", ended.stderr);
    }
}

#[test]
fn a_qlog_file_is_whole_and_every_record_parses() {
    let port = free_port();
    let mut serving = server(port, 2, &file(300_000));
    serving["qlog"] = json!(true);
    let (server, _) = run(&serving, &client(port, 2, &file(300_000)));
    let traced = server.one("traced");
    assert_eq!(traced["file"], format!("f{port}.server.sqlog"));
    let text = fs::read_to_string(left_by(port, "server.sqlog")).expect("a file");
    assert_eq!(traced["bytes"], text.len());
    let records = qlog_records(&text).expect("whole");
    assert_eq!(records[0]["qlog_format"], "JSON-SEQ");
    assert_eq!(records[0]["qlog_version"], "0.3");
    assert!(records[0]["trace"]["vantage_point"].is_object());
    let named = |name: &str| records.iter().filter(|one| one["name"] == name).count() as u64;
    let sent: u64 = numbers(&server.all("sample"), "packets_sent").iter().sum();
    assert!(named("transport:packet_sent") >= sent, "every packet is there");
    assert!(named("recovery:metrics_updated") > 0);
    let mut connections: Vec<&str> =
        records[1..].iter().map(|one| one["group_id"].as_str().expect("an id")).collect();
    connections.sort_unstable();
    connections.dedup();
    assert_eq!(connections.len(), 2);
    // What is cut off does not pass for whole: neither within a record nor, by its length, between.
    assert!(qlog_records(&text[..text.len() - 10]).is_none());
}

/// The records of a JSON-SEQ text (RFC 7464); None if one of them is not whole.
fn qlog_records(text: &str) -> Option<Vec<Value>> {
    let parts = text.strip_prefix('\u{1e}')?.split('\u{1e}');
    parts.map(|part| serde_json::from_str(part.strip_suffix('\n')?).ok()).collect()
}

#[test]
fn secrets_are_logged_for_every_connection() {
    let port = free_port();
    run(&server(port, 2, &file(1)), &client(port, 2, &file(1)));
    let text = fs::read_to_string(left_by(port, "keys")).expect("a file");
    for label in [
        "CLIENT_HANDSHAKE_TRAFFIC_SECRET",
        "SERVER_HANDSHAKE_TRAFFIC_SECRET",
        "CLIENT_TRAFFIC_SECRET_0",
        "SERVER_TRAFFIC_SECRET_0",
    ] {
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with(label)).collect();
        assert_eq!(lines.len(), 2, "{text}");
        for line in lines {
            let [_, random, secret] = line.split(' ').collect::<Vec<_>>()[..] else {
                panic!("three words: {line}");
            };
            assert_eq!((random.len(), secret.len()), (64, 64));
        }
    }
}

#[test]
fn an_on_off_source_sends_no_more_than_its_rate() {
    const STOP_NS: u64 = 300_000_000;
    let second = |s: f64| json!({"kind": "constant", "parameters": {"value": s}});
    let workload = json!({"kind": "onoff", "rate_bps": 8_000_000, "on": second(0.05),
        "off": second(0.05), "packet_bytes": 1000, "seed": 1});
    let port = free_port();
    let mut asking = client(port, 1, &workload);
    asking["stop_ns"] = json!(STOP_NS);
    let (server, client) = run(&server(port, 1, &workload), &asking);
    assert_eq!((server.status, client.status), (0, 0));
    let stopped = client.one("stopped");
    let bytes = stopped["bytes"].as_u64().unwrap();
    // On for half of the time, rounded up to a period, 1 byte per us.
    let most = stopped["t_ns"].as_u64().unwrap() / 2_000 + 50_000;
    assert!(bytes > 0 && bytes <= most, "{bytes} of {most}");
}

#[test]
fn a_video_is_sent_in_pieces_and_played_to_its_end() {
    // 100 kB of burst, then 10 pieces of 10 kB, one every 8 ms; it plays for 200 ms.
    let workload = json!({"kind": "video", "bitrate_bps": 8_000_000, "length_ns": 200_000_000,
        "burst_ns": 100_000_000, "chunk_bytes": 10_000, "factor": 1.25, "play_ns": 20_000_000,
        "stall_ns": 1_000_000, "send_buffer_bytes": 300_000});
    let port = free_port();
    let (server, client) = run(&server(port, 1, &workload), &client(port, 1, &workload));
    assert_eq!((server.status, client.status), (0, 0), "{:?}", client.events);
    assert_eq!(server.one("listening")["send_buffer_bytes"], 300_000);
    assert_eq!(client.one("done")["bytes"], 200_000);
    let first = client.one("first-byte")["t_ns"].as_i64().unwrap();
    let done = client.one("done")["t_ns"].as_i64().unwrap();
    let starts = client.all("playing");
    let played = client.one("played")["t_ns"].as_i64().unwrap();
    // The last piece is sent nine intervals after the first, and that after the burst.
    let opened = client.one("opened")["t_ns"].as_i64().unwrap();
    assert!(done - opened >= 9 * 8_000_000, "{done} {opened}");
    assert!(starts[0]["t_ns"].as_i64().unwrap() >= first);
    assert!(played >= starts[0]["t_ns"].as_i64().unwrap() + 200_000_000);
    assert_eq!(starts.len(), client.all("stalled").len() + 1);
}

/// Whether a role is far enough to take SIGTERM for a request instead of dying of it.
fn blocks_sigterm(role: &Role) -> bool {
    let path = format!("/proc/{}/status", role.id());
    let status = fs::read_to_string(path).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("SigBlk:")).expect("a mask");
    let mask = u64::from_str_radix(line.trim(), 16).expect("hexadecimal digits");
    mask & (1 << (libc::SIGTERM - 1)) != 0
}
