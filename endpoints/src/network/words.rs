//! The words of a line, and the units that `tc` has.

/// Words that are read one after the other.
#[derive(Debug, Clone)]
pub struct Words<'a> {
    left: std::str::SplitAsciiWhitespace<'a>,
}

impl<'a> Words<'a> {
    /// The words of a line.
    #[must_use]
    pub fn of(line: &'a str) -> Self {
        Words { left: line.split_ascii_whitespace() }
    }

    /// The next word, which stays.
    #[must_use]
    pub fn peek(&self) -> Option<&'a str> {
        self.left.clone().next()
    }

    /// The next word, if there is one.
    pub fn next(&mut self) -> Option<&'a str> {
        self.left.next()
    }

    /// The next word.
    ///
    /// # Errors
    /// A message that says after what it is missing.
    pub fn value(&mut self, of: &str) -> Result<&'a str, String> {
        self.left.next().ok_or_else(|| format!("`{of}` has no value"))
    }

    /// The next word as a number.
    ///
    /// # Errors
    /// A message that says whose value it is not.
    pub fn number<T: std::str::FromStr>(&mut self, of: &str) -> Result<T, String> {
        let word = self.value(of)?;
        word.parse().map_err(|_| wrong(of, word, "a number in range"))
    }

    /// The next word as a time in us, which fractions are rounded to.
    ///
    /// # Errors
    /// As of `number`.
    pub fn us(&mut self, of: &str) -> Result<u32, String> {
        let word = self.value(of)?;
        time_ns(word)
            .and_then(|ns| u32::try_from(ns / 1000).ok())
            .ok_or_else(|| wrong(of, word, "a time such as 15ms, of at most 71 minutes"))
    }
}

/// A time as tc writes it (`15ms`, `20us`, `7ns`, `1s`), ns.
#[must_use]
pub fn time_ns(word: &str) -> Option<u64> {
    for (unit, ns) in [("ms", 1_000_000), ("us", 1000), ("ns", 1), ("s", 1_000_000_000)] {
        if let Some(number) = word.strip_suffix(unit) {
            return number.parse::<u64>().ok()?.checked_mul(ns);
        }
    }
    None
}

/// Says what a word is not.
#[must_use]
pub fn wrong(of: &str, word: &str, expected: &str) -> String {
    format!("`{of}` is `{word}`, not {expected}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!(time_ns("15ms"), Some(15_000_000));
        assert_eq!(time_ns("20us"), Some(20_000));
        assert_eq!(time_ns("1s"), Some(1_000_000_000));
        assert_eq!(time_ns("7ns"), Some(7));
        for wrong in ["15", "ms", "-1ms", "1.5ms", "99999999999999s"] {
            assert_eq!(time_ns(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        let mut words = Words::of("limit 3x target 2h");
        words.next();
        assert_eq!(
            words.number::<u32>("limit").unwrap_err(),
            "`limit` is `3x`, not a number in range"
        );
        words.next();
        assert!(words.us("target").unwrap_err().contains("`target` is `2h`"));
        assert_eq!(words.value("ecn").unwrap_err(), "`ecn` has no value");
    }
}
