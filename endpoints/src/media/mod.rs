//! Media: audio and video in frames, over UDP, TCP or QUIC, one way or both.
//!
//! `description` is the job of an end; `encoder` decides when frames are captured and how large
//! they are; `wire` is their format on the wire; `end` is the loop that both ends run over every
//! transport, and `record` the file that each writes; `udp`, `tcp` and `quic` carry frames. A rate
//! controller for media over UDP would read the packet numbers of `wire::Part::packet`, which count
//! all packets of an end, and set the rate with `encoder::Encoder::aim`.

pub(crate) mod description;
mod encoder;
pub(crate) mod end;
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
