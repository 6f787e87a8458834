//! UDP, as each end sees it. The roles say when, and report what happened.
//!
//! `datagram`: what is in a packet. `reception`: what a receiver concludes from those that come.
//! `sockets`: how they are sent and received. `transits`: how long each was on its way.

pub mod datagram;
pub mod reception;
pub mod sockets;
pub mod transits;
