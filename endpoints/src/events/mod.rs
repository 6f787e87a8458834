//! Everything that a role can report; `log` writes it as newline-delimited JSON.

mod log;

pub use log::Log;

use crate::description::Direction;
use crate::tcp_info::{Agreed, Established, Sample};
use serde::Serialize;

/// One line of a role that moves or captures packets. Its name in kebab case is the field `event`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event<'a> {
    /// Server: connections can come.
    Listening {
        /// Congestion control, read back from the socket.
        cca: &'a str,
        /// `SO_SNDBUF` as the kernel counts it: twice what was asked for, to hold its overhead.
        send_buffer_bytes: u32,
        /// `TCP_NOTSENT_LOWAT`, 0: as much as there is room for; null: this kernel does not say.
        notsent_lowat_bytes: Option<u32>,
    },
    /// Server: a connection was accepted; with `requests`, the first of a stream. Written when its
    /// request says which one it is.
    Accepted {
        /// Number of the connection, from 0, as the client counts.
        connection: u32,
        /// Congestion control, read back from the connection.
        cca: &'a str,
        /// Congestion window before the first data packet.
        initial_window_packets: u32,
        /// What the ends have agreed on.
        #[serde(flatten)]
        agreed: Agreed,
        /// Its smoothed round-trip time, us.
        rtt_us: u32,
        /// Its retransmission timeout, us.
        rto_us: u32,
        /// Limit of the pacing rate as the kernel counts it, in payload, bit/s; null without one.
        max_pacing_bps: Option<u64>,
    },
    /// Server: a connection asked for data.
    Request {
        /// Number of the connection.
        connection: u32,
        /// How many bytes; null for bulk.
        bytes: Option<u64>,
    },
    /// Server: the state of a connection, at every multiple of the period and at its end.
    Sample {
        /// Number of the connection.
        connection: u32,
        /// Its `TCP_INFO`.
        #[serde(flatten)]
        sample: Sample,
    },
    /// Client: a connection is opened, for the first time if it has to be tried again.
    Opened {
        /// Number of the connection.
        connection: u32,
    },
    /// Client: a connection is established.
    Connected {
        /// Number of the connection.
        connection: u32,
        /// What it has.
        #[serde(flatten)]
        established: Established,
    },
    /// Client: the first data of a connection reached the application.
    FirstByte {
        /// Number of the connection.
        connection: u32,
    },
    /// Client: how much a connection has delivered, at every multiple of the period.
    Progress {
        /// Number of the connection.
        connection: u32,
        /// Bytes delivered to the application so far.
        bytes: u64,
    },
    /// Client: the workload of a connection is complete.
    Done {
        /// Number of the connection.
        connection: u32,
        /// Bytes delivered: exactly those that were asked for.
        bytes: u64,
    },
    /// Both: a connection ended before its work was complete, as somebody wanted (`stop_ns`,
    /// SIGTERM or, at the server, a client that went away), or by itself, for a reason.
    Stopped {
        /// Number of the connection.
        connection: u32,
        /// Client: bytes delivered to the application. Server: bytes that the client acknowledged;
        /// None: quinn does not say.
        bytes: Option<u64>,
        /// Why it ended by itself; left out where it did not.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<&'a str>,
    },
    /// Client: the video plays, for the first time or after a stall.
    Playing {
        /// Number of the connection.
        connection: u32,
        /// Playing time that has arrived and not been shown, s.
        buffered_s: f64,
    },
    /// Client: the video stalls.
    Stalled {
        /// Number of the connection.
        connection: u32,
        /// Playing time that has arrived and not been shown, s.
        buffered_s: f64,
    },
    /// Client: the end of the video has been shown.
    Played {
        /// Number of the connection.
        connection: u32,
    },
    /// Client: all bytes of a request have arrived.
    Fetched {
        /// Number of the stream.
        connection: u32,
        /// Number of the request in its stream, from 0.
        request: u64,
        /// Bytes delivered: exactly those that were asked for.
        bytes: u64,
        /// When its connection was opened, ns after the epoch.
        opened_ns: i64,
        /// When the first data came, ns after the epoch.
        first_byte_ns: i64,
    },
    /// Client: the flow was stopped while this request was under way, or its connection
    /// ended by itself.
    Unfinished {
        /// Number of the stream.
        connection: u32,
        /// Number of the request in its stream, from 0.
        request: u64,
        /// Bytes delivered.
        bytes: u64,
        /// Bytes that were asked for.
        wanted: u64,
        /// When its connection was opened, ns after the epoch.
        opened_ns: i64,
        /// Why its connection ended by itself; left out where it did not.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<&'a str>,
    },
    /// Server: what a stream came to.
    Served {
        /// Number of the stream.
        connection: u32,
        /// Requests that came.
        requests: u64,
        /// Bytes that were handed to the kernel.
        bytes: u64,
    },
    /// UDP server: a connection has ended.
    Sent {
        /// Number of the connection.
        connection: u32,
        /// Datagrams that were sent.
        packets: u64,
        /// Bytes of payload in them.
        bytes: u64,
        /// Datagrams that the kernel did not take.
        refused: u64,
        /// Longest time between when a datagram was due and when it was sent, us.
        late_us: i64,
    },
    /// UDP client: a connection has ended.
    Received {
        /// Number of the connection.
        connection: u32,
        /// Datagrams that arrived, duplicates excluded.
        packets: u64,
        /// Bytes of payload in them.
        bytes: u64,
        /// Datagrams missing below the highest number that arrived.
        lost: u64,
        /// Datagrams that came after one with a higher number (RFC 4737, section 3.3).
        reordered: u64,
        /// Datagrams that had arrived before.
        duplicates: u64,
        /// Datagrams that this machine dropped because the program did not read in time.
        overflowed: u32,
        /// Interarrival jitter (RFC 3550, section 6.4.1), us.
        jitter_us: f64,
    },
    /// UDP client: its file of transit times is whole.
    Logged {
        /// Name of the file.
        file: &'a str,
        /// How many records it has.
        records: u64,
    },
    /// Capture: every packet from now on is seen.
    Capturing {
        /// The interface.
        interface: &'a str,
        /// Which of its packets.
        direction: Direction,
    },
    /// Capture: the file is complete.
    Captured {
        /// Packets in the file.
        packets: u64,
        /// Packets that the kernel found no room for.
        dropped: u64,
    },
    /// All: something failed.
    Error {
        /// Number of the connection; null when it is of none or of all.
        connection: Option<u32>,
        /// What failed.
        message: &'a str,
    },
}

/// One line of the monitor: CPU time of the machine since the line before, all CPUs together.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Usage {
    /// Time that the CPUs were not idle, ns.
    pub busy_ns: i64,
    /// Time that passed, ns.
    pub total_ns: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(report: &impl Serialize) -> String {
        let mut text = Vec::new();
        log::write_line(&mut text, -7, report).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn a_line_starts_with_its_time_and_event() {
        assert_eq!(
            line(&Event::FirstByte { connection: 3 }),
            r#"{"t_ns":-7,"event":"first-byte","connection":3}"#.to_owned() + "\n"
        );
        assert_eq!(
            line(&Event::Request { connection: 0, bytes: None }),
            r#"{"t_ns":-7,"event":"request","connection":0,"bytes":null}"#.to_owned() + "\n"
        );
        assert_eq!(
            line(&Event::Error { connection: None, message: "a \"b\"\n" }),
            r#"{"t_ns":-7,"event":"error","connection":null,"message":"a \"b\"\n"}"#.to_owned()
                + "\n"
        );
    }

    #[test]
    fn a_line_of_the_monitor_has_no_event() {
        assert_eq!(
            line(&Usage { busy_ns: 1, total_ns: 2 }),
            r#"{"t_ns":-7,"busy_ns":1,"total_ns":2}"#.to_owned() + "\n"
        );
    }
}
