//! How fast a connection delivers: rate samples as in
//! draft-cheng-iccrg-delivery-rate-estimation-00, and the greatest of the last rounds.
//!
//! A sample belongs to the newest packet that an ACK frame acknowledges: what was delivered from
//! when that packet was sent until now, over the longer one of the time in which these bytes were
//! sent and the time in which they were acknowledged. So acknowledgements that come in bunches,
//! or are held back by the receiver, do not look like a faster path.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// What was known when a packet was sent.
#[derive(Debug, Clone, Copy)]
struct Packet {
    sent: Instant,
    delivered: u64,
    delivered_at: Instant,
    first_sent: Instant,
    limited: bool,
    acknowledged: bool,
}

/// A rate sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// Bytes per second; None where the interval is too short to tell.
    pub rate: Option<f64>,
    /// Whether the sender was held back by something else than the network.
    pub limited: bool,
    /// Bytes delivered in all when the packet was sent.
    pub prior_delivered: u64,
}

/// The packets in flight, and what has been delivered.
#[derive(Debug, Clone)]
pub struct Delivery {
    packets: VecDeque<Packet>,
    delivered: u64,
    delivered_at: Instant,
    first_sent: Instant,
    newest: Option<Packet>,
    limited: bool,
}

impl Delivery {
    /// Nothing has been sent.
    pub fn new(now: Instant) -> Self {
        Delivery {
            packets: VecDeque::new(),
            delivered: 0,
            delivered_at: now,
            first_sent: now,
            newest: None,
            limited: false,
        }
    }

    /// Bytes delivered in all.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// A packet was sent; `idle`: nothing was in flight; `limited`: the sender holds back.
    pub fn on_sent(&mut self, now: Instant, idle: bool, limited: bool) {
        if idle {
            self.first_sent = now;
            self.delivered_at = now;
        }
        self.packets.push_back(Packet {
            sent: now,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            limited,
            acknowledged: false,
        });
    }

    /// A packet was acknowledged; `limited`: the application had nothing more to send.
    pub fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, limited: bool) {
        self.delivered += bytes;
        self.delivered_at = now;
        self.limited |= limited;
        let from = self.packets.partition_point(|packet| packet.sent < sent);
        let same = self.packets.range_mut(from..).take_while(|packet| packet.sent == sent);
        let Some(packet) = same.into_iter().find(|packet| !packet.acknowledged) else { return };
        packet.acknowledged = true;
        if self.newest.is_none_or(|newest| packet.sent >= newest.sent) {
            self.newest = Some(*packet);
            self.first_sent = packet.sent;
        }
    }

    /// The ACK frame is done with. None where it acknowledged no packet that is known.
    ///
    /// A sample over less than `min_rtt` is none: of the bytes that it counts some were in flight
    /// before.
    pub fn sample(&mut self, now: Instant, min_rtt: Duration) -> Option<Sample> {
        let packet = self.newest.take()?;
        let limited = std::mem::take(&mut self.limited) || packet.limited;
        self.forget(packet.sent, now);
        let sending = packet.sent.saturating_duration_since(packet.first_sent);
        let acknowledging = now.saturating_duration_since(packet.delivered_at);
        let interval = sending.max(acknowledging);
        let rate = (interval >= min_rtt && !interval.is_zero())
            .then(|| (self.delivered - packet.delivered) as f64 / interval.as_secs_f64());
        Some(Sample { rate, limited, prior_delivered: packet.delivered })
    }

    /// Forgets what was acknowledged, and what was sent so long before `acknowledged` that it has
    /// been declared lost (RFC 9002, section 6.1.2: 9/8 RTT).
    fn forget(&mut self, acknowledged: Instant, now: Instant) {
        let two_rtts = 2 * now.saturating_duration_since(acknowledged);
        while self
            .packets
            .front()
            .is_some_and(|packet| packet.acknowledged || packet.sent + two_rtts < acknowledged)
        {
            self.packets.pop_front();
        }
    }
}

/// The greatest value of the last rounds (a windowed maximum).
#[derive(Debug, Clone)]
pub struct Greatest {
    rounds: u64,
    values: VecDeque<(u64, f64)>,
}

impl Greatest {
    /// Of the last `rounds` rounds.
    pub fn of(rounds: u64) -> Self {
        Greatest { rounds, values: VecDeque::new() }
    }

    /// Changes the number of rounds.
    pub fn remember(&mut self, rounds: u64) {
        self.rounds = rounds;
    }

    /// Takes the value of a round. What is older than the window is forgotten only now: without new
    /// values the old ones stand.
    pub fn take(&mut self, round: u64, value: f64) {
        while self.values.back().is_some_and(|&(_, smaller)| smaller <= value) {
            self.values.pop_back();
        }
        self.values.push_back((round, value));
        while self.values.front().is_some_and(|&(old, _)| old + self.rounds <= round) {
            self.values.pop_front();
        }
    }

    /// The greatest value; 0 without any.
    pub fn get(&self) -> f64 {
        self.values.front().map_or(0.0, |&(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);
    const RTT: Duration = Duration::from_millis(50);

    /// Sends a packet of 1000 bytes every ms; they come after 50 ms and are acknowledged `bunch` at
    /// a time. Returns the rates of all samples, bytes/s.
    fn rates(bunch: u32) -> Vec<f64> {
        let start = Instant::now();
        let mut delivery = Delivery::new(start);
        let mut found = Vec::new();
        for step in 0..1000 {
            let now = start + step * MS;
            if step >= 50 && (step - 49) % bunch == 0 {
                for packet in (0..bunch).rev() {
                    let sent = start + (step - 50 - packet) * MS;
                    delivery.on_ack(now, sent, 1000, false);
                }
                found.extend(delivery.sample(now, RTT).unwrap().rate);
            }
            delivery.on_sent(now, step == 0, false);
        }
        found
    }

    #[test]
    fn the_rate_is_that_of_the_sender_however_acknowledgements_come() {
        for bunch in [1, 2, 10, 25] {
            let rates = rates(bunch);
            assert!(rates.len() > 900 / bunch as usize - 3);
            for rate in rates.iter().skip(60 / bunch as usize + 1) {
                // A bunch is delivered at once: what is counted is off by less than one bunch.
                let off = f64::from(bunch) / 50.0;
                assert!((rate / 1e6 - 1.0).abs() <= off, "{bunch}: {rate}");
            }
            let most = rates.iter().copied().fold(0.0, f64::max);
            assert!(most <= 1.02e6, "{bunch} at a time look like {most} bytes/s");
        }
    }

    #[test]
    fn what_is_lost_is_forgotten() {
        let start = Instant::now();
        let mut delivery = Delivery::new(start);
        for step in 0..10_000 {
            let now = start + step * MS;
            if step >= 50 && step % 2 == 0 {
                delivery.on_ack(now, start + (step - 50) * MS, 1000, false);
                delivery.sample(now, RTT);
            }
            delivery.on_sent(now, step == 0, false);
        }
        assert!(delivery.packets.len() <= 151, "{}", delivery.packets.len());
    }

    #[test]
    fn too_short_an_interval_tells_no_rate() {
        let start = Instant::now();
        let mut delivery = Delivery::new(start);
        delivery.on_sent(start, true, true);
        delivery.on_ack(start + RTT, start, 1000, false);
        let sample = delivery.sample(start + RTT, 2 * RTT).unwrap();
        assert_eq!(sample, Sample { rate: None, limited: true, prior_delivered: 0 });
        assert_eq!(delivery.sample(start + RTT, RTT), None);
    }

    #[test]
    fn the_greatest_leaves_with_its_round() {
        let mut greatest = Greatest::of(3);
        for (round, value, expected) in
            [(1, 5.0, 5.0), (2, 9.0, 9.0), (3, 1.0, 9.0), (4, 2.0, 9.0), (5, 1.0, 2.0)]
        {
            greatest.take(round, value);
            assert!((greatest.get() - expected).abs() < 1e-9, "round {round}: {}", greatest.get());
        }
    }
}
