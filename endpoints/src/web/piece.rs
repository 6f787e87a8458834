//! What the content of an object is made of.

use crate::block::Memory;
use bytes::Bytes;
use std::rc::Rc;

/// A part of an object.
#[derive(Debug, Clone)]
pub enum Piece {
    /// These bytes.
    Own(Bytes),
    /// So many bytes of the repeated block.
    Filler(Rc<Memory>, u64),
}

impl Piece {
    /// Its length.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        match self {
            Piece::Own(bytes) => bytes.len() as u64,
            Piece::Filler(_, bytes) => *bytes,
        }
    }
}
