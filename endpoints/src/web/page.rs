//! A page: its objects, what they are to a browser, and which of them refers to which.

use crate::json::{text, whole, whole_or_null};
use serde::Deserialize;

/// More objects than any page that was recorded.
const MOST_OBJECTS: usize = 10_000;
/// Largest object, bytes.
const MOST_BYTES: i64 = 1 << 32;

/// What an object is to a browser, by its MIME type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The document, in HTML.
    Document,
    /// A style sheet.
    Style,
    /// A classic script.
    Script,
    /// A picture of pixels. Browsers tell their formats by the first bytes, so all of them are PNG.
    Picture,
    /// A picture in SVG.
    Drawing,
    /// Text that nobody looks at: JSON, and whatever is called text.
    Text,
    /// Bytes that nobody looks at: fonts, videos, all that is not known.
    Data,
}

impl Kind {
    fn of(mime: &str, is_document: bool) -> Self {
        let name = mime.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match name.as_str() {
            "text/html" if is_document => Kind::Document,
            "text/css" => Kind::Style,
            "text/javascript"
            | "text/ecmascript"
            | "application/javascript"
            | "application/ecmascript"
            | "application/x-javascript" => Kind::Script,
            "image/svg+xml" => Kind::Drawing,
            "application/json"
            | "application/manifest+json"
            | "application/ld+json"
            | "application/xml" => Kind::Text,
            name if name.starts_with("image/") => Kind::Picture,
            name if name.starts_with("text/") => Kind::Text,
            _ => Kind::Data,
        }
    }

    /// Whether it can refer to other objects.
    #[must_use]
    pub fn refers(self) -> bool {
        matches!(self, Kind::Document | Kind::Style | Kind::Script)
    }
}

/// An object of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// Where it is offered.
    pub path: String,
    /// Its length.
    pub bytes: u64,
    /// Its MIME type, as it is sent.
    pub mime: String,
    /// What that is to a browser.
    pub kind: Kind,
    /// Positions of the objects that it refers to, in order.
    pub children: Vec<usize>,
}

/// A page: the first object is the document, and each is referred to by one that stands before it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Vec<Entry>")]
pub struct Page {
    /// Its objects.
    pub objects: Vec<Object>,
}

/// An object as a description has it.
#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    /// Where it is offered.
    #[serde(deserialize_with = "text")]
    path: String,
    /// Its MIME type.
    #[serde(rename = "type", deserialize_with = "text")]
    mime: String,
    /// Its length.
    #[serde(deserialize_with = "whole::<_, _, 1, MOST_BYTES>")]
    bytes: u64,
    /// The position of the object that refers to it; None: it is the document.
    #[serde(deserialize_with = "whole_or_null::<_, _, 0, { i64::MAX }>")]
    parent: Option<usize>,
}

impl TryFrom<Vec<Entry>> for Page {
    type Error = String;

    fn try_from(list: Vec<Entry>) -> Result<Self, String> {
        if list.is_empty() || list.len() > MOST_OBJECTS {
            return Err(format!("has {} objects, not 1 to {MOST_OBJECTS}", list.len()));
        }
        let mut objects: Vec<Object> = Vec::with_capacity(list.len());
        // Of each object, who refers to what it would refer to.
        let mut referrers = Vec::with_capacity(list.len());
        for (position, entry) in list.into_iter().enumerate() {
            entry.check(position).map_err(|what| format!("object {position}: {what}"))?;
            let Entry { path, mime, bytes, parent } = entry;
            if objects.iter().any(|other| other.path == path) {
                return Err(format!("object {position}: `path` repeats `{path}`"));
            }
            let kind = Kind::of(&mime, position == 0);
            let parent = parent.map(|parent| referrers[parent]);
            referrers.push(if kind.refers() { position } else { parent.unwrap_or(0) });
            objects.push(Object { path, bytes, mime, kind, children: Vec::new() });
            if let Some(parent) = parent {
                if !objects[parent].kind.refers() {
                    let kind = &objects[0].mime;
                    return Err(format!("a document of type `{kind}` cannot refer to objects"));
                }
                objects[parent].children.push(position);
            }
        }
        Ok(Page { objects })
    }
}

impl Page {
    /// The position of the object at a path.
    #[must_use]
    pub fn find(&self, path: &str) -> Option<usize> {
        self.objects.iter().position(|object| object.path == path)
    }
}

impl Entry {
    /// Says what is wrong with the object at a position.
    fn check(&self, position: usize) -> Result<(), String> {
        let Entry { path, mime, parent, .. } = self;
        if !is_plain(path) {
            return Err(format!("`path` is `{path}`, which is not a plain path"));
        }
        if !mime.bytes().all(|byte| (b' '..=b'~').contains(&byte)) || !mime.contains('/') {
            return Err(format!("`type` is `{mime}`, which is not a MIME type"));
        }
        let kind = Kind::of(mime, position == 0);
        if position == 0 && matches!(kind, Kind::Data | Kind::Style | Kind::Script) {
            return Err(format!("`type` is `{mime}`, which browsers do not show as a document"));
        }
        match (position, parent) {
            (0, None) => Ok(()),
            (0, Some(_)) => Err("`parent`: nothing refers to the document".into()),
            (_, Some(parent)) if *parent < position => Ok(()),
            _ => Err("`parent` is not the position of an earlier object".into()),
        }
    }
}

/// Whether a browser asks for exactly this path, and HTML, CSS and scripts need no escapes for it
/// (but `&` in HTML).
fn is_plain(path: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~%!$&*+,;=:@/?()".contains(&byte);
    let before_query = path.split('?').next().unwrap_or_default();
    path.starts_with('/')
        && !path.starts_with("//")
        && path.bytes().all(plain)
        && !before_query
            .to_ascii_lowercase()
            .replace("%2e", ".")
            .split('/')
            .any(|part| part == "." || part == "..")
}
