//! Counting.

use std::fmt::Display;

/// How many checks went well, and how many did not.
#[derive(Default)]
pub(crate) struct Checks {
    passed: usize,
    failed: usize,
}

impl Checks {
    /// Says what came of a check, and counts it.
    pub(crate) fn note(&mut self, name: &str, result: Result<impl Display, String>) {
        match result {
            Ok(seen) => {
                self.passed += 1;
                println!("ok {name}: {seen}");
            }
            Err(what) => {
                self.failed += 1;
                println!("FAILED {name}: {what}");
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
pub(crate) fn same(found: &str, expected: &str) -> Result<String, String> {
    match found == expected {
        true => Ok(found.to_owned()),
        false => Err(format!("{found}, not {expected}")),
    }
}
