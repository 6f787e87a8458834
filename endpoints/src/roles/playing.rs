//! What a client's video player does, as events.

use crate::events::{Event, Log};
use crate::player::{Change, Moment, Player};

/// Tells what the player of a connection did until `now_ns`, and hands it the `bytes` that have arrived
/// in all.
pub fn play(player: &mut Player, connection: u32, bytes: u64, now_ns: i64, log: &mut Log) {
    let mut tell = |moment: Moment| {
        let buffered_s = moment.buffered_ns as f64 / 1e9;
        log.at(
            moment.at_ns,
            &match moment.change {
                Change::Playing => Event::Playing { connection, buffered_s },
                Change::Stalled => Event::Stalled { connection, buffered_s },
                Change::Played => Event::Played { connection },
            },
        );
    };
    while let Some(moment) = player.until(now_ns) {
        tell(moment);
    }
    if let Some(moment) = player.arrive(now_ns, bytes) {
        tell(moment);
    }
}
