//! Options as GNU parallel lets people write them: `--workDir`, `--Jobs 4`, `--n 10`.
//!
//! Only clap knows where options end and COMMAND begins. So a word is spelt otherwise when clap has
//! named it as no option, and not before.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// The same command line with the option `unknown`, which there is not, in its usual spelling.
/// `None`: it has that already.
pub(crate) fn respelt(words: &[OsString], unknown: &str) -> Option<Vec<OsString>> {
    let usual = usual(unknown)?;
    let is_it = |word: &&OsString| name(word) == unknown.as_bytes();
    let at = words.iter().position(|word| is_it(&word))?;
    let mut words = words.to_vec();
    let mut word = usual.into_bytes();
    word.extend_from_slice(&words[at].as_bytes()[unknown.len()..]);
    words[at] = OsString::from_vec(word);
    Some(words)
}

/// An option's name with its dashes, without a value.
fn name(word: &OsStr) -> &[u8] {
    let word = word.as_bytes();
    let end = word.iter().position(|&byte| byte == b'=');
    &word[..end.unwrap_or(word.len())]
}

/// In lower case; with one dash if it is one letter.
fn usual(option: &str) -> Option<String> {
    let name = option.strip_prefix("--")?;
    let usual = match name.len() {
        1 => format!("-{name}"),
        _ => format!("--{}", name.to_ascii_lowercase()),
    };
    (usual != option).then_some(usual)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn an_unknown_option_is_spelt_as_usual_with_its_value() {
        for (line, unknown, usual) in [
            ("run --workDir d echo", "--workDir", "run --workdir d echo"),
            ("run --Jobs=4 echo", "--Jobs", "run --jobs=4 echo"),
            ("run -k --n 10 echo --n", "--n", "run -k -n 10 echo --n"),
        ] {
            assert_eq!(respelt(&words(line), unknown), Some(words(usual)));
        }
    }

    #[test]
    fn what_is_spelt_so_already_stays_unknown() {
        for unknown in ["--nonsense", "-Q", "--"] {
            assert_eq!(respelt(&words(&format!("run {unknown}")), unknown), None);
        }
    }
}
