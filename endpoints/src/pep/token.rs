//! What a wake-up of a proxy is for: a kind and a number in one token of the reactor.

/// What has something to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Token {
    /// It is time to sample.
    Tick,
    /// It is time to try again.
    Retry,
    /// A listening socket, by its position.
    Listener(usize),
    /// A middle connection that carries nobody's bytes yet, by its slot.
    Middle(usize),
    /// A client that waits for a middle connection, by its slot.
    Client(usize),
    /// A split connection, by its slot, at its outer connection.
    Outer(usize),
    /// The same, at its middle connection.
    Inner(usize),
}

const KIND_SHIFT: u32 = 32;

impl Token {
    /// The number for the reactor.
    #[must_use]
    pub fn encode(self) -> u64 {
        let (kind, index) = match self {
            Token::Tick => (0, 0),
            Token::Retry => (1, 0),
            Token::Listener(index) => (2, index),
            Token::Middle(index) => (3, index),
            Token::Client(index) => (4, index),
            Token::Outer(index) => (5, index),
            Token::Inner(index) => (6, index),
        };
        kind << KIND_SHIFT | index as u64
    }

    /// The token of a number that `encode` has made.
    #[must_use]
    pub fn decode(number: u64) -> Self {
        let index = (number & ((1 << KIND_SHIFT) - 1)) as usize;
        match number >> KIND_SHIFT {
            0 => Token::Tick,
            1 => Token::Retry,
            2 => Token::Listener(index),
            3 => Token::Middle(index),
            4 => Token::Client(index),
            5 => Token::Outer(index),
            _ => Token::Inner(index),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_its_token() {
        for token in [
            Token::Tick,
            Token::Retry,
            Token::Listener(1),
            Token::Middle(0),
            Token::Client(1 << 20),
            Token::Outer(7),
            Token::Inner(7),
        ] {
            assert_eq!(Token::decode(token.encode()), token);
        }
    }
}
