//! Words of COMMAND that somebody meant for a shell: `>out`, `{};`, `"$HOME"`. Without `--gnu` no
//! shell reads them, so that is said once. What programs are usually given is left alone: patterns,
//! scripts, URLs, and values of options.

use super::hole::{Holes, Part};
use super::shell;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// Programs whose arguments are code of their own or commands: `$` and quotes are theirs.
const OF_CODE: [&str; 64] = [
    "ack",
    "ag",
    "awk",
    "bash",
    "bc",
    "cmwq",
    "dash",
    "dc",
    "docker",
    "ed",
    "egrep",
    "envsubst",
    "ex",
    "expr",
    "fgrep",
    "find",
    "fish",
    "gawk",
    "git",
    "gnuplot",
    "grep",
    "gsed",
    "jq",
    "ksh",
    "kubectl",
    "lua",
    "m4",
    "make",
    "mawk",
    "mlr",
    "mysql",
    "nawk",
    "node",
    "parallel",
    "perl",
    "pgrep",
    "php",
    "podman",
    "psql",
    "python",
    "R",
    "rename",
    "rg",
    "Rscript",
    "rsync",
    "ruby",
    "screen",
    "sed",
    "sh",
    "sqlite",
    "ssh",
    "su",
    "systemd-run",
    "test",
    "tmux",
    "tr",
    "vim",
    "watch",
    "xargs",
    "yq",
    "zgrep",
    "zsh",
    "[",
    "[[",
];

/// Of these, programs that take operators as arguments anywhere.
const OF_OPERATORS: [&str; 5] = ["expr", "find", "test", "[", "[["];

/// Programs that expand no `*` themselves, and whose arguments are no patterns.
const OF_FILES: [&str; 24] = [
    "cat",
    "chgrp",
    "chmod",
    "chown",
    "cksum",
    "cp",
    "du",
    "echo",
    "file",
    "gunzip",
    "gzip",
    "head",
    "ln",
    "ls",
    "md5sum",
    "mv",
    "rm",
    "sha1sum",
    "sha256sum",
    "stat",
    "tail",
    "touch",
    "wc",
    "zcat",
];

/// Programs that run another one.
const WRAPPERS: [&str; 14] = [
    "chrt", "env", "flock", "ionice", "nice", "nohup", "numactl", "setsid", "stdbuf", "strace",
    "sudo", "taskset", "time", "timeout",
];

/// Options behind which code stands.
const CODE_OPTIONS: [&str; 8] = [
    "-c",
    "-e",
    "-E",
    "-x",
    "--command",
    "--eval",
    "--execute",
    "--exec",
];

/// Of these, programs for which a script between quotes, as one word, is no script.
const OF_SCRIPTS: [&str; 16] = [
    "bash", "dash", "fish", "gawk", "awk", "ksh", "mawk", "node", "perl", "php", "python",
    "Rscript", "ruby", "sed", "sh", "zsh",
];

/// Options behind which a separator stands.
const SEPARATOR_OPTIONS: [&str; 8] = [
    "-d",
    "-t",
    "-F",
    "-s",
    "-o",
    "--delimiter",
    "--separator",
    "--field-separator",
];

/// The first word of COMMAND that a shell would not have taken as it is.
pub(super) fn meant_for_shell<'a>(command: &'a [OsString], holes: &Holes) -> Option<&'a OsStr> {
    let words: Vec<&str> = command
        .iter()
        .map(|word| word.to_str().unwrap_or(""))
        .collect();
    let program = Program::of(&words);
    let mut later = (1..words.len()).filter(|&at| {
        let argument = Argument {
            word: words[at],
            before: words[at - 1],
            has_next: at + 1 < words.len(),
            is_first: program.is_first_operand(at, &words),
        };
        argument.is_meant_for_shell(program, holes)
    });
    later.next().map(|at| &command[at][..])
}

/// What is run, perhaps by another program such as `nice` or `env`.
#[derive(Clone, Copy)]
struct Program<'a> {
    name: &'a str,
    at: usize,
}

impl<'a> Program<'a> {
    fn of(words: &[&'a str]) -> Self {
        let names = words.iter().enumerate();
        let mut named = names.map(|(at, word)| Self {
            name: base(word),
            at,
        });
        let first = named.next().unwrap_or(Self { name: "", at: 0 });
        let is_other = WRAPPERS.contains(&first.name);
        let other = named.find(|program| is_other && OF_CODE.contains(&program.name));
        other.unwrap_or(first)
    }

    fn is_in(self, names: &[&str]) -> bool {
        names.contains(&self.name)
    }

    /// Whether the word there is no option, but the first argument: of many programs a pattern, or
    /// code. `tr` has two.
    fn is_first_operand(self, at: usize, words: &[&str]) -> bool {
        let is_operand = |at: &usize| !words[*at].starts_with('-') || words[*at] == "-";
        let mut operands = (self.at + 1..words.len()).filter(is_operand);
        let count = if self.name == "tr" { 2 } else { 1 };
        operands.by_ref().take(count).any(|operand| operand == at)
    }
}

/// The name of a program without its folder and the number of its version.
fn base(word: &str) -> &str {
    let name = Path::new(word).file_name().and_then(OsStr::to_str);
    let is_of_version = |char: char| char.is_ascii_digit() || char == '.';
    name.unwrap_or("").trim_end_matches(is_of_version)
}

/// A word and what is around it.
struct Argument<'a> {
    word: &'a str,
    before: &'a str,
    has_next: bool,
    /// It is the first one that is no option.
    is_first: bool,
}

impl Argument<'_> {
    fn is_meant_for_shell(&self, program: Program<'_>, holes: &Holes) -> bool {
        let is_code = program.is_in(&OF_CODE);
        if program.is_in(&OF_SCRIPTS) && self.is_script_in_quotes() {
            return true;
        }
        let is_of_option = CODE_OPTIONS.contains(&self.before) && program.name != "echo";
        if program.is_in(&["test", "["]) && ["&&", "||", ";"].contains(&self.word) {
            return true;
        }
        if program.is_in(&OF_OPERATORS) || is_of_option || (is_code && self.is_first) {
            return false;
        }
        let is_format = program.name == "printf" && self.is_first;
        let is_joined = self.is_operator() || self.is_redirection() || self.ends_command(holes);
        (is_joined && !is_format) || (!is_code && self.is_expanded()) || self.is_glob(program)
    }

    /// `|`, `&&` and `|tr`, `a&&`. Behind `-d` and the like it is a separator.
    fn is_operator(&self) -> bool {
        let word = self.word;
        let is_one = ["|", "||", "&&", "&", ";", "|&"].contains(&word);
        if is_one {
            return !SEPARATOR_OPTIONS.contains(&self.before);
        }
        let is_tight = !word.contains(char::is_whitespace);
        let begins = word.starts_with("&&") || word.starts_with('|');
        is_tight && (begins || word.ends_with("&&") || word.ends_with("||"))
    }

    /// `>out`, `2>&1`, `<in`. Not `<b>x`, nor `>=1`.
    fn is_redirection(&self) -> bool {
        let rest = self
            .word
            .trim_start_matches(|char: char| char.is_ascii_digit());
        let digits = self.word.len() - rest.len();
        let rest = match digits {
            0 => rest
                .strip_prefix('&')
                .filter(|rest| rest.starts_with('>'))
                .unwrap_or(rest),
            1 => rest,
            _ => return false,
        };
        let Some(to) = rest.strip_prefix(['>', '<']) else {
            return false;
        };
        let is_tag = rest.starts_with('<') && to.find('>').is_some_and(|at| at > 0);
        let is_separator = to.is_empty() && SEPARATOR_OPTIONS.contains(&self.before);
        !is_tag && !is_separator && !to.starts_with('=') && !to.contains(char::is_whitespace)
    }

    /// `{};` and `{}>out`; also `stop;` with a word behind it.
    fn ends_command(&self, holes: &Holes) -> bool {
        let is_plain = |char: char| char.is_ascii_alphanumeric() || "_./-=:".contains(char);
        let stem = self.word.strip_suffix(';');
        if let Some(stem) = stem.filter(|stem| stem.chars().all(is_plain)) {
            return self.has_next && !stem.is_empty();
        }
        let parts = holes.parts(self.word.as_bytes());
        let is_hole = |part: &Part| matches!(part, Part::Hole(_));
        let ends = |two: &[Part]| match two {
            [hole, Part::Text(text)] if is_hole(hole) => {
                let is_to = text.starts_with(b">") && !text.starts_with(b">=");
                text == b";" || text == b"&" || text.starts_with(b"|") || is_to
            }
            _ => false,
        };
        let ends_with = stem.is_some() && parts.iter().any(is_hole) && !has_blanks(self.word);
        let is_address = self.word.contains('<');
        ends_with || (!is_address && parts.windows(2).any(ends))
    }

    /// `'print 1'` with its quotes: a shell would have taken them off.
    fn is_script_in_quotes(&self) -> bool {
        let is_script = self.is_first || ["-c", "-e"].contains(&self.before);
        is_script && (self.is_between('\'') || self.is_between('"'))
    }

    fn is_between(&self, quote: char) -> bool {
        self.word.len() > 1 && self.word.starts_with(quote) && self.word.ends_with(quote)
    }

    /// `$HOME`, `$(date)`, `"{}"`, `~/x`, `\\n`
    fn is_expanded(&self) -> bool {
        let dollar = self.word.split('$').skip(1).any(|behind| {
            let is_first = |char: char| char.is_ascii_alphabetic() || "_({".contains(char);
            behind.starts_with(is_first)
        });
        let backquotes = self.word.matches('`').count() > 1;
        let is_home = self.word == "~" || self.word.starts_with("~/");
        let is_escaped = [r"\\", r#"\""#, r"\'", r"\$"]
            .iter()
            .any(|two| self.word.contains(two));
        dollar
            || backquotes
            || is_escaped
            || self.is_between('"')
            || self.is_between('\'')
            || is_home
    }

    /// `{a,b}`, `{1..3}`
    fn has_alternatives(&self) -> bool {
        let is_inside = |char: char| char.is_ascii_alphanumeric() || ",._-/".contains(char);
        self.word.split('{').skip(1).any(|behind| {
            let inside = behind.split_once('}').map_or("", |(inside, _)| inside);
            let divides = inside.trim_matches(',').contains(',');
            divides && inside.chars().all(is_inside)
        }) || shell::has_range(self.word.as_bytes())
    }

    /// `*.c`, `{}/*` for a program that takes names of files.
    fn is_glob(&self, program: Program<'_>) -> bool {
        let is_option = self.word.starts_with('-') || self.before.starts_with("--");
        let is_pattern = self.word.contains('*')
            || self.has_alternatives()
            || (program.name != "echo" && self.word.contains('?'));
        program.is_in(&OF_FILES) && !is_option && is_pattern && !has_blanks(self.word)
    }
}

fn has_blanks(word: &str) -> bool {
    word.contains(char::is_whitespace)
}

#[cfg(test)]
mod tests {
    use super::super::columns::Cut;
    use super::*;

    /// The words are those that a shell makes of the text, with `'...'` as its only quotes.
    fn meant(text: &str) -> Option<String> {
        let mut words = vec![String::new()];
        for (at, part) in text.split('\'').enumerate() {
            match at % 2 {
                0 => part.chars().for_each(|char| match char {
                    ' ' => words.push(String::new()),
                    char => words.last_mut().unwrap().push(char),
                }),
                _ => words.last_mut().unwrap().push_str(part),
            }
        }
        let words: Vec<OsString> = words.into_iter().map(OsString::from).collect();
        let holes = Holes::of(Cut::Whole);
        meant_for_shell(&words, &holes).map(|word| word.display().to_string())
    }

    #[test]
    fn what_a_shell_would_have_read_is_found() {
        for (text, word) in [
            ("sort {} '>' x", ">"),
            ("echo {}';' exit {}", "{};"),
            ("echo a';' echo {}", "a;"),
            ("echo {} ';' echo b", ";"),
            ("echo '\"$VAR\"'", "\"$VAR\""),
            ("echo '$HOME' {}", "$HOME"),
            ("echo 'it is $(date)'", "it is $(date)"),
            ("echo '`date`'", "`date`"),
            ("gzip -c {} '>o'", ">o"),
            ("grep x {} '>{.}.out'", ">{.}.out"),
            ("python3 a.py {} '2>&1'", "2>&1"),
            ("cat {} '|tr' a b", "|tr"),
            ("cat '{}|wc'", "{}|wc"),
            ("cat '{}>{}.out'", "{}>{}.out"),
            ("mkdir '{}&&' cd {}", "{}&&"),
            ("wc -l '<{}'", "<{}"),
            ("nice -n 5 bash x.sh {} '&>{}.log'", "&>{}.log"),
            ("sleep {} '&'", "&"),
            ("echo '*'", "*"),
            ("ls '{}/*'", "{}/*"),
            ("cp {} '~/x'", "~/x"),
            ("echo '\"{}\"'", "\"{}\""),
            ("awk '{print $1}' {} '>{}.1'", ">{}.1"),
            ("printf '%s\\\\n'", "%s\\\\n"),
            ("test -e {} '&&' echo {}", "&&"),
            ("ls f?.log", "f?.log"),
            ("./train --split test '>{}.log'", ">{}.log"),
            ("tr a-z A-Z '<' {}", "<"),
            ("perl -pe '\"s/a/b/\"' {}", "\"s/a/b/\""),
            ("echo {a,b}", "{a,b}"),
            ("cat x{1..3}", "x{1..3}"),
            ("bash -c '\"echo {}\"'", "\"echo {}\""),
            ("python3 -c '\"print({}, 1)\"'", "\"print({}, 1)\""),
            ("awk '\"{print $2, 1}\"' {}", "\"{print $2, 1}\""),
        ] {
            assert_eq!(meant(text).as_deref(), Some(word), "{text}");
        }
    }

    #[test]
    fn what_programs_are_given_is_left_alone() {
        for text in [
            "grep 'a*'",
            "grep -c '>' {}",
            "grep '>chr1' {}",
            "grep -E '{}|x' f",
            "zgrep -e '\"a\"' {}",
            "sed 's/a/b/;s/c/d/'",
            "sed -n '$p;' {}",
            "sed -e 's/$x;/y/' -e 'p;' {}",
            "awk '{print $1}'",
            "awk -F '|' '$2>1&&$3<4 {print $NF \";\"}' {}",
            "awk 'NR>1&&NR<5' {}",
            "cut -d '|' -f 2 {}",
            "cut -d '>' -f 2 {}",
            "tr '|' '>' {}",
            "sort -t '|' {}",
            "perl -pe 's/\\$x/`y`/;' {}",
            "python3 -c 'import sys; print(1 > 2)' {}",
            "sqlite3 {} 'vacuum;'",
            "psql -c 'vacuum;' {}",
            "jq '.[]|{}'",
            "jq -r '\"x\"' {}",
            "curl 'http://h/?a={}&b=2;c=[1]*'",
            "curl -b 'a={};b=2' h",
            "curl -H 'If: <{}>' h",
            "find {} -name '*.c' -exec rm '{}' ';'",
            "find {} -size '+1k' '+'",
            "test {} '>' 5",
            "expr {} '|' 1",
            "sh -c 'echo \"$0\" >x' {}",
            "nice sh -c 'x;' {}",
            "ssh {} 'df -h | grep $x'",
            "docker run x sh -c 'echo $HOME' {}",
            "rename 's/$/.x/' {}",
            "convert {} -resize '50%>' {}.png",
            "convert {} -resize '100x100>' {/}",
            "pip install '{}>=1'",
            "npm i x '>=1.2'",
            "rsync -a --exclude '*.o' {} x",
            "tar czf {}.tgz --exclude='*.o' {}",
            "cp {} '{}~'",
            "grep -r --include '*.c' x {}",
            "unzip {} '*.txt'",
            "ffmpeg -i {} -vf 'scale=1:2;x' {.}.mp4",
            "echo 'a b & c' {}",
            "echo '<b>{}</b>'",
            "printf '%s;\\n' {}",
            "git log '--format=%h' {}",
            "echo '$5' 'a*b c'",
            "echo {}",
            "printf '<%s>\\n' x",
            "printf '>%s\\n' {}",
            "echo '<p>{}</p>'",
            "echo '{\"a\":1,\"b\":2}'",
            "echo 'http://h/?a=1'",
        ] {
            assert_eq!(meant(text), None, "{text}");
        }
    }
}
