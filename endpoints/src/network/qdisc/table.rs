//! Disciplines as tables: their arguments and counters, what each is called, where it is, and its
//! type.

use super::{Object, TCA_OPTIONS};
use crate::network::message::{find, u32_at, u64_at, Message};
use crate::network::words::{wrong, Words};
use serde_json::Value;

/// An argument of `tc` that is an attribute, shown under its own name.
pub struct Argument {
    /// What it is called; empty for an argument that has only words for its values.
    word: &'static str,
    /// Its attribute.
    attribute: u16,
    /// What its value is.
    form: Form,
    /// The name that it is shown under.
    shown: &'static str,
}

/// What an argument's value is: four bytes, if nothing else is said.
#[derive(Clone, Copy)]
pub enum Form {
    /// A number.
    Number,
    /// A number that is shown where it is not zero.
    NotZero,
    /// A number of one byte.
    Byte,
    /// A time, us.
    Us,
    /// A time, us, that is shown as a number, but for this one.
    UsUnless(u32),
    /// A power of two, of which the kernel has the logarithm.
    Power,
    /// A gain, Hz, of which the kernel has so many parts.
    Gain(f64),
    /// On by its own word, off by this one; shown where it is on.
    Switch(&'static str),
    /// On by its own word, off by this one; shown where it is off.
    SwitchOn(&'static str),
    /// One of these words, of which the kernel has the index.
    Index(&'static [&'static str]),
    /// A word for each value of one byte: the argument, how it is shown, and the value.
    Words(&'static [(&'static str, &'static str, u32)]),
    /// Not given by anybody; shown as a number.
    Shown,
    /// Not given by anybody; shown as a number, but for this one.
    ShownUnless(u32),
}

/// Shorthand for a table's row.
#[must_use]
pub const fn argument(word: &'static str, attribute: u16, form: Form) -> Argument {
    Argument { word, attribute, form, shown: word }
}

/// Shorthand for a row that is shown under another name.
#[must_use]
pub const fn renamed(
    word: &'static str,
    attribute: u16,
    form: Form,
    shown: &'static str,
) -> Argument {
    Argument { word, attribute, form, shown }
}

/// Reads an argument that no table can hold; returns whether it is one.
pub type Special = fn(&str, &mut Words, &mut Message) -> Result<bool, String>;

/// Reads the arguments to the end of the line, into the attribute of a qdisc's options.
///
/// # Errors
/// A message that names the argument.
pub fn read(
    name: &str,
    table: &[Argument],
    special: Option<Special>,
    words: &mut Words,
) -> Result<Message, String> {
    let mut options = Message::attributes();
    while let Some(word) = words.next() {
        let is_special = special.map_or(Ok(false), |read| read(word, words, &mut options))?;
        if !is_special && !read_one(table, word, words, &mut options)? {
            return Err(format!("`{name}` has no `{word}`"));
        }
    }
    Ok(nested(&options))
}

fn read_one(
    table: &[Argument],
    word: &str,
    words: &mut Words,
    options: &mut Message,
) -> Result<bool, String> {
    for Argument { word: own, attribute, form, .. } in table {
        let value = match *form {
            Form::Words(all) => match all.iter().find(|(known, ..)| *known == word) {
                Some((.., value)) => *value,
                None => continue,
            },
            Form::Index(all) => match all.iter().position(|known| *known == word) {
                Some(index) => index as u32,
                None => continue,
            },
            Form::Switch(off) | Form::SwitchOn(off) if off == word => 0,
            Form::Shown | Form::ShownUnless(_) => continue,
            _ if *own != word => continue,
            Form::Number | Form::NotZero => words.number(word)?,
            Form::Byte => words.number::<u8>(word)?.into(),
            Form::Us | Form::UsUnless(_) => words.us(word)?,
            Form::Switch(_) | Form::SwitchOn(_) => 1,
            Form::Power => {
                let number: u32 = words.number(word)?;
                if !number.is_power_of_two() {
                    return Err(wrong(word, &number.to_string(), "a power of two"));
                }
                number.ilog2()
            }
            Form::Gain(parts) => {
                let hz: f64 = words.number(word)?;
                let scaled = (hz * parts).round();
                let most = f64::from(u32::MAX >> 1);
                if !(1.0..=most).contains(&scaled) {
                    let range = format!("a gain from 1/{parts} to {} Hz", (most / parts).floor());
                    return Err(wrong(word, &hz.to_string(), &range));
                }
                scaled as u32
            }
        };
        match form {
            Form::Byte | Form::Words(_) => options.put_u8(*attribute, value as u8),
            _ => options.put_u32(*attribute, value),
        };
        return Ok(true);
    }
    Ok(false)
}

/// Puts attributes into the one of a qdisc's options.
#[must_use]
pub fn nested(options: &Message) -> Message {
    let mut message = Message::attributes();
    message.nest(TCA_OPTIONS, |inner| {
        inner.append(options);
    });
    message
}

/// Writes the options of a table that are there, in its order.
pub fn show(table: &[Argument], options: &[u8], shown: &mut Object) {
    for Argument { attribute, form, shown: name, .. } in table {
        let Some(payload) = find(options, *attribute).filter(|payload| !payload.is_empty()) else {
            continue;
        };
        let value = match form {
            Form::Byte | Form::Words(_) => payload[0].into(),
            _ => u32_at(payload, 0),
        };
        let value: Value = match form {
            Form::Switch(_) | Form::NotZero if value == 0 => continue,
            Form::ShownUnless(none) | Form::UsUnless(none) if value == *none => continue,
            Form::SwitchOn(_) if value != 0 => continue,
            Form::Switch(_) => true.into(),
            Form::SwitchOn(_) => false.into(),
            Form::Power => (1_u64 << value.min(63)).into(),
            Form::Gain(parts) => (f64::from(value) / parts).into(),
            Form::Index(all) => all.get(value as usize).copied().unwrap_or("unknown").into(),
            Form::Words(all) => match all.iter().find(|(.., known)| *known == value) {
                Some((_, name, _)) => (*name).into(),
                None => "unknown".into(),
            },
            _ => value.into(),
        };
        shown.insert((*name).into(), value);
    }
}

/// A number in a structure of statistics.
pub struct Counter {
    /// What it is called.
    pub name: &'static str,
    /// Where it is, bytes.
    pub offset: usize,
    /// What it is.
    pub width: Width,
}

/// What a number in a structure is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// Unsigned, of 32 bits.
    U32,
    /// Unsigned, of 32 bits; shown where it is not zero.
    U32NotZero,
    /// Signed, of 32 bits.
    I32,
    /// Unsigned, of 64 bits.
    U64,
    /// Unsigned, of 64 bits; shown where it is not zero.
    U64NotZero,
}

/// Shorthand for a table's row.
#[must_use]
pub const fn counter(name: &'static str, offset: usize, width: Width) -> Counter {
    Counter { name, offset, width }
}

/// Writes the numbers of a structure.
pub fn count(table: &[Counter], raw: &[u8], shown: &mut Object) {
    for one in table {
        let small = u32_at(raw, one.offset);
        let large = u64_at(raw, one.offset);
        let value = match one.width {
            Width::U32NotZero if small == 0 => continue,
            Width::U64NotZero if large == 0 => continue,
            Width::U32 | Width::U32NotZero => small.into(),
            Width::I32 => (small as i32).into(),
            Width::U64 | Width::U64NotZero => large.into(),
        };
        shown.insert(one.name.into(), value);
    }
}
