//! The packets of one interface, through memory that the kernel shares (packet(7), `TPACKET_V2`).

use crate::description::Direction;
use crate::pcap::Packet;
use crate::sys::{checked, owned, set_option};
use std::ffi::CString;
use std::io;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::{null_mut, NonNull};
use std::slice;
use std::sync::atomic::{AtomicU32, Ordering};

/// The kernel allocates the ring in pieces of this size, bytes: a power of two of pages.
const BLOCK_BYTES: usize = 64 << 10;
/// Where a frame has the packet's first byte: behind `tpacket2_hdr` (32 bytes), `sockaddr_ll` (20)
/// and at least 16 bytes for the Ethernet header (14), whose end is aligned to 16.
const PACKET_OFFSET: usize = 66;
const FRAME_ALIGNMENT: usize = 16;
/// `virtio_net_hdr`, in front of the frames of a ring that keeps them whole.
pub const VNET_HEADER_BYTES: usize = 10;

/// A socket that sees the packets of one interface, and the ring that the kernel puts them into.
///
/// The kernel stamps a packet (`CLOCK_REALTIME`, ns) and copies its head when the packet passes;
/// nothing is done in this process until `drain`.
#[derive(Debug)]
pub struct PacketRing {
    socket: OwnedFd,
    memory: NonNull<u8>,
    bytes: usize,
    frame_bytes: usize,
    frames: usize,
    next: usize,
    header_bytes: usize,
}

/// What a ring is to hold.
#[derive(Debug)]
pub struct Wanted {
    /// Which packets, and how much of them.
    pub filter: Vec<libc::sock_filter>,
    /// Whether they come from outside alone.
    pub incoming: bool,
    /// The most that is kept of one, bytes.
    pub snaplen: u32,
    /// How many can wait between two readings, at least.
    pub packets: u32,
    /// Whether frames can be sent on: each comes behind a header of `VNET_HEADER_BYTES`.
    pub whole: bool,
}

impl PacketRing {
    /// Listens to an interface; keeps `snaplen` bytes of each packet, and at least `packets` of
    /// them between two readings.
    ///
    /// # Errors
    /// What the kernel says: no such interface, no permission, no memory.
    pub fn open(
        interface: &str,
        direction: Direction,
        snaplen: u32,
        packets: u32,
    ) -> io::Result<Self> {
        let filter = filter(direction, snaplen).to_vec();
        let incoming = direction == Direction::In;
        Self::of(interface, &Wanted { filter, incoming, snaplen, packets, whole: false })
    }

    /// Listens to an interface for what is wanted.
    ///
    /// # Errors
    /// See `open`.
    pub fn of(interface: &str, wanted: &Wanted) -> io::Result<Self> {
        let Wanted { snaplen, packets, .. } = *wanted;
        let index = interface_index(interface)?;
        // Protocol 0: nothing is received before `bind` names one, when everything else is set.
        let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: takes no pointer.
        let socket = owned(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })?;
        attach(&socket, &wanted.filter)?;
        if wanted.incoming {
            // Spares the kernel a copy of what is sent; the filter would refuse it.
            set_option(&socket, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1)?;
        }
        let version = libc::tpacket_versions::TPACKET_V2 as i32;
        set_option(&socket, libc::SOL_PACKET, libc::PACKET_VERSION, version)?;

        let header_bytes = if wanted.whole { VNET_HEADER_BYTES } else { 0 };
        if wanted.whole {
            set_option(&socket, libc::SOL_PACKET, libc::PACKET_VNET_HDR, 1)?;
        }
        let frame_bytes =
            (PACKET_OFFSET + header_bytes + snaplen as usize).next_multiple_of(FRAME_ALIGNMENT);
        let blocks = (packets as usize).div_ceil(BLOCK_BYTES / frame_bytes);
        let frames = blocks * (BLOCK_BYTES / frame_bytes);
        let request = libc::tpacket_req {
            tp_block_size: BLOCK_BYTES as u32,
            tp_block_nr: blocks as u32,
            tp_frame_size: frame_bytes as u32,
            tp_frame_nr: frames as u32,
        };
        set_structure(&socket, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)?;
        let bytes = blocks * BLOCK_BYTES;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: asks for a new mapping at any address; nothing of this process is touched.
        let memory = unsafe {
            libc::mmap(null_mut(), bytes, access, libc::MAP_SHARED, socket.as_raw_fd(), 0)
        };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let memory = NonNull::new(memory.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        // From here on `drop` unmaps it.
        let ring = PacketRing { socket, memory, bytes, frame_bytes, frames, next: 0, header_bytes };
        bind(&ring.socket, index, (libc::ETH_P_ALL as u16).to_be())?;
        Ok(ring)
    }

    /// Hands over the packets that wait, in the order in which they passed, and makes room.
    ///
    /// # Errors
    /// The first error of `take`.
    pub fn drain(&mut self, mut take: impl FnMut(&Packet) -> io::Result<()>) -> io::Result<()> {
        let per_block = BLOCK_BYTES / self.frame_bytes;
        // At most one round: a flood could go on for ever.
        for _ in 0..self.frames {
            let (block, place) = (self.next / per_block, self.next % per_block);
            let offset = block * BLOCK_BYTES + place * self.frame_bytes;
            // SAFETY: the frame lies inside the mapping, which lives as long as `self`. Its status
            // is an aligned word that this process and the kernel only touch as a whole.
            let (frame, status) = unsafe {
                let frame = self.memory.add(offset);
                (frame, AtomicU32::from_ptr(frame.cast().as_ptr()))
            };
            if status.load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
                break;
            }
            // SAFETY: while the status says `user` the kernel does not touch the frame, and it has
            // filled in the header and `tp_snaplen` bytes at `tp_mac`, inside the frame, and
            // `header_bytes` before these.
            let packet = unsafe {
                let header = frame.cast::<libc::tpacket2_hdr>().as_ref();
                let head = frame.add(usize::from(header.tp_mac) - self.header_bytes).as_ptr();
                let kept = header.tp_snaplen as usize + self.header_bytes;
                Packet {
                    seconds: header.tp_sec,
                    nanoseconds: header.tp_nsec,
                    length: header.tp_len,
                    head: slice::from_raw_parts(head, kept),
                }
            };
            let taken = take(&packet);
            status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
            self.next = (self.next + 1) % self.frames;
            taken?;
        }
        Ok(())
    }

    /// How many packets found no room since this was last asked.
    pub fn dropped(&self) -> io::Result<u64> {
        let mut counts = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
        let mut length = size_of::<libc::tpacket_stats>() as libc::socklen_t;
        let pointer: *mut libc::tpacket_stats = &raw mut counts;
        // SAFETY: `counts` is live and has this length; `length` is live.
        let result = unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                pointer.cast(),
                &raw mut length,
            )
        };
        checked(result.into())?;
        Ok(counts.tp_drops.into())
    }
}

impl AsFd for PacketRing {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for PacketRing {
    fn drop(&mut self) {
        // SAFETY: this is the mapping that `open` made, and no reference into it is left.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), self.bytes) };
    }
}

pub(crate) fn interface_index(name: &str) -> io::Result<i32> {
    let name = CString::new(name)?;
    // SAFETY: `name` is live and ends in zero.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        index => Ok(index as i32),
    }
}

/// Four instructions of the classic packet filter: the packets of a direction, cut to `snaplen`.
fn filter(direction: Direction, snaplen: u32) -> [libc::sock_filter; 4] {
    let code =
        |code: u32, k: u32, jt: u8, jf: u8| libc::sock_filter { code: code as u16, jt, jf, k };
    let (outgoing, other) = match direction {
        Direction::Out => (snaplen, 0),
        Direction::In => (0, snaplen),
        Direction::Both => (snaplen, snaplen),
    };
    let packet_type = (libc::SKF_AD_OFF + libc::SKF_AD_PKTTYPE) as u32;
    [
        code(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, packet_type, 0, 0),
        code(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, libc::PACKET_OUTGOING.into(), 0, 1),
        code(libc::BPF_RET | libc::BPF_K, outgoing, 0, 0),
        code(libc::BPF_RET | libc::BPF_K, other, 0, 0),
    ]
}

/// Lets a socket have of its packets what a classic filter keeps.
pub(crate) fn attach(socket: &impl AsRawFd, filter: &[libc::sock_filter]) -> io::Result<()> {
    // The kernel copies the instructions and does not write to them.
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
    set_structure(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
}

/// Ties a packet socket to an interface; protocol: of what it receives, in network order, 0 for
/// nothing.
pub(crate) fn bind(socket: &OwnedFd, index: i32, protocol: u16) -> io::Result<()> {
    let name = libc::sockaddr_ll {
        sll_family: libc::AF_PACKET as u16,
        sll_protocol: protocol,
        sll_ifindex: index,
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 0,
        sll_addr: [0; 8],
    };
    let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    let pointer: *const libc::sockaddr_ll = &raw const name;
    // SAFETY: `name` is a live sockaddr_ll of this length.
    let result = unsafe { libc::bind(socket.as_raw_fd(), pointer.cast(), length) };
    checked(result.into()).map(drop)
}

/// Sets a socket option that is a structure of the kernel's.
fn set_structure<T>(socket: &impl AsRawFd, level: i32, option: i32, value: &T) -> io::Result<()> {
    let length = size_of::<T>() as libc::socklen_t;
    let pointer: *const T = value;
    // SAFETY: `value` is live and has this length; pointers in it are live, too.
    let result =
        unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, pointer.cast(), length) };
    checked(result.into()).map(drop)
}
