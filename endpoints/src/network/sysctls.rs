//! Kernel options of this thread's namespace, under `/proc/sys/net`.

use std::fs;
use std::io::{ErrorKind, Write};

/// Writes an option; returns its words that are then in force, None where this kernel has no such
/// option.
///
/// # Errors
/// A message that names the option.
pub fn write(name: &str, value: &str) -> Result<Option<String>, String> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.');
    if !name.starts_with("net.") || !name.bytes().all(plain) || name.contains("..") {
        return Err(format!("`{name}` is not a network sysctl"));
    }
    let path = format!("/proc/sys/{}", name.replace('.', "/"));
    let failed = |error: std::io::Error| format!("{name} cannot be set to {value}: {error}");
    match fs::OpenOptions::new().write(true).open(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        opened => opened.and_then(|mut file| file.write_all(value.as_bytes())).map_err(failed)?,
    }
    let in_force = fs::read_to_string(&path).map_err(failed)?;
    Ok(Some(in_force.split_whitespace().collect::<Vec<_>>().join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_options_of_the_network_are_written() {
        for name in ["kernel.panic", "net/../kernel/panic", "net..x", "net.ipv4.a b", ""] {
            assert!(write(name, "0").unwrap_err().contains("is not a network sysctl"), "{name}");
        }
        assert_eq!(write("net.ipv4.there_is_no_such_option", "0"), Ok(None));
    }
}
