//! Congestion policing: packets of a user are dropped when the congestion that he causes is more
//! than his allowance (Congestion Exposure, RFC 7713).
//!
//! In order of control flow: `description` says what is policed, `filters` which packets the kernel
//! shows, `segment` reads one, `exposure` says which packets expose congestion, `bucket` decides,
//! and `egress` (beside this module) sends on what is forwarded. `docs/learn/links.md` has the
//! definitions, and `mechanisms/devices/policer/decisions.py` computes the same from captures:
//! change both.

pub mod bucket;
pub mod description;
pub mod events;
pub mod exposure;
pub mod filters;
pub mod segment;
