//! A video player: bytes and times in, events out. No transport and no clock in it.
//!
//! It starts when `play_ns` of playing time are buffered, stalls when less than `stall_ns` are
//! left, goes on when `play_ns` are there again, and plays to the end once all bytes have arrived.
//! Between two arrivals the buffer empties evenly, so the times of stalls follow from those of
//! arrivals: the program need not wake up for them.

use crate::workload::Video;

/// What a player does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// It starts, or goes on after a stall.
    Playing,
    /// It stalls.
    Stalled,
    /// The end of the video has been shown.
    Played,
}

/// Something that a player did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// When, ns on the clock of the caller.
    pub at_ns: i64,
    /// What.
    pub change: Change,
    /// What was buffered then, ns of playing time.
    pub buffered_ns: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Not started, or stalled.
    Waiting,
    /// Plays since this time, ns.
    Playing {
        since_ns: i64,
    },
    Ended,
}

/// A player of one video.
#[derive(Debug, Clone)]
pub struct Player {
    video: Video,
    total_bytes: u64,
    bytes: u64,
    /// Playing time that has been shown when `state` began, ns.
    shown_ns: i64,
    state: State,
}

impl Player {
    /// A player that has got nothing yet.
    #[must_use]
    pub fn new(video: &Video) -> Self {
        Player {
            total_bytes: video.total_bytes(),
            video: video.clone(),
            bytes: 0,
            shown_ns: 0,
            state: State::Waiting,
        }
    }

    /// Takes note that `bytes` in all have arrived at `at_ns`, which never decreases, and returns
    /// what this makes the player do. First ask `until(at_ns)` for what it did before.
    pub fn arrive(&mut self, at_ns: i64, bytes: u64) -> Option<Moment> {
        self.bytes = bytes.min(self.total_bytes);
        let buffered_ns = self.buffered_ns();
        if self.state != State::Waiting || !(self.complete() || buffered_ns >= self.video.play_ns) {
            return None;
        }
        self.state = State::Playing { since_ns: at_ns };
        Some(Moment { at_ns, change: Change::Playing, buffered_ns })
    }

    /// Returns the next thing that the player did until `now_ns`; ask again until there is none.
    pub fn until(&mut self, now_ns: i64) -> Option<Moment> {
        let at_ns = self.due_ns()?;
        if self.complete() {
            if at_ns > now_ns {
                return None;
            }
            self.shown_ns = self.video.length_ns;
            self.state = State::Ended;
            return Some(Moment { at_ns, change: Change::Played, buffered_ns: 0 });
        }
        // What arrives at the very moment at which the threshold is reached is in time.
        if at_ns >= now_ns {
            return None;
        }
        self.shown_ns = self.video.playing_ns(self.bytes) - self.video.stall_ns;
        self.state = State::Waiting;
        Some(Moment { at_ns, change: Change::Stalled, buffered_ns: self.video.stall_ns })
    }

    /// When the player will stall, or end if all bytes are there, unless something arrives before;
    /// None while it waits for bytes, and after the end.
    #[must_use]
    pub fn due_ns(&self) -> Option<i64> {
        let State::Playing { since_ns } = self.state else {
            return None;
        };
        let kept_ns = if self.complete() { 0 } else { self.video.stall_ns };
        Some(since_ns.saturating_add(self.buffered_ns() - kept_ns))
    }

    /// Whether the end of the video has been shown.
    #[must_use]
    pub fn ended(&self) -> bool {
        self.state == State::Ended
    }

    /// Playing time that has arrived and had not been shown when `state` began, ns.
    fn buffered_ns(&self) -> i64 {
        self.video.playing_ns(self.bytes) - self.shown_ns
    }

    fn complete(&self) -> bool {
        self.bytes == self.total_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;

    /// A video of one byte per ms of playing time.
    fn player(length_ns: i64) -> Player {
        Player::new(&Video {
            bitrate_bps: 8_000,
            length_ns,
            burst_ns: 0,
            chunk_bytes: 1,
            factor: 1.0,
            play_ns: 2_200_000_000,
            stall_ns: 400_000_000,
            send_buffer_bytes: 1,
        })
    }

    /// What a player does when these bytes (in all) arrive at these times, s, and then `end_s`
    /// comes; times and buffers in s.
    fn played(length_s: i64, arrivals: &[(f64, u64)], end_s: f64) -> Vec<(f64, Change, f64)> {
        let mut player = player(length_s * S);
        let ns = |s: f64| (s * 1e9).round() as i64;
        let mut moments = Vec::new();
        for (at_s, bytes) in arrivals {
            moments.extend(std::iter::from_fn(|| player.until(ns(*at_s))));
            moments.extend(player.arrive(ns(*at_s), *bytes));
        }
        moments.extend(std::iter::from_fn(|| player.until(ns(end_s))));
        let seconds = |ns: i64| ns as f64 / 1e9;
        moments
            .iter()
            .map(|moment| (seconds(moment.at_ns), moment.change, seconds(moment.buffered_ns)))
            .collect()
    }

    #[test]
    fn a_video_that_comes_at_once_starts_at_once_and_plays_for_its_length() {
        let expected = [(1.5, Change::Playing, 10.0), (11.5, Change::Played, 0.0)];
        assert_eq!(played(10, &[(1.5, 10_000)], 100.0), expected);
        // The end is not reported before it has come.
        assert_eq!(played(10, &[(1.5, 10_000)], 11.0), expected[..1]);
    }

    #[test]
    fn it_starts_when_the_threshold_is_reached() {
        let moments = played(10, &[(0.0, 0), (1.0, 2_199), (2.0, 2_200)], 2.0);
        assert_eq!(moments, [(2.0, Change::Playing, 2.2)]);
    }

    /// 2.2 s at 0 s: played down to 0.4 s at 1.8 s. Then 1.8 s more are needed: 2.2 s at 5 s. With
    /// 0.5 s more at 6 s (1.7 s buffered) it plays down to 0.4 s at 7.3 s. The rest, at 9 s, starts
    /// it again; 10 - 4.1 = 5.7 s are left to show (shown: 1.8 + 2.3 = 4.1 s).
    #[test]
    fn it_stalls_below_the_lower_threshold_and_goes_on_at_the_upper() {
        let arrivals = [(0.0, 2_200), (3.0, 3_999), (5.0, 4_000), (6.0, 4_500), (9.0, 10_000)];
        let expected = [
            (0.0, Change::Playing, 2.2),
            (1.8, Change::Stalled, 0.4),
            (5.0, Change::Playing, 2.2),
            (7.3, Change::Stalled, 0.4),
            (9.0, Change::Playing, 5.9),
            (14.9, Change::Played, 0.0),
        ];
        assert_eq!(played(10, &arrivals, 100.0), expected);
    }

    #[test]
    fn what_arrives_in_the_last_moment_prevents_a_stall() {
        let moments = played(10, &[(0.0, 2_200), (1.8, 2_300), (1.9, 10_000)], 50.0);
        assert_eq!(moments, [(0.0, Change::Playing, 2.2), (10.0, Change::Played, 0.0)]);
        let late = played(10, &[(0.0, 2_200), (1.800_000_001, 10_000)], 50.0);
        assert_eq!(late[1], (1.8, Change::Stalled, 0.4));
        assert_eq!(late[2].1, Change::Playing);
    }

    #[test]
    fn the_end_is_played_without_a_stall() {
        // All there at 2 s, with 0.5 s left: below the threshold nothing stalls any more.
        let moments = played(3, &[(0.0, 2_500), (2.0, 3_000)], 50.0);
        assert_eq!(moments, [(0.0, Change::Playing, 2.5), (3.0, Change::Played, 0.0)]);
    }

    #[test]
    fn a_video_shorter_than_the_threshold_is_played_once_it_is_there() {
        let moments = played(1, &[(0.0, 900), (4.0, 1_000)], 50.0);
        assert_eq!(moments, [(4.0, Change::Playing, 1.0), (5.0, Change::Played, 0.0)]);
    }

    #[test]
    fn a_stall_ends_when_the_last_byte_comes() {
        let moments = played(3, &[(0.0, 2_200), (9.0, 3_000)], 50.0);
        let expected = [(1.8, Change::Stalled, 0.4), (9.0, Change::Playing, 1.2)];
        assert_eq!(moments[1..3], expected);
        assert_eq!(moments[3], (10.2, Change::Played, 0.0));
    }

    #[test]
    fn it_says_when_it_is_due() {
        let mut player = player(10 * S);
        assert_eq!(player.due_ns(), None);
        player.arrive(0, 5_000);
        assert_eq!(player.due_ns(), Some(4_600_000_000));
        player.arrive(S, 10_000);
        assert_eq!(player.due_ns(), Some(10 * S));
        assert!(player.until(10 * S).is_some() && player.ended());
        assert_eq!((player.until(99 * S), player.due_ns()), (None, None));
    }
}
