//! An answer of the server to a request: its header, its body piece by piece, and the event of it.

use crate::web::content::Cursor;
use crate::web::description::Protocol;
use crate::web::living::Living;
use crate::web::report::WebEvent;
use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use hyper::header::{HeaderValue, ALT_SVC, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE};
use hyper::http::response::Parts;
use hyper::{Response, StatusCode};
use std::convert::Infallible;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

/// The body of an answer. Its event is written when it has been handed over, or is given up.
pub struct Reply {
    living: Rc<Living>,
    connection: u32,
    path: String,
    status: StatusCode,
    protocol: Protocol,
    begin_ns: i64,
    end_ns: i64,
    cursor: Option<Cursor>,
    left: u64,
    passed: u64,
    announced: bool,
}

/// What is said of an object beside its content.
pub struct Headers<'a> {
    /// MIME type.
    pub mime: Option<&'a str>,
    /// Length.
    pub bytes: u64,
    /// What is said of HTTP/3.
    pub alternative: Option<&'a str>,
}

impl Headers<'_> {
    /// The header of an answer.
    #[must_use]
    pub fn parts(&self, status: StatusCode) -> Parts {
        let mut response = Response::new(());
        *response.status_mut() = status;
        let headers = response.headers_mut();
        // Checked when the description was read.
        let text = |value: &str| HeaderValue::from_str(value).ok();
        if let Some(mime) = self.mime.and_then(text) {
            headers.insert(CONTENT_TYPE, mime);
        }
        headers.insert(CONTENT_LENGTH, self.bytes.into());
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(alternative) = self.alternative.and_then(text) {
            headers.insert(ALT_SVC, alternative);
        }
        response.into_parts().0
    }
}

impl Reply {
    /// An answer of which nothing has been sent.
    #[must_use]
    pub fn new(
        living: Rc<Living>,
        connection: u32,
        protocol: Protocol,
        path: &str,
        status: StatusCode,
        body: Option<(Cursor, u64)>,
    ) -> Self {
        let begin_ns = living.now_ns();
        let (cursor, left) = body.map_or((None, 0), |(cursor, bytes)| (Some(cursor), bytes));
        Reply {
            living,
            connection,
            path: path.to_owned(),
            status,
            protocol,
            begin_ns,
            end_ns: begin_ns,
            cursor,
            left,
            passed: 0,
            announced: false,
        }
    }

    /// The next piece; None at the end.
    pub fn next(&mut self) -> Option<Bytes> {
        let piece = self.cursor.as_mut()?.next(u64::MAX)?;
        self.left -= piece.len() as u64;
        self.passed += piece.len() as u64;
        self.end_ns = self.living.now_ns();
        self.living.count(self.connection, piece.len() as u64);
        Some(piece)
    }
}

impl Body for Reply {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        // The header goes out in a TLS record of its own: a client can read none of a record before
        // all of it is there, and responseStart would wait for up to 16 KiB of the body.
        if !self.announced {
            self.announced = true;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(self.next().map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        self.living.report(&WebEvent::Request {
            connection: self.connection,
            path: &self.path,
            status: self.status.as_u16(),
            protocol: self.protocol,
            begin_ns: self.begin_ns,
            end_ns: self.end_ns,
            bytes: self.passed,
        });
    }
}
