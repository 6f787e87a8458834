//! Captures of the loopback interface, in a network namespace of the test's own thread.

use crate::common::{now_ns, Ended, Role, NEVER};
use serde_json::json;
use std::ffi::CString;
use std::net::UdpSocket;
use std::path::{Path, PathBuf};

/// Ethernet, IPv4 and UDP headers, bytes.
const HEADERS: usize = 14 + 20 + 8;
const FILE_HEADER: usize = 24;
const PACKET_HEADER: usize = 16;

/// Moves this thread, and what it starts, to a network where nobody else sends. Without the rights
/// for it: false, and a line that says so.
fn own_network() -> bool {
    // SAFETY: takes no pointer.
    if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
        eprintln!("skipped: needs root, for a network namespace and a packet socket");
        return false;
    }
    // SAFETY: all bytes zero are a valid ifreq.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (place, byte) in request.ifr_name.iter_mut().zip(CString::new("lo").unwrap().as_bytes()) {
        *place = *byte as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = libc::IFF_UP as i16;
    // SAFETY: `request` is live and names an interface.
    let result = unsafe {
        let control = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        libc::ioctl(control, libc::SIOCSIFFLAGS, &raw const request)
    };
    assert_eq!(result, 0, "loopback comes up");
    true
}

fn start(direction: &str, file: &Path, ring_packets: u32, every_ns: i64) -> Role {
    let description = json!({"interface": "lo", "direction": direction, "file": file, "form": "pcap",
        "snaplen": 96, "ring_packets": ring_packets, "every_ns": every_ns});
    Role::start_until("capture", &description, "capturing")
}

fn stop(role: Role) -> Ended {
    role.signal(libc::SIGTERM);
    let ended = role.end();
    assert_eq!(ended.status, 0, "{:?}", ended.events);
    ended
}

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Sends datagrams of these sizes to a socket that nobody reads.
fn send(sizes: impl IntoIterator<Item = usize>) {
    let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
    let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
    for size in sizes {
        sender.send_to(&vec![7; size], receiver.local_addr().unwrap()).unwrap();
    }
}

/// (time in ns, length on the wire, bytes in the file) of every packet.
fn read(file: &Path) -> Vec<(i64, usize, usize)> {
    let bytes = std::fs::read(file).unwrap();
    assert_eq!(bytes[..4], 0xa1b2_3c4d_u32.to_le_bytes());
    let mut packets = Vec::new();
    let mut rest = &bytes[FILE_HEADER..];
    while !rest.is_empty() {
        let word =
            |index: usize| u32::from_le_bytes(rest[4 * index..4 * index + 4].try_into().unwrap());
        let (kept, length) = (word(2) as usize, word(3) as usize);
        packets.push((i64::from(word(0)) * 1_000_000_000 + i64::from(word(1)), length, kept));
        rest = &rest[PACKET_HEADER + kept..];
    }
    packets
}

#[test]
fn every_packet_of_a_direction_is_there_in_order_with_its_time_and_length() {
    if !own_network() {
        return;
    }
    let (incoming, outgoing) = (file("incoming.pcap"), file("outgoing.pcap"));
    let roles = [start("in", &incoming, 4000, 1_000_000), start("out", &outgoing, 4000, NEVER)];
    let before_ns = now_ns();
    send(0..1400);
    let after_ns = now_ns();
    for (role, file) in roles.into_iter().zip([incoming, outgoing]) {
        let ended = stop(role);
        assert_eq!(ended.one("captured")["packets"], 1400);
        assert_eq!(ended.one("captured")["dropped"], 0);
        let packets = read(&file);
        for (size, (_, length, kept)) in packets.iter().enumerate() {
            assert_eq!((*length, *kept), (HEADERS + size, (HEADERS + size).min(96)));
        }
        assert!(packets.iter().all(|(t_ns, ..)| (before_ns..=after_ns).contains(t_ns)));
        assert!(packets.is_sorted_by_key(|(t_ns, ..)| *t_ns));
    }
}

#[test]
fn what_finds_no_room_is_counted() {
    if !own_network() {
        return;
    }
    let file = file("full.pcap");
    let role = start("out", &file, 100, NEVER);
    send([100; 2000]);
    let ended = stop(role);
    let captured = ended.one("captured");
    let packets = captured["packets"].as_u64().unwrap();
    assert_eq!(packets, read(&file).len() as u64);
    assert!(packets >= 100, "{captured}");
    assert_eq!(packets + captured["dropped"].as_u64().unwrap(), 2000);
}

#[test]
fn the_ring_goes_round() {
    if !own_network() {
        return;
    }
    let file = file("round.pcap");
    let role = start("in", &file, 100, 1_000_000);
    for _ in 0..50 {
        send([64; 100]);
        std::thread::sleep(std::time::Duration::from_millis(3));
    }
    let ended = stop(role);
    let captured = ended.one("captured");
    let (packets, dropped) = (captured["packets"].as_u64(), captured["dropped"].as_u64());
    assert_eq!(packets.unwrap() + dropped.unwrap(), 5000);
    assert_eq!(packets.unwrap(), read(&file).len() as u64);
    assert!(packets.unwrap() > 1000, "more than two rings of 372 and the end");
}

#[test]
fn what_cannot_be_captured_or_written_is_an_error() {
    if !own_network() {
        return;
    }
    for (interface, file, words) in [
        ("eth9", file("none.pcap"), "capture on eth9: No such device"),
        ("lo", "/".into(), "write /"),
    ] {
        let description = json!({"interface": interface, "direction": "in", "file": file, "form": "pcap",
            "snaplen": 96, "ring_packets": 100, "every_ns": NEVER});
        let ended = Role::start("capture", &description).end();
        assert!(ended.error().contains(words), "{}", ended.error());
    }
}
