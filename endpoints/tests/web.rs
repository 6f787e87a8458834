//! The web roles over loopback: all versions of HTTP, the graph of a page, and what fails.

mod common;

use common::{free_port, now_ns, options, wait_until, Ended, Role, NEVER};
use serde_json::{json, Value};
use std::fs;
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream, UdpSocket};
use std::path::Path;

const PROTOCOLS: [&str; 3] = ["h1", "h2", "h3"];
/// Long enough for any load that works, ns.
const LONG: i64 = 60_000_000_000;
const SHORT: i64 = 300_000_000;

fn object(path: &str, bytes: u64, mime: &str, parent: Option<usize>) -> Value {
    json!({"path": path, "bytes": bytes, "type": mime, "parent": parent})
}

/// A page of depth 3, with objects of 1 byte to 5.3 MB and of every kind.
fn graph() -> Vec<Value> {
    vec![
        object("/", 30_000, "text/html; charset=utf-8", None),
        object("/a.css", 5_000, "text/css", Some(0)),
        object("/b.js?x=1&y=%20", 2_000, "application/javascript", Some(0)),
        object("/c.png", 5_300_000, "image/png", Some(0)),
        object("/d.woff2", 262_144, "font/woff2", Some(1)),
        object("/e.css", 262_150, "text/css", Some(1)),
        object("/f.json", 3, "application/json", Some(2)),
        object("/g.webp", 1, "image/webp", Some(2)),
        object("/h.svg", 300, "image/svg+xml", Some(5)),
        object("/i.mp4", 1, "video/mp4", Some(5)),
    ]
}

fn one(bytes: u64, mime: &str) -> Vec<Value> {
    vec![object("/", bytes, mime, None)]
}

fn workload(page: &[Value], protocols: &[&str], timeout_ns: i64) -> Value {
    json!({"kind": "load", "page": page, "client": "plain", "protocols": protocols,
        "idle_ns": vec![0; protocols.len()], "timeout_ns": timeout_ns, "quic_parameters": {}})
}

fn server(flow: &str, port: u16, page: &[Value]) -> Value {
    json!({"flow": flow, "address": "127.0.0.1", "port": port, "cca": "cubic",
        "quic": {"name": "cubic", "parameters": {}}, "workload": workload(page, &["h2"], LONG),
        "options": options(), "buffer_bytes": 2_000_000, "connections": 1, "starts_ns": [0],
        "rate_bps": null, "sample_every_ns": NEVER})
}

fn client(flow: &str, port: u16, page: &[Value], protocols: &[&str]) -> Value {
    json!({"flow": flow, "address": "127.0.0.1", "port": port, "name": "web.fairc",
        "workload": workload(page, protocols, LONG), "options": options(),
        "buffer_bytes": 2_000_000, "starts_ns": [0], "stop_ns": null, "progress_every_ns": NEVER})
}

/// Loads a page from a server that offers another one (or the same).
fn load(flow: &str, offered: &[Value], wanted: &[Value], protocols: &[&str]) -> (Ended, Ended) {
    let port = free_port();
    let offering = Role::start_until("web-server", &server(flow, port, offered), "listening");
    let client = Role::start("web-client", &client(flow, port, wanted, protocols)).end();
    offering.signal(libc::SIGTERM);
    (offering.end(), client)
}

/// The reason of the only load, which has failed; the client itself has not.
fn reason(client: &Ended) -> &str {
    assert_eq!((client.status, &client.one("done")["loads"]), (0, &json!(1)), "{}", client.stderr);
    client.one("load")["error"].as_str().expect("a text")
}

fn number(event: &Value, name: &str) -> i64 {
    event[name].as_i64().unwrap_or_else(|| panic!("`{name}` in {event}"))
}

/// Leaves a certificate that is not the server's.
fn leave_certificate(flow: &str) {
    let key = rcgen::KeyPair::generate().unwrap();
    let parameters = rcgen::CertificateParams::new(["web.fairc".to_owned()]).unwrap();
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{flow}.der"));
    fs::write(file, parameters.self_signed(&key).unwrap().der()).unwrap();
}

#[test]
fn a_page_is_loaded_whole_and_once_in_the_order_of_its_graph() {
    let page = graph();
    let (server, client) = load("graph", &page, &page, &PROTOCOLS);
    assert_eq!((server.status, client.status), (0, 0), "{}", server.stderr);
    let loads = client.all("load");
    assert_eq!(client.one("done")["loads"], 3);
    for (load, protocol) in loads.iter().zip(PROTOCOLS) {
        assert_eq!((&load["error"], &load["status"]), (&json!(""), &json!(200)), "{load}");
        assert_eq!((&load["wanted"], &load["protocol"]), (&json!(protocol), &json!(protocol)));
        let resources = load["resources"].as_array().unwrap();
        assert_eq!(resources.len(), page.len());
        for (resource, object) in resources.iter().zip(&page) {
            for field in ["path", "bytes", "type"] {
                assert_eq!(resource[field], object[field]);
            }
            let steps = ["start_ns", "connect_start_ns", "connect_end_ns", "request_start_ns"];
            let rest = ["response_start_ns", "response_end_ns"];
            let times: Vec<i64> =
                steps.iter().chain(&rest).map(|name| number(resource, name)).collect();
            assert!(times.is_sorted(), "{resource}");
            let parent = object["parent"].as_u64().map(|parent| &resources[parent as usize]);
            let before =
                parent.map_or(number(load, "begin_ns"), |it| number(it, "response_end_ns"));
            assert!(before <= number(resource, "start_ns"), "{resource}");
            assert!(number(resource, "response_end_ns") <= number(load, "load_event_end_ns"));
        }
        let bytes: u64 = page.iter().map(|object| object["bytes"].as_u64().unwrap()).sum();
        assert_eq!(load["bytes"], bytes);
        assert_eq!(load["secure_start_ns"].is_null(), protocol == "h3");
        let connections =
            server.all("accepted").iter().filter(|it| it["protocol"] == protocol).count();
        assert_eq!(load["local_ports"].as_array().unwrap().len(), connections);
        assert!(connections == 1 || (protocol == "h1" && connections <= 6));
        let answers: Vec<_> =
            server.all("request").into_iter().filter(|it| it["protocol"] == protocol).collect();
        assert_eq!(answers.len(), page.len());
        for object in &page {
            let answer = answers.iter().find(|answer| answer["path"] == object["path"]).unwrap();
            assert_eq!((&answer["bytes"], &answer["status"]), (&object["bytes"], &json!(200)));
        }
    }
    for closed in server.all("closed") {
        assert_eq!(closed["error"], Value::Null);
    }
}

#[test]
fn every_connection_is_sampled_and_numbered_in_the_order_it_came() {
    let page = graph();
    let (server, _) = load("samples", &page, &page, &["h2", "h3"]);
    let accepted = server.all("accepted");
    for (number, (event, transport)) in accepted.iter().zip(["tcp", "quic"]).enumerate() {
        assert_eq!(
            (&event["connection"], &event["transport"]),
            (&json!(number), &json!(transport))
        );
        assert!(event["peer"].as_str().unwrap().starts_with("127.0.0.1:"));
        let samples: Vec<_> =
            server.all("sample").into_iter().filter(|it| it["connection"] == number).collect();
        let window = if transport == "tcp" { "cwnd" } else { "cwnd_bytes" };
        assert!(!samples.is_empty() && samples.iter().all(|sample| sample[window].is_u64()));
        // The last one is taken at the end.
        let sent = number_of(samples[samples.len() - 1], "bytes_sent");
        assert!(sent > number_of(server.all("closed")[number], "bytes"));
    }
}

fn number_of(event: &Value, name: &str) -> u64 {
    event[name].as_u64().expect("a number")
}

#[test]
fn without_quic_there_is_no_http_3() {
    let port = free_port();
    let page = one(1000, "text/html");
    let mut description = server("tcponly", port, &page);
    description["quic"] = Value::Null;
    let offering = Role::start_until("web-server", &description, "listening");
    let client = Role::start("web-client", &client("tcponly", port, &page, &["h3"])).end();
    assert!(reason(&client).contains("connecting: Connection refused"), "{}", reason(&client));
    offering.signal(libc::SIGTERM);
    assert_eq!(offering.end().one("listening")["quic"], Value::Null);
}

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
        assert_eq!(reason(&client), "/: other bytes than it should have");
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
        assert_eq!(load["error"], "it did not end within 0.3 s");
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

/// Passes the first connection to a port on to another port and says nothing on all others.
fn pass_on_the_first(from: TcpListener, to: u16) {
    std::thread::spawn(move || {
        let mut silent = Vec::new();
        let mut first = None;
        for stream in from.incoming().map_while(Result::ok) {
            if first.is_some() {
                silent.push(stream);
                continue;
            }
            let onward = TcpStream::connect((Ipv4Addr::LOCALHOST, to)).unwrap();
            for (mut from, mut to) in [
                (stream.try_clone().unwrap(), onward.try_clone().unwrap()),
                (onward, stream.try_clone().unwrap()),
            ] {
                std::thread::spawn(move || {
                    drop(std::io::copy(&mut from, &mut to));
                    drop(to.shutdown(Shutdown::Both));
                });
            }
            first = Some(stream);
        }
    });
}

#[test]
fn over_http_1_1_what_waits_for_a_new_connection_takes_an_old_one_that_is_free() {
    let mut page = one(5_000, "text/html");
    page.extend((0..9).map(|i| object(&format!("/{i}.png"), 2_000, "image/png", Some(0))));
    let front = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let (near, far) = (front.local_addr().unwrap().port(), free_port());
    let offering = Role::start_until("web-server", &server("late", far, &page), "listening");
    pass_on_the_first(front, far);
    let client = Role::start("web-client", &client("late", near, &page, &["h1"])).end();
    offering.signal(libc::SIGTERM);
    let offering = offering.end();
    let load = client.one("load");
    assert_eq!((&load["error"], &load["bytes"]), (&json!(""), &json!(23_000)), "{load}");
    assert_eq!(load["local_ports"].as_array().unwrap().len(), 6);
    assert_eq!((offering.status, client.status), (0, 0), "{}", offering.stderr);
}

#[test]
fn a_server_that_goes_away_fails_the_load() {
    for protocol in PROTOCOLS {
        let flow = format!("gone-{protocol}");
        let (port, page) = (free_port(), one(1 << 32, "text/html"));
        let offering = Role::start_until("web-server", &server(&flow, port, &page), "listening");
        let loading = Role::start("web-client", &client(&flow, port, &page, &[protocol]));
        // Far more than a handshake takes.
        wait_until(|| offering.has_worked(20));
        offering.kill();
        let client = loading.end();
        assert!(reason(&client).starts_with("/: HTTP: "), "{}", reason(&client));
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
fn loads_begin_at_their_times() {
    let (port, page) = (free_port(), one(1000, "text/html"));
    let offering = Role::start_until("web-server", &server("times", port, &page), "listening");
    let mut description = client("times", port, &page, &["h2", "h3", "h1"]);
    description["starts_ns"] = json!([200_000_000]);
    description["workload"]["idle_ns"] = json!([999_000_000_000_i64, 50_000_000, 100_000_000]);
    let client = Role::start("web-client", &description).end();
    let mut earliest = 200_000_000;
    for (load, pause) in client.all("load").iter().zip([50_000_000, 100_000_000, 0]) {
        assert_eq!(load["error"], "");
        assert!(number(load, "begin_ns") >= earliest, "{load}");
        earliest = number(load, "t_ns") + pause;
    }
    drop(offering);
}

#[test]
fn many_connections_are_served_and_forgotten() {
    let mut page = one(2000, "text/html");
    page.extend((0..20).map(|number| object(&format!("/{number}"), 100, "image/png", Some(0))));
    // So many that what both write fits into the pipes, which are read at the end.
    let protocols: Vec<&str> = PROTOCOLS.iter().cycle().take(12).copied().collect();
    let (server, client) = load("many", &page, &page, &protocols);
    for load in client.all("load") {
        assert_eq!(load["error"], "", "{load}");
    }
    assert_eq!(client.one("done")["loads"], 12);
    let accepted = server.all("accepted").len();
    assert!((8 + 4..=8 + 24).contains(&accepted), "{accepted}");
    assert_eq!(server.all("closed").len(), accepted);
    assert_eq!(server.all("request").len(), 12 * page.len());
}

#[test]
fn what_no_page_is_is_refused() {
    let with = |page: Vec<Value>| client("bad", 1, &page, &["h2"]).to_string();
    let html = |children: Vec<Value>| [one(1000, "text/html"), children].concat();
    for (description, words) in [
        (with(vec![]), "`workload.page` has 0 objects"),
        (with(one(0, "text/html")), "`workload.page[0].bytes` is 0"),
        (with(one(9, "video/mp4")), "which no browser shows as a document"),
        (with(one(9, "nothing")), "`nothing`, which is no MIME type"),
        (with(html(vec![object("/a", 1, "image/png", None)])), "is not the position of an object"),
        (
            with(html(vec![object("/a", 1, "image/png", Some(1))])),
            "is not the position of an object",
        ),
        (with(html(vec![object("/", 1, "image/png", Some(0))])), "`/` a second time"),
        (with(html(vec![object("//a", 1, "image/png", Some(0))])), "which is no plain path"),
        (with(html(vec![object("/../a", 1, "image/png", Some(0))])), "which is no plain path"),
        (with(html(vec![object("/a b", 1, "image/png", Some(0))])), "which is no plain path"),
        (
            with([one(1000, "image/png"), vec![object("/a", 1, "image/png", Some(0))]].concat()),
            "a document of type `image/png` refers to nothing",
        ),
        (
            with([one(50, "text/html"), vec![object("/a", 1, "image/png", Some(0))]].concat()),
            "`workload.page[0].bytes` is 50, but what it refers to takes",
        ),
        (client("bad", 1, &graph(), &[]).to_string(), "0 `protocols` and 0 `idle_ns`"),
        (client("bad", 1, &graph(), &["h4"]).to_string(), "`h4`, not h1, h2 or h3"),
    ] {
        let ended = Role::start_at("web-client", now_ns(), &description).end();
        assert_eq!((ended.status, ended.events.len()), (2, 0), "{description}");
        assert!(ended.stderr.contains(words), "{}", ended.stderr);
    }
}
