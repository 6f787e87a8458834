//! One direction of a split connection: out of one socket, through a pipe, into the other.
//!
//! Nothing is read while the pipe holds bytes: when the socket behind takes no more, its buffer and
//! this pipe are full, then the receive buffer of the socket before, and its peer stops.

use super::pipes::{Pipe, Pipes, PIPE_BYTES};
use nix::fcntl::SpliceFFlags;
use socket2::Socket;
use std::io::{self, ErrorKind::WouldBlock};
use std::net::Shutdown;
use std::os::fd::AsFd;

/// How far a direction is.
#[derive(Debug, Default)]
pub struct Direction {
    /// A pipe with bytes in it, and how many.
    held: Option<(Pipe, usize)>,
    /// The source has said that no more will come.
    ended: bool,
    /// So was said to the sink.
    told: bool,
    /// Bytes that the sink has taken.
    bytes: u64,
}

/// What failed.
#[derive(Debug)]
pub enum Trouble {
    /// The socket that bytes come from.
    Source(io::Error),
    /// The socket that they go to.
    Sink(io::Error),
    /// This machine has no more pipes.
    Pipes(io::Error),
}

impl Direction {
    /// Moves what can be moved at once; whether that was anything.
    ///
    /// # Errors
    /// What failed.
    pub fn carry(
        &mut self,
        source: &Socket,
        sink: &Socket,
        pipes: &mut Pipes,
    ) -> Result<bool, Trouble> {
        let taken = self.held.is_none() && !self.ended && self.take(source, pipes)?;
        let given = self.give(sink, pipes)?;
        if self.held.is_none() && self.ended && !self.told {
            sink.shutdown(Shutdown::Write).map_err(Trouble::Sink)?;
            self.told = true;
        }
        Ok(taken || given)
    }

    /// Takes bytes from the source, or its end; whether there was anything.
    fn take(&mut self, source: &Socket, pipes: &mut Pipes) -> Result<bool, Trouble> {
        let pipe = pipes.take().map_err(Trouble::Pipes)?;
        match splice(source, &pipe.entry, PIPE_BYTES) {
            Ok(0) => {
                self.ended = true;
                pipes.give_back(pipe);
                Ok(true)
            }
            Ok(count) => {
                self.held = Some((pipe, count));
                Ok(true)
            }
            Err(error) => {
                pipes.give_back(pipe);
                match error.kind() {
                    WouldBlock => Ok(false),
                    _ => Err(Trouble::Source(error)),
                }
            }
        }
    }

    /// Gives the sink what it takes; whether that was anything.
    fn give(&mut self, sink: &Socket, pipes: &mut Pipes) -> Result<bool, Trouble> {
        let mut given = false;
        while let Some((pipe, count)) = self.held.take() {
            match splice(&pipe.exit, sink, count) {
                Ok(taken) => {
                    given = true;
                    self.bytes += taken as u64;
                    if taken == count {
                        pipes.give_back(pipe);
                    } else {
                        self.held = Some((pipe, count - taken));
                    }
                }
                Err(error) if error.kind() == WouldBlock => {
                    self.held = Some((pipe, count));
                    break;
                }
                Err(error) => return Err(Trouble::Sink(error)),
            }
        }
        Ok(given)
    }

    /// Whether it waits for the source.
    #[must_use]
    pub fn reads(&self) -> bool {
        self.held.is_none() && !self.ended
    }

    /// Whether it waits for the sink.
    #[must_use]
    pub fn writes(&self) -> bool {
        self.held.is_some()
    }

    /// Whether all has been carried, the end included.
    #[must_use]
    pub fn over(&self) -> bool {
        self.told
    }

    /// Bytes that the sink has taken.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// Moves at most `most` bytes between a pipe and a socket without copying them; 0 at the end of a
/// socket's stream.
fn splice(from: &impl AsFd, to: &impl AsFd, most: usize) -> io::Result<usize> {
    let flags = SpliceFFlags::SPLICE_F_MOVE | SpliceFFlags::SPLICE_F_NONBLOCK;
    Ok(nix::fcntl::splice(from, None, to, None, most, flags)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, TcpListener, TcpStream};
    use std::time::Duration;

    /// A connection: the end of a peer, and the end that is carried from or to.
    fn connection() -> (TcpStream, Socket) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let peer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (own, _) = listener.accept().unwrap();
        own.set_nonblocking(true).unwrap();
        (peer, own.into())
    }

    /// Carries until nothing moves for a while.
    fn settle(direction: &mut Direction, from: &Socket, to: &Socket, pipes: &mut Pipes) {
        let mut idle = 0;
        while idle < 10 {
            idle = if direction.carry(from, to, pipes).unwrap() { 0 } else { idle + 1 };
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }

    #[test]
    fn what_is_not_taken_is_not_read_and_comes_whole_later() {
        let (mut writer, source) = connection();
        let (mut reader, sink) = connection();
        let (mut direction, mut pipes) = (Direction::default(), Pipes::default());
        writer.set_nonblocking(true).unwrap();
        let block: Vec<u8> = (0..65_537_u32).map(|number| (number % 251) as u8).collect();
        let (mut written, mut refusals) = (Vec::new(), 0);
        while refusals < 3 {
            match writer.write(&block) {
                Ok(count) => written.extend_from_slice(&block[..count]),
                Err(_) => refusals += 1,
            }
            settle(&mut direction, &source, &sink, &mut pipes);
        }
        assert!(direction.writes() && !direction.reads());
        assert!(direction.bytes() < written.len() as u64);
        drop(writer);
        reader.set_nonblocking(true).unwrap();
        let (mut read, mut piece) = (Vec::new(), vec![0; 65_536]);
        loop {
            match reader.read(&mut piece) {
                Ok(0) => break,
                Ok(count) => read.extend_from_slice(&piece[..count]),
                Err(_) => settle(&mut direction, &source, &sink, &mut pipes),
            }
        }
        assert!(read == written, "{} of {} bytes", read.len(), written.len());
        assert!(direction.over() && !direction.reads() && !direction.writes());
        assert_eq!(direction.bytes(), written.len() as u64);
        assert_eq!(pipes.spare.len(), 1);
    }

    #[test]
    fn the_side_that_fails_is_named() {
        let (writer, source) = connection();
        let (reader, sink) = connection();
        Socket::from(reader).set_linger(Some(Duration::ZERO)).unwrap();
        let (mut direction, mut pipes) = (Direction::default(), Pipes::default());
        (&writer).write_all(b"x").unwrap();
        let mut trouble = None;
        while trouble.is_none() {
            let _ = (&writer).write(b"x");
            trouble = direction.carry(&source, &sink, &mut pipes).err();
        }
        assert!(matches!(trouble, Some(Trouble::Sink(_))), "{trouble:?}");
        let (other, source) = connection();
        Socket::from(other).set_linger(Some(Duration::ZERO)).unwrap();
        let mut direction = Direction::default();
        let trouble = loop {
            if let Err(trouble) = direction.carry(&source, &sink, &mut pipes) {
                break trouble;
            }
        };
        assert!(matches!(trouble, Trouble::Source(_)), "{trouble:?}");
    }
}
