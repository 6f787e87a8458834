//! Tunnels: IP packets in packets of another header, between two routers.
//!
//! In order of control flow: `description` says between which addresses, `carrier` puts a packet
//! into another one and takes it out again, and `events` has what is reported. The two fields of
//! ECN are those of RFC 6040; docs/learn/links.md has the rest.

pub mod carrier;
pub mod description;
pub mod events;
