//! What arrives, when, and in which packets.

use super::*;

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
fn each_connection_opens_at_its_own_start() {
    // Far apart and not at once: a busy machine starts and wakes the client late.
    const STARTS_NS: [i64; 3] = [2_000_000_000, 1_000_000_000, 2_000_000_000];
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
fn a_rate_spaces_packets_and_the_window_does_not_grow_behind_it() {
    let (port, payload, rate_bps) = (free_port(), 300_000, 8_000_000);
    let mut serving = server(port, 1, &file(payload));
    serving["rate_bps"] = json!(rate_bps);
    let (server, client) = run(&serving, &client(port, 1, &file(payload)));
    assert_eq!((server.status, client.status), (0, 0));
    assert_eq!(server.one("listening")["rate_bps"], rate_bps);
    let took_ns = client.one("done")["t_ns"].as_i64().expect("a time")
        - client.one("opened")["t_ns"].as_i64().expect("a time");
    // Headers and the handshake make it longer.
    let least_ns = 8 * payload as i64 * 1_000_000_000 / rate_bps;
    assert!(took_ns > least_ns, "{took_ns} ns, and the data alone takes {least_ns}");
    let sample = server.one("sample");
    assert_eq!(sample["app_limited"], true);
    let window = sample["cwnd_bytes"].as_u64().expect("bytes");
    assert!(window < 2 * 10 * 1472, "{window} bytes: what is not used does not grow");
}

#[test]
fn an_on_off_source_sends_no_more_than_its_rate() {
    const STOP_NS: u64 = 1_000_000_000;
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
