//! What the program in a machine said on its console.

/// The first line that is the program's, not the firmware's or the kernel's.
pub(super) const BEGIN: &str = "cmwq in ";

/// How many checks went well.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) passed: usize,
    pub(super) failed: usize,
}

/// What is known of a console so far.
#[derive(Default)]
pub(super) struct Console {
    lines: Vec<String>,
    begun: bool,
    said: Said,
    /// The program's own count.
    ended: Option<Said>,
}

impl Console {
    /// One more line; whether it is worth showing.
    pub(super) fn line(&mut self, line: &str) -> bool {
        self.lines.push(line.to_owned());
        self.begun |= line.starts_with(BEGIN);
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["ok", _, ..] => self.said.passed += 1,
            ["FAILED", _, ..] => self.said.failed += 1,
            ["end:", passed, "passed,", failed, "failed"] => {
                self.ended = count(passed).zip(count(failed)).map(Said::from);
            }
            _ => {}
        }
        self.begun && self.ended.is_none()
    }

    /// Whether the program has said anything.
    pub(super) fn has_begun(&self) -> bool {
        self.begun
    }

    /// What it came to; an error, with all that was said, if the program did not reach its end, or
    /// did not find anything to check.
    pub(super) fn end(self) -> Result<Said, String> {
        let fault = match self.ended {
            None => "the program in it did not reach its end".to_owned(),
            Some(ended) if ended != self.said => {
                format!("it counts {ended:?}, but said {:?}", self.said)
            }
            Some(ended) if ended.passed == 0 => "it checked nothing".to_owned(),
            Some(ended) => return Ok(ended),
        };
        Err(format!("{fault}; its console:\n{}", self.lines.join("\n")))
    }
}

impl From<(usize, usize)> for Said {
    fn from((passed, failed): (usize, usize)) -> Said {
        Said { passed, failed }
    }
}

fn count(word: &str) -> Option<usize> {
    word.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(lines: &[&str]) -> Result<Said, String> {
        let mut console = Console::default();
        lines.iter().for_each(|line| _ = console.line(line));
        console.end()
    }

    #[test]
    fn checks_are_counted_and_compared_with_the_programs_own_count() {
        let said = ["ok topology: nodes", "FAILED numa strict: CPU 5", "ok more"];
        let whole = |last| end(&[&said[..], &[last]].concat());
        assert_eq!(whole("end: 2 passed, 1 failed").unwrap(), (2, 1).into());
        assert!(whole("end: 3 passed, 0 failed").is_err());
        assert!(whole("end: 2 passed, x failed").is_err());
    }

    #[test]
    fn a_machine_that_stops_early_or_checks_nothing_is_no_success() {
        let message = end(&["ok topology: nodes"]).unwrap_err();
        assert!(message.ends_with("\nok topology: nodes"), "{message}");
        assert!(end(&["end: 0 passed, 0 failed"]).is_err());
    }

    #[test]
    fn what_comes_before_and_after_the_program_is_not_shown() {
        let mut console = Console::default();
        assert!(!console.line("Booting from ROM..."));
        assert!(console.line("cmwq in nodes"));
        assert!(console.line("ok topology"));
        assert!(!console.line("end: 1 passed, 0 failed"));
        assert!(!console.line("reboot: Restarting system"));
    }
}
