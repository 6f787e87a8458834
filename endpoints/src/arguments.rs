//! The command line: `ROLE --epoch-ns N DESCRIPTION`, `ccas`, `--help`, `--version`.

use crate::roles::Role;

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
pub enum Command {
    /// `--help`
    Help,
    /// `--version`
    Version,
    /// `ccas`: the CCAs over QUIC with their parameters, as JSON.
    Ccas,
    /// Run a role.
    Run {
        /// Name of the role; not yet looked up.
        role: String,
        /// The cell's epoch on `CLOCK_REALTIME`, ns.
        epoch_ns: i64,
        /// One JSON object; not yet read.
        description: String,
    },
}

/// Reads the words after the program's name.
///
/// # Errors
/// A message that says what is wrong, when a word is missing, unknown or not a number.
pub fn parse(words: &[String]) -> Result<Command, String> {
    let mut epoch_ns = None;
    let mut plain = Vec::new();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        match word.as_str() {
            "--help" | "-h" => return Ok(Command::Help),
            "--version" | "-V" => return Ok(Command::Version),
            "--epoch-ns" => {
                let value = rest.next().ok_or("--epoch-ns needs a time in ns")?;
                let parsed = value.parse::<i64>();
                epoch_ns =
                    Some(parsed.map_err(|_| format!("--epoch-ns: `{value}` is not a number"))?);
            }
            option if option.starts_with('-') => return Err(format!("unknown option {option}")),
            _ => plain.push(word),
        }
    }
    match plain.as_slice() {
        [word] if *word == "ccas" => Ok(Command::Ccas),
        [role, description] => Ok(Command::Run {
            role: (*role).clone(),
            epoch_ns: epoch_ns.ok_or("--epoch-ns is missing")?,
            description: (*description).clone(),
        }),
        _ => Err("usage: fairc-endpoints ROLE --epoch-ns N DESCRIPTION (see --help)".into()),
    }
}

/// The text of `--help`.
#[must_use]
pub fn help(roles: &[Role]) -> String {
    let mut text = String::from(
        "Usage: fairc-endpoints ROLE --epoch-ns N DESCRIPTION\n       fairc-endpoints ccas\n\n\
         Runs one end of an experiment. N is the epoch, ns of CLOCK_REALTIME; DESCRIPTION is one\n\
         JSON object. Events come out as one JSON object per line, with times in ns after the epoch.\n\
         `ccas` prints the CCAs over QUIC with their parameters, as JSON.\n\n\
         Roles:\n",
    );
    text.extend(roles.iter().map(|role| format!("  {:<12} {}\n", role.name, role.help)));
    text.push_str(
        "\nExit status: 0 the work is done, 1 after an error event, 2 bad description,\n\
         127 unknown role. SIGTERM and SIGINT end a role in order, with status 0.\n",
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(String::from).collect()
    }

    #[test]
    fn options_may_stand_anywhere() {
        let expected =
            Command::Run { role: "monitor".into(), epoch_ns: -5, description: "{}".into() };
        assert_eq!(parse(&words("monitor --epoch-ns -5 {}")).unwrap(), expected);
        assert_eq!(parse(&words("--epoch-ns -5 monitor {}")).unwrap(), expected);
    }

    #[test]
    fn what_is_wrong_is_said() {
        assert!(parse(&words("monitor {}")).unwrap_err().contains("--epoch-ns is missing"));
        assert!(parse(&words("monitor --epoch-ns soon {}")).unwrap_err().contains("`soon`"));
        assert!(parse(&words("monitor --epoch-ns")).unwrap_err().contains("needs a time"));
        assert!(parse(&words("monitor --fast {}")).unwrap_err().contains("--fast"));
        assert!(parse(&words("monitor")).unwrap_err().starts_with("usage"));
    }
}
