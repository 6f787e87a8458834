//! `stab`: a table of what packets count as, by their length (tc-stab(8)).

use crate::network::message::Message;
use crate::network::words::{wrong, Words};

/// Its attribute of a message about a qdisc, and those inside it.
const TCA_STAB: u16 = 8;
const BASE: u16 = 1;
const DATA: u16 = 2;

/// `TC_LINKLAYER_*`.
const ETHERNET: u32 = 1;
const ATM: u32 = 2;
/// A cell of ATM, and its content, bytes.
const CELL: u32 = 53;
const PAYLOAD: u32 = 48;

/// A packet of n bytes has entry n - 1.
const ALIGN: i16 = -1;
/// What one attribute has room for.
const MOST_ENTRIES: u32 = 32_000;

/// Reads `mtu N tsize N overhead N [mpu N] linklayer (atm | ethernet)`, after `stab`.
///
/// # Errors
/// A message that names the argument.
pub fn read(words: &mut Words) -> Result<Message, String> {
    let (mut mtu, mut entries, mut overhead, mut least) = (0_u32, 0_u32, 0_i32, 0_u32);
    let layer = loop {
        match words.value("stab")? {
            "mtu" => mtu = words.number("mtu")?,
            "tsize" => entries = words.number("tsize")?,
            "overhead" => overhead = words.number("overhead")?,
            "mpu" => least = words.number("mpu")?,
            "linklayer" => match words.value("linklayer")? {
                "ethernet" => break ETHERNET,
                "atm" => break ATM,
                other => return Err(wrong("linklayer", other, "`atm` or `ethernet`")),
            },
            other => return Err(format!("`stab` has no `{other}`")),
        }
    };
    if mtu != entries || !(1..=MOST_ENTRIES).contains(&entries) {
        return Err(format!("`stab` has one entry a byte, up to {MOST_ENTRIES}: `mtu N tsize N`"));
    }
    let table = sizes(entries, least, layer)?;
    // `struct tc_sizespec`: logarithms of a cell and of a size, alignment, overhead, layer, least
    // size, largest one, entries.
    let mut base = vec![0, 0];
    base.extend_from_slice(&ALIGN.to_ne_bytes());
    base.extend_from_slice(&overhead.to_ne_bytes());
    for number in [layer, least, mtu, entries] {
        base.extend_from_slice(&number.to_ne_bytes());
    }
    let mut message = Message::attributes();
    message.nest(TCA_STAB, |inner| {
        inner.put(BASE, &base);
        inner.put(DATA, &table);
    });
    Ok(message)
}

/// What packets of 1 byte and more count as, numbers of 16 bits.
fn sizes(entries: u32, least: u32, layer: u32) -> Result<Vec<u8>, String> {
    let mut table = Vec::with_capacity(2 * entries as usize);
    for length in 1..=entries {
        let size = length.max(least);
        let size = if layer == ATM { size.div_ceil(PAYLOAD) * CELL } else { size };
        let size = u16::try_from(size).map_err(|_| format!("`stab` counts {size} bytes"))?;
        table.extend_from_slice(&size.to_ne_bytes());
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::message::{find, u32_at};

    fn counted(arguments: &str, length: usize) -> u16 {
        let message = read(&mut Words::of(arguments)).unwrap();
        let stab = find(message.bytes(), TCA_STAB).unwrap();
        let table = find(stab, DATA).unwrap();
        u16::from_ne_bytes([table[2 * (length - 1)], table[2 * (length - 1) + 1]])
    }

    #[test]
    fn packets_count_as_on_the_wire() {
        let atm = "mtu 1510 tsize 1510 overhead -4 linklayer atm";
        assert_eq!(counted(atm, 1510), 1696); // 1500 and 10 bytes in 32 cells
        assert_eq!(counted(atm, 62), 106);
        let padded = "mtu 1538 tsize 1538 overhead 24 mpu 84 linklayer ethernet";
        assert_eq!(counted(padded, 1538), 1538);
        assert_eq!(counted(padded, 78), 84);
        let message = read(&mut Words::of(atm)).unwrap();
        let base = find(find(message.bytes(), TCA_STAB).unwrap(), BASE).unwrap();
        assert_eq!(u32_at(base, 4) as i32, -4);
        assert_eq!(u32_at(base, 20), 1510);
    }

    #[test]
    fn what_is_no_table_is_refused() {
        for (arguments, message) in [
            ("mtu 2 tsize 1 linklayer atm", "one entry a byte"),
            ("mtu 0 tsize 0 linklayer atm", "one entry a byte"),
            ("mtu 40000 tsize 40000 linklayer atm", "one entry a byte"),
            ("mtu 9 tsize 9 linklayer fddi", "`atm` or `ethernet`"),
            ("mtu 9 tsize 9 mpu 99999 linklayer atm", "counts"),
            ("mtu 9 cells 9 linklayer atm", "`stab` has no `cells`"),
        ] {
            let error = read(&mut Words::of(arguments)).err().unwrap();
            assert!(error.contains(message), "{error}");
        }
    }
}
