//! Delivery rate samples as draft-ietf-ccwg-bbr-06, section "Delivery Rate Samples", has them:
//! state of the connection (C), of packets (P), and the sample of an ACK (RS), under the draft's
//! names.
//!
//! quinn names an acknowledged packet by its send time, and of lost ones it tells that of the
//! newest and the bytes of all. Packets of one send time are exchanged for one another: the oldest
//! of them is acknowledged, or lost, first.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// A packet that is neither acknowledged nor lost (P).
#[derive(Debug, Clone, Copy)]
pub struct Packet {
    pub id: u64,
    pub send_time: Instant,
    pub size: u64,
    pub delivered: u64,
    pub lost: u64,
    pub tx_in_flight: u64,
    pub is_app_limited: bool,
    delivered_time: Instant,
    first_send_time: Instant,
    /// Acknowledged or lost: it stays in the queue until all before it are.
    is_gone: bool,
}

/// The sample of an ACK (RS). Rates in bytes/s, volumes in bytes.
#[derive(Debug, Clone, Copy, Default)]
pub struct RateSample {
    pub delivery_rate: f64,
    pub is_app_limited: bool,
    pub delivered: u64,
    pub prior_delivered: u64,
    pub tx_in_flight: u64,
    pub lost: u64,
    pub newly_acked: u64,
    pub rtt: Option<Duration>,
}

/// What the connection knows of its deliveries (C).
#[derive(Debug, Clone)]
pub struct Connection {
    pub delivered: u64,
    pub lost: u64,
    pub inflight: u64,
    /// Bytes delivered when the last application-limited packet will have been; 0: not limited.
    pub app_limited: u64,
    delivered_time: Instant,
    first_send_time: Instant,
    packets: VecDeque<Packet>,
    next_id: u64,
    /// The newest packet of the ACK that is being read.
    newest: Option<Packet>,
}

impl Connection {
    /// Nothing has been sent.
    pub fn new(now: Instant) -> Self {
        Connection {
            delivered: 0,
            lost: 0,
            inflight: 0,
            app_limited: 0,
            delivered_time: now,
            first_send_time: now,
            packets: VecDeque::new(),
            next_id: 1,
            newest: None,
        }
    }

    /// `OnPacketSent`.
    pub fn on_packet_sent(&mut self, now: Instant, size: u64) {
        if self.inflight == 0 {
            self.first_send_time = now;
            self.delivered_time = now;
        }
        self.inflight += size;
        self.packets.push_back(Packet {
            id: self.next_id,
            send_time: now,
            size,
            delivered: self.delivered,
            lost: self.lost,
            tx_in_flight: self.inflight,
            is_app_limited: self.app_limited != 0,
            delivered_time: self.delivered_time,
            first_send_time: self.first_send_time,
            is_gone: false,
        });
        self.next_id += 1;
    }

    /// `MarkConnectionAppLimited`.
    pub fn mark_connection_app_limited(&mut self) {
        self.app_limited = (self.delivered + self.inflight).max(1);
    }

    /// `UpdateRateSample`: the packet that was sent at `sent` is acknowledged.
    pub fn update_rate_sample(&mut self, now: Instant, sent: Instant) {
        let from = self.packets.partition_point(|packet| packet.send_time < sent);
        let same = self.packets.range_mut(from..).take_while(|packet| packet.send_time == sent);
        let Some(packet) = same.into_iter().find(|packet| !packet.is_gone) else { return };
        packet.is_gone = true;
        let packet = *packet;
        self.delivered += packet.size;
        self.delivered_time = now;
        self.inflight = self.inflight.saturating_sub(packet.size);
        let is_newest = self
            .newest
            .is_none_or(|newest| (packet.send_time, packet.id) > (newest.send_time, newest.id));
        if is_newest {
            self.newest = Some(packet);
            self.first_send_time = packet.send_time;
        }
    }

    /// `GenerateRateSample`: the ACK is read. None where it acknowledged no packet that is known.
    pub fn generate_rate_sample(
        &mut self,
        newly_acked: u64,
        rtt: Option<Duration>,
        min_rtt: Duration,
    ) -> Option<RateSample> {
        if self.app_limited != 0 && self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        let packet = self.newest.take()?;
        self.forget(packet.send_time);
        let send_elapsed = packet.send_time.saturating_duration_since(packet.first_send_time);
        let ack_elapsed = self.delivered_time.saturating_duration_since(packet.delivered_time);
        let interval = send_elapsed.max(ack_elapsed);
        let delivered = self.delivered - packet.delivered;
        let is_reliable = interval >= min_rtt && !interval.is_zero();
        Some(RateSample {
            delivery_rate: if is_reliable {
                delivered as f64 / interval.as_secs_f64()
            } else {
                0.0
            },
            is_app_limited: packet.is_app_limited,
            delivered,
            prior_delivered: packet.delivered,
            tx_in_flight: packet.tx_in_flight,
            lost: self.lost - packet.lost,
            newly_acked,
            rtt,
        })
    }

    /// Takes out the packets that were found to be lost together, in the order of their sending:
    /// `bytes` in all, the newest of them sent at `sent`. quinn finds every packet lost that is
    /// older than a lost one.
    pub fn take_lost(&mut self, sent: Instant, bytes: u64) -> Vec<Packet> {
        let from = self.packets.partition_point(|packet| packet.send_time < sent);
        let to = self.packets.partition_point(|packet| packet.send_time <= sent);
        let waits = |index: &usize| !self.packets[*index].is_gone;
        let same: Vec<usize> = (from..to).filter(waits).collect();
        let least = same.first().map_or(0, |index| self.packets[*index].size);
        let mut chosen = Vec::new();
        let mut sum = 0;
        for index in (0..from).rev().filter(waits) {
            let size = self.packets[index].size;
            if sum + size + least > bytes {
                break;
            }
            sum += size;
            chosen.push(index);
        }
        chosen.reverse();
        for index in same {
            if sum >= bytes {
                break;
            }
            sum += self.packets[index].size;
            chosen.push(index);
        }
        let lost = chosen.into_iter().map(|index| {
            self.packets[index].is_gone = true;
            self.packets[index]
        });
        lost.collect()
    }

    /// Counts a packet as lost.
    pub fn lose(&mut self, packet: &Packet) {
        self.lost += packet.size;
        self.inflight = self.inflight.saturating_sub(packet.size);
    }

    /// Forgets what has left the network, and what nobody will report any more: packets of the
    /// handshake, and acknowledgements.
    fn forget(&mut self, acknowledged: Instant) {
        let two_rtts = 2 * self.delivered_time.saturating_duration_since(acknowledged);
        while self
            .packets
            .front()
            .is_some_and(|packet| packet.is_gone || packet.send_time + two_rtts < acknowledged)
        {
            self.packets.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_rate_sample_is_what_was_delivered_over_the_longer_interval() {
        let now = Instant::now();
        let mut c = Connection::new(now);
        (0..10).for_each(|step| c.on_packet_sent(now + step * MS, 1000));
        // All are acknowledged at once: the time of sending, not of the ACK, tells the rate.
        (0..10).for_each(|step| c.update_rate_sample(now + 50 * MS, now + step * MS));
        let rs = c.generate_rate_sample(10_000, Some(41 * MS), 41 * MS).unwrap();
        assert!((rs.delivery_rate - 10_000.0 / 0.05).abs() < 1.0, "{}", rs.delivery_rate);
        assert_eq!(
            (rs.delivered, rs.prior_delivered, rs.tx_in_flight, rs.lost),
            (10_000, 0, 10_000, 0)
        );
        assert!(c.generate_rate_sample(0, None, 41 * MS).is_none());
        c.on_packet_sent(now + 60 * MS, 1000);
        c.update_rate_sample(now + 80 * MS, now + 60 * MS);
        let rs = c.generate_rate_sample(1000, Some(20 * MS), 41 * MS).unwrap();
        assert!(rs.delivery_rate.abs() < 1e-6, "an interval shorter than the smallest RTT");
    }

    #[test]
    fn samples_are_application_limited_until_the_bubble_is_gone() {
        let now = Instant::now();
        let mut c = Connection::new(now);
        c.on_packet_sent(now, 1000);
        c.mark_connection_app_limited();
        c.on_packet_sent(now + MS, 1000);
        c.update_rate_sample(now + 50 * MS, now);
        assert!(!c.generate_rate_sample(1000, None, MS).unwrap().is_app_limited);
        c.update_rate_sample(now + 51 * MS, now + MS);
        assert!(c.generate_rate_sample(1000, None, MS).unwrap().is_app_limited);
        assert_eq!(c.app_limited, 0);
    }

    #[test]
    fn lost_packets_are_found_by_the_newest_and_their_bytes() {
        let now = Instant::now();
        let mut c = Connection::new(now);
        (0..6).for_each(|step| c.on_packet_sent(now + step / 2 * MS, 1000));
        c.update_rate_sample(now + 50 * MS, now);
        c.update_rate_sample(now + 50 * MS, now + 2 * MS);
        let lost: Vec<u64> = c.take_lost(now + MS, 3000).iter().map(|packet| packet.id).collect();
        assert_eq!(lost, [2, 3, 4]);
        assert!(c.take_lost(now + MS, 1000).is_empty(), "a packet is lost once");
    }

    #[test]
    fn a_handshake_that_nobody_acknowledged_is_not_lost() {
        let now = Instant::now();
        let mut c = Connection::new(now);
        c.on_packet_sent(now, 1200);
        (1..4).for_each(|step| c.on_packet_sent(now + step * MS, 1000));
        let lost: Vec<u64> =
            c.take_lost(now + 2 * MS, 2000).iter().map(|packet| packet.id).collect();
        assert_eq!(lost, [2, 3]);
    }
}
