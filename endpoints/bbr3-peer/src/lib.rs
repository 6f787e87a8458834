//! The endpoints' congestion controllers, for the tests that need another implementation of BBRv3.
#![cfg(test)]
#![allow(dead_code, unused_imports, reason = "what the endpoints use is not here")]

#[path = "../../src/congestion/mod.rs"]
mod congestion;
#[path = "../../src/quic"]
mod quic {
    pub mod feedback;
    pub mod pacer;
    pub mod trace;
}
