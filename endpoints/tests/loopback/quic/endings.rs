//! How connections end before their work is done, and what is refused.

use super::*;

#[test]
fn sigterm_stops_the_client_and_then_the_server_in_order() {
    let port = free_port();
    let serving = serve(&server(port, 3, &bulk()));
    let client = Role::start("quic-client", &client(port, 2, &bulk()));
    wait_until(|| client.has_worked(4));
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
    // For the client this is no end that it knows of. The kernel reports a closed port before what
    // has arrived, so on a busy machine the port is what it hears of.
    let client = client.end();
    let reason = client.error();
    let known = ["the server closed after", "Connection refused"];
    assert!(known.iter().any(|text| reason.contains(text)), "{reason}");
}

#[test]
fn a_client_that_is_killed_does_not_take_the_server_along_nor_keep_it() {
    let port = free_port();
    let mut serving = server(port, 2, &file(1 << 40));
    serving["idle_timeout_ns"] = json!(300_000_000);
    let serving = serve(&serving);
    let victim = Role::start("quic-client", &client(port, 1, &file(1 << 40)));
    wait_until(|| victim.has_worked(4));
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
fn a_server_that_falls_silent_ends_the_connection_after_the_idle_timeout_and_is_no_error() {
    let (server, client) = flowing(free_port(), Some(300_000_000));
    server.signal(libc::SIGSTOP);
    let ended = client.end();
    assert_eq!(ended.status, 0, "{:?}", ended.events);
    let stopped = ended.one("stopped");
    assert_eq!(
        stopped["reason"],
        "nothing has come from the server for longer than the idle timeout of 0.3 s"
    );
    assert!(stopped["bytes"].as_u64() > Some(0), "it says how far it came");
    server.kill();
}

#[test]
fn a_client_that_falls_silent_ends_the_connection_at_the_server_too() {
    let (server, client) = flowing(free_port(), Some(300_000_000));
    client.signal(libc::SIGSTOP);
    let ended = server.end();
    assert_eq!(ended.status, 0, "{:?}", ended.events);
    assert_eq!(
        ended.one("stopped")["reason"],
        "nothing has come from the client for longer than the idle timeout of 0.3 s"
    );
    client.kill();
}

#[test]
fn without_an_idle_timeout_a_connection_lives_through_silence() {
    let (server, client) = flowing(free_port(), None);
    let before = client.ticks();
    server.signal(libc::SIGSTOP);
    std::thread::sleep(Duration::from_millis(700));
    server.signal(libc::SIGCONT);
    wait_until(|| client.ticks() > before + 4);
    client.signal(libc::SIGTERM);
    let ended = client.end();
    assert_eq!((ended.status, ended.one("stopped").get("reason")), (0, None));
    server.kill();
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
    assert!(ended.error().contains("certificate.der does not exist yet"), "{}", ended.error());

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
    wait_until(|| client.blocks_sigterm());
    client.signal(libc::SIGTERM);
    let ended = client.end();
    assert_eq!(ended.status, 0);
    assert_eq!(numbers(&ended.all("stopped"), "bytes"), [0, 0]);
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
fn what_quic_cannot_do_is_refused() {
    let good = server(1, 1, &file(1));
    let changes: [(&str, Value, &str); 9] = [
        ("/options/pacing", json!(false), "always paces"),
        ("/options/sack", json!(false), "options.sack"),
        ("/options/fast_open", json!(true), "options.fast_open"),
        ("/cca/name", json!("vegas"), "vegas"),
        ("/cca/parameters", json!({"colour": 1}), "colour"),
        ("/workload", json!({"kind": "film"}), "film"),
        ("/flow", json!("../f"), "cannot be a file name"),
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
