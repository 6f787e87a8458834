//! Parameters of congestion controllers: declared with range and default, read from JSON.

use serde_json::{json, Map, Value};
use std::ops::RangeInclusive;

/// The parameter that bounds the window of the controllers that have it, packets.
pub const CAP: &str = "max_window_packets";

/// The window that an earlier connection saved, bytes (Careful Resume), and its smallest RTT, us.
pub const RESUME: &str = "resume_bytes";
/// The latter.
pub const RESUME_RTT: &str = "resume_rtt_us";

/// The parameter that chooses the slow start of the controllers that have one.
pub const SLOW_START: &str = "slow_start";
/// Its value for `HyStart++`.
pub const HYSTARTPP: &str = "hystartpp";

/// One parameter of a controller.
#[derive(Debug)]
pub struct Parameter {
    /// Its name in descriptions and plans; a unit is part of it.
    pub name: &'static str,
    /// What it is, in a few words.
    pub summary: &'static str,
    /// Its type, range and default.
    pub kind: Kind,
}

impl Parameter {
    /// A whole number within `range`.
    pub const fn whole(
        name: &'static str,
        summary: &'static str,
        default: u64,
        range: RangeInclusive<u64>,
    ) -> Self {
        let kind = Kind::Whole { default, least: *range.start(), most: *range.end() };
        Self { name, summary, kind }
    }

    /// A whole number within `range`, or nothing.
    pub const fn bound(
        name: &'static str,
        summary: &'static str,
        range: RangeInclusive<u64>,
    ) -> Self {
        Self { name, summary, kind: Kind::Bound { least: *range.start(), most: *range.end() } }
    }

    /// A number within `range`.
    pub const fn real(
        name: &'static str,
        summary: &'static str,
        default: f64,
        range: RangeInclusive<f64>,
    ) -> Self {
        let kind = Kind::Real { default, least: *range.start(), most: *range.end() };
        Self { name, summary, kind }
    }

    /// On or off.
    pub const fn switch(name: &'static str, summary: &'static str, default: bool) -> Self {
        Self { name, summary, kind: Kind::Switch { default } }
    }

    /// Which slow start there is; without it that of RFC 9002.
    pub const fn slow_start() -> Self {
        let words = &["standard", HYSTARTPP];
        Self {
            name: SLOW_START,
            summary: "how the window grows at first; `hystartpp`: HyStart++ (RFC 9406)",
            kind: Kind::Word { words },
        }
    }

    /// The window that an earlier connection saved.
    pub const fn resume() -> Self {
        let summary = "window that an earlier connection saved: Careful Resume (RFC 9959)";
        Self::bound(RESUME, summary, 1..=1_000_000_000_000)
    }

    /// Its smallest RTT.
    pub const fn resume_rtt() -> Self {
        Self::bound(RESUME_RTT, "its smallest round-trip time", 1..=1_000_000_000)
    }

    /// Says what it is: name, summary, kind, default (null: none), range and words.
    pub fn to_json(&self) -> Value {
        let (kind, least, most) = match self.kind {
            Kind::Whole { least, most, .. } | Kind::Bound { least, most } => {
                ("whole", json!(least), json!(most))
            }
            Kind::Real { least, most, .. } => ("real", json!(least), json!(most)),
            Kind::Switch { .. } => ("switch", Value::Null, Value::Null),
            Kind::Word { .. } => ("word", Value::Null, Value::Null),
        };
        let mut exported = json!({
            "name": self.name,
            "summary": self.summary,
            "kind": kind,
            "default": self.kind.default_value(),
            "least": least,
            "most": most,
        });
        if let Kind::Word { words } = self.kind {
            exported["words"] = json!(words);
        }
        exported
    }
}

/// Type, range (both ends belong to it) and default of a parameter.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// A whole number.
    Whole {
        /// Default.
        default: u64,
        /// Smallest value.
        least: u64,
        /// Greatest value.
        most: u64,
    },
    /// A number.
    Real {
        /// Default.
        default: f64,
        /// Smallest value.
        least: f64,
        /// Greatest value.
        most: f64,
    },
    /// A whole number, or nothing: it has no default.
    Bound {
        /// Smallest value.
        least: u64,
        /// Greatest value.
        most: u64,
    },
    /// On or off.
    Switch {
        /// Default.
        default: bool,
    },
    /// One of a few words, or nothing, which is the first of them.
    Word {
        /// The words.
        words: &'static [&'static str],
    },
}

impl Kind {
    fn default_value(self) -> Option<Value> {
        match self {
            Kind::Whole { default, .. } => Some(default.into()),
            Kind::Real { default, .. } => Some(default.into()),
            Kind::Switch { default } => Some(default.into()),
            Kind::Bound { .. } | Kind::Word { .. } => None,
        }
    }

    /// Says what is right, if `value` is not.
    fn objection(self, value: &Value) -> Option<String> {
        match self {
            Kind::Whole { least, most, .. } | Kind::Bound { least, most } => {
                let right = value.as_u64().is_some_and(|number| (least..=most).contains(&number));
                (!right).then(|| format!("a whole number from {least} to {most}"))
            }
            Kind::Real { least, most, .. } => {
                let right = value.as_f64().is_some_and(|number| (least..=most).contains(&number));
                (!right).then(|| format!("a number from {least} to {most}"))
            }
            Kind::Switch { .. } => (!value.is_boolean()).then(|| "true or false".into()),
            Kind::Word { words } => {
                let right = value.as_str().is_some_and(|word| words.contains(&word));
                (!right).then(|| words.join(" or "))
            }
        }
    }
}

/// Values of the parameters of one controller, each within its range: all but bounds that are not
/// given.
#[derive(Debug, Clone)]
pub struct Values(Map<String, Value>);

impl Values {
    /// Reads the parameters of the controller called `controller`; what is not given has its
    /// default.
    ///
    /// # Errors
    /// A message with the name of an unknown parameter, or the value that is out of range.
    pub fn read(
        controller: &str,
        declared: &[Parameter],
        given: &Map<String, Value>,
    ) -> Result<Self, String> {
        if let Some(name) = given.keys().find(|name| declared.iter().all(|p| p.name != **name)) {
            let known: Vec<&str> = declared.iter().map(|parameter| parameter.name).collect();
            let known = if known.is_empty() { "none".into() } else { known.join(", ") };
            return Err(format!("{controller}: no parameter `{name}`; known: {known}"));
        }
        let mut values = Map::new();
        for Parameter { name, kind, .. } in declared {
            let Some(value) = given.get(*name).cloned().or_else(|| kind.default_value()) else {
                continue;
            };
            if let Some(right) = kind.objection(&value) {
                return Err(format!("{controller}: `{name}` is {value}, not {right}"));
            }
            values.insert((*name).into(), value);
        }
        Ok(Values(values))
    }

    /// The value of a `Kind::Whole` that the controller declares.
    pub fn whole(&self, name: &str) -> u64 {
        self.0[name].as_u64().expect("declared as a whole number")
    }

    /// The value of a `Kind::Bound`, if it is given.
    pub fn bound(&self, name: &str) -> Option<u64> {
        self.0.get(name).and_then(Value::as_u64)
    }

    /// The value of a `Kind::Real` that the controller declares.
    pub fn real(&self, name: &str) -> f64 {
        self.0[name].as_f64().expect("declared as a number")
    }

    /// The value of a `Kind::Switch` that the controller declares.
    pub fn switch(&self, name: &str) -> bool {
        self.0[name].as_bool().expect("declared as true or false")
    }

    /// The value of a `Kind::Word`, if it is given.
    pub fn word(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }

    /// The bound of the window, packets, of controllers that have one; `None`: it is not bounded.
    pub fn cap_packets(&self) -> Option<u64> {
        self.bound(CAP)
    }

    /// All values by name.
    pub fn to_json(&self) -> Map<String, Value> {
        self.0.clone()
    }
}
