//! Split connections (RFC 3135): two transparent proxies make three TCP connections of one.
//!
//! In order of control flow: `description` says what is wanted, `sockets` opens the three kinds of
//! connection, `middle` checks that those between the proxies begin with the whole window, `pool`
//! keeps them ready, `header` tells the gateway whose they are, `relay` carries one client's bytes
//! with two `direction`s through `pipes`, and `relays` is the table of them.
//! `docs/build/endpoints.md`, "Split connections", is the manual.

pub mod description;
mod direction;
pub mod events;
pub mod header;
pub mod middle;
mod pipes;
pub mod pool;
mod relay;
pub mod relays;
pub mod sockets;
pub mod token;
pub mod watched;
