//! Starts the program under test, waits for it, and reads what it wrote.

use serde_json::{json, Value};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::process::{self, Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// A period long enough that a test sees no tick unless it asks for one, ns.
pub const NEVER: i64 = 3_600_000_000_000;

/// The time now, ns of `CLOCK_REALTIME`.
pub fn now_ns() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970");
    i64::try_from(now.as_nanos()).expect("a clock before 2262")
}

/// The ports that a test may use from its free one on: connections over UDP have one each.
const PORTS: u16 = 25;

/// A port that nobody listens on, over TCP or UDP; the `PORTS` from it on are this test's.
///
/// Below those that the kernel gives to sockets that ask for none: until its server starts, no
/// other test's client can get it.
pub fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = 10_000 + (process::id() % 4) as u16 * 5000;
    for _ in 0..100 {
        let port = first + NEXT.fetch_add(PORTS, Ordering::Relaxed);
        let here = (Ipv4Addr::LOCALHOST, port);
        if TcpListener::bind(here).is_ok() && UdpSocket::bind(here).is_ok() {
            forget(port);
            return port;
        }
    }
    panic!("no port is free from {first} on");
}

/// Removes what an earlier run left for a port, such as its server's certificate:
/// `f10000.certificate.der`.
fn forget(port: u16) {
    for file in fs::read_dir(env!("CARGO_TARGET_TMPDIR")).expect("a folder").flatten() {
        let name = file.file_name().into_string().unwrap_or_default();
        let of_port = name.trim_start_matches(|letter: char| letter.is_ascii_alphabetic());
        if of_port.starts_with(&format!("{port}.")) {
            let _ = fs::remove_file(file.path());
        }
    }
}

/// Description of a server whose connections use cubic and send what they are asked for.
pub fn server(port: u16, connections: u32) -> Value {
    json!({"flow": "f", "address": "127.0.0.1", "port": port, "cca": "cubic",
        "connections": connections, "buffer_bytes": 200_000, "workload": bulk(), "rate_bps": null,
        "options": options(), "starts_ns": vec![0; connections as usize],
        "sample_every_ns": NEVER})
}

/// Description of a client whose connections start at the epoch.
pub fn client(port: u16, connections: u32, workload: &Value) -> Value {
    json!({"flow": "f", "address": "127.0.0.1", "port": port, "connections": connections,
        "buffer_bytes": 200_000, "workload": workload, "options": options(),
        "starts_ns": vec![0; connections as usize], "stop_ns": null, "progress_every_ns": NEVER})
}

/// The default options of TCP.
pub fn options() -> Value {
    json!({"initial_window_packets": 10, "receive_window_bytes": null, "ecn": false, "sack": true,
        "pacing": false, "fast_open": false, "idle_restart": null})
}

/// The workload `file`.
pub fn file(bytes: u64) -> Value {
    json!({"kind": "file", "bytes": bytes})
}

/// The workload `bulk`.
pub fn bulk() -> Value {
    json!({"kind": "bulk"})
}

/// A running role; killed when a test gives up.
pub struct Role {
    child: Child,
    output: BufReader<ChildStdout>,
    seen: String,
}

/// How a role ended.
#[derive(Debug)]
pub struct Ended {
    pub status: i32,
    pub events: Vec<Value>,
    pub stderr: String,
}

impl Role {
    /// Starts a role whose epoch is now.
    pub fn start(name: &str, description: &Value) -> Self {
        Self::start_at(name, now_ns(), &description.to_string())
    }

    /// Starts a role with any description.
    pub fn start_at(name: &str, epoch_ns: i64, description: &str) -> Self {
        Self::start_with(name, epoch_ns, description, &[])
    }

    /// Starts a role with variables of the environment.
    pub fn start_with(
        name: &str,
        epoch_ns: i64,
        description: &str,
        variables: &[(&str, &str)],
    ) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_fairc-endpoints"))
            .args([name, "--epoch-ns", &epoch_ns.to_string(), description])
            // Where roles leave their files.
            .current_dir(env!("CARGO_TARGET_TMPDIR"))
            .envs(variables.iter().copied())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        Role { child, output, seen: String::new() }
    }

    /// Starts a server and waits until it listens.
    pub fn serve(description: &Value) -> Self {
        Self::start_until("tcp-server", description, "listening")
    }

    /// Starts a role and waits for its first line, which has to be of this event.
    pub fn start_until(name: &str, description: &Value, event: &str) -> Self {
        let mut role = Self::start(name, description);
        let size = role.output.read_line(&mut role.seen).expect("a line");
        assert!(size > 0 && role.seen.contains(event), "no `{event}`: {}", role.seen);
        role
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal.
    pub fn signal(&self, number: i32) {
        let id = i32::try_from(self.child.id()).expect("a process id");
        // SAFETY: takes no pointer; the child has not been waited for, so the id is its own.
        assert_eq!(unsafe { libc::kill(id, number) }, 0);
    }

    /// Whether it is far enough to take SIGTERM for a request instead of dying of it.
    pub fn blocks_sigterm(&self) -> bool {
        let path = format!("/proc/{}/status", self.id());
        let status = std::fs::read_to_string(path).expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix("SigBlk:")).expect("a mask");
        let mask = u64::from_str_radix(line.trim(), 16).expect("hexadecimal digits");
        mask & (1 << (libc::SIGTERM - 1)) != 0
    }

    /// Whether it has spent so much CPU time in its own code, ticks of 10 ms.
    pub fn has_worked(&self, ticks: u64) -> bool {
        self.ticks() >= ticks
    }

    /// The CPU time that it has spent in its own code, ticks of 10 ms.
    pub fn ticks(&self) -> u64 {
        let path = format!("/proc/{}/stat", self.id());
        let text = std::fs::read_to_string(path).expect("it runs");
        // After the name, which may hold anything: the twelfth is `utime` (proc(5)).
        let (_, fields) = text.rsplit_once(')').expect("a name");
        let field = fields.split_whitespace().nth(11).expect("enough fields");
        field.parse::<u64>().expect("a number")
    }

    /// Waits for the end and reads the rest.
    pub fn end(mut self) -> Ended {
        let mut text = std::mem::take(&mut self.seen);
        self.output.read_to_string(&mut text).expect("text");
        let mut stderr = String::new();
        self.child.stderr.take().expect("piped").read_to_string(&mut stderr).expect("text");
        let status = self.child.wait().expect("an end").code().expect("no signal killed it");
        let events = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        Ended { status, events, stderr }
    }

    /// Ends the role at once.
    pub fn kill(mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("an end");
    }
}

impl Drop for Role {
    fn drop(&mut self) {
        // Fails when it has ended already, which is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Ended {
    /// Events of this kind, in order.
    pub fn all(&self, event: &str) -> Vec<&Value> {
        self.events.iter().filter(|line| line["event"] == event).collect()
    }

    /// The only event of this kind.
    pub fn one(&self, event: &str) -> &Value {
        let all = self.all(event);
        assert_eq!(all.len(), 1, "{event} in {:#?}", self.events);
        all[0]
    }

    /// The message of the only error.
    pub fn error(&self) -> &str {
        assert_eq!(self.status, 1, "{:#?}", self.events);
        self.one("error")["message"].as_str().expect("a text")
    }
}

/// Waits, without a limit of its own, until `condition` holds.
pub fn wait_until(condition: impl Fn() -> bool) {
    while !condition() {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}
