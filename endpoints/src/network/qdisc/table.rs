//! Disciplines whose options are a list of attributes: what each is called, and how it is read and shown.

use super::{Object, TCA_OPTIONS};
use crate::network::message::{find, u32_at, u64_at, Message};
use crate::network::words::Words;

/// An argument of `tc` that is an attribute of four bytes, shown under its own name.
pub struct Argument {
    /// What it is called.
    pub word: &'static str,
    /// Its attribute.
    pub attribute: u16,
    /// What its value is.
    pub form: Form,
}

/// What an argument's value is.
#[derive(Clone, Copy)]
pub enum Form {
    /// A number.
    Number,
    /// A number that is shown where it is not zero.
    NotZero,
    /// A time, us.
    Us,
    /// On by its own word, off by this one; shown where it is on.
    Switch(&'static str),
    /// Not given by anybody; shown as a number.
    Shown,
}

/// Shorthand for a table's row.
#[must_use]
pub const fn argument(word: &'static str, attribute: u16, form: Form) -> Argument {
    Argument { word, attribute, form }
}

/// Reads the arguments to the end of the line.
///
/// # Errors
/// A message that names the argument.
pub fn read(name: &str, table: &[Argument], words: &mut Words) -> Result<Message, String> {
    let mut options = Message::attributes();
    while let Some(word) = words.next() {
        if !read_one(table, word, words, &mut options)? {
            return Err(format!("`{name}` has no `{word}`"));
        }
    }
    Ok(nested(&options))
}

/// Reads one argument of a table; returns whether it is one.
///
/// # Errors
/// A message that names the argument.
pub fn read_one(
    table: &[Argument],
    word: &str,
    words: &mut Words,
    options: &mut Message,
) -> Result<bool, String> {
    for one in table {
        let value = match one.form {
            Form::Number | Form::NotZero if one.word == word => words.number(word)?,
            Form::Us if one.word == word => words.us(word)?,
            Form::Switch(_) if one.word == word => 1,
            Form::Switch(off) if off == word => 0,
            _ => continue,
        };
        options.put_u32(one.attribute, value);
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

/// Writes the options of a table that are there.
pub fn show(table: &[Argument], options: &[u8], shown: &mut Object) {
    for one in table {
        let Some(value) = find(options, one.attribute).map(|payload| u32_at(payload, 0)) else {
            continue;
        };
        let value = match one.form {
            Form::Switch(_) | Form::NotZero if value == 0 => continue,
            Form::Switch(_) => true.into(),
            _ => value.into(),
        };
        shown.insert(one.word.into(), value);
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
