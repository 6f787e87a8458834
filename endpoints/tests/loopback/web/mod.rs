//! The web roles over loopback: all versions of HTTP, the graph of a page, and what fails.

mod failures;
mod loads;

use crate::common::{free_port, now_ns, options, wait_until, Ended, Role, NEVER};
use serde_json::{json, Value};
use std::fs;
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream, UdpSocket};
use std::path::Path;

const PROTOCOLS: [&str; 3] = ["h1", "h2", "h3"];
/// Long enough for any load that works, ns.
const LONG: i64 = 60_000_000_000;
const SHORT: i64 = 300_000_000;
/// What a load may take whose server goes away.
const GONE: i64 = 10_000_000_000;

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
        "idle_ns": vec![0; protocols.len()], "every_ns": 0, "timeout_ns": timeout_ns,
        "quic_parameters": {}})
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
