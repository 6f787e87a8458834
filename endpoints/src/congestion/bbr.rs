//! BBR as quinn has it, experimental: a port of Google's QUICHE `bbr_sender.cc` (BBR version 1,
//! draft-cardwell-iccrg-bbr-congestion-control-00).
//!
//! It is quinn's own controller, not the one of Linux, and works on windows only: quinn's pacer
//! takes 1.25 windows per smoothed RTT and not the rate that BBR wants (which is in the qlog and
//! the samples as `pacing_rate`). It draws the first phase of its gain cycle from the operating
//! system's random numbers, so repeated runs of a seed differ.

use super::Entry;
use quinn_proto::congestion::{BbrConfig, ControllerFactory};
use std::sync::Arc;

/// `bbr` in the registry.
pub const ENTRY: Entry = Entry {
    name: "bbr",
    parameters: &[],
    build: |_, start| {
        let mut config = BbrConfig::default();
        config.initial_window(start.initial_window);
        Arc::new(config).build(start.now, start.mtu as u16)
    },
};
