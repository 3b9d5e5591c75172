//! Words as somebody would type them into a shell.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

/// Bytes that no shell reads anything into.
const PLAIN: &[u8] = b"%+,-./:=@_";

/// The words as a line for `sh`, which makes the same words of it.
pub(super) fn line(words: &[OsString]) -> Vec<u8> {
    let words: Vec<Vec<u8>> = words.iter().map(|word| quoted(word)).collect();
    words.join(&b' ')
}

pub(super) fn quoted(word: &OsStr) -> Vec<u8> {
    let bytes = word.as_bytes();
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || PLAIN.contains(byte);
    // A word with "=" in front would be an assignment.
    if !bytes.is_empty() && bytes.iter().all(is_plain) && !bytes.contains(&b'=') {
        return bytes.to_vec();
    }
    between(bytes)
}

/// The word between quotes, also if it needs none.
pub(super) fn between(bytes: &[u8]) -> Vec<u8> {
    let parts: Vec<&[u8]> = bytes.split(|&byte| byte == b'\'').collect();
    // A quote cannot stand between quotes: they end, it comes escaped, and they begin again.
    [b"'", &parts.join(&br"'\''"[..])[..], b"'"].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::os::unix::ffi::OsStringExt;
    use std::process::Command;

    fn of(words: &[&str]) -> String {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        String::from_utf8(line(&words)).unwrap()
    }

    #[test]
    fn plain_words_stay_plain() {
        assert_eq!(of(&["ls", "-l", "a/b.c"]), "ls -l a/b.c");
        assert_eq!(
            of(&["echo", "", "a b", "it's", "A=1"]),
            r"echo '' 'a b' 'it'\''s' 'A=1'"
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(30))]
        #[test]
        fn shell_reads_the_same_words_back(
            words in prop::collection::vec(prop::collection::vec(1_u8.., 0..9), 1..6),
        ) {
            let words: Vec<OsString> = words.into_iter().map(OsString::from_vec).collect();
            let script = [&b"printf '%s\\0' "[..], &line(&words)].concat();
            let shell = Command::new("sh").arg("-c").arg(OsString::from_vec(script)).output();
            let expected: Vec<u8> = words.iter().flat_map(|word| [word.as_bytes(), b"\0"].concat()).collect();
            prop_assert_eq!(shell.unwrap().stdout, expected);
        }
    }
}
