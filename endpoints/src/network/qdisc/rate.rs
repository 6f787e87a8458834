//! Rates and buckets, as the kernel's packet schedulers have them (`include/net/pkt_sched.h`).

use crate::network::words::{wrong, Words};

/// A tick of the schedulers, ns (`PSCHED_SHIFT`).
pub const TICK_NS: u64 = 64;
const TICKS_PER_US: f64 = 1000.0 / TICK_NS as f64;
const US_PER_S: f64 = 1e6;
/// `TC_LINKLAYER_ETHERNET`: packets cost what they are long, no table is needed.
const ETHERNET: u8 = 1;

/// Takes a rate such as `1000000bit`, bytes/s.
///
/// # Errors
/// A message that says whose value it is not.
pub fn read(words: &mut Words, of: &str) -> Result<u64, String> {
    let word = words.value(of)?;
    let scaled = [("gbit", 1_000_000_000), ("mbit", 1_000_000), ("kbit", 1000), ("bit", 1_u64)]
        .iter()
        .find_map(|(unit, scale)| Some((word.strip_suffix(unit)?, scale)))
        .and_then(|(number, scale)| number.parse::<u64>().ok()?.checked_mul(*scale));
    match scaled {
        Some(bits) if bits >= 8 => Ok(bits / 8),
        _ => Err(wrong(of, word, "a rate of 8 bit/s and more, such as 1000000bit")),
    }
}

/// `struct tc_ratespec`; the largest where the rate has an attribute of 64 bits as well.
#[must_use]
pub fn specification(bytes_per_s: u64) -> [u8; 12] {
    let mut raw = [0; 12];
    raw[1] = ETHERNET;
    raw[4..6].copy_from_slice(&(-1_i16).to_ne_bytes()); // cell_align
    raw[8..].copy_from_slice(&u32::try_from(bytes_per_s).unwrap_or(u32::MAX).to_ne_bytes());
    raw
}

/// How long bytes take at a rate, ticks, rounded up.
#[must_use]
pub fn ticks(bytes_per_s: u64, bytes: u64) -> u32 {
    let us = US_PER_S * (bytes as f64 / bytes_per_s as f64);
    (us * TICKS_PER_US).ceil() as u32
}

/// How many bytes a time has at a rate.
#[must_use]
pub fn bytes(bytes_per_s: u64, ticks: u32) -> u64 {
    (bytes_per_s as f64 * us(ticks) / US_PER_S) as u64
}

/// Ticks in us.
#[must_use]
pub fn us(ticks: u32) -> f64 {
    f64::from(ticks) / TICKS_PER_US
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_bits_and_become_bytes() {
        let rate = |text| read(&mut Words::of(text), "rate");
        assert_eq!(rate("1000000bit"), Ok(125_000));
        assert_eq!(rate("1000gbit"), Ok(125_000_000_000));
        for wrong in ["7bit", "1000000", "-1bit", "1.5mbit", "99999999999999999gbit"] {
            assert!(rate(wrong).unwrap_err().contains(wrong));
        }
    }

    #[test]
    fn a_bucket_is_a_time() {
        assert_eq!(ticks(1_250_000, 1514), 18_925); // 1211.2 us
        assert_eq!(bytes(1_250_000, 18_925), 1514);
        assert!((us(18_925) - 1211.2).abs() < 1e-9);
    }
}
