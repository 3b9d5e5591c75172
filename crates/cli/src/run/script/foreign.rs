//! Words that another shell reads as a script: `sh -c '...'`, `ssh host '...'`, `eval "..."`.

/// Shells whose quotes are those of `sh`.
const SHELLS: [&[u8]; 10] = [
    b"ash", b"bash", b"dash", b"ksh", b"lksh", b"mksh", b"rbash", b"sh", b"yash", b"zsh",
];
/// Shells that have quotes of their own.
const OTHER_SHELLS: [&[u8]; 7] = [
    b"csh", b"elvish", b"fish", b"nu", b"pwsh", b"tcsh", b"xonsh",
];
/// Commands behind which another one stands; behind the second ones after other words as well.
const PREFIXES: [&[u8]; 11] = [
    b"builtin", b"busybox", b"command", b"doas", b"env", b"exec", b"nice", b"nohup", b"setsid",
    b"sudo", b"time",
];
const WITH_WORDS: [&[u8]; 13] = [
    b"chroot", b"chrt", b"flock", b"ionice", b"nsenter", b"pkexec", b"sshpass", b"stdbuf",
    b"strace", b"taskset", b"timeout", b"unshare", b"xargs",
];
/// Commands that give some or all of their words to a shell, which are no plain places: one joins
/// them before, another one quotes them, a third has a language of its own.
const READERS: [&[u8]; 11] = [
    b"cmwq",
    b"entr",
    b"hyperfine",
    b"parallel",
    b"pdsh",
    b"pssh",
    b"rsh",
    b"script",
    b"tmux",
    b"watch",
    b"xterm",
];
/// Options of `ssh` behind which something stands that is not the host.
const OF_SSH: &[u8] = b"BbcDEeFIiJLlmOopQRSWw";

/// How another shell reads a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// It is a script, or its first part.
    Script,
    /// It is a further part of one.
    Part,
    /// Perhaps it is a script, or in one: nobody knows which quotes are right there.
    Doubtful,
}

/// What is known of the words of a command so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Invocation {
    /// So many words, without what stands in front of a command.
    words: usize,
    front: Front,
    /// `env`, `su` and `flock`, the last with or without options: commands with options whose word
    /// is a script.
    is_env: bool,
    is_su: bool,
    flock: Option<bool>,
    /// A shell, and only options behind it, the last of which takes a word.
    shell: Option<bool>,
    /// It may be a shell, and options.
    may_be_shell: bool,
    next: Expected,
}

/// Where the name of the command is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Front {
    /// It is the next word that is no prefix.
    #[default]
    Plain,
    /// Behind a prefix and other words: any word may be it.
    Anywhere,
    /// It has been.
    Over,
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
    /// It and all later ones may be.
    Doubtful,
    /// The host of `ssh`, or one of its options, or what belongs to one.
    Host,
    OfOption,
}

impl Invocation {
    /// A word has ended, of which this much is plain text; `is_known`: that is all of it.
    pub(super) fn word(&mut self, word: &[u8], is_known: bool) {
        let name = word.rsplit(|&byte| byte == b'/').next().unwrap_or(word);
        let next = self.after(word, name, is_known);
        // The same place in the name of a folder says nothing: `$x/sh` is that shell.
        let is_named = is_known || name.len() < word.len();
        let is_option = matches!(word.first(), Some(b'-' | b'+'));
        let is_command = self.front != Front::Over;
        self.is_env |= is_command && name == b"env";
        self.flock = match self.flock {
            Some(has_options) => Some(has_options || (self.words == 0 && is_option)),
            None => (is_command && name == b"flock").then_some(false),
        };
        self.is_su |= is_command && matches!(name, b"su" | b"runuser");
        let may_be_options = self.shell == Some(false) && !is_option;
        self.may_be_shell |= OTHER_SHELLS.contains(&name)
            || !is_named && (is_command && !is_option || may_be_options);
        self.shell = match self.shell {
            _ if is_named && SHELLS.contains(&name) => Some(false),
            Some(_) if is_option => Some(takes_word(word)),
            Some(true) => Some(false),
            _ => None,
        };
        self.next = next;
        self.passes(name, is_option);
    }

    /// What is behind the word.
    fn after(&self, word: &[u8], name: &[u8], is_known: bool) -> Expected {
        let is_option = word.first() == Some(&b'-');
        let is_first = self.words == 0 && self.front != Front::Over;
        let is_command = self.front != Front::Over;
        let has_shell = self.shell.is_some();
        let is_of_shell = self.shell == Some(true) || is_option || word.first() == Some(&b'+');
        let is_code = is_code_option(word);
        match self.next {
            Expected::Doubtful => Expected::Doubtful,
            Expected::Scripts | Expected::MoreScripts => Expected::MoreScripts,
            // More options: the script is the first word that is none.
            Expected::Script if has_shell && is_of_shell => Expected::Script,
            Expected::OfOption => Expected::Host,
            Expected::Host if is_option => match word {
                [_, option] if OF_SSH.contains(option) => Expected::OfOption,
                _ => Expected::Host,
            },
            Expected::Host => Expected::Scripts,
            _ if is_first && name == b"eval" => Expected::Scripts,
            _ if is_first && name == b"ssh" => Expected::Host,
            _ if is_first && name == b"trap" => Expected::Script,
            _ if is_command && (READERS.contains(&name) || name == b"ssh" || name == b"eval") => {
                Expected::Doubtful
            }
            _ if has_shell && is_option && !is_known => Expected::Doubtful,
            _ if is_code && (has_shell || self.is_su) => Expected::Script,
            _ if is_code && self.flock == Some(false) && self.words == 1 => Expected::Script,
            _ if is_code && (self.may_be_shell || self.flock == Some(true)) => Expected::Doubtful,
            _ if self.has_script_in(word) => Expected::Doubtful,
            _ => Expected::Word,
        }
    }

    /// One word more. A prefix is none, and where others may stand behind it, or an option has,
    /// the command may be any later word.
    fn passes(&mut self, name: &[u8], is_option: bool) {
        let is_first = self.words == 0 && self.front != Front::Over;
        let (is_prefix, has_words) = (PREFIXES.contains(&name), WITH_WORDS.contains(&name));
        if is_first && (is_prefix || has_words) {
            if has_words {
                self.front = Front::Anywhere;
            }
            return;
        }
        self.words += 1;
        self.front = match self.front {
            Front::Plain if is_option => Front::Anywhere,
            Front::Plain => Front::Over,
            front => front,
        };
    }

    /// Whether no word has come.
    pub(super) fn is_new(&self) -> bool {
        self.words == 0
    }

    /// How another shell reads the word that has begun with this plain text, if one does.
    pub(super) fn reads(&self, begun: &[u8]) -> Option<Reading> {
        match self.next {
            Expected::Script | Expected::Scripts => Some(Reading::Script),
            Expected::MoreScripts => Some(Reading::Part),
            Expected::Doubtful => Some(Reading::Doubtful),
            _ if self.has_script_in(begun) => Some(Reading::Doubtful),
            _ => None,
        }
    }

    /// Whether the word is an option with a script in it or behind it, as in `su -c'...'`,
    /// `su --command '...'` and `env -S '...'`.
    fn has_script_in(&self, word: &[u8]) -> bool {
        let is_long = |name: &[u8]| word.starts_with(name);
        let is_short = |letter| !is_long(b"--") && is_long(b"-") && word.contains(&letter);
        let has_command = is_short(b'c') || is_long(b"--command") || is_long(b"--session-command");
        let is_flock = match self.flock {
            // Its file is the first word, and behind that a command of its own may stand.
            Some(false) => self.words == 1,
            has_options => has_options.is_some(),
        };
        ((self.is_su || is_flock) && has_command)
            || (self.is_env && self.words == 0 && (is_short(b'S') || is_long(b"--split-string")))
    }
}

/// Whether a shell takes the word behind it for a script: `-c`, `-ec`.
fn is_code_option(word: &[u8]) -> bool {
    let is_short = word.first() == Some(&b'-') && !word.starts_with(b"--");
    is_short && word.contains(&b'c') && !word.starts_with(b"-exec")
}

/// Whether the option of a shell has a word of its own: `-o pipefail`, `+O extglob`.
fn takes_word(option: &[u8]) -> bool {
    let is_short = !option.starts_with(b"--");
    is_short && matches!(option.last(), Some(b'o' | b'O'))
        || matches!(option, b"--rcfile" | b"--init-file")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How the word behind these is read. One with a `$` in it is not known.
    fn behind(words: &str) -> Option<Reading> {
        let mut invocation = Invocation::default();
        for word in words.split(' ') {
            let text = word.replace('$', "");
            invocation.word(text.as_bytes(), text == word);
        }
        invocation.reads(b"")
    }

    #[test]
    fn what_is_known_to_be_a_script_is_one() {
        for words in [
            "sh -c",
            "$x/sh -c",
            "bash -O extglob -c",
            "bash +O extglob --init-file x -ec",
            "bash -c --",
            "bash -c -o pipefail",
            "sudo env su x -c",
            "flock x -c",
            "nice flock x -c",
            "eval",
        ] {
            assert_eq!(behind(words), Some(Reading::Script), "{words}");
        }
    }

    #[test]
    fn what_may_be_a_script_is_doubtful() {
        for words in [
            "$SHELL -c",
            "$S -x -c",
            "$S -c x",
            "env $SHELL -c",
            "nice -n 5 $SHELL -c",
            "bash $x -c",
            "sh -$x",
            "fish -c",
            "sudo fish -c",
            "flock -n x -c",
            "su x --command",
            "env -S",
            "watch",
            "watch -n 1",
            "script -qc",
            "cmwq run -k",
            "./cmwq run",
            "parallel",
            "timeout 9 ssh host",
            "sudo -u x watch",
        ] {
            assert_eq!(behind(words), Some(Reading::Doubtful), "{words}");
        }
    }

    #[test]
    fn what_no_shell_reads_is_none() {
        for words in [
            "gcc -c",
            "gcc $CFLAGS -c",
            "nice gcc $CFLAGS -c",
            "$CC -o",
            "$x/gcc -c",
            "bash $x",
            "sh x -c",
            "tar -c watch",
            "cp script",
            "$FIND . -exec",
            "sort -S",
            "env sort -S",
            "flock x gcc -c",
            "sudo -u x tar -c",
        ] {
            assert_eq!(behind(words), None, "{words}");
        }
    }
}
