//! Everything that a role can report; `log` writes it as newline-delimited JSON.

mod log;

pub use log::Log;

use crate::json::Line;
use crate::tcp_info::{Agreed, Sample};
use std::io;

/// Something that a line can report, beside its time.
pub trait Report {
    /// Writes the fields after `t_ns`.
    ///
    /// # Errors
    /// Those of `Line::field`.
    fn write(&self, line: &mut Line) -> io::Result<()>;
}

/// One line of a role that moves or captures packets. Its name in kebab case is the field `event`.
#[derive(Debug)]
pub enum Event<'a> {
    /// Server: connections can come.
    Listening {
        /// Congestion control, read back from the socket.
        cca: &'a str,
        /// `SO_SNDBUF` as the kernel counts it: twice what was asked for, to hold its overhead.
        send_buffer_bytes: u32,
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
        agreed: Agreed,
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
        /// `SO_RCVBUF` as the kernel counts it.
        receive_buffer_bytes: u32,
        /// The largest receive window that the kernel offers (`TCP_WINDOW_CLAMP`).
        receive_window_bytes: u32,
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
    /// Both: a connection ended before its work was complete, as somebody wanted: `stop_ns`,
    /// SIGTERM or, at the server, a client that went away.
    Stopped {
        /// Number of the connection.
        connection: u32,
        /// Client: bytes delivered to the application. Server: bytes that the client acknowledged.
        bytes: u64,
    },
    /// Video client: it plays, for the first time or after a stall.
    Playing {
        /// Number of the connection.
        connection: u32,
        /// Playing time that has arrived and not been shown, s.
        buffered_s: f64,
    },
    /// Video client: it stalls.
    Stalled {
        /// Number of the connection.
        connection: u32,
        /// Playing time that has arrived and not been shown, s.
        buffered_s: f64,
    },
    /// Video client: the end of the video has been shown.
    Played {
        /// Number of the connection.
        connection: u32,
    },
    /// Requests client: all bytes of a request have arrived.
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
    /// Requests client: the flow was stopped while this request was under way.
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
    },
    /// Requests server: what a stream came to.
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
        overflowed: u64,
        /// Interarrival jitter (RFC 3550, section 6.4.1), us.
        jitter_us: f64,
    },
    /// Capture: every packet from now on is seen.
    Capturing {
        /// The interface.
        interface: &'a str,
        /// `in`, `out` or `both`.
        direction: &'a str,
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
#[derive(Debug, PartialEq, Eq)]
pub struct Usage {
    /// Time that the CPUs were not idle, ns.
    pub busy_ns: i64,
    /// Time that passed, ns.
    pub total_ns: i64,
}

impl Report for Event<'_> {
    fn write(&self, line: &mut Line) -> io::Result<()> {
        match self {
            Event::Listening { cca, send_buffer_bytes } => line
                .field("event", "listening")?
                .field("cca", cca)?
                .field("send_buffer_bytes", send_buffer_bytes)?,
            Event::Accepted { connection, cca, initial_window_packets, agreed, max_pacing_bps } => {
                counted(line, "accepted", *connection)?
                    .field("cca", cca)?
                    .field("initial_window_packets", initial_window_packets)?
                    .field("ecn", &agreed.ecn)?
                    .field("accurate_ecn", &agreed.accurate_ecn)?
                    .field("sack", &agreed.sack)?
                    .field("timestamps", &agreed.timestamps)?
                    .field("fast_open", &agreed.fast_open)?
                    .field("max_pacing_bps", max_pacing_bps)?
            }
            Event::Request { connection, bytes } => {
                counted(line, "request", *connection)?.field("bytes", bytes)?
            }
            Event::Sample { connection, sample } => {
                return sample.write(counted(line, "sample", *connection)?)
            }
            Event::Opened { connection } => counted(line, "opened", *connection)?,
            Event::Connected { connection, receive_buffer_bytes, receive_window_bytes } => {
                counted(line, "connected", *connection)?
                    .field("receive_buffer_bytes", receive_buffer_bytes)?
                    .field("receive_window_bytes", receive_window_bytes)?
            }
            Event::FirstByte { connection } => counted(line, "first-byte", *connection)?,
            Event::Progress { connection, bytes } => {
                counted(line, "progress", *connection)?.field("bytes", bytes)?
            }
            Event::Done { connection, bytes } => {
                counted(line, "done", *connection)?.field("bytes", bytes)?
            }
            Event::Stopped { connection, bytes } => {
                counted(line, "stopped", *connection)?.field("bytes", bytes)?
            }
            Event::Playing { connection, buffered_s } => {
                counted(line, "playing", *connection)?.field("buffered_s", buffered_s)?
            }
            Event::Stalled { connection, buffered_s } => {
                counted(line, "stalled", *connection)?.field("buffered_s", buffered_s)?
            }
            Event::Played { connection } => counted(line, "played", *connection)?,
            Event::Fetched { connection, request, bytes, opened_ns, first_byte_ns } => {
                counted(line, "fetched", *connection)?
                    .field("request", request)?
                    .field("bytes", bytes)?
                    .field("opened_ns", opened_ns)?
                    .field("first_byte_ns", first_byte_ns)?
            }
            Event::Unfinished { connection, request, bytes, wanted, opened_ns } => {
                counted(line, "unfinished", *connection)?
                    .field("request", request)?
                    .field("bytes", bytes)?
                    .field("wanted", wanted)?
                    .field("opened_ns", opened_ns)?
            }
            Event::Served { connection, requests, bytes } => counted(line, "served", *connection)?
                .field("requests", requests)?
                .field("bytes", bytes)?,
            Event::Sent { connection, packets, bytes, refused, late_us } => {
                counted(line, "sent", *connection)?
                    .field("packets", packets)?
                    .field("bytes", bytes)?
                    .field("refused", refused)?
                    .field("late_us", late_us)?
            }
            Event::Received {
                connection,
                packets,
                bytes,
                lost,
                reordered,
                duplicates,
                overflowed,
                jitter_us,
            } => counted(line, "received", *connection)?
                .field("packets", packets)?
                .field("bytes", bytes)?
                .field("lost", lost)?
                .field("reordered", reordered)?
                .field("duplicates", duplicates)?
                .field("overflowed", overflowed)?
                .field("jitter_us", jitter_us)?,
            Event::Capturing { interface, direction } => line
                .field("event", "capturing")?
                .field("interface", interface)?
                .field("direction", direction)?,
            Event::Captured { packets, dropped } => line
                .field("event", "captured")?
                .field("packets", packets)?
                .field("dropped", dropped)?,
            Event::Error { connection, message } => line
                .field("event", "error")?
                .field("connection", connection)?
                .field("message", message)?,
        };
        Ok(())
    }
}

/// Writes the two fields that every event of a connection starts with.
fn counted<'a, 'b>(
    line: &'a mut Line<'b>,
    event: &str,
    connection: u32,
) -> io::Result<&'a mut Line<'b>> {
    line.field("event", event)?.field("connection", &connection)
}

impl Report for Usage {
    fn write(&self, line: &mut Line) -> io::Result<()> {
        line.field("busy_ns", &self.busy_ns)?.field("total_ns", &self.total_ns).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(report: &impl Report) -> String {
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
