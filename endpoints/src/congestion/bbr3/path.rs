//! The model of the path that draft-ietf-ccwg-bbr-06 keeps: its bandwidth, aggregation, and what is
//! in flight without too much loss.

use super::sampling::Packet;
use super::{Bbr3, State, BETA, EXTRA_ACKED_FILTER_LEN, LOSS_THRESH};
use std::time::Instant;

/// The model of the path.
impl Bbr3 {
    pub(super) fn update_round(&mut self) {
        self.round_start = self.rs.prior_delivered >= self.next_round_delivered;
        if self.round_start {
            self.start_round();
            self.round_count += 1;
            self.rounds_since_probe_up += 1;
            self.is_cwnd_limited = (false, self.is_cwnd_limited.0);
        }
    }

    pub(super) fn start_round(&mut self) {
        self.next_round_delivered = self.c.delivered;
    }

    pub(super) fn update_max_bw(&mut self) {
        self.update_round();
        let rate = self.rs.delivery_rate;
        if rate > 0.0 && (rate >= self.max_bw || !self.rs.is_app_limited) {
            self.max_bw_filter.take(self.cycle_count, rate);
            self.max_bw = self.max_bw_filter.get();
        }
    }

    pub(super) fn advance_max_bw_filter(&mut self) {
        self.cycle_count += 1;
    }

    pub(super) fn update_ack_aggregation(&mut self, now: Instant) {
        let interval = now.saturating_duration_since(self.extra_acked_interval_start);
        let mut expected_delivered = self.bw * interval.as_secs_f64();
        if self.extra_acked_delivered <= expected_delivered {
            self.extra_acked_delivered = 0.0;
            self.extra_acked_interval_start = now;
            expected_delivered = 0.0;
        }
        self.extra_acked_delivered += self.rs.newly_acked as f64;
        let extra = (self.extra_acked_delivered - expected_delivered).min(self.cwnd);
        let filter_len = if self.full_bw_reached { EXTRA_ACKED_FILTER_LEN } else { 1 };
        self.extra_acked_filter.remember(filter_len);
        self.extra_acked_filter.take(self.round_count, extra);
        self.extra_acked = self.extra_acked_filter.get();
    }

    pub(super) fn is_inflight_too_high(&self) -> bool {
        self.rs.lost as f64 > self.rs.tx_in_flight as f64 * LOSS_THRESH
    }

    pub(super) fn handle_inflight_too_high(&mut self, now: Instant) {
        self.prev_probe_too_high = true;
        self.is_bw_probe_sample = false;
        if !self.rs.is_app_limited {
            let least = self.target_inflight() * BETA;
            self.inflight_longterm = least.max(self.rs.tx_in_flight as f64);
        }
        if self.state == State::ProbeBwUp {
            self.start_probe_bw_down(now);
        }
    }

    pub(super) fn note_loss(&mut self) {
        if !self.is_loss_in_round {
            self.loss_round_delivered = self.c.delivered;
            self.save_cwnd();
        }
        self.is_loss_in_round = true;
    }

    pub(super) fn handle_lost_packet(&mut self, packet: &Packet, now: Instant) {
        self.note_loss();
        if packet.id != self.last_lost_id + 1 {
            self.lost_ranges += 1;
        }
        self.last_lost_id = packet.id;
        if !self.is_bw_probe_sample {
            return;
        }
        self.rs.tx_in_flight = packet.tx_in_flight;
        self.rs.lost = self.c.lost - packet.lost;
        self.rs.is_app_limited = packet.is_app_limited;
        if self.is_inflight_too_high() {
            self.rs.tx_in_flight = self.inflight_at_loss(packet) as u64;
            self.handle_inflight_too_high(now);
        }
    }

    pub(super) fn inflight_at_loss(&self, packet: &Packet) -> f64 {
        let size = packet.size as f64;
        let inflight_prev = self.rs.tx_in_flight as f64 - size;
        let lost_prev = self.rs.lost as f64 - size;
        let lost_prefix = (LOSS_THRESH * inflight_prev - lost_prev) / (1.0 - LOSS_THRESH);
        inflight_prev + lost_prefix
    }

    /// A mark (ECN), of which the draft says that it is congestion, not how much: like a loss of a
    /// connection that can tell one loss per round trip.
    pub(super) fn handle_mark(&mut self, now: Instant) {
        self.note_loss();
        self.marks_in_round += 1;
        if self.is_bw_probe_sample {
            self.handle_inflight_too_high(now);
        }
    }

    pub(super) fn update_latest_delivery_signals(&mut self) {
        self.loss_round_start = false;
        self.bw_latest = self.bw_latest.max(self.rs.delivery_rate);
        self.inflight_latest = self.inflight_latest.max(self.rs.delivered as f64);
        if self.rs.prior_delivered >= self.loss_round_delivered {
            self.loss_round_delivered = self.c.delivered;
            self.loss_round_start = true;
        }
    }

    pub(super) fn advance_latest_delivery_signals(&mut self) {
        if self.loss_round_start {
            self.bw_latest = self.rs.delivery_rate;
            self.inflight_latest = self.rs.delivered as f64;
        }
    }

    pub(super) fn reset_congestion_signals(&mut self) {
        self.is_loss_in_round = false;
        self.bw_latest = 0.0;
        self.inflight_latest = 0.0;
    }

    pub(super) fn update_congestion_signals(&mut self) {
        self.update_max_bw();
        if !self.loss_round_start {
            return;
        }
        self.adapt_lower_bounds_from_congestion();
        self.is_loss_in_round = false;
    }

    pub(super) fn adapt_lower_bounds_from_congestion(&mut self) {
        if self.is_probing_bw() {
            return;
        }
        if self.is_loss_in_round {
            self.init_lower_bounds();
            self.loss_lower_bounds();
        }
    }

    pub(super) fn init_lower_bounds(&mut self) {
        if self.bw_shortterm.is_infinite() {
            self.bw_shortterm = self.max_bw;
        }
        if self.inflight_shortterm.is_infinite() {
            self.inflight_shortterm = self.cwnd;
        }
    }

    pub(super) fn loss_lower_bounds(&mut self) {
        self.bw_shortterm = self.bw_latest.max(BETA * self.bw_shortterm);
        self.inflight_shortterm = self.inflight_latest.max(BETA * self.inflight_shortterm);
    }

    pub(super) fn reset_short_term_model(&mut self) {
        self.bw_shortterm = f64::INFINITY;
        self.inflight_shortterm = f64::INFINITY;
    }

    pub(super) fn bound_bw_for_model(&mut self) {
        self.bw = self.max_bw.min(self.bw_shortterm);
    }
}
