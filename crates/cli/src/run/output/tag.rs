//! `--tag`: each line of a job's output begins with the job's arguments.

use std::io::{self, Write};

/// Passes lines on, each behind a tag.
pub(super) struct Tagged<'a, W> {
    tag: &'a [u8],
    to: W,
    at_line_start: bool,
}

impl<'a, W: Write> Tagged<'a, W> {
    pub(super) fn new(tag: &'a [u8], to: W) -> Self {
        Self {
            tag,
            to,
            at_line_start: true,
        }
    }

    /// Ends the last line, if the job has not: the next one is another job's.
    pub(super) fn finish(mut self) -> io::Result<()> {
        if !self.at_line_start {
            self.to.write_all(b"\n")?;
        }
        self.to.flush()
    }
}

impl<W: Write> Write for Tagged<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for line in bytes.split_inclusive(|&byte| byte == b'\n') {
            if self.at_line_start {
                self.to.write_all(self.tag)?;
                self.to.write_all(b"\t")?;
            }
            self.to.write_all(line)?;
            self.at_line_start = line.ends_with(b"\n");
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_has_the_tag_once_and_the_last_one_ends() {
        let mut made = Vec::new();
        let mut tagged = Tagged::new(b"x y", &mut made);
        for part in ["a", "b\n", "\nc", "d"] {
            tagged.write_all(part.as_bytes()).unwrap();
        }
        tagged.finish().unwrap();
        assert_eq!(made, b"x y\tab\nx y\t\nx y\tcd\n");
    }
}
