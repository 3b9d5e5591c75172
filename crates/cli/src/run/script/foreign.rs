//! Words that another shell reads as a script: `sh -c '...'`, `ssh host '...'`, `eval "..."`.

/// Shells.
const SHELLS: [&[u8]; 6] = [b"ash", b"bash", b"dash", b"ksh", b"sh", b"zsh"];
/// Programs that give what stands behind `-c` to a shell.
const WITH_SHELLS: [&[u8]; 4] = [b"flock", b"runuser", b"script", b"su"];
/// Options of `ssh` behind which something stands that is not the host.
const OF_SSH: &[u8] = b"BbcDEeFIiJLlmOopQRSWw";

/// What is known of the words of a command so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Foreign {
    first: Vec<u8>,
    last: Vec<u8>,
    next: Next,
}

/// What the next word is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Next {
    #[default]
    Word,
    /// It is a script, and no later one.
    Script,
    /// It is a part of a script, and so are all later ones.
    Scripts,
    /// The host of `ssh`, or one of its options, or what belongs to one.
    Host,
    OfOption,
}

impl Foreign {
    /// A word has ended, of which this much is plain text.
    pub(super) fn word(&mut self, word: &[u8]) {
        let name = word.rsplit(|&byte| byte == b'/').next().unwrap_or(word);
        let is_code_option = word.len() > 1
            && word[0] == b'-'
            && word.ends_with(b"c")
            && word[1..].iter().all(u8::is_ascii_alphabetic);
        let has_shell = SHELLS.contains(&&self.last[..]) || WITH_SHELLS.contains(&&self.first[..]);
        self.next = match self.next {
            Next::Scripts => Next::Scripts,
            Next::OfOption => Next::Host,
            Next::Host if word.first() == Some(&b'-') => match word {
                [_, option] if OF_SSH.contains(option) => Next::OfOption,
                _ => Next::Host,
            },
            Next::Host => Next::Scripts,
            _ if self.first.is_empty() && name == b"eval" => Next::Scripts,
            _ if name == b"ssh" => Next::Host,
            _ if is_code_option && has_shell => Next::Script,
            _ => Next::Word,
        };
        self.last = name.to_vec();
        if self.first.is_empty() {
            self.first.clone_from(&self.last);
        }
    }

    /// Whether no word has come.
    pub(super) fn is_new(&self) -> bool {
        self.first.is_empty()
    }

    /// Whether the next word is for another shell.
    pub(super) fn reads_next(&self) -> bool {
        matches!(self.next, Next::Script | Next::Scripts)
    }
}
