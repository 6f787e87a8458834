//! `clsact`: no queue; the place of filters for what arrives and what leaves.

use super::{no_statistics, Kind};
use crate::network::message::Message;

/// What is known of it.
pub const KIND: Kind = Kind {
    name: "clsact",
    options: |_| Ok(Message::attributes()),
    show: |_, _| {},
    statistics: no_statistics,
};

/// Where it is, and its handle, always (`TC_H_CLSACT`).
pub const PARENT: u32 = 0xffff_fff1;
/// Its handle.
pub const HANDLE: u32 = 0xffff_0000;
