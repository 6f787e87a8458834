//! The program's roles over loopback, and its command line. One target, so that it is linked once.

mod capture;
mod command_line;
mod common;
mod congestion;
mod monitor;
mod quic;
mod quic_requests;
mod tcp;
mod udp;
mod web;
mod workloads;
