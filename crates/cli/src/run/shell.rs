//! Which shell runs a script: `sh`, or `bash` where only bash reads it as its writer means it.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::sync::OnceLock;

/// What only bash reads as its users mean it; elsewhere it is an error, or means something else.
const OF_BASH: [&str; 27] = [
    "[[",
    "<(",
    ">(",
    "<<<",
    "&>",
    "|&",
    "$'",
    "=(",
    " == ",
    "${!",
    "^^}",
    ",,}",
    "echo -e",
    "pipefail",
    "shopt ",
    "declare ",
    "mapfile ",
    "printf -v",
    "$RANDOM",
    "$SECONDS",
    "$BASH",
    "$[",
    "((10#",
    "**",
    "printf \"%q",
    "printf '%q",
    "type -t",
];

/// Whether it is for bash rather than for any shell.
fn is_for_bash(text: &[u8]) -> bool {
    let holds = |mark: &[u8]| text.windows(mark.len()).any(|window| window == mark);
    let begins = |word: &[u8]| {
        let mut commands = text.split(|byte| b";&|\n({".contains(byte));
        commands.any(|command| command.trim_ascii_start().starts_with(word))
    };
    OF_BASH.iter().any(|mark| holds(mark.as_bytes()))
        || begins(b"source ")
        || begins(b"function ")
        || has_range(text)
        || has_alternatives(text)
        || has_expansion(text)
        || has_expression(text)
}

/// `((x > 1))` or `for ((...))` where a command stands.
fn has_expression(text: &[u8]) -> bool {
    let openings = text.windows(2).enumerate().filter(|(_, two)| two == b"((");
    openings
        .map(|(at, _)| text[..at].trim_ascii_end())
        .any(|before| {
            let word = before.rsplit(|byte| byte.is_ascii_whitespace()).next();
            let is_opening = [
                &b"for"[..],
                b"if",
                b"while",
                b"until",
                b"do",
                b"then",
                b"else",
                b"!",
            ];
            before.last().is_none_or(|byte| b";&|{".contains(byte))
                || word.is_some_and(|word| is_opening.contains(&word))
        })
}

/// `${x/a/b}`, `${x:1:2}`, `${x[1]}`, `${x^}`, `${x,}`
fn has_expansion(text: &[u8]) -> bool {
    let openings = text.windows(2).enumerate().filter(|(_, two)| two == b"${");
    openings.map(|(at, _)| &text[at + 2..]).any(|inside| {
        let is_name = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_';
        let name = inside.iter().take_while(is_name).count();
        match &inside[name..] {
            [b'/' | b'[' | b'^' | b',', ..] => true,
            // `${x:-y}` and the like are any shell's.
            [b':', next, ..] => !b"-=?+".contains(next),
            _ => false,
        }
    })
}

/// `{1..3}`
pub(super) fn has_range(text: &[u8]) -> bool {
    let mut braces = text.split(|&byte| byte == b'{').skip(1);
    braces.any(|behind| {
        let is_inside = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'.';
        let inside = behind.iter().take_while(is_inside).count();
        let (inside, behind) = behind.split_at(inside);
        let dots = inside.windows(2).position(|two| two == b"..");
        behind.starts_with(b"}") && dots.is_some_and(|at| at > 0 && at + 2 < inside.len())
    })
}

/// `{a,b}`, also with what stands for a value in it: `{{},old/{}}`. No blanks, as in code of `awk`.
fn has_alternatives(text: &[u8]) -> bool {
    let openings = text.iter().enumerate().filter(|(_, byte)| **byte == b'{');
    openings.map(|(at, _)| &text[at + 1..]).any(|behind| {
        let (mut depth, mut commas) = (0, false);
        for byte in behind {
            match byte {
                b'{' => depth += 1,
                b'}' if depth == 0 => return commas,
                b'}' => depth -= 1,
                b',' => commas = true,
                byte if byte.is_ascii_alphanumeric() || b"._-/".contains(byte) => {}
                _ => return false,
            }
        }
        false
    })
}

/// Whether it prints a value with `echo`, which in other shells than bash takes `\t` for a tab.
pub(super) fn echoes(text: &[u8]) -> bool {
    text.windows(5).any(|window| window == b"echo ")
}

/// The shell that runs the text: `bash` if it is for bash and there is one, else `usual`.
pub(super) fn shell_for(text: &[u8], usual: &'static str) -> &'static str {
    match is_for_bash(text) {
        true => bash_or(usual),
        false => usual,
    }
}

/// `bash` if there is one, else `usual`.
pub(super) fn bash_or(usual: &'static str) -> &'static str {
    match has_bash() {
        true => "bash",
        false => usual,
    }
}

fn has_bash() -> bool {
    static HAS: OnceLock<bool> = OnceLock::new();
    *HAS.get_or_init(|| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).any(|folder| folder.join("bash").is_file())
    })
}

/// The shell that knows functions which the caller's shell exports, if it exports any.
fn with_functions(names: impl Iterator<Item = OsString>) -> &'static str {
    let exported = |name: &OsString| name.as_bytes().starts_with(b"BASH_FUNC_");
    match names.into_iter().any(|name| exported(&name)) {
        true => "bash",
        false => "/bin/sh",
    }
}

/// The shell that runs scripts. `gnu`: what is written for GNU parallel is mostly written for bash.
pub(super) fn shell(gnu: bool) -> &'static str {
    match gnu && has_bash() {
        true => "bash",
        false => with_functions(std::env::vars_os().map(|(name, _)| name)),
    }
}

/// What a shell does itself, and no program can do for it.
const BUILTINS: [&str; 34] = [
    ".", ":", "alias", "bg", "break", "builtin", "cd", "command", "continue", "declare", "dirs",
    "eval", "exec", "exit", "export", "fg", "getopts", "hash", "jobs", "let", "local", "popd",
    "pushd", "read", "readonly", "return", "set", "shift", "source", "trap", "type", "ulimit",
    "umask", "unset",
];

/// Words that begin what only a shell can run.
const KEYWORDS: [&str; 8] = ["if", "for", "while", "until", "case", "{", "!", "function"];

/// Whether no program can have been meant by the first word of COMMAND, unless there is one:
/// `A=1`, `cd`, `for`, `(cd`.
pub(super) fn is_of_shell(word: &OsStr) -> bool {
    let Some(text) = word.to_str() else {
        return false;
    };
    let is_name = |name: &str| {
        let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        name.bytes().all(is_of_name)
            && name
                .bytes()
                .next()
                .is_some_and(|first| !first.is_ascii_digit())
    };
    let is_assignment = text.split_once('=').is_some_and(|(name, _)| is_name(name));
    let is_word = is_builtin(word) || KEYWORDS.contains(&text) || text.starts_with('(');
    (is_assignment || is_word) && !is_function(word)
}

/// Whether a shell executes a command of this name itself.
pub(super) fn is_builtin(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| BUILTINS.contains(&name))
}

/// Whether it is a function that the caller's shell exports.
pub(super) fn is_function(name: &OsStr) -> bool {
    let variable = [b"BASH_FUNC_", name.as_bytes(), b"%%"].concat();
    !name.as_bytes().contains(&b'=') && std::env::var_os(OsStr::from_bytes(&variable)).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exported_functions_are_bashs() {
        let names = |names: &[&str]| with_functions(names.iter().map(OsString::from));
        assert_eq!(names(&["HOME", "BASH_FUNC_f%%"]), "bash");
        assert_eq!(names(&["HOME"]), "/bin/sh");
    }

    #[test]
    fn what_only_bash_reads_goes_to_bash() {
        for text in [
            "a &> b",
            "[[ -n x ]]",
            "cat <(ls)",
            "a |& b",
            "ls; source ./x",
            "source x",
            "echo {1..3}",
            "printf %s $'a'",
            "set -o pipefail; a | b",
            "x=(a b)",
            "echo -e a",
            "x={}; echo ${x/a/b}",
            "echo ${x:1} ${y[0]}",
            "echo ${x^}",
        ] {
            assert!(is_for_bash(text.as_bytes()), "{text}");
        }
        for text in [
            "a 2>&1",
            "a && b & c",
            "$((1 + 2))",
            "echo ${x}..{y}",
            "cat resource x",
            "{ a; }",
            "awk '{print $1}'",
            "echo {..} {a..}",
            "x=$(a)",
            "f() { a; }",
            "echo ${x%/*} ${x:-y} ${x##*/} $x/y ${#x}",
        ] {
            assert!(!is_for_bash(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn builtins_are_a_shells() {
        for name in ["exit", "cd", "export", ":"] {
            assert!(is_builtin(OsStr::new(name)), "{name}");
        }
        assert!(!is_builtin(OsStr::new("gzip")));
        for word in ["A=1", "_a1={}", "(cd", "for", "cd"] {
            assert!(is_of_shell(OsStr::new(word)), "{word}");
        }
        for word in ["gzip", "./a=b", "1=2", "=", "[", "{}", "x.sh"] {
            assert!(!is_of_shell(OsStr::new(word)), "{word}");
        }
    }
}
