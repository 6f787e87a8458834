//! What the objects of a page contain: exactly their bytes, valid, and cheap to read.
//!
//! A document, a style sheet and a script begin with what they refer to and end with a comment; an
//! object that nobody looks at is loaded as a style sheet for printers, which browsers fetch whole,
//! wait for with the window's load event, and do not look at because it is none.

use crate::block::Memory;
use crate::web::page::{Kind, Object, Page};
use crate::web::piece::Piece;
use crate::web::png;
use bytes::{Buf, Bytes};
use std::fmt::Write as _;
use std::rc::Rc;

/// Most to hand over at once, bytes.
const MOST_AT_ONCE: u64 = 64 << 10;
const DOCUMENT: &str = "<!doctype html><link rel=icon href=\"data:,\"><body>";
const SCRIPT: &str = "{const f=(t,k,u,m)=>{const e=document.createElement(t);e[k]=u;\
    if(m){e.rel=\"stylesheet\";e.media=m}document.body.append(e)};";

/// The content of an object.
#[derive(Debug, Clone)]
pub struct Content(Rc<[Piece]>);

/// The contents of all objects of a page.
///
/// # Errors
/// A message, if an object has no room for what it refers to.
pub fn contents(page: &Page) -> Result<Vec<Content>, String> {
    let (data, text) = (Rc::new(Memory::new()), Rc::new(Memory::text()));
    page.objects
        .iter()
        .enumerate()
        .map(|(position, object)| {
            let pieces = match object.kind {
                Kind::Picture => Ok(png::picture(object.bytes, &data)),
                Kind::Data => Ok(vec![Piece::Filler(Rc::clone(&data), object.bytes)]),
                _ => texts(page, position, &text),
            };
            pieces.map(|pieces| Content(pieces.into()))
        })
        .collect()
}

/// What stands in a text before and after its filler; None: the filler stands alone.
struct Frame {
    begin: String,
    /// Around the filler.
    comment: (&'static str, &'static str),
    end: &'static str,
}

fn texts(page: &Page, position: usize, block: &Rc<Memory>) -> Result<Vec<Piece>, String> {
    let object = &page.objects[position];
    let frame = frame(page, position);
    let Frame { begin, comment, end } = &frame;
    let least = (begin.len() + end.len()) as u64;
    if object.bytes < least {
        if object.children.is_empty() {
            let short = &begin.as_bytes()[..begin.len().min(object.bytes as usize)];
            let rest = object.bytes - short.len() as u64;
            return Ok(vec![
                Piece::Own(Bytes::copy_from_slice(short)),
                Piece::Filler(Rc::clone(block), rest),
            ]);
        }
        return Err(format!(
            "bad description: `workload.page[{position}].bytes` is {}, but the references to its objects need {least}",
            object.bytes
        ));
    }
    let room = object.bytes - least;
    let around = (comment.0.len() + comment.1.len()) as u64;
    let mut pieces = vec![Piece::Own(begin.clone().into())];
    if room < around {
        pieces.push(Piece::Own(vec![b' '; room as usize].into()));
    } else {
        pieces.push(Piece::Own(comment.0.into()));
        pieces.push(Piece::Filler(Rc::clone(block), room - around));
        pieces.push(Piece::Own(comment.1.into()));
    }
    pieces.push(Piece::Own((*end).into()));
    Ok(pieces)
}

fn frame(page: &Page, position: usize) -> Frame {
    let object = &page.objects[position];
    match object.kind {
        Kind::Document => Frame { begin: document(page), comment: ("<!--", "-->"), end: "" },
        Kind::Style => Frame { begin: style(page, position), comment: ("/*", "*/"), end: "" },
        Kind::Script => Frame { begin: script(page, object), comment: ("/*", "*/"), end: "" },
        Kind::Drawing => Frame {
            begin: "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"320\" height=\"240\">".into(),
            comment: ("<!--", "-->"),
            end: "</svg>",
        },
        _ => Frame { begin: "\"".into(), comment: ("", ""), end: "\"" },
    }
}

/// Which element, attribute and medium load an object from HTML or a script.
fn element(object: &Object) -> (&'static str, &'static str, &'static str) {
    match object.kind {
        Kind::Picture | Kind::Drawing => ("img", "src", ""),
        Kind::Script => ("script", "src", ""),
        Kind::Style => ("link", "href", "all"),
        Kind::Document | Kind::Text | Kind::Data => ("link", "href", "print"),
    }
}

/// Writing to a string cannot fail, so results of `write!` are dropped.
fn document(page: &Page) -> String {
    let mut text = String::from(DOCUMENT);
    for child in &page.objects[0].children {
        let object = &page.objects[*child];
        let path = object.path.replace('&', "&amp;");
        let _ = match element(object) {
            ("img", ..) => write!(text, "<img src=\"{path}\">"),
            ("script", ..) => write!(text, "<script src=\"{path}\"></script>"),
            (_, _, media) => write!(text, "<link rel=stylesheet media={media} href=\"{path}\">"),
        };
    }
    for (position, object) in page.objects.iter().enumerate() {
        if object.kind == Kind::Style && shows(page, object).next().is_some() {
            let _ = write!(text, "<i id=o{position}></i>");
        }
    }
    text.push_str("<p>fairc</p>");
    text
}

/// The pictures of a style sheet.
fn shows<'a>(page: &'a Page, style: &'a Object) -> impl Iterator<Item = &'a Object> {
    let picture = |object: &&Object| matches!(object.kind, Kind::Picture | Kind::Drawing);
    style.children.iter().map(|child| &page.objects[*child]).filter(picture)
}

fn style(page: &Page, position: usize) -> String {
    let object = &page.objects[position];
    let mut text = String::new();
    for child in &object.children {
        let Object { path, kind, .. } = &page.objects[*child];
        let _ = match kind {
            Kind::Picture | Kind::Drawing => Ok(()),
            Kind::Style => write!(text, "@import url(\"{path}\");"),
            _ => write!(text, "@import url(\"{path}\") print;"),
        };
    }
    let pictures: Vec<String> =
        shows(page, object).map(|picture| format!("url(\"{}\")", picture.path)).collect();
    if !pictures.is_empty() {
        let _ = write!(text, "#o{position}{{background:{}}}", pictures.join(","));
    }
    text
}

fn script(page: &Page, object: &Object) -> String {
    if object.children.is_empty() {
        return String::new();
    }
    let mut text = String::from(SCRIPT);
    for child in &object.children {
        let child = &page.objects[*child];
        let (tag, attribute, media) = element(child);
        let _ = write!(text, "f(\"{tag}\",\"{attribute}\",\"{}\",\"{media}\");", child.path);
    }
    text.push('}');
    text
}

/// A way through a content.
#[derive(Debug, Clone)]
pub struct Cursor {
    pieces: Rc<[Piece]>,
    piece: usize,
    offset: u64,
    /// Bytes passed so far.
    pub passed: u64,
}

impl Content {
    /// At its beginning.
    #[must_use]
    pub fn cursor(&self) -> Cursor {
        Cursor { pieces: Rc::clone(&self.0), piece: 0, offset: 0, passed: 0 }
    }
}

impl Cursor {
    /// The next bytes, at most `most`; None at the end.
    pub fn next(&mut self, most: u64) -> Option<Bytes> {
        while let Some(piece) = self.pieces.get(self.piece) {
            let left = piece.bytes() - self.offset;
            if left == 0 {
                self.piece += 1;
                self.offset = 0;
                continue;
            }
            let most = left.min(most).min(MOST_AT_ONCE);
            let bytes = match piece {
                Piece::Own(bytes) => {
                    bytes.slice(self.offset as usize..(self.offset + most) as usize)
                }
                Piece::Filler(block, _) => block.at(self.offset, most),
            };
            self.offset += bytes.len() as u64;
            self.passed += bytes.len() as u64;
            return Some(bytes);
        }
        None
    }

    /// Whether the content goes on exactly like this; passes it if so.
    pub fn matches(&mut self, mut data: impl Buf) -> bool {
        while data.has_remaining() {
            let most = data.chunk().len();
            let Some(expected) = self.next(most as u64) else {
                return false;
            };
            if expected[..] != data.chunk()[..expected.len()] {
                return false;
            }
            data.advance(expected.len());
        }
        true
    }
}
