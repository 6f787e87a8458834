//! One TCP connection, as each end sees it. The roles say when, and report what happened.
//!
//! `transfer`: the server's end, which hears a request and sends. `fetch`: the client's, which asks
//! and takes; `sink`: long transfers are taken inside the kernel.

pub mod fetch;
pub mod sink;
pub mod transfer;
