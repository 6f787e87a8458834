//! Media: audio and video in frames, over UDP, TCP or QUIC, one way or both.
//!
//! `description` says what an end is told; `encoder` when frames are captured and how large they are;
//! `wire` how they look on their way and when they are whole; `end` what both ends of every
//! transport have in common, and `record` the file that each leaves; `udp`, `tcp` and `quic` carry
//! frames. A controller of the rate for media over UDP would be told by `wire::Part::packet`, which
//! numbers all packets of an end, and tell `encoder::Encoder::aim`.

mod description;
mod encoder;
mod end;
mod quic;
mod record;
mod tcp;
mod udp;
mod wire;

use crate::description::read;
use crate::events::Log;
use crate::failure::Failure;
use description::{Media, Transport};

/// Of the roles `media-server` and `media-client`.
///
/// # Errors
/// A bad description, or a socket that cannot be had as described.
pub fn run(text: &str, log: &mut Log) -> Result<(), Failure> {
    let description: Media = read(text).map_err(Failure::Description)?;
    match description.transport {
        Transport::Udp => udp::run(description, log),
        Transport::Tcp => tcp::run(description, log),
        Transport::Quic => quic::run(description, log),
    }
}
