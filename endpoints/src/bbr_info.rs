//! `TCP_CC_INFO` of BBR version 3: what the kernel's congestion control says of itself.
//!
//! Linux's own BBR is version 1, which tells no phase. Version 3 is a patch of it
//! (github.com/google/bbr), which extends struct `tcp_bbr_info` of `include/uapi/linux/inet_diag.h`.

use crate::sys;
use serde::Serialize;
use socket2::Socket;
use std::convert::TryInto;
use std::io;

/// The phase and the estimates of BBR version 3.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Model {
    /// The phase that it is in (`bbr_phase`): `startup`, `drain`, `probe_rtt`, `probe_bw_up`,
    /// `probe_bw_down`, `probe_bw_cruise`, `probe_bw_refill`.
    pub state: &'static str,
    /// Estimated bandwidth, bit/s of payload (`bbr_bw_hi_lsb`, `bbr_bw_hi_msb`).
    pub max_bw_bps: u64,
    /// Estimated round-trip propagation delay, us (`bbr_min_rtt`); left out before the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_min_rtt_us: Option<u32>,
    /// Long-term bound of the bytes in flight (`bbr_inflight_hi` full segments); left out: there
    /// is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inflight_longterm_bytes: Option<u64>,
    /// Short-term bound of the bytes in flight (`bbr_inflight_lo`); left out: there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inflight_shortterm_bytes: Option<u64>,
}

/// `enum tcp_bbr_phase`; 0 is invalid.
const PHASES: [&str; 8] = [
    "",
    "startup",
    "drain",
    "probe_rtt",
    "probe_bw_up",
    "probe_bw_down",
    "probe_bw_cruise",
    "probe_bw_refill",
];

/// `TCP_CC_INFO` of `include/uapi/linux/tcp.h`.
const TCP_CC_INFO: i32 = 26;

/// Bytes of struct `tcp_bbr_info` of version 3; version 1 has 20.
const BYTES: usize = 52;

const VERSION: u8 = 3;

/// Reads what the congestion control of a connection says of itself; None: it is not BBR version 3.
///
/// mss: payload of a full segment, bytes.
///
/// # Errors
/// What the kernel says.
pub fn read(socket: &Socket, mss: u32) -> io::Result<Option<Model>> {
    let mut raw = [0; BYTES];
    let length = sys::get_option(socket, libc::IPPROTO_TCP, TCP_CC_INFO, &mut raw)?;
    Ok((length == BYTES).then(|| parse(&raw, mss)).flatten())
}

fn parse(raw: &[u8; BYTES], mss: u32) -> Option<Model> {
    let at =
        |offset: usize| u32::from_ne_bytes(raw[offset..offset + 4].try_into().expect("four bytes"));
    let bytes_per_s = u64::from(at(24)) << 32 | u64::from(at(20));
    let known = |value: u32| Some(value).filter(|value| *value != u32::MAX);
    let bytes = |segments: u32| known(segments).map(|number| u64::from(number) * u64::from(mss));
    let state = *PHASES.get(usize::from(raw[37])).filter(|phase| !phase.is_empty())?;
    (raw[39] == VERSION).then(|| Model {
        state,
        max_bw_bps: bytes_per_s.saturating_mul(8),
        path_min_rtt_us: known(at(8)),
        inflight_shortterm_bytes: bytes(at(40)),
        inflight_longterm_bytes: bytes(at(44)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In the order of the patched header: the bandwidth (two words), the smallest round trip, two
    /// gains, the highest and the lowest bandwidth (two words each), four bytes, the two bounds, and
    /// what is acknowledged beyond the expected.
    fn raw(phase: u8, version: u8) -> [u8; BYTES] {
        let before = [1_u32, 2, 40_000, 4, 5, 1_250_000, 0, 8, 9];
        let behind = [u32::MAX, 70, 13];
        let mut found = before.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<_>>();
        found.extend([3, phase, 0, version]);
        found.extend(behind.iter().flat_map(|word| word.to_ne_bytes()));
        found.try_into().expect("the header's length")
    }

    #[test]
    fn fields_lie_where_the_header_declares_them() {
        let model = Model {
            state: "probe_bw_down",
            max_bw_bps: 10_000_000,
            path_min_rtt_us: Some(40_000),
            inflight_longterm_bytes: Some(70_000),
            inflight_shortterm_bytes: None,
        };
        assert_eq!(parse(&raw(5, VERSION), 1_000), Some(model));
    }

    #[test]
    fn another_version_and_an_unknown_phase_are_no_model() {
        for (phase, version) in [(5, 2), (0, VERSION), (8, VERSION)] {
            assert_eq!(parse(&raw(phase, version), 1_000), None);
        }
        let socket = crate::socket::open(socket2::Type::STREAM).unwrap();
        assert_eq!(read(&socket, 1_000).unwrap(), None);
    }
}
