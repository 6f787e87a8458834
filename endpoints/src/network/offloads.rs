//! Segmentation offloads of the interfaces of this thread's namespace (ethtool(8), `-K`).

use super::qdisc::Object;
use crate::socket;
use socket2::Type;
use std::io;
use std::os::fd::AsRawFd;

const SIOCETHTOOL: libc::c_ulong = 0x8946;
/// Name, `ETHTOOL_G...`, `ETHTOOL_S...`.
const OFFLOADS: [(&str, u32, u32); 3] =
    [("tso", 0x1e, 0x1f), ("gso", 0x23, 0x24), ("gro", 0x2b, 0x2c)];

/// `struct ethtool_value`.
#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

/// Switches them off; returns what is then in force, by name: `on` or `off`.
pub fn switch_off(interface: &str) -> io::Result<Object> {
    let socket = socket::open(Type::DGRAM)?;
    let mut state = Object::new();
    for (name, get, put) in OFFLOADS {
        control(&socket, interface, put)?;
        let word = if control(&socket, interface, get)? == 0 { "off" } else { "on" };
        state.insert(name.into(), word.into());
    }
    Ok(state)
}

/// Carries out a command of ethtool, with 0; returns the value that it leaves.
fn control(socket: &impl AsRawFd, interface: &str, command: u32) -> io::Result<u32> {
    let mut value = Value { command, data: 0 };
    // SAFETY: all zeroes are a valid ifreq.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(interface.bytes().take(15)) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_data = (&raw mut value).cast();
    // SAFETY: the request is valid, and the kernel writes no more than `value` has.
    if unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL as _, &raw mut request) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(value.data)
}
