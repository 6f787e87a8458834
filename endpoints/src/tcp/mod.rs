//! One TCP connection, as each end sees it. The roles say when, and report what happened.
//!
//! `transfer`: the server's end, which hears a request and sends. `fetch`: the client's, which asks
//! and takes.

pub mod fetch;
pub mod transfer;
