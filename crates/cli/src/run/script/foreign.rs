//! Words that another shell reads as a script: `sh -c '...'`, `ssh host '...'`, `eval "..."`.

/// Shells.
const SHELLS: [&[u8]; 10] = [
    b"ash", b"bash", b"dash", b"ksh", b"lksh", b"mksh", b"rbash", b"sh", b"yash", b"zsh",
];
/// Commands behind which another one stands.
const PREFIXES: [&[u8]; 7] = [
    b"command", b"env", b"exec", b"nice", b"nohup", b"setsid", b"sudo",
];
/// Options of `ssh` behind which something stands that is not the host.
const OF_SSH: &[u8] = b"BbcDEeFIiJLlmOopQRSWw";

/// What is known of the words of a command so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Invocation {
    /// So many words, without what stands in front of a command.
    words: usize,
    is_su: bool,
    is_flock: bool,
    /// A shell, and only options behind it, the last of which takes a word.
    shell: Option<bool>,
    next: Expected,
}

/// What the next word is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Expected {
    #[default]
    Word,
    /// It is a script, and no later one.
    Script,
    /// It is the first part of a script, and all later ones are others.
    Scripts,
    MoreScripts,
    /// The host of `ssh`, or one of its options, or what belongs to one.
    Host,
    OfOption,
}

impl Invocation {
    /// A word has ended, of which this much is plain text.
    pub(super) fn word(&mut self, word: &[u8]) {
        let name = word.rsplit(|&byte| byte == b'/').next().unwrap_or(word);
        let is_option = matches!(word.first(), Some(b'-' | b'+'));
        let is_code_option = is_option && !word.starts_with(b"--") && word.contains(&b'c');
        let has_shell = self.shell.is_some() || self.is_su || (self.is_flock && self.words == 2);
        let is_first = self.words == 0;
        self.next = match self.next {
            Expected::Scripts | Expected::MoreScripts => Expected::MoreScripts,
            // More options of a shell: the script is the first word that is none.
            Expected::Script if self.shell == Some(true) || (has_shell && is_option) => {
                Expected::Script
            }
            Expected::OfOption => Expected::Host,
            Expected::Host if is_option => match word {
                [_, option] if OF_SSH.contains(option) => Expected::OfOption,
                _ => Expected::Host,
            },
            Expected::Host => Expected::Scripts,
            _ if is_first && name == b"eval" => Expected::Scripts,
            _ if is_first && name == b"ssh" => Expected::Host,
            _ if is_first && name == b"trap" => Expected::Script,
            _ if is_code_option && has_shell => Expected::Script,
            _ => Expected::Word,
        };
        self.is_su |= is_first && name == b"su";
        self.is_flock |= is_first && name == b"flock";
        self.shell = match self.shell {
            _ if SHELLS.contains(&name) => Some(false),
            Some(_) if is_option => Some(takes_word(word)),
            Some(true) => Some(false),
            _ => None,
        };
        self.words += usize::from(!(is_first && PREFIXES.contains(&name)));
    }

    /// Whether no word has come.
    pub(super) fn is_new(&self) -> bool {
        self.words == 0
    }

    /// Whether the next word is for another shell; and whether that may be all of a script.
    pub(super) fn reads_next(&self) -> Option<bool> {
        match self.next {
            Expected::Script | Expected::Scripts => Some(true),
            Expected::MoreScripts => Some(false),
            _ => None,
        }
    }
}

/// Whether the option of a shell has a word of its own: `-o pipefail`, `+O extglob`.
fn takes_word(option: &[u8]) -> bool {
    let is_short = !option.starts_with(b"--");
    (is_short && matches!(option.last(), Some(b'o' | b'O')))
        || matches!(option, b"--rcfile" | b"--init-file")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the word behind these is a script.
    fn is_script(words: &str) -> bool {
        let mut invocation = Invocation::default();
        words
            .split(' ')
            .for_each(|word| invocation.word(word.as_bytes()));
        invocation.reads_next() == Some(true)
    }

    #[test]
    fn a_script_stands_behind_the_options_of_its_shell() {
        for words in [
            "sh -c",
            "/bin/bash -lc",
            "bash -O extglob -c",
            "bash +O extglob --init-file x -ec",
            "bash -o pipefail -c",
            "bash -c --",
            "bash -c -o pipefail",
            "sudo env mksh -x -c",
            "su x -c",
            "flock x -c",
            "eval",
            "trap",
            "ssh -p 22 host",
        ] {
            assert!(is_script(words), "{words}");
        }
    }

    #[test]
    fn behind_the_script_and_elsewhere_none_does() {
        for words in [
            "gcc -c",
            "sh -c x",
            "bash -c -- x",
            "bash -o pipefail",
            "sh x -c",
            "bash --rcfile",
            "tar -c",
            "ssh -p 22",
        ] {
            assert!(!is_script(words), "{words}");
        }
    }
}
