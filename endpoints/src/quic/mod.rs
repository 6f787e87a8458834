//! QUIC: quinn's state machines on this program's own sockets, timers and loop.
//!
//! `driver` carries packets and time, no faster than `limit` and `pacer` say; `datagrams`, `alarm`
//! and `tls` are what it and the roles need of the machine; `feedback` counts the marks that
//! acknowledgements report; `description` says what the roles are told, `transport` turns that into
//! quinn's settings; `link` is a client's connection, `transfer` a request and its data, `inbox`
//! what of it has come; `observed`, `report`, `packets` and `trace` say what happens.

pub mod alarm;
pub mod datagrams;
pub mod description;
pub mod driver;
pub mod feedback;
pub mod inbox;
pub mod limit;
pub mod link;
pub mod observed;
pub mod pacer;
pub mod packets;
pub mod report;
pub mod tls;
pub mod trace;
pub mod transfer;
pub mod transport;

use quinn_proto::VarInt;

/// Code of a connection that is closed because all data has arrived.
pub const DONE: VarInt = VarInt::from_u32(0);
/// Code of a connection that is closed because somebody wanted it to stop.
pub const STOPPED: VarInt = VarInt::from_u32(1);
/// Code of a connection that is closed because the other end does what it should not.
pub const REFUSED: VarInt = VarInt::from_u32(2);
