//! COMMAND as one word with shell syntax: `'gzip -dc {} > {.}'`. A shell runs it; what is put into
//! it stays what it is, also between quotes.

use super::hole::{Arguments, Hole, Holes, Part};
use super::quote::quoted;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// A word with one of these is no name of a program.
const SYNTAX: &[u8] = b" \t\n|&;<>()$`\\\"'";

/// Whether COMMAND is a script. A program may have such a name, too.
pub(super) fn is_script(command: &[OsString]) -> bool {
    let [word] = command else { return false };
    let has_syntax = word.as_bytes().iter().any(|byte| SYNTAX.contains(byte));
    has_syntax && !Path::new(word).is_file()
}

/// Whether GNU parallel would take a part of it for code in Perl.
pub(super) fn is_perl(word: &OsStr) -> bool {
    let holds = |mark: &[u8]| word.as_bytes().windows(2).any(|two| two == mark);
    holds(b"{=") && (holds(b"=}") || word == "{=")
}

/// What GNU parallel's `--plus` has and we do not, such as `{##}` and `{%.txt}`.
pub(super) fn other_plus_form(word: &OsStr) -> Option<&str> {
    let word = word.to_str()?;
    let mut openings = word.match_indices('{').map(|(at, _)| at);
    openings.find_map(|at| {
        let form = &word[at..=at + word[at..].find('}')?];
        let inner = &form[1..form.len() - 1];
        let is_other = inner.len() > 1 && inner.starts_with(['%', '#', '^', ',', ':']);
        let replaces = inner.starts_with('/') && inner[1..].trim_start_matches('/').contains('/');
        ((is_other || replaces) && !word[..at].ends_with('$')).then_some(form)
    })
}

/// A byte of a value becomes at most so many: a quote between quotes.
pub(super) const MOST_QUOTED: usize = 4;

/// Between which quotes something stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quotes {
    Not,
    Single,
    Double,
    /// Of a substitution `$(...)`: inside it is as if there were none outside.
    Parenthesis,
    /// The same with backquotes.
    Backquote,
}

/// A script with holes, and the quotes around each.
#[derive(Clone, Debug)]
pub(super) struct Script(Vec<(Part, Quotes)>);

impl Script {
    /// The script; without a hole the job's columns are its last arguments.
    pub(super) fn new(text: &OsStr, holes: &Holes) -> Self {
        let mut scan = Scan {
            text: text.as_bytes(),
            at: 0,
            quotes: vec![Quotes::Not],
            plain: Vec::new(),
            parts: Vec::new(),
        };
        while scan.at < scan.text.len() {
            scan.step(holes);
        }
        let mut parts = scan.ended();
        let is_hole = |(part, _): &(Part, Quotes)| matches!(part, Part::Hole(_));
        if holes.max_args > 0 && !parts.iter().any(is_hole) {
            parts.push((Part::Text(b" ".to_vec()), Quotes::Not));
            let all = Hole::All(super::hole::Form::Whole);
            parts.push((Part::Hole(all), Quotes::Not));
        }
        Self(parts)
    }

    /// What the shell runs for this job.
    pub(super) fn text(&self, job: &Arguments<'_>) -> OsString {
        let mut made = Vec::new();
        for (part, quotes) in &self.0 {
            match part {
                Part::Text(text) => made.extend_from_slice(text),
                Part::Hole(hole) => {
                    let values = job.values(*hole).into_iter();
                    let values: Vec<_> = values.map(|value| put(&value, *quotes)).collect();
                    made.extend(values.join(&b' '));
                }
            }
        }
        OsString::from_vec(made)
    }

    /// How many times the script has all columns.
    pub(super) fn copies(&self) -> usize {
        let all = |(part, _): &&(Part, Quotes)| matches!(part, Part::Hole(Hole::All(_)));
        self.0.iter().filter(all).count()
    }

    /// Bytes that every job has.
    pub(super) fn fixed(&self) -> usize {
        let texts = self.0.iter().map(|(part, _)| match part {
            Part::Text(text) => text.len(),
            Part::Hole(_) => 0,
        });
        texts.sum()
    }
}

/// The value as the shell has to read it there.
fn put(value: &[u8], quotes: Quotes) -> Vec<u8> {
    match quotes {
        Quotes::Double => escaped(value, b"\\\"$`"),
        // They end, the quote comes escaped, and they begin again.
        Quotes::Single => {
            let parts: Vec<&[u8]> = value.split(|&byte| byte == b'\'').collect();
            parts.join(&br"'\''"[..])
        }
        Quotes::Not | Quotes::Parenthesis => quoted(OsStr::from_bytes(value)),
        // They take one layer of backslashes off, whatever quotes are inside.
        Quotes::Backquote => escaped(&quoted(OsStr::from_bytes(value)), b"\\`"),
    }
}

fn escaped(value: &[u8], special: &[u8]) -> Vec<u8> {
    let one = |&byte: &u8| match special.contains(&byte) {
        true => vec![b'\\', byte],
        false => vec![byte],
    };
    value.iter().flat_map(one).collect()
}

/// On the way through a script.
struct Scan<'a> {
    text: &'a [u8],
    at: usize,
    /// The innermost last; never empty.
    quotes: Vec<Quotes>,
    plain: Vec<u8>,
    parts: Vec<(Part, Quotes)>,
}

impl Scan<'_> {
    fn step(&mut self, holes: &Holes) {
        let before = self.at.checked_sub(1).map(|before| self.text[before]);
        if let Some((hole, length)) = holes.at(&self.text[self.at..], before) {
            self.flush();
            self.parts.push((Part::Hole(hole), self.innermost()));
            self.at += length;
            return;
        }
        let byte = self.text[self.at];
        self.take();
        if byte == b'\\' && self.innermost() != Quotes::Single {
            self.take();
            return;
        }
        let dollar = before == Some(b'$');
        self.follow(byte, dollar);
    }

    fn follow(&mut self, byte: u8, after_dollar: bool) {
        let inner = self.innermost();
        let closes = match inner {
            Quotes::Not => false,
            Quotes::Single => byte == b'\'',
            Quotes::Double => byte == b'"',
            Quotes::Parenthesis => byte == b')',
            Quotes::Backquote => byte == b'`',
        };
        let opened = match byte {
            _ if closes || inner == Quotes::Single => None,
            b'\'' if inner != Quotes::Double => Some(Quotes::Single),
            b'"' => Some(Quotes::Double),
            b'(' if inner != Quotes::Double || after_dollar => Some(Quotes::Parenthesis),
            b'`' => Some(Quotes::Backquote),
            _ => None,
        };
        if closes {
            self.quotes.pop();
        }
        self.quotes.extend(opened);
    }

    fn take(&mut self) {
        self.plain.extend(self.text.get(self.at));
        self.at += 1;
    }

    fn innermost(&self) -> Quotes {
        *self.quotes.last().expect("it is never empty")
    }

    fn flush(&mut self) {
        if !self.plain.is_empty() {
            let text = std::mem::take(&mut self.plain);
            self.parts.push((Part::Text(text), self.innermost()));
        }
    }

    fn ended(mut self) -> Vec<(Part, Quotes)> {
        self.flush();
        self.parts
    }
}

#[cfg(test)]
mod tests {
    use super::super::columns::Cut;
    use super::*;
    use proptest::prelude::*;
    use std::process::Command;

    fn text(script: &str, value: &[u8]) -> OsString {
        let holes = Holes {
            line: None,
            cut: Cut::Whole,
            max_args: 1,
            names: Vec::new(),
            plus: false,
        };
        let job = Arguments {
            columns: &[value],
            sequence: 1,
            slot: 1,
        };
        Script::new(OsStr::new(script), &holes).text(&job)
    }

    fn of(word: &str) -> bool {
        is_script(&[OsString::from(word)])
    }

    #[test]
    fn one_word_with_shell_syntax_is_a_script() {
        assert!(of("gzip -d {}") && of("true;") && of("echo>x"));
        assert!(!of("gzip") && !of("./{}.sh") && !of("{}") && !of("a.b-c_d"));
        assert!(!is_script(&["a b".into(), "c".into()]) && !is_script(&[]));
    }

    #[test]
    fn without_a_hole_the_line_is_the_last_argument() {
        assert_eq!(text("cd /; ls -l", b"a b"), "cd /; ls -l 'a b'");
        assert_eq!(text("echo {#}; ls", b"x"), "echo 1; ls");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn a_value_arrives_whole_between_any_quotes(
            value in prop::collection::vec(1_u8.., 0..12),
            script in prop::sample::select(vec![
                r#"printf %s {}"#, r#"printf %s "{}""#, r#"printf %s '{}'"#, r#"printf %s "a"{}'b'"#,
                r#"printf %s "$(printf %s {}; echo)""#, r#"printf %s "$(printf %s "{}"; echo)""#,
                r#"x="it's {}"; printf %s "$x""#, r#"(printf %s {})"#, r#"printf %s "`printf %s {}; echo`""#, r#"printf %s \"{}"#,
                r#"printf %s "\"{}""#, r#"case a in (a) printf %s {};; esac"#,
            ]),
        ) {
            // A substitution drops newlines at its end.
            prop_assume!(value.last() != Some(&b'\n'));
            let ran = Command::new("sh").arg("-c").arg(text(script, &value)).output().unwrap();
            let around = |out: Vec<u8>| match script {
                s if s.contains("\"a\"") => [b"a", &out[..], b"b"].concat(),
                s if s.contains("it's") => [b"it's ", &out[..]].concat(),
                s if s.contains("\\\"") => [b"\"", &out[..]].concat(),
                _ => out,
            };
            prop_assert_eq!(ran.stdout, around(value), "{}: {}", script,
                String::from_utf8_lossy(&ran.stderr));
        }
    }
}
