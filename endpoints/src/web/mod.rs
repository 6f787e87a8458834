//! HTTP/1.1, HTTP/2 and HTTP/3: hyper, h3 and quinn, in one thread of tokio.
//!
//! `page` and `content` say what is offered, `description` what the roles are told, `tls` whom to
//! trust; `waiting` and `quinn_io` put time and datagrams of this program under the libraries;
//! `reply` is an answer of the server, `living` what it knows of its connections; `link` is a
//! connection of the client and `loading` a load of a page; `report` says what happens.

pub mod content;
pub mod description;
pub mod link;
pub mod living;
pub mod loading;
pub mod page;
pub mod piece;
mod png;
pub mod quinn_io;
pub mod reply;
pub mod report;
pub mod tls;
pub mod transport;
pub mod waiting;
