//! `prio`: strict priority between bands, of which the first is served first; a band is a class
//! with a queue of its own.

use super::{no_statistics, Kind, Object, TCA_OPTIONS};
use crate::network::message::{u32_at, Message};
use crate::network::words::{wrong, Words};

/// Strict priority.
pub const KIND: Kind = Kind { name: "prio", options, show, statistics: no_statistics };

/// `TCQ_PRIO_BANDS`: the most that the kernel has; it has two at least.
const MOST_BANDS: u32 = 16;
/// `TC_PRIO_MAX` + 1: bands of packets that no filter takes, by their priority within the kernel.
const PRIORITIES: usize = 16;

/// Reads `bands N priomap BAND...`, a band for each of the 16 priorities, counted from 0.
fn options(words: &mut Words) -> Result<Message, String> {
    let (mut bands, mut map) = (None, None);
    while let Some(word) = words.next() {
        match word {
            "bands" => bands = Some(words.number::<u32>(word)?),
            "priomap" => {
                let mut each = [0_u8; PRIORITIES];
                for band in &mut each {
                    *band = words.number(word)?;
                }
                map = Some(each);
            }
            _ => return Err(format!("`prio` has no `{word}`")),
        }
    }
    let (Some(bands), Some(map)) = (bands, map) else {
        return Err("`prio` needs `bands` and `priomap`".to_owned());
    };
    if !(2..=MOST_BANDS).contains(&bands) {
        return Err(wrong("bands", &bands.to_string(), "2 to 16"));
    }
    if let Some(band) = map.iter().find(|band| u32::from(**band) >= bands) {
        return Err(wrong("priomap", &band.to_string(), "a band, which are counted from 0"));
    }
    // `struct tc_prio_qopt`.
    let mut raw = bands.to_ne_bytes().to_vec();
    raw.extend_from_slice(&map);
    let mut message = Message::attributes();
    message.put(TCA_OPTIONS, &raw);
    Ok(message)
}

fn show(options: &[u8], shown: &mut Object) {
    shown.insert("bands".into(), u32_at(options, 0).into());
    if let Some(map) = options.get(4..4 + PRIORITIES) {
        shown.insert("priomap".into(), map.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::message::find;

    #[test]
    fn what_is_read_is_what_is_shown() {
        let message =
            options(&mut Words::of("bands 3 priomap 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 1")).unwrap();
        let payload = find(message.bytes(), TCA_OPTIONS).unwrap();
        assert_eq!(payload.len(), 20);
        let mut shown = Object::new();
        show(payload, &mut shown);
        assert_eq!(shown["bands"], 3);
        assert_eq!(shown["priomap"].as_array().unwrap().len(), 16);
        assert_eq!(shown["priomap"][0], 2);
        assert_eq!(shown["priomap"][15], 1);
    }

    #[test]
    fn what_the_kernel_would_refuse_is_named() {
        let zeros = " 0".repeat(15);
        for (line, message) in [
            ("bands 2".to_owned(), "needs `bands` and `priomap`"),
            ("bands 2 priomap 0 1".to_owned(), "`priomap` has no value"),
            (format!("bands 1 priomap 0{zeros}"), "`bands` is `1`, not 2 to 16"),
            (format!("bands 17 priomap 0{zeros}"), "`bands` is `17`"),
            (format!("bands 2 priomap 2{zeros}"), "`priomap` is `2`"),
            ("limit 7".to_owned(), "`prio` has no `limit`"),
        ] {
            let error = options(&mut Words::of(&line)).err().unwrap();
            assert!(error.contains(message), "{error}");
        }
    }
}
