//! Loads that fail, and descriptions that are refused.

use super::*;

#[test]
fn an_object_that_the_server_does_not_have_fails_the_load() {
    let mut wanted = one(1000, "text/html");
    wanted.push(object("/k.png", 10, "image/png", Some(0)));
    for protocol in PROTOCOLS {
        let offered = vec![object("/else", 1000, "text/html", None)];
        let (server, client) = load(&format!("missing-{protocol}"), &offered, &wanted, &[protocol]);
        assert_eq!(reason(&client), "/: status 404");
        // Nobody asks for what the missing one would have referred to.
        assert_eq!(client.one("load")["resources"].as_array().unwrap().len(), 1);
        assert_eq!(client.one("load")["load_event_end_ns"], Value::Null);
        assert_eq!(server.one("request")["status"], 404);
    }
}

#[test]
fn an_object_of_another_size_or_content_fails_the_load() {
    for protocol in PROTOCOLS {
        let (_, client) = load(
            &format!("size-{protocol}"),
            &one(1000, "text/html"),
            &one(1001, "text/html"),
            &[protocol],
        );
        assert_eq!(reason(&client), "/: 1000 bytes instead of 1001");
        let (_, client) = load(
            &format!("content-{protocol}"),
            &one(1000, "image/png"),
            &one(1000, "image/svg+xml"),
            &[protocol],
        );
        assert_eq!(reason(&client), "/: contents differ from what the server should send");
    }
}

#[test]
fn another_certificate_than_the_pinned_one_fails_the_load() {
    let page = one(1000, "text/html");
    let port = free_port();
    let offering = Role::start_until("web-server", &server("mine", port, &page), "listening");
    leave_certificate("theirs");
    for protocol in PROTOCOLS {
        let client = Role::start("web-client", &client("theirs", port, &page, &[protocol])).end();
        assert!(reason(&client).contains("certificate"), "{}", reason(&client));
        assert_eq!(client.one("load")["protocol"], Value::Null);
    }
    offering.signal(libc::SIGTERM);
    let server = offering.end();
    assert_eq!(server.all("accepted").len(), 3);
    for (accepted, closed) in server.all("accepted").iter().zip(server.all("closed")) {
        assert_eq!(accepted["protocol"], Value::Null);
        assert!(!closed["error"].is_null(), "{closed}");
    }
}

#[test]
fn another_name_than_the_certificates_fails_the_load() {
    let page = one(1000, "text/html");
    let port = free_port();
    let offering = Role::start_until("web-server", &server("named", port, &page), "listening");
    for (name, fails) in [("web.other", true), ("127.0.0.1", false)] {
        let mut description = client("named", port, &page, &["h2"]);
        description["name"] = json!(name);
        let client = Role::start("web-client", &description).end();
        assert_eq!(reason(&client).contains("certificate"), fails, "{}", reason(&client));
    }
    drop(offering);
}

#[test]
fn a_server_that_nobody_has_started_fails_every_load_at_once() {
    leave_certificate("nobody");
    let page = one(1000, "text/html");
    let client = Role::start("web-client", &client("nobody", free_port(), &page, &PROTOCOLS)).end();
    assert_eq!((client.status, &client.one("done")["loads"]), (0, &json!(3)));
    for load in client.all("load") {
        let error = load["error"].as_str().unwrap();
        assert!(error.starts_with("/: connecting: Connection refused"), "{error}");
        assert_eq!((&load["status"], &load["load_event_end_ns"]), (&Value::Null, &Value::Null));
    }
}

#[test]
fn a_server_that_never_answers_fails_the_load_after_its_time() {
    leave_certificate("silent");
    let page = one(1000, "text/html");
    let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = tcp.local_addr().unwrap().port();
    let _udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
    let mut description = client("silent", port, &page, &PROTOCOLS);
    description["workload"]["timeout_ns"] = json!(SHORT);
    let client = Role::start("web-client", &description).end();
    assert_eq!(client.all("load").len(), 3);
    for load in client.all("load") {
        assert_eq!(load["error"], "not complete after 0.3 s");
        assert!(number(load, "t_ns") >= number(load, "begin_ns") + SHORT);
    }
}

#[test]
fn a_server_that_resets_fails_the_load() {
    leave_certificate("resets");
    let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = tcp.local_addr().unwrap().port();
    let page = one(1000, "text/html");
    let loading = Role::start("web-client", &client("resets", port, &page, &["h2"]));
    // What has come and was not read makes the kernel reset when the socket is closed.
    let (socket, _) = tcp.accept().unwrap();
    wait_until(|| socket.peek(&mut [0]).is_ok_and(|count| count > 0));
    drop(socket);
    let client = loading.end();
    assert!(reason(&client).contains("TLS: Connection reset"), "{}", reason(&client));
}

#[test]
fn a_server_that_goes_away_fails_the_load() {
    for protocol in PROTOCOLS {
        let flow = format!("gone-{protocol}");
        let (port, page) = (free_port(), one(1 << 32, "text/html"));
        let offering = Role::start_until("web-server", &server(&flow, port, &page), "listening");
        let mut description = client(&flow, port, &page, &[protocol]);
        description["workload"]["timeout_ns"] = json!(GONE);
        let loading = Role::start("web-client", &description);
        // Far more than a handshake takes.
        wait_until(|| offering.has_worked(20));
        offering.kill();
        let client = loading.end();
        // QUIC has no idle timeout: who has acknowledged all that came sends nothing that could be
        // refused.
        let waits = protocol == "h3" && reason(&client) == "not complete after 10 s";
        assert!(waits || reason(&client).starts_with("/: HTTP: "), "{}", reason(&client));
        assert!(number(client.one("load"), "bytes") > 0);
    }
}

#[test]
fn a_flow_that_ends_takes_its_load_along() {
    leave_certificate("ended");
    let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = tcp.local_addr().unwrap().port();
    let mut description = client("ended", port, &one(9, "text/html"), &["h2", "h2"]);
    description["stop_ns"] = json!(SHORT);
    let client = Role::start("web-client", &description).end();
    assert_eq!(reason(&client), "the flow ended");
    description["stop_ns"] = Value::Null;
    // That load's connection.
    drop(tcp.accept().unwrap());
    let loading = Role::start("web-client", &description);
    drop(tcp.accept().unwrap());
    let (_socket, _) = tcp.accept().unwrap();
    wait_until(|| loading.blocks_sigterm());
    loading.signal(libc::SIGTERM);
    let client = loading.end();
    assert_eq!(client.all("load")[1]["error"], "the client was stopped");
}

#[test]
fn what_no_page_is_is_refused() {
    let with = |page: Vec<Value>| client("bad", 1, &page, &["h2"]).to_string();
    let html = |children: Vec<Value>| [one(1000, "text/html"), children].concat();
    for (description, words) in [
        (with(vec![]), "`workload.page` has 0 objects"),
        (with(one(0, "text/html")), "`workload.page[0].bytes` is 0"),
        (with(one(9, "video/mp4")), "which browsers do not show as a document"),
        (with(one(9, "nothing")), "`nothing`, which is not a MIME type"),
        (
            with(html(vec![object("/a", 1, "image/png", None)])),
            "is not the position of an earlier object",
        ),
        (
            with(html(vec![object("/a", 1, "image/png", Some(1))])),
            "is not the position of an earlier object",
        ),
        (with(html(vec![object("/", 1, "image/png", Some(0))])), "repeats `/`"),
        (with(html(vec![object("//a", 1, "image/png", Some(0))])), "which is not a plain path"),
        (with(html(vec![object("/../a", 1, "image/png", Some(0))])), "which is not a plain path"),
        (with(html(vec![object("/a b", 1, "image/png", Some(0))])), "which is not a plain path"),
        (
            with([one(1000, "image/png"), vec![object("/a", 1, "image/png", Some(0))]].concat()),
            "a document of type `image/png` cannot refer to objects",
        ),
        (
            with([one(50, "text/html"), vec![object("/a", 1, "image/png", Some(0))]].concat()),
            "`workload.page[0].bytes` is 50, but the references to its objects need",
        ),
        (client("bad", 1, &graph(), &[]).to_string(), "0 `protocols` and 0 `idle_ns`"),
        (
            client("bad", 1, &graph(), &["h4"]).to_string(),
            "`workload.protocols[0]`: unknown variant `h4`, expected one of `h1`, `h2`, `h3`",
        ),
    ] {
        let ended = Role::start_at("web-client", now_ns(), &description).end();
        assert_eq!((ended.status, ended.events.len()), (2, 0), "{description}");
        assert!(ended.stderr.contains(words), "{}", ended.stderr);
    }
}
