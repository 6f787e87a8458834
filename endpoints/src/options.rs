//! Options of a transport, as both ends are told.

use crate::json::{or_null, whole, whole_or_null};
use serde::Deserialize;

/// What the kernel can count of a window with the largest scale (RFC 7323, section 2.3), bytes.
const MAX_WINDOW: i64 = 65_535 << 14;
/// The largest socket buffer, bytes: what waits is never more.
const MAX_UNSENT: i64 = 1 << 29;

/// How a transport is to work. What the ends cannot set themselves (for TCP:
/// `initial_window_packets`, `ecn`, `sack`) the script has set for host or route; each end reports
/// what is in force.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[allow(clippy::struct_excessive_bools)] // each is a switch of the language
pub struct TransportOptions {
    /// Congestion window of a new connection, packets.
    #[serde(deserialize_with = "whole::<_, _, 1, 65_535>")]
    pub initial_window_packets: u32,
    /// Largest window that the receiver offers, bytes; None: as its buffer allows.
    #[serde(deserialize_with = "whole_or_null::<_, _, 1, MAX_WINDOW>")]
    pub receive_window_bytes: Option<u32>,
    /// Explicit Congestion Notification (RFC 3168).
    pub ecn: bool,
    /// Selective acknowledgements (RFC 2018).
    pub sack: bool,
    /// Packets are spread over the round trip.
    pub pacing: bool,
    /// Data with the first packet (RFC 7413).
    pub fast_open: bool,
    /// The congestion window is reduced after an idle time (RFC 5681, section 4.1); None: as the
    /// transport does it: TCP does (its host is set to), QUIC does not.
    #[serde(deserialize_with = "or_null")]
    pub idle_restart: Option<bool>,
    /// How many bytes may wait in a socket beyond the congestion window (`TCP_NOTSENT_LOWAT`);
    /// None: as the sender does it by itself.
    #[serde(default, deserialize_with = "whole_or_null::<_, _, 1, MAX_UNSENT>")]
    pub notsent_lowat_bytes: Option<u32>,
    /// QUIC finds out how large its datagrams can be; else routes say so.
    #[serde(default)]
    pub discovers_mtu: bool,
    /// A server of QUIC follows clients to other ports (RFC 9000, section 9).
    #[serde(default)]
    pub follows: bool,
}

impl Default for TransportOptions {
    fn default() -> Self {
        TransportOptions {
            initial_window_packets: 10,
            receive_window_bytes: None,
            ecn: false,
            sack: true,
            pacing: false,
            fast_open: false,
            idle_restart: None,
            notsent_lowat_bytes: None,
            discovers_mtu: false,
            follows: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{read, Description};

    const GOOD: &str = r#"{"initial_window_packets": 10, "receive_window_bytes": null, "ecn": false,
        "sack": true, "pacing": false, "fast_open": false, "idle_restart": null}"#;

    impl Description for TransportOptions {}

    #[test]
    fn all_options_are_needed_and_no_others() {
        assert_eq!(read::<TransportOptions>(GOOD), Ok(TransportOptions::default()));
        let window = read::<TransportOptions>(&GOOD.replacen("null", "65536", 1)).unwrap();
        assert_eq!(window.idle_restart, None);
        let window = window.receive_window_bytes;
        assert_eq!(window, Some(65_536));
        let unsent = GOOD.replacen('}', ", \"notsent_lowat_bytes\": 16384}", 1);
        assert_eq!(read::<TransportOptions>(&unsent).unwrap().notsent_lowat_bytes, Some(16_384));
        for (from, to, words) in [
            ("10", "0", "`initial_window_packets` is 0"),
            ("null", "0", "`receive_window_bytes` is 0"),
            ("null", "1073725441", "`receive_window_bytes` is 1073725441"),
            ("}", ", \"notsent_lowat_bytes\": 0}", "`notsent_lowat_bytes` is 0"),
            ("true", "1", "`sack`: invalid type: integer `1`"),
            ("\"ecn\": false,", "", "`ecn` is missing"),
            ("\"ecn\"", "\"colour\": 1, \"ecn\"", "unknown field `colour`"),
        ] {
            let message = read::<TransportOptions>(&GOOD.replacen(from, to, 1)).unwrap_err();
            assert!(message.contains(words), "{message}");
        }
    }
}
