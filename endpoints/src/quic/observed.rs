//! A congestion controller, and what passes through it on the way: packets and their
//! acknowledgements, bytes in flight, and whether the application keeps up. A limit of the sending
//! rate is the application's, too: quinn does not know of it, so the controller is told here that
//! its window is not used (RFC 9002, section 7.8).

use crate::congestion::Model;
use crate::quic::packets::{PacketLog, Packets};
use quinn_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use quinn_proto::RttEstimator;
use std::any::Any;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What a controller has been told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// Bytes sent that are neither acknowledged nor lost. Exact when acknowledgements come in; in
    /// between, packets that hold nothing but acknowledgements count until the next ones come.
    pub in_flight_bytes: u64,
    /// Whether the sender had nothing that it could send (or a limit of its rate held that back),
    /// although the congestion window and the pacer would have let it, when the last
    /// acknowledgements came; None before the first.
    pub app_limited: Option<bool>,
    /// What the controller thinks of the path, if it says so.
    pub model: Option<Model>,
    /// How long it has been so: the time before acknowledgements that found it so.
    pub app_limited_time: Duration,
}

/// Builds observed controllers.
pub struct Observing {
    /// Builds what is observed.
    pub inner: Arc<dyn ControllerFactory + Send + Sync>,
    /// Whether something else limits the sending rate.
    pub limited: bool,
    /// What keeps its packets.
    pub packets: PacketLog,
}

impl ControllerFactory for Observing {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        Box::new(Observed {
            inner: Arc::clone(&self.inner).build(now, current_mtu),
            seen: Seen {
                in_flight_bytes: 0,
                app_limited: None,
                model: None,
                app_limited_time: Duration::ZERO,
            },
            last_acks: now,
            limited: self.limited,
            packets: self.packets.connection(),
            mtu: current_mtu.into(),
        })
    }
}

/// A controller that is observed.
struct Observed {
    inner: Box<dyn Controller>,
    seen: Seen,
    last_acks: Instant,
    limited: bool,
    packets: Packets,
    /// Largest payload of a datagram, bytes.
    mtu: u64,
}

impl Observed {
    /// Whether the window had room for a packet that a limit of the rate held back.
    fn held_back(&self) -> bool {
        self.limited && self.seen.in_flight_bytes + self.mtu < self.inner.window()
    }
}

/// What the controller of a connection has seen; None if it is not observed.
#[must_use]
pub fn seen(controller: &dyn Controller) -> Option<Seen> {
    let copy = controller.clone_box().into_any().downcast::<Observed>().ok()?;
    let model = copy.inner.into_any().downcast::<Option<Model>>().ok().and_then(|model| *model);
    Some(Seen { model, ..copy.seen })
}

impl Controller for Observed {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        self.packets.sent(now, bytes);
        self.seen.in_flight_bytes += bytes;
        self.inner.on_sent(now, bytes, last_packet_number);
    }

    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        app_limited: bool,
        rtt: &RttEstimator,
    ) {
        self.packets.acknowledged(now, sent);
        self.inner.on_ack(now, sent, bytes, app_limited || self.held_back(), rtt);
    }

    fn on_end_acks(
        &mut self,
        now: Instant,
        in_flight: u64,
        app_limited: bool,
        largest_packet_num_acked: Option<u64>,
    ) {
        let app_limited = app_limited || self.held_back();
        self.seen.in_flight_bytes = in_flight;
        self.seen.app_limited = Some(app_limited);
        if app_limited {
            self.seen.app_limited_time += now.saturating_duration_since(self.last_acks);
        }
        self.last_acks = now;
        self.inner.on_end_acks(now, in_flight, app_limited, largest_packet_num_acked);
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        lost_bytes: u64,
    ) {
        self.seen.in_flight_bytes = self.seen.in_flight_bytes.saturating_sub(lost_bytes);
        self.inner.on_congestion_event(now, sent, is_persistent_congestion, lost_bytes);
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.mtu = new_mtu.into();
        self.inner.on_mtu_update(new_mtu);
    }

    fn window(&self) -> u64 {
        self.inner.window()
    }

    fn metrics(&self) -> ControllerMetrics {
        self.inner.metrics()
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Observed { inner: self.inner.clone_box(), packets: self.packets.clone(), ..*self })
    }

    fn initial_window(&self) -> u64 {
        self.inner.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use quinn_proto::congestion::NewRenoConfig;

    fn observing(limited: bool) -> Arc<Observing> {
        let inner = Arc::new(NewRenoConfig::default());
        let packets =
            PacketLog::over(Box::new(std::io::sink()), "f".into(), Clock::new(0), Arc::default());
        Arc::new(Observing { inner, limited, packets })
    }

    #[test]
    fn flight_and_limits_are_what_the_controller_is_told() {
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        let mut controller = observing(false).build(start, 1200);
        let window = controller.window();
        controller.on_sent(at(1), 1200, 0);
        controller.on_sent(at(2), 1200, 1);
        assert_eq!(seen(&*controller).unwrap().in_flight_bytes, 2400);
        assert_eq!(seen(&*controller).unwrap().app_limited, None);
        controller.on_end_acks(at(10), 1200, true, Some(0));
        controller.on_end_acks(at(15), 1200, false, Some(0));
        controller.on_congestion_event(at(20), at(2), false, 1200);
        let now = seen(&*controller).unwrap();
        assert_eq!((now.in_flight_bytes, now.app_limited), (0, Some(false)));
        assert_eq!(now.app_limited_time, Duration::from_millis(10));
        assert!(controller.window() < window, "the controller inside has heard of the loss");
    }

    #[test]
    fn a_window_that_a_limit_of_the_rate_leaves_unused_is_the_applications() {
        let start = Instant::now();
        for (limited, packets, expected) in [(true, 2, true), (true, 200, false), (false, 2, false)]
        {
            let mut controller = observing(limited).build(start, 1200);
            for number in 0..packets {
                controller.on_sent(start, 1200, number);
            }
            controller.on_end_acks(start, 1200, false, Some(0));
            assert_eq!(seen(&*controller).unwrap().app_limited, Some(expected), "{packets}");
        }
    }
}
