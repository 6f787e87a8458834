//! Reads JSON strictly: what serde derives, with messages that name the field.

use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error};
use serde_json::{Map, Value};

/// Something that a JSON object describes. Unknown fields are refused, and all that are declared
/// are needed.
pub trait Description: DeserializeOwned {
    /// The field that names the variant, of an enum whose variants have their fields beside it.
    const TAG: Option<&'static str> = None;

    /// Checks what no field can tell alone.
    ///
    /// # Errors
    /// A message that names the fields.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

/// Reads a description.
///
/// # Errors
/// A message that says what is wrong, and where.
pub fn read<T: Description>(text: &str) -> Result<T, String> {
    serde_json::from_str(text)
        .map_err(|error| format!("not JSON: {error}"))
        .and_then(parse)
        .map_err(|what| format!("bad description: {what}"))
}

fn parse<T: Description>(value: Value) -> Result<T, String> {
    let Value::Object(mut fields) = value else {
        return Err(format!("is {value}, not a JSON object"));
    };
    let mut before = String::new();
    if let Some(tag) = T::TAG {
        let Some(variant) = fields.remove(tag) else {
            return Err(format!("`{tag}` is missing"));
        };
        let Value::String(name) = &variant else {
            return Err(format!("`{tag}` is {variant}, not a text"));
        };
        before.clone_from(name);
        fields = Map::from_iter([(name.clone(), fields.into())]);
    }
    let read: T = serde_path_to_error::deserialize(Value::Object(fields)).map_err(|error| {
        let path = error.path().to_string();
        let path = path.strip_prefix(&before).unwrap_or(&path).trim_start_matches('.');
        match (error.inner().to_string(), T::TAG) {
            (what, Some(tag)) if what.starts_with("unknown variant") && path.is_empty() => {
                format!("`{tag}`: {what}")
            }
            (what, _) => located(path, &what),
        }
    })?;
    read.check().map(|()| read)
}

/// What is wrong at a place of a description; the place may be nothing.
fn located(path: &str, what: &str) -> String {
    let dot = if path.is_empty() { "" } else { "." };
    if let Some(field) = what.strip_prefix("missing field `") {
        return format!("`{path}{dot}{field} is missing");
    }
    match what.strip_prefix('`') {
        Some(rest) => format!("`{path}{dot}{rest}"),
        None if path.is_empty() => what.into(),
        None if what.starts_with("is ") || what.starts_with("has ") => format!("`{path}` {what}"),
        None => format!("`{path}`: {what}"),
    }
}

/// Reads a description within another one.
///
/// # Errors
/// As `read`.
pub fn described<'de, D: Deserializer<'de>, T: Description>(from: D) -> Result<T, D::Error> {
    parse(Value::deserialize(from)?).map_err(D::Error::custom)
}

/// Reads something that may be null but has to be there.
///
/// # Errors
/// Those of the type.
pub fn or_null<'de, D, T>(from: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Option::deserialize(from)
}

/// Reads a whole number from `LEAST` to `MOST`.
///
/// # Errors
/// A message that says what it is.
pub fn whole<'de, D, T, const LEAST: i64, const MOST: i64>(from: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: TryFrom<i64>,
{
    let value = Value::deserialize(from)?;
    in_range::<T, LEAST, MOST>(&value).map_err(D::Error::custom)
}

/// Reads a whole number from `LEAST` to `MOST`, or null.
///
/// # Errors
/// As `whole`.
pub fn whole_or_null<'de, D, T, const LEAST: i64, const MOST: i64>(
    from: D,
) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: TryFrom<i64>,
{
    match Value::deserialize(from)? {
        Value::Null => Ok(None),
        value => in_range::<T, LEAST, MOST>(&value).map(Some).map_err(D::Error::custom),
    }
}

fn in_range<T: TryFrom<i64>, const LEAST: i64, const MOST: i64>(
    value: &Value,
) -> Result<T, String> {
    let number = value.as_i64().filter(|number| (LEAST..=MOST).contains(number));
    number.and_then(|number| T::try_from(number).ok()).ok_or_else(|| match MOST {
        i64::MAX => format!("is {value}, not a whole number of at least {LEAST}"),
        _ => format!("is {value}, not a whole number from {LEAST} to {MOST}"),
    })
}

/// Reads a text that is not empty.
///
/// # Errors
/// A message that says what it is.
pub fn text<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    match Value::deserialize(from)? {
        Value::String(text) if !text.is_empty() => Ok(text),
        other => Err(D::Error::custom(format!("is {other}, not a text that is not empty"))),
    }
}

/// Checks that a number lies from `least` to `most`.
///
/// # Errors
/// A message that names it.
pub fn within(name: &str, value: f64, least: f64, most: f64) -> Result<(), String> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(format!("`{name}` is {value}, not a number from {least} to {most}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields, rename_all = "lowercase")]
    enum Shape {
        Circle {
            #[serde(deserialize_with = "whole::<_, _, 1, 9>")]
            radius: u8,
        },
        Point {},
    }

    impl Description for Shape {
        const TAG: Option<&'static str> = Some("kind");
    }

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Drawing {
        #[serde(deserialize_with = "text")]
        name: String,
        #[serde(deserialize_with = "described")]
        shape: Shape,
        #[serde(deserialize_with = "whole_or_null::<_, _, 0, { i64::MAX }>")]
        at: Option<i64>,
        on: bool,
    }

    impl Description for Drawing {}

    const GOOD: &str =
        r#"{"name": "a", "shape": {"kind": "circle", "radius": 3}, "at": null, "on": true}"#;

    #[test]
    fn an_object_is_read_whole() {
        let drawing: Drawing = read(GOOD).unwrap();
        assert!(matches!(drawing.shape, Shape::Circle { radius: 3 }));
        assert!(drawing.name == "a" && drawing.at.is_none() && drawing.on);
        let point = GOOD.replace(r#""circle", "radius": 3"#, r#""point""#);
        assert!(matches!(read::<Drawing>(&point).unwrap().shape, Shape::Point {}));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        for (from, to, message) in [
            (r#""a""#, r#""""#, "`name` is \"\", not a text that is not empty"),
            (r#""name": "a", "#, "", "`name` is missing"),
            (r#""at": null, "#, "", "`at` is missing"),
            ("null", "-1", "`at` is -1, not a whole number of at least 0"),
            ("true", "1", "`on`: invalid type: integer `1`, expected a boolean"),
            ("3", "1.5", "`shape.radius` is 1.5, not a whole number from 1 to 9"),
            (r#", "radius": 3"#, "", "`shape.radius` is missing"),
            (r#"radius": 3"#, r#"radius": 3, "x": 1"#, "`shape.x`: unknown field `x`, expected"),
            ("circle", "square", "`shape.kind`: unknown variant `square`, expected `circle` or"),
            (r#""circle""#, "7", "`shape.kind` is 7, not a text"),
            (r#""on""#, r#""x": 1, "on""#, "`x`: unknown field `x`, expected one of"),
        ] {
            let error = read::<Drawing>(&GOOD.replace(from, to)).unwrap_err();
            assert!(error.starts_with(&format!("bad description: {message}")), "{error}");
        }
        for text in ["", "{", "[]", "7", "{\"a\": 1} x"] {
            assert!(read::<Drawing>(text).is_err(), "{text}");
        }
    }
}
