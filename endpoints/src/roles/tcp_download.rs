//! A connection of a TCP client, from its time to its end: takes what comes and reports it.

use crate::events::{Event, Log};
use crate::player::Player;
use crate::roles::playing::play;
use crate::tcp::fetch::{Fetch, Taken};
use std::io;

/// A connection that a client downloads by.
pub struct Connection {
    /// Its number, from 0.
    pub number: u32,
    /// How far it is.
    pub state: State,
    /// A thread takes its data.
    pub sinks: bool,
    /// Plays what arrives, if it is a video.
    pub player: Option<Player>,
    /// Delivered so far.
    pub bytes: u64,
    /// Why the last attempt to connect failed.
    pub refused: Option<io::Error>,
}

/// How far a connection is.
pub enum State {
    /// It is to be opened at this time, ns after the epoch.
    Waiting(i64),
    /// The handshake is under way.
    Connecting(Fetch),
    /// Data comes in.
    Receiving(Fetch),
    /// All bytes are there; the server has not closed yet.
    Closing(Fetch),
    /// It is closed; the player shows what has arrived.
    Showing,
    /// Over, for better or worse.
    Ended,
}

impl Connection {
    /// Takes what has arrived; true: nothing more will come, and that is well.
    pub fn receive(&mut self, log: &mut Log) -> Result<bool, String> {
        let State::Receiving(fetch) = &mut self.state else {
            return Ok(false);
        };
        let taken = fetch.take()?;
        Ok(self.took(taken, None, log))
    }

    /// Reports what came of taking, at `ended_ns` or now; true: nothing more will come.
    pub fn took(&mut self, taken: Taken, ended_ns: Option<i64>, log: &mut Log) -> bool {
        let State::Receiving(fetch) = &self.state else {
            return false;
        };
        let connection = self.number;
        let first = self.bytes == 0 && fetch.bytes() > 0;
        self.bytes = fetch.bytes();
        if taken == Taken::Nothing {
            return false;
        }
        if first {
            log.now(&Event::FirstByte { connection });
        }
        // Most packets are of files: they should not cost a look at the clock.
        if self.player.is_some() {
            self.play(log.clock().now_ns(), log);
        }
        if taken == Taken::Complete {
            let at_ns = ended_ns.unwrap_or_else(|| log.clock().now_ns());
            log.at(at_ns, &Event::Done { connection, bytes: self.bytes });
            if let State::Receiving(fetch) = std::mem::replace(&mut self.state, State::Ended) {
                // Of a file without a byte the end is all that comes.
                let over = self.bytes == 0;
                self.state = State::Closing(fetch);
                return over;
            }
        }
        false
    }

    /// Tells what the player did until `now_ns`, and hands it what has arrived.
    pub fn play(&mut self, now_ns: i64, log: &mut Log) {
        if let Some(player) = &mut self.player {
            play(player, self.number, self.bytes, now_ns, log);
        }
    }
}
