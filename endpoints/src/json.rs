//! JSON, as little as the roles need: a strict reader of one object, a writer of one line.

use serde::Serialize;
use serde_json::{Map, Value};
use std::io;

/// The fields of a JSON object that have not been taken yet.
#[derive(Debug)]
pub struct Fields {
    /// How the object is called in messages: empty, or `workload.`.
    prefix: String,
    left: Map<String, Value>,
}

impl Fields {
    /// Reads an object.
    ///
    /// # Errors
    /// A message with the place, if the text is no JSON object.
    pub fn parse(text: &str) -> Result<Self, String> {
        match serde_json::from_str(text) {
            Ok(Value::Object(left)) => Ok(Fields { prefix: String::new(), left }),
            Ok(other) => Err(format!("`{other}` is not a JSON object")),
            Err(error) => Err(format!("not JSON: {error}")),
        }
    }

    /// Takes a text that is not empty.
    ///
    /// # Errors
    /// A message that names the field.
    pub fn text(&mut self, name: &str) -> Result<String, String> {
        match self.take(name)? {
            Value::String(text) if !text.is_empty() => Ok(text),
            other => Err(self.wrong(name, &other, "a text that is not empty")),
        }
    }

    /// Takes a whole number from `least` to `most`.
    ///
    /// # Errors
    /// A message that names the field.
    pub fn number(&mut self, name: &str, least: i64, most: i64) -> Result<i64, String> {
        let value = self.take(name)?;
        value.as_i64().filter(|number| (least..=most).contains(number)).ok_or_else(|| {
            let range = match (least, most) {
                (i64::MIN, i64::MAX) => "a whole number".into(),
                (_, i64::MAX) => format!("a whole number of at least {least}"),
                _ => format!("a whole number from {least} to {most}"),
            };
            self.wrong(name, &value, &range)
        })
    }

    /// Takes a whole number, or None for null.
    ///
    /// # Errors
    /// A message that names the field.
    pub fn number_or_null(
        &mut self,
        name: &str,
        least: i64,
        most: i64,
    ) -> Result<Option<i64>, String> {
        if self.left.get(name) == Some(&Value::Null) {
            self.left.remove(name);
            return Ok(None);
        }
        self.number(name, least, most).map(Some)
    }

    /// Takes a number from `least` to `most`, whole or not.
    ///
    /// # Errors
    /// A message that names the field.
    pub fn decimal(&mut self, name: &str, least: f64, most: f64) -> Result<f64, String> {
        let value = self.take(name)?;
        value
            .as_f64()
            .filter(|number| (least..=most).contains(number))
            .ok_or_else(|| self.wrong(name, &value, &format!("a number from {least} to {most}")))
    }

    /// Takes true or false.
    ///
    /// # Errors
    /// A message that names the field.
    pub fn switch(&mut self, name: &str) -> Result<bool, String> {
        let value = self.take(name)?;
        value.as_bool().ok_or_else(|| self.wrong(name, &value, "true or false"))
    }

    /// Takes a list of whole numbers.
    ///
    /// # Errors
    /// A message that names the field.
    pub fn numbers(&mut self, name: &str) -> Result<Vec<i64>, String> {
        let value = self.take(name)?;
        let numbers = value.as_array().and_then(|list| list.iter().map(Value::as_i64).collect());
        numbers.ok_or_else(|| self.wrong(name, &value, "a list of whole numbers"))
    }

    /// Takes a list of texts.
    ///
    /// # Errors
    /// A message that names the field.
    pub fn texts(&mut self, name: &str) -> Result<Vec<String>, String> {
        let value = self.take(name)?;
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let texts = value.as_array().and_then(|list| list.iter().map(text).collect());
        texts.ok_or_else(|| self.wrong(name, &value, "a list of texts"))
    }

    /// Takes a list of objects.
    ///
    /// # Errors
    /// A message that names the field, or the entry that is no object.
    pub fn objects(&mut self, name: &str) -> Result<Vec<Fields>, String> {
        let Value::Array(list) = self.take(name)? else {
            return Err(format!("{} is not a list of objects", self.name(name)));
        };
        let entry = |(position, value): (usize, Value)| match value {
            Value::Object(left) => {
                Ok(Fields { prefix: format!("{}{name}[{position}].", self.prefix), left })
            }
            _ => Err(format!("{} has an entry that is not an object", self.name(name))),
        };
        list.into_iter().enumerate().map(entry).collect()
    }

    /// Takes an object, or None for null.
    ///
    /// # Errors
    /// A message that names the field.
    pub fn object_or_null(&mut self, name: &str) -> Result<Option<Fields>, String> {
        if self.left.get(name) == Some(&Value::Null) {
            self.left.remove(name);
            return Ok(None);
        }
        self.object(name).map(Some)
    }

    /// Whether there is such a field and nobody has taken it.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.left.contains_key(name)
    }

    /// Takes an object.
    ///
    /// # Errors
    /// A message that names the field.
    pub fn object(&mut self, name: &str) -> Result<Fields, String> {
        match self.take(name)? {
            Value::Object(left) => Ok(Fields { prefix: format!("{}{}.", self.prefix, name), left }),
            other => Err(self.wrong(name, &other, "an object")),
        }
    }

    /// Takes all that is left, whatever it is.
    #[must_use]
    pub fn rest(self) -> Map<String, Value> {
        self.left
    }

    /// Makes sure that nothing is left.
    ///
    /// # Errors
    /// A message that names a field that nobody took.
    pub fn end(&self) -> Result<(), String> {
        match self.left.keys().next() {
            None => Ok(()),
            Some(name) => Err(format!("unknown field {}", self.name(name))),
        }
    }

    /// How a field is called in messages.
    #[must_use]
    pub fn name(&self, name: &str) -> String {
        format!("`{}{}`", self.prefix, name)
    }

    fn take(&mut self, name: &str) -> Result<Value, String> {
        self.left.remove(name).ok_or_else(|| format!("field {} is missing", self.name(name)))
    }

    fn wrong(&self, name: &str, value: &Value, expected: &str) -> String {
        format!("{} is {}, not {}", self.name(name), value, expected)
    }
}

/// Writes one object on a line of its own. Names are plain: they need no escapes.
#[derive(Debug)]
pub struct Line<'a> {
    text: &'a mut Vec<u8>,
    before_name: u8,
}

impl<'a> Line<'a> {
    /// Begins an object at the end of `text`.
    pub fn begin(text: &'a mut Vec<u8>) -> Self {
        Line { text, before_name: b'{' }
    }

    /// Writes a number, a text or null.
    ///
    /// # Errors
    /// None in practice: there is always memory to write to.
    pub fn field<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> io::Result<&mut Self> {
        self.text.push(self.before_name);
        self.before_name = b',';
        self.text.push(b'"');
        self.text.extend_from_slice(name.as_bytes());
        self.text.extend_from_slice(b"\":");
        serde_json::to_writer(&mut *self.text, value)?;
        Ok(self)
    }

    /// Ends the object and the line.
    pub fn end(self) {
        self.text.extend_from_slice(b"}\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_taken_once_and_none_may_be_left() {
        let mut fields = Fields::parse(r#"{"a": 1, "b": {"c": "d"}, "e": null}"#).unwrap();
        assert_eq!(fields.number("a", 0, 1), Ok(1));
        assert_eq!(fields.number("a", 0, 1).unwrap_err(), "field `a` is missing");
        assert_eq!(fields.object("b").unwrap().end().unwrap_err(), "unknown field `b.c`");
        assert_eq!(fields.end().unwrap_err(), "unknown field `e`");
        assert_eq!(fields.number_or_null("e", 0, 1), Ok(None));
        assert_eq!(fields.end(), Ok(()));
    }

    #[test]
    fn decimals_and_switches_are_what_they_say() {
        let text = r#"{"a": 0.1, "b": 2, "c": "2", "d": true, "e": 1}"#;
        let mut fields = Fields::parse(text).unwrap();
        assert_eq!(fields.decimal("a", 0.0, 1.0), Ok(0.1));
        let message = fields.decimal("b", 0.0, 1.5).unwrap_err();
        assert_eq!(message, "`b` is 2, not a number from 0 to 1.5");
        assert!(fields.decimal("c", 0.0, 9.0).is_err());
        assert_eq!(fields.switch("d"), Ok(true));
        assert_eq!(fields.switch("e").unwrap_err(), "`e` is 1, not true or false");
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for text in ["", "{", "[]", "7", "{\"a\": 1} x"] {
            assert!(Fields::parse(text).is_err(), "{}", text);
        }
    }

    #[test]
    fn a_line_is_an_object() {
        let mut text = Vec::new();
        let mut line = Line::begin(&mut text);
        line.field("a", &-1).unwrap().field("b", "x\"\n").unwrap().field("c", &None::<u8>).unwrap();
        line.end();
        assert_eq!(text, b"{\"a\":-1,\"b\":\"x\\\"\\n\",\"c\":null}\n");
    }
}
