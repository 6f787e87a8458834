//! Classic packet filters (bpf(4)): which frames the kernel shows a policer, and how much of them.

use super::segment::HEAD_BYTES;
use libc::sock_filter;

/// Offsets into an Ethernet frame with IPv4.
const ETHERTYPE: u32 = 12;
const TOS: u32 = 15;
const PROTOCOL: u32 = 23;
const IPV4: u32 = 0x0800;
const TCP: u32 = 6;
/// Congestion Experienced (RFC 3168, section 5).
const CE: u32 = 3;

/// What comes to this node to be sent on, whole.
#[must_use]
pub fn arrivals() -> Vec<sock_filter> {
    program(&[Test::Type(libc::PACKET_HOST.into())], u32::MAX)
}

/// The heads of TCP segments that come to this node.
#[must_use]
pub fn acknowledgements() -> Vec<sock_filter> {
    let tests = [
        Test::Type(libc::PACKET_HOST.into()),
        Test::Half(ETHERTYPE, IPV4),
        Test::Byte(PROTOCOL, u32::MAX, TCP),
    ];
    program(&tests, HEAD_BYTES)
}

/// The heads of TCP segments that leave this node with a mark.
#[must_use]
pub fn marks() -> Vec<sock_filter> {
    let tests = [
        Test::Type(libc::PACKET_OUTGOING.into()),
        Test::Half(ETHERTYPE, IPV4),
        Test::Byte(PROTOCOL, u32::MAX, TCP),
        Test::Byte(TOS, CE, CE),
    ];
    program(&tests, HEAD_BYTES)
}

/// What a frame must have to be seen.
enum Test {
    /// The kernel's packet type.
    Type(u32),
    /// Two bytes at an offset.
    Half(u32, u32),
    /// These bits of a byte at an offset.
    Byte(u32, u32, u32),
}

/// All tests, and then so many bytes of the frame.
fn program(tests: &[Test], bytes: u32) -> Vec<sock_filter> {
    let code = |code: u32, k: u32| sock_filter { code: code as u16, jt: 0, jf: 0, k };
    let load = libc::BPF_LD | libc::BPF_ABS;
    let mut made = Vec::new();
    for test in tests {
        let wanted = match *test {
            Test::Type(kind) => {
                let place = (libc::SKF_AD_OFF + libc::SKF_AD_PKTTYPE) as u32;
                made.push(code(load | libc::BPF_W, place));
                kind
            }
            Test::Half(at, value) => {
                made.push(code(load | libc::BPF_H, at));
                value
            }
            Test::Byte(at, mask, value) => {
                made.push(code(load | libc::BPF_B, at));
                made.push(code(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, mask));
                value
            }
        };
        // Over the next one, which refuses the frame, if it is as wanted.
        let skip = code(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, wanted);
        made.push(sock_filter { jt: 1, ..skip });
        made.push(code(libc::BPF_RET | libc::BPF_K, 0));
    }
    made.push(code(libc::BPF_RET | libc::BPF_K, bytes));
    made
}
