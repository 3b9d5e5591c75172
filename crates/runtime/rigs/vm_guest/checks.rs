//! Counting.

use std::fmt::Display;

/// What was seen, or what was wrong with it.
pub(crate) type Outcome = Result<String, String>;

/// How many checks went well, and how many did not.
#[derive(Default)]
pub(crate) struct Checks {
    passed: usize,
    failed: usize,
}

impl Checks {
    /// Says what came of a check, and counts it.
    pub(crate) fn note(&mut self, name: &str, result: Result<impl Display, String>) {
        let name = format!("{name}:");
        match result {
            Ok(seen) => {
                self.passed += 1;
                println!("ok {name:<40} {seen}");
            }
            Err(what) => {
                self.failed += 1;
                println!("FAILED {name:<36} {what}");
            }
        }
    }

    /// The last line. Whether all went well.
    pub(crate) fn end(&self) -> bool {
        let Checks { passed, failed } = self;
        println!("end: {passed} passed, {failed} failed");
        self.failed == 0
    }
}

/// An error that names both, unless they are equal.
pub(crate) fn same(found: &str, expected: &str) -> Outcome {
    match found == expected {
        true => Ok(found.to_owned()),
        false => Err(format!("{found}, not {expected}")),
    }
}
