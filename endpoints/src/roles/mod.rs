//! The roles, one module each. A new one is a module and a line in `ROLES`.

pub mod capture;
pub mod monitor;
pub mod network;
pub mod pep_gateway;
pub mod pep_terminal;
pub mod policer;
pub mod qdiscs;
pub mod quic_client;
mod quic_requests;
pub mod quic_server;
pub mod tcp_client;
mod tcp_requests;
pub mod tcp_server;
pub mod tunnel;
pub mod udp_client;
pub mod udp_server;
pub mod web_client;
pub mod web_server;

use crate::events::Log;
use crate::failure::Failure;
use crate::media;

/// Something that this program can do.
pub struct Role {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it does, in one line.
    pub help: &'static str,
    /// Reads the description and works until the work is done or somebody stops it.
    pub run: fn(&str, &mut Log) -> Result<(), Failure>,
}

/// All roles, in the order of `--help`.
pub const ROLES: &[Role] = &[
    Role {
        name: "tcp-server",
        help: "sends what each TCP connection requests, and samples TCP_INFO",
        run: tcp_server::run,
    },
    Role {
        name: "tcp-client",
        help: "opens TCP connections, requests data and counts it",
        run: tcp_client::run,
    },
    Role {
        name: "media-server",
        help: "sends frames of audio and video, and takes them",
        run: media::run,
    },
    Role {
        name: "media-client",
        help: "asks for frames of audio and video, takes them, and may send its own",
        run: media::run,
    },
    Role { name: "udp-server", help: "sends UDP datagrams on schedule", run: udp_server::run },
    Role { name: "udp-client", help: "counts the UDP datagrams that arrive", run: udp_client::run },
    Role {
        name: "quic-server",
        help: "sends what each QUIC connection requests, and samples its state",
        run: quic_server::run,
    },
    Role {
        name: "quic-client",
        help: "opens QUIC connections, requests data and counts it",
        run: quic_client::run,
    },
    Role {
        name: "pep-terminal",
        help: "splits clients' TCP connections and carries them to a gateway",
        run: pep_terminal::run,
    },
    Role {
        name: "pep-gateway",
        help: "forwards what a terminal sends to the servers that clients addressed",
        run: pep_gateway::run,
    },
    Role {
        name: "policer",
        help: "drops packets of users who exceed their congestion allowance",
        run: policer::run,
    },
    Role {
        name: "tunnel",
        help: "carries IP packets in packets with another header, to the tunnel's other end",
        run: tunnel::run,
    },
    Role {
        name: "web-server",
        help: "serves a page over HTTP/1.1, HTTP/2 and HTTP/3, and samples its connections",
        run: web_server::run,
    },
    Role {
        name: "web-client",
        help: "loads a page as a browser does, without being one",
        run: web_client::run,
    },
    Role {
        name: "network",
        help: "sets up a cell's namespaces, changes links and reads back queues",
        run: network::run,
    },
    Role {
        name: "qdiscs",
        help: "adds queueing disciplines and reads back a network namespace",
        run: qdiscs::run,
    },
    Role { name: "monitor", help: "reports the machine's CPU time", run: monitor::run },
    Role {
        name: "capture",
        help: "captures one direction of an interface to a pcap file",
        run: capture::run,
    },
];
