//! `TCP_INFO`: the kernel's view of a connection, read with one system call.

use crate::bbr_info::Model;
use crate::{socket, sys};
use serde::Serialize;
use socket2::Socket;
use std::convert::TryInto;
use std::io;

/// What a `sample` event tells of a connection. Names on the right are those of struct `tcp_info`
/// in the kernel's `include/uapi/linux/tcp.h`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Sample {
    /// Congestion window, packets (`tcpi_snd_cwnd`).
    pub cwnd: u32,
    /// Slow start threshold, packets (`tcpi_snd_ssthresh`); 2147483647 before the first reduction.
    pub ssthresh: u32,
    /// Smoothed round-trip time, us (`tcpi_rtt`).
    pub rtt_us: u32,
    /// Mean deviation of the round-trip time, us (`tcpi_rttvar`).
    pub rttvar_us: u32,
    /// Smallest round-trip time of the kernel's window, us (`tcpi_min_rtt`); null before the first.
    pub min_rtt_us: Option<u32>,
    /// Payload of a full segment, bytes (`tcpi_snd_mss`).
    pub mss: u32,
    /// Segments sent and not yet acknowledged (`tcpi_unacked`).
    pub unacked: u32,
    /// Of them, segments that the receiver has said it holds (`tcpi_sacked`).
    pub sacked: u32,
    /// Segments held to be lost at this moment (`tcpi_lost`).
    pub lost: u32,
    /// Retransmissions that are on their way at this moment (`tcpi_retrans`).
    pub retrans_out: u32,
    /// Segments retransmitted so far (`tcpi_total_retrans`).
    pub retransmits: u32,
    /// Bytes of payload sent, retransmissions included (`tcpi_bytes_sent`).
    pub bytes_sent: u64,
    /// Bytes acknowledged (`tcpi_bytes_acked`); one more than the payload once the FIN is.
    pub bytes_acked: u64,
    /// Bytes of payload retransmitted (`tcpi_bytes_retrans`).
    pub bytes_retransmitted: u64,
    /// Segments delivered, retransmissions included (`tcpi_delivered`).
    pub delivered: u32,
    /// Pacing rate, bit/s (`tcpi_pacing_rate`); null while there is none.
    pub pacing_bps: Option<u64>,
    /// Latest delivery rate, bit/s (`tcpi_delivery_rate`).
    pub delivery_bps: u64,
    /// Time with data to send, us (`tcpi_busy_time`).
    pub busy_us: u64,
    /// Of it, limited by the receiver's window, us (`tcpi_rwnd_limited`).
    pub rwnd_limited_us: u64,
    /// Of it, limited by the send buffer, us (`tcpi_sndbuf_limited`).
    pub sndbuf_limited_us: u64,
    /// State of congestion control (`tcpi_ca_state`): 0 Open, 1 Disorder, 2 CWR, 3 Recovery, 4
    /// Loss.
    pub ca_state: u8,
    /// What the congestion control says of itself; left out where it says nothing.
    #[serde(flatten)]
    pub model: Option<Model>,
}

/// What the two ends have agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[allow(clippy::struct_excessive_bools)] // each is a bit of the kernel's
pub struct Agreed {
    /// Explicit Congestion Notification (`TCPI_OPT_ECN`).
    pub ecn: bool,
    /// The receiver counts marks (`AccECN`, `tcpi_ecn_mode`); None: this kernel does not say.
    pub accurate_ecn: Option<bool>,
    /// Selective acknowledgements (`TCPI_OPT_SACK`).
    pub sack: bool,
    /// Timestamps (`TCPI_OPT_TIMESTAMPS`): 12 bytes of every header.
    pub timestamps: bool,
    /// Data came with the first packet (`TCPI_OPT_SYN_DATA`).
    pub fast_open: bool,
}

impl Agreed {
    /// Bytes of IP and TCP header of a data packet: IPv4 without options, and TCP with timestamps
    /// if they are agreed on (RFC 7323, appendix A: padded to 12 bytes).
    #[must_use]
    pub fn header_bytes(self) -> u32 {
        if self.timestamps {
            52
        } else {
            40
        }
    }

    fn of(options: u8, ecn_mode: Option<u8>) -> Self {
        Agreed {
            accurate_ecn: ecn_mode.map(|mode| mode == ACCURATE),
            timestamps: options & 1 != 0,
            sack: options & 2 != 0,
            ecn: options & 8 != 0,
            fast_open: options & 32 != 0,
        }
    }
}

/// What a client has when its handshake is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Established {
    /// `SO_RCVBUF` as the kernel counts it.
    pub receive_buffer_bytes: u32,
    /// The largest receive window that the kernel offers (`TCP_WINDOW_CLAMP`).
    pub receive_window_bytes: u32,
    /// It echoes marks of Explicit Congestion Notification (`TCPI_OPT_ECN`).
    pub ecn: bool,
}

/// Reads what a client has when its handshake is over; over MPTCP, which has no limit of the window
/// that could be read, the buffer is the window.
///
/// # Errors
/// Those of `read`.
pub fn established(socket: &Socket, is_mptcp: bool) -> io::Result<Established> {
    let receive_buffer_bytes = socket::number(socket, libc::SO_RCVBUF)?;
    let receive_window_bytes =
        if is_mptcp { receive_buffer_bytes } else { socket::window(socket)? };
    let (Agreed { ecn, .. }, ..) = agreed(socket)?;
    Ok(Established { receive_buffer_bytes, receive_window_bytes, ecn })
}

/// The structure up to and with `tcpi_bytes_retrans` (Linux 4.19).
const NEEDED: usize = 216;

/// Reads a connection's state.
///
/// # Errors
/// What the kernel says; `Unsupported` for a kernel before 4.19.
pub fn read(socket: &Socket) -> io::Result<Sample> {
    raw(socket).map(|raw| parse(&raw))
}

/// Reads what the two ends have agreed on, a connection's state, and its retransmission timeout, us
/// (`tcpi_rto`).
///
/// # Errors
/// Those of `read`.
pub fn agreed(socket: &Socket) -> io::Result<(Agreed, Sample, u32)> {
    let mut all = [0; ECN_MODE + 4];
    let length = sys::get_option(socket, libc::IPPROTO_TCP, libc::TCP_INFO, &mut all)?;
    // A bit field of 32 bits, its first two bits the lowest.
    let bits = u32::from_ne_bytes(all[ECN_MODE..].try_into().expect("four bytes"));
    let ecn_mode = (length == all.len()).then_some((bits & 3) as u8);
    let raw = enough(&all, length)?;
    let rto_us = u32::from_ne_bytes(raw[RTO..RTO + 4].try_into().expect("four bytes"));
    Ok((Agreed::of(raw[OPTIONS], ecn_mode), parse(raw), rto_us))
}

/// Parses a structure that came without its socket; None: this kernel's is too short.
#[must_use]
pub fn of_bytes(bytes: &[u8]) -> Option<Sample> {
    bytes.first_chunk().map(parse)
}

/// The receive window that the peer offers, bytes (`tcpi_snd_wnd`, Linux 5.4).
///
/// # Errors
/// What the kernel says; `Unsupported` for a kernel before 5.4.
pub fn peer_window(socket: &Socket) -> io::Result<u32> {
    let mut raw = [0; PEER_WINDOW + 4];
    let length = sys::get_option(socket, libc::IPPROTO_TCP, libc::TCP_INFO, &mut raw)?;
    if length < raw.len() {
        let message = "this kernel's TCP_INFO lacks the peer's window";
        return Err(io::Error::new(io::ErrorKind::Unsupported, message));
    }
    Ok(u32::from_ne_bytes(raw[PEER_WINDOW..].try_into().expect("four bytes")))
}

/// Bytes that have arrived in order, taken or not (`tcpi_bytes_received`); one more after the
/// peer's FIN.
///
/// # Errors
/// Those of `read`.
pub fn bytes_received(socket: &Socket) -> io::Result<u64> {
    let raw = raw(socket)?;
    Ok(u64::from_ne_bytes(raw[BYTES_RECEIVED..][..8].try_into().expect("eight bytes")))
}

/// Offset of `tcpi_bytes_received`.
const BYTES_RECEIVED: usize = 128;

/// Offset of `tcpi_snd_wnd`.
const PEER_WINDOW: usize = 228;

/// Offset of `tcpi_ca_state`.
const CA_STATE: usize = 1;

/// Offset of the bit field that begins with `tcpi_ecn_mode` (Linux 7).
const ECN_MODE: usize = 276;

/// `TCPI_ECN_MODE_ACCECN`.
const ACCURATE: u8 = 2;

/// Offset of `tcpi_rto`.
const RTO: usize = 8;

/// Offset of `tcpi_options`.
const OPTIONS: usize = 5;

fn raw(socket: &Socket) -> io::Result<[u8; NEEDED]> {
    let mut raw = [0; NEEDED];
    let length = sys::get_option(socket, libc::IPPROTO_TCP, libc::TCP_INFO, &mut raw)?;
    enough(&raw, length).copied()
}

/// The part of the structure that every supported kernel has.
fn enough(bytes: &[u8], length: usize) -> io::Result<&[u8; NEEDED]> {
    if length < NEEDED {
        let message = format!("this kernel's TCP_INFO has {length} bytes, not the {NEEDED} needed");
        return Err(io::Error::new(io::ErrorKind::Unsupported, message));
    }
    Ok(bytes.first_chunk().expect("as many as are needed"))
}

/// Picks the fields out of the structure, whose layout never changes: new fields are appended.
fn parse(raw: &[u8; NEEDED]) -> Sample {
    let u32_at =
        |offset: usize| u32::from_ne_bytes(raw[offset..offset + 4].try_into().expect("four bytes"));
    let u64_at = |offset: usize| {
        u64::from_ne_bytes(raw[offset..offset + 8].try_into().expect("eight bytes"))
    };
    let bits = |bytes_per_s: u64| bytes_per_s.saturating_mul(8);
    Sample {
        ca_state: raw[CA_STATE],
        cwnd: u32_at(80),
        ssthresh: u32_at(76),
        rtt_us: u32_at(68),
        rttvar_us: u32_at(72),
        min_rtt_us: Some(u32_at(148)).filter(|value| *value != u32::MAX),
        mss: u32_at(16),
        unacked: u32_at(24),
        sacked: u32_at(28),
        lost: u32_at(32),
        retrans_out: u32_at(36),
        retransmits: u32_at(100),
        bytes_sent: u64_at(200),
        bytes_acked: u64_at(120),
        bytes_retransmitted: u64_at(208),
        delivered: u32_at(192),
        pacing_bps: Some(u64_at(104)).filter(|value| *value != u64::MAX).map(bits),
        delivery_bps: bits(u64_at(160)),
        busy_us: u64_at(168),
        rwnd_limited_us: u64_at(176),
        sndbuf_limited_us: u64_at(184),
        model: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The offsets, against the declaration of the field's order and sizes in the kernel's header.
    #[test]
    fn fields_lie_where_the_header_declares_them() {
        const WIDTHS: [(&str, usize); 50] = [
            ("state", 1),
            ("ca_state", 1),
            ("retransmits", 1),
            ("probes", 1),
            ("backoff", 1),
            ("options", 1),
            ("wscale", 1),
            ("flags", 1),
            ("rto", 4),
            ("ato", 4),
            ("mss", 4),
            ("rcv_mss", 4),
            ("unacked", 4),
            ("sacked", 4),
            ("lost", 4),
            ("retrans", 4),
            ("fackets", 4),
            ("last_data_sent", 4),
            ("last_ack_sent", 4),
            ("last_data_recv", 4),
            ("last_ack_recv", 4),
            ("pmtu", 4),
            ("rcv_ssthresh", 4),
            ("rtt_us", 4),
            ("rttvar_us", 4),
            ("ssthresh", 4),
            ("cwnd", 4),
            ("advmss", 4),
            ("reordering", 4),
            ("rcv_rtt", 4),
            ("rcv_space", 4),
            ("total_retrans", 4),
            ("pacing_rate", 8),
            ("max_pacing_rate", 8),
            ("bytes_acked", 8),
            ("bytes_received", 8),
            ("segs_out", 4),
            ("segs_in", 4),
            ("notsent_bytes", 4),
            ("min_rtt_us", 4),
            ("data_segs_in", 4),
            ("data_segs_out", 4),
            ("delivery_rate", 8),
            ("busy_us", 8),
            ("rwnd_limited_us", 8),
            ("sndbuf_limited_us", 8),
            ("delivered", 4),
            ("delivered_ce", 4),
            ("bytes_sent", 8),
            ("bytes_retransmitted", 8),
        ];
        // Each field holds its position in the list, so that a field read elsewhere shows.
        let mut raw = Vec::new();
        let mut number = std::collections::HashMap::new();
        for (position, (name, width)) in WIDTHS.iter().enumerate() {
            number.insert(*name, position as u64);
            raw.extend_from_slice(&(position as u64).to_le_bytes()[..*width]);
        }
        let raw: [u8; NEEDED] = raw.try_into().expect("the header's length");
        if cfg!(target_endian = "big") {
            return;
        }
        let sample = parse(&raw);
        let small = |name: &str| number[name] as u32;
        assert_eq!(u32::from(sample.ca_state), small("ca_state"));
        assert_eq!(sample.cwnd, small("cwnd"));
        assert_eq!(sample.ssthresh, small("ssthresh"));
        assert_eq!(sample.rtt_us, small("rtt_us"));
        assert_eq!(sample.rttvar_us, small("rttvar_us"));
        assert_eq!(sample.min_rtt_us, Some(small("min_rtt_us")));
        assert_eq!(sample.mss, small("mss"));
        assert_eq!(sample.unacked, small("unacked"));
        assert_eq!(sample.sacked, small("sacked"));
        assert_eq!(sample.lost, small("lost"));
        assert_eq!(sample.retrans_out, small("retrans"));
        assert_eq!(sample.retransmits, small("total_retrans"));
        assert_eq!(sample.bytes_sent, number["bytes_sent"]);
        assert_eq!(sample.bytes_acked, number["bytes_acked"]);
        assert_eq!(sample.bytes_retransmitted, number["bytes_retransmitted"]);
        assert_eq!(sample.delivered, small("delivered"));
        assert_eq!(sample.pacing_bps, Some(8 * number["pacing_rate"]));
        assert_eq!(sample.delivery_bps, 8 * number["delivery_rate"]);
        assert_eq!(sample.busy_us, number["busy_us"]);
        assert_eq!(sample.rwnd_limited_us, number["rwnd_limited_us"]);
        assert_eq!(sample.sndbuf_limited_us, number["sndbuf_limited_us"]);
    }

    /// Bits as in the kernel's header: `TCPI_OPT_TIMESTAMPS` 1, `SACK` 2, `WSCALE` 4, `ECN` 8,
    /// `ECN_SEEN` 16, `SYN_DATA` 32.
    #[test]
    fn options_are_bits() {
        let of = |options| Agreed::of(options, None);
        let none = Agreed {
            ecn: false,
            accurate_ecn: None,
            sack: false,
            timestamps: false,
            fast_open: false,
        };
        assert_eq!(of(4 | 16), none);
        assert_eq!(of(1), Agreed { timestamps: true, ..none });
        assert_eq!(of(2), Agreed { sack: true, ..none });
        assert_eq!(of(8), Agreed { ecn: true, ..none });
        assert_eq!(of(32), Agreed { fast_open: true, ..none });
        assert_eq!((of(1).header_bytes(), none.header_bytes()), (52, 40));
        // `TCPI_ECN_MODE_RFC3168` 1, `ACCECN` 2.
        assert_eq!(Agreed::of(8, Some(1)).accurate_ecn, Some(false));
        assert_eq!(Agreed::of(8, Some(2)).accurate_ecn, Some(true));
    }

    #[test]
    fn what_is_not_known_yet_is_null() {
        let sample = parse(&[0xff; NEEDED]);
        assert_eq!((sample.min_rtt_us, sample.pacing_bps), (None, None));
        assert_eq!(sample.delivery_bps, u64::MAX);
    }

    #[test]
    fn a_fresh_socket_can_be_read() {
        let sample = read(&crate::socket::open(socket2::Type::STREAM).unwrap()).unwrap();
        assert_eq!((sample.bytes_sent, sample.bytes_acked), (0, 0));
        assert!(sample.cwnd > 0);
    }
}
