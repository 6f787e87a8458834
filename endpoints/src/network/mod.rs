//! The kernel's network configuration over rtnetlink (rtnetlink(7)), from lines as `ip` and `tc` take them.
//!
//! `words` reads a line, `qdisc` makes it a message, `message` has the wire format, `socket` talks to the
//! kernel. Reading back goes the other way: `show` writes what `tc -s -j qdisc show` writes.

pub mod message;
pub mod qdisc;
pub mod show;
pub mod socket;
pub mod words;
