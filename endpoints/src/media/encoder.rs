//! When frames are captured, and how large they are. No transport and no clock in it.
//!
//! The model of a live encoder is that of RFC 8593, section 5. Around a target rate, sizes and
//! intervals of frames vary by factors of 1 + L, where L has a Laplace distribution around 0 with
//! the scale 0.15 (section 5.3; the values are those of table 1), cut at -1 and 1 so that neither
//! is below 0 and both keep their mean. A key frame is a burst, and the frames after it are as much
//! smaller as the target rate takes (section 5.2): that of a group of n frames is k times the mean,
//! the others are (n - k) / (n - 1) times the mean. Within the reaction time after a change of the
//! rate the encoder ignores further ones (section 5.1), and the rate stays within limits (section
//! 5.4).

use crate::media::description::{Media, Video, LARGEST_FRAME, LEAST_FRAME};
use crate::random::{Distribution, Draws};

/// Of the factors of sizes and intervals.
const SCALE: f64 = 0.15;
const NS: f64 = 1e9;

/// A frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// Number of the frame among those of its kind, from 0.
    pub number: u32,
    /// Whether it is of the video.
    pub video: bool,
    /// Whether it begins a group of pictures; audio frames all do.
    pub key: bool,
    /// Number of its group, from 0.
    pub group: u32,
    /// Its size, bytes.
    pub bytes: u32,
    /// When it was captured, and encoded at once, ns after the epoch.
    pub captured_ns: i64,
}

/// Gives the frames of one kind, one after the other.
pub struct Encoder {
    kind: Kind,
    begin_ns: i64,
    number: u32,
    group: u32,
    /// Frames of the group so far.
    in_group: u32,
    /// When the next frame is captured, after the begin; the exact value, so that errors do not add
    /// up.
    next_ns: f64,
    /// What the encoder aims at, bit/s.
    target_bps: f64,
    /// When it may be changed again, ns after the epoch.
    settled_ns: i64,
    /// Whether the next frame begins a group, whatever the place in the last one.
    restart: bool,
}

enum Kind {
    Audio { bytes: u32, every_ns: i64 },
    Video(Box<Source>),
}

struct Source {
    video: Video,
    sizes: Draws,
    intervals: Draws,
}

impl Encoder {
    /// Those of an end that begins at a time, ns after the epoch: of its audio and of its video.
    #[must_use]
    pub fn all(media: &Media, begin_ns: i64) -> Vec<Self> {
        let audio =
            media.audio_bytes.map(|bytes| Kind::Audio { bytes, every_ns: media.audio_every_ns });
        let scale = Distribution::Exponential { mean: SCALE };
        // Both ends have streams of their own.
        let draws = |stream| Draws::new(&scale, media.seed, u32::from(media.is_server()), stream);
        let video = media.video.clone().map(|video| {
            Kind::Video(Box::new(Source { video, sizes: draws(0), intervals: draws(1) }))
        });
        audio.into_iter().chain(video).map(|kind| Encoder::new(kind, begin_ns)).collect()
    }

    fn new(kind: Kind, begin_ns: i64) -> Self {
        let target_bps = match &kind {
            Kind::Audio { .. } => 0.0,
            Kind::Video(source) => source.video.first_bps(),
        };
        Encoder {
            kind,
            begin_ns,
            number: 0,
            group: 0,
            in_group: 0,
            next_ns: 0.0,
            target_bps,
            settled_ns: i64::MIN,
            restart: false,
        }
    }

    /// When the next frame is captured, ns after the epoch.
    #[must_use]
    pub fn next_ns(&self) -> i64 {
        self.begin_ns.saturating_add(self.next_ns.round() as i64)
    }

    /// The next frame.
    pub fn next(&mut self) -> Frame {
        let captured_ns = self.next_ns();
        let first = self.number == 0;
        let (video, key, bytes, interval_ns) = match &mut self.kind {
            Kind::Audio { bytes, every_ns } => (false, true, *bytes, *every_ns as f64),
            Kind::Video(source) => {
                let (key, bytes) =
                    source.size(self.number, self.in_group, self.restart, self.target_bps);
                (true, key || first, bytes, source.interval_ns())
            }
        };
        if key && !first {
            self.group += 1;
        }
        self.in_group = if key { 1 } else { self.in_group + 1 };
        self.restart = false;
        let frame =
            Frame { number: self.number, video, key, group: self.group, bytes, captured_ns };
        self.number += 1;
        self.next_ns += interval_ns;
        frame
    }

    /// Whether its rate depends on the transport's.
    #[must_use]
    pub fn adapts(&self) -> bool {
        match &self.kind {
            Kind::Audio { .. } => false,
            Kind::Video(source) => source.video.adapts(),
        }
    }

    /// Tells it what the transport could carry, bit/s.
    pub fn aim(&mut self, transport_bps: f64, now_ns: i64) {
        let Kind::Video(source) = &self.kind else {
            return;
        };
        let wanted = source.video.rate_for(transport_bps);
        let differs = (wanted - self.target_bps).abs() > 1e-9;
        if !source.video.adapts() || !differs || now_ns < self.settled_ns {
            return;
        }
        self.target_bps = wanted;
        self.settled_ns = now_ns.saturating_add(source.video.reaction_ns);
        // Another step of a ladder is another stream, of which no frame is there to refer to.
        self.restart = !source.video.ladder_bps.is_empty();
    }
}

impl Video {
    fn adapts(&self) -> bool {
        !self.ladder_bps.is_empty() || self.lowest_bps.is_some()
    }

    /// The rate that it begins with, before anything is known of the path: the lowest.
    fn first_bps(&self) -> f64 {
        let lowest = self.ladder_bps.first().copied().or(self.lowest_bps);
        lowest.unwrap_or(self.rate_bps) as f64
    }

    /// The rate that it has where the transport could carry so much.
    fn rate_for(&self, transport_bps: f64) -> f64 {
        let room = transport_bps * self.share;
        let steps = self.ladder_bps.iter().map(|bps| *bps as f64);
        if let Some(step) = steps.take_while(|bps| *bps <= room).last() {
            return step;
        }
        if !self.ladder_bps.is_empty() {
            return self.first_bps();
        }
        let lowest = self.lowest_bps.unwrap_or(self.rate_bps) as f64;
        room.min(self.rate_bps as f64).max(lowest)
    }
}

impl Source {
    /// Whether frame `number` is a key frame, and its size.
    fn size(&mut self, number: u32, in_group: u32, restart: bool, target_bps: f64) -> (bool, u32) {
        let video = &self.video;
        let full =
            |bytes: f64| bytes.clamp(LEAST_FRAME as f64, LARGEST_FRAME as f64).round() as u32;
        if !video.recorded.is_empty() {
            let size = video.recorded[number as usize % video.recorded.len()];
            let scaled = size.unsigned_abs() as f64 * (target_bps / video.rate_bps as f64);
            return (size < 0 || restart, full(scaled));
        }
        let mean = target_bps / (8.0 * video.frames_per_s);
        let count = f64::from(video.group_frames);
        let key = restart || in_group == 0 || in_group >= video.group_frames;
        let factor = match (video.group_frames, key) {
            (1, _) => 1.0,
            (_, true) => video.key,
            (_, false) => (count - video.key) / (count - 1.0),
        };
        let varied = if video.varies { 1.0 + laplace(&mut self.sizes) } else { 1.0 };
        (key, full(mean * factor * varied))
    }

    fn interval_ns(&mut self) -> f64 {
        let varied = if self.video.varies { 1.0 + laplace(&mut self.intervals) } else { 1.0 };
        NS / self.video.frames_per_s * varied
    }
}

/// The difference of two exponential variables of one mean has a Laplace distribution of that
/// scale.
fn laplace(exponential: &mut Draws) -> f64 {
    (exponential.number() - exponential.number()).clamp(-1.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn video() -> Video {
        Video {
            rate_bps: 960_000,
            frames_per_s: 30.0,
            group_frames: 30,
            key: 5.0,
            varies: false,
            recorded: Vec::new(),
            ladder_bps: Vec::new(),
            lowest_bps: None,
            share: 1.0,
            reaction_ns: 200_000_000,
        }
    }

    fn encoder(video: Video) -> Encoder {
        let draws = |stream| Draws::new(&Distribution::Exponential { mean: SCALE }, 7, 0, stream);
        Encoder::new(
            Kind::Video(Box::new(Source { video, sizes: draws(0), intervals: draws(1) })),
            1_000,
        )
    }

    #[test]
    fn a_group_has_the_bytes_of_its_time_at_the_rate() {
        let mut encoder = encoder(video());
        let frames: Vec<Frame> = (0..61).map(|_| encoder.next()).collect();
        // 960 kbit/s / 8 / 30/s = 4000 B; the key frame 5 times as much, the others 25/29 times.
        assert_eq!((frames[0].bytes, frames[1].bytes), (20_000, 3_448));
        let group: u32 = frames[..30].iter().map(|frame| frame.bytes).sum();
        assert_eq!(group, 20_000 + 29 * 3_448); // 120 kB less what rounding takes
        let keys: Vec<u32> = frames.iter().filter(|f| f.key).map(|f| f.number).collect();
        assert_eq!(keys, [0, 30, 60]);
        assert_eq!((frames[29].group, frames[30].group, frames[60].group), (0, 1, 2));
        // 1/30 s does not add up wrongly.
        assert_eq!((frames[1].captured_ns, frames[60].captured_ns), (33_334_333, 2_000_001_000));
    }

    #[test]
    fn the_model_keeps_rate_and_frame_rate_and_has_the_spread_of_its_distribution() {
        let mut encoder = encoder(Video { varies: true, group_frames: 1, ..video() });
        let frames: Vec<Frame> = (0..200_001).map(|_| encoder.next()).collect();
        let sizes: Vec<f64> = frames.iter().map(|f| f64::from(f.bytes) / 4_000.0 - 1.0).collect();
        let gaps = frames.windows(2).map(|two| (two[1].captured_ns - two[0].captured_ns) as f64);
        let gaps: Vec<f64> = gaps.map(|ns| ns * 30.0 / NS - 1.0).collect();
        for found in [&sizes, &gaps] {
            let count = found.len() as f64;
            let mean = found.iter().sum::<f64>() / count;
            let spread = found.iter().map(|one| one.abs()).sum::<f64>() / count;
            let variance = found.iter().map(|one| one * one).sum::<f64>() / count;
            // E|L| = b, E L^2 = 2 b^2, less the tail beyond 1: b (1 - e^(-1/b)) and so on, below 1
            // %.
            assert!(mean.abs() < 2e-3, "{mean}");
            assert!((spread - 0.15).abs() < 2e-3, "{spread}");
            assert!((variance - 0.045).abs() < 2e-3, "{variance}");
        }
    }

    #[test]
    fn a_recording_repeats_with_its_key_frames() {
        let mut encoder = encoder(Video { recorded: vec![-900, 100, 200], ..video() });
        let frames: Vec<Frame> = (0..5).map(|_| encoder.next()).collect();
        let sizes: Vec<_> = frames.iter().map(|f| (f.bytes, f.key, f.group)).collect();
        assert_eq!(
            sizes,
            [(900, true, 0), (100, false, 0), (200, false, 0), (900, true, 1), (100, false, 1)]
        );
    }

    #[test]
    fn a_ladder_takes_the_highest_step_that_fits_and_begins_a_group_with_it() {
        let ladder_bps = vec![240_000, 480_000, 960_000];
        let mut encoder = encoder(Video { ladder_bps, share: 0.5, key: 1.0, ..video() });
        assert_eq!(encoder.next().bytes, 1_000);
        encoder.aim(1_900_000.0, 0);
        let frame = encoder.next();
        assert_eq!((frame.bytes, frame.key, frame.group), (2_000, true, 1));
        encoder.aim(9e9, 199_999_999); // too early
        assert_eq!((encoder.next().bytes, encoder.next().key), (2_000, false));
        encoder.aim(9e9, 200_000_000);
        assert_eq!(encoder.next().bytes, 4_000);
        encoder.aim(1.0, 400_000_000);
        assert_eq!(encoder.next().bytes, 1_000);
    }

    #[test]
    fn an_encoder_that_follows_stays_within_its_limits() {
        let mut encoder = encoder(Video { lowest_bps: Some(240_000), key: 1.0, ..video() });
        let mut next = |bps, at_ns| {
            encoder.aim(bps, at_ns);
            let frame = encoder.next();
            (frame.bytes, frame.group)
        };
        assert_eq!(next(0.0, 0), (1_000, 0));
        assert_eq!(next(480_000.0, 1), (2_000, 0));
        assert_eq!(next(9e9, 300_000_000), (4_000, 0));
    }

    #[test]
    fn audio_is_regular() {
        let mut encoder = Encoder::new(Kind::Audio { bytes: 80, every_ns: 20_000_000 }, 5);
        encoder.next();
        let frame = encoder.next();
        assert_eq!((frame.number, frame.bytes, frame.captured_ns), (1, 80, 20_000_005));
        assert!(frame.key && !frame.video && frame.group == 1);
    }
}
