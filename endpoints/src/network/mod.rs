//! The kernel's network configuration over rtnetlink (rtnetlink(7)), from lines as `ip` and `tc`
//! take them.
//!
//! `line` reads a line with `ip` or `qdisc` and the `words` of both, and makes it a message.
//! `message` has the wire format, `socket` talks to the kernel, `node` carries lines out in its
//! namespace and sets what netlink has not (`sysctls`, `offloads`). Reading back goes the other
//! way: `show` writes what `tc -s -j qdisc show` writes.

pub mod filter;
pub mod ip;
pub mod line;
pub mod message;
pub mod namespace;
pub mod node;
pub mod offloads;
pub mod qdisc;
pub mod show;
pub mod socket;
pub mod sysctls;
pub mod words;
