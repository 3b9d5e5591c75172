//! `--pipe`: the input cut at the ends of records into blocks, each the standard input of a job.

use super::input::Interruptible;
use std::fs::File;
use std::io::{self, Read, Write};

/// Read at a time where a record is longer than a block.
const MORE: usize = 64 * 1024;

/// Where blocks may be cut, and how large they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cuts {
    /// Bytes of a block, unless a record is longer.
    pub(super) size: usize,
    /// What a record ends with, and what the next one begins with.
    pub(super) end: Vec<u8>,
    pub(super) start: Vec<u8>,
    /// So many such ends make a record.
    pub(super) lines: usize,
    /// Records of a block, instead of its size.
    pub(super) records: Option<usize>,
    /// The first record is put before each block.
    pub(super) has_header: bool,
    /// `--rrs`: what records end and begin with is in no block.
    pub(super) is_bare: bool,
}

/// An input in blocks.
pub(super) struct Blocks<'a> {
    input: Interruptible<'a>,
    cuts: Cuts,
    header: Vec<u8>,
    is_begun: bool,
    /// What was read and is in no block yet.
    rest: Vec<u8>,
    is_over: bool,
}

impl<'a> Blocks<'a> {
    pub(super) fn new(input: Interruptible<'a>, cuts: Cuts) -> Self {
        Self {
            input,
            cuts,
            header: Vec::new(),
            is_begun: false,
            rest: Vec::new(),
            is_over: false,
        }
    }

    /// The next block; none at the end of the input.
    pub(super) fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        if self.cuts.has_header && !std::mem::replace(&mut self.is_begun, true) {
            self.header = self.record()?;
        }
        let block = match self.cuts.records {
            Some(records) => self.take_records(records.saturating_mul(self.cuts.lines))?,
            None => self.take_bytes()?,
        };
        let is_over = block.is_empty();
        let block = [&self.header[..], &block].concat();
        Ok((!is_over).then(|| match self.cuts.is_bare {
            true => self.cuts.bare(&block),
            false => block,
        }))
    }

    /// The first record of all.
    fn record(&mut self) -> io::Result<Vec<u8>> {
        self.take_records(1)
    }

    /// Up to the `count`th place where it may be cut.
    fn take_records(&mut self, count: usize) -> io::Result<Vec<u8>> {
        let (mut found, mut from) = (0, 0);
        loop {
            while let Some(at) = self.cuts.first(&self.rest, from) {
                found += 1;
                from = at;
                if found == count {
                    return Ok(self.take(at));
                }
            }
            if self.is_over {
                return Ok(std::mem::take(&mut self.rest));
            }
            self.fill(self.rest.len() + MORE.max(self.rest.len()))?;
        }
    }

    /// Up to the last place in so many bytes where it may be cut, or else the first behind them.
    fn take_bytes(&mut self) -> io::Result<Vec<u8>> {
        self.fill(self.cuts.size)?;
        if self.is_over && self.rest.len() <= self.cuts.size {
            return Ok(std::mem::take(&mut self.rest));
        }
        let size = self.cuts.size.min(self.rest.len());
        match self.cuts.last(&self.rest[..size]) {
            Some(at) => Ok(self.take(at)),
            None => self.take_records(self.cuts.lines),
        }
    }

    /// The first bytes of the rest.
    fn take(&mut self, count: usize) -> Vec<u8> {
        let rest = self.rest.split_off(count);
        std::mem::replace(&mut self.rest, rest)
    }

    /// Reads until there are so many bytes, or all.
    fn fill(&mut self, count: usize) -> io::Result<()> {
        let missing = count.saturating_sub(self.rest.len());
        if !self.is_over && missing > 0 {
            let mut input = (&mut self.input).take(missing as u64);
            self.is_over = input.read_to_end(&mut self.rest)? < missing;
        }
        Ok(())
    }
}

impl Cuts {
    /// Whole records, without what each begins and ends with.
    fn bare(&self, block: &[u8]) -> Vec<u8> {
        let block = block.strip_prefix(&self.start[..]).unwrap_or(block);
        let block = block.strip_suffix(&self.end[..]).unwrap_or(block);
        let mark = [&self.end[..], &self.start].concat();
        let (mut bare, mut at) = (Vec::with_capacity(block.len()), 0);
        while at < block.len() {
            if !mark.is_empty() && block[at..].starts_with(&mark) {
                at += mark.len();
            } else {
                bare.push(block[at]);
                at += 1;
            }
        }
        bare
    }

    /// The first place behind `from` where the bytes may be cut.
    fn first(&self, bytes: &[u8], from: usize) -> Option<usize> {
        if let ([end], []) = (&self.end[..], &self.start[..]) {
            let rest = bytes.get(from..)?;
            return Some(from + rest.iter().position(|byte| byte == end)? + 1);
        }
        let mark = [&self.end[..], &self.start].concat();
        // A place is behind the end and before the start of a record.
        let first = from.saturating_sub(self.end.len()) + usize::from(self.end.len() <= from);
        let rest = bytes.get(first..)?;
        let at = rest.windows(mark.len()).position(|found| found == mark)?;
        Some(first + at + self.end.len())
    }

    /// The last place in the bytes where a record ends.
    fn last(&self, bytes: &[u8]) -> Option<usize> {
        if self.end.is_empty() && self.start.is_empty() {
            return Some(bytes.len());
        }
        if let (1, [end], []) = (self.lines, &self.end[..], &self.start[..]) {
            return Some(bytes.iter().rposition(|byte| byte == end)? + 1);
        }
        let next = |at: &usize| self.first(bytes, *at);
        let places = std::iter::successors(self.first(bytes, 0), next);
        places.skip(self.lines - 1).step_by(self.lines).last()
    }
}

/// A block in a file that has no name.
pub(super) fn stored(block: &[u8]) -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    file.write_all(block)?;
    Ok(file)
}

/// `--block`: bytes, or with k, m, g (powers of 1000) or K, M, G (of 1024) behind the number.
pub(super) fn size(text: &str) -> Result<usize, String> {
    let wrong = || format!("{text:?} is no size of a block above 0, such as 500k or 10M");
    if text.starts_with('-') {
        let what = "a block for each job slot: there are no slots here, a size does it (10M)";
        return Err(format!("{text} means {what}"));
    }
    let units = [("k", 1000), ("m", 1_000_000), ("g", 1_000_000_000)];
    let large = [("K", 1 << 10), ("M", 1 << 20), ("G", 1 << 30)];
    let mut all = units.into_iter().chain(large);
    let unit = all.find_map(|(unit, bytes)| Some((text.strip_suffix(unit)?, bytes)));
    let (digits, bytes) = unit.unwrap_or((text, 1));
    let number: usize = digits.parse().map_err(|_| wrong())?;
    let size = number.checked_mul(bytes).filter(|&size| size > 0);
    size.ok_or_else(wrong)
}

/// `--recend` and `--recstart`: a string in which `\n`, `\t`, `\r`, `\0` and `\\` are as in C.
pub(super) fn text(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let escaped = (byte == b'\\').then(|| rest.next()).flatten();
        bytes.push(match escaped {
            Some(b'n') => b'\n',
            Some(b't') => b'\t',
            Some(b'r') => b'\r',
            Some(b'0') => 0,
            Some(other) => other,
            None => byte,
        });
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rustix::event::{EventfdFlags, eventfd};
    use std::io::Seek;
    use std::os::fd::AsFd;

    fn cuts(size: usize) -> Cuts {
        Cuts {
            size,
            end: b"\n".to_vec(),
            start: Vec::new(),
            lines: 1,
            records: None,
            has_header: false,
            is_bare: false,
        }
    }

    fn all(cuts: Cuts, bytes: &[u8]) -> Vec<String> {
        let never = eventfd(0, EventfdFlags::empty()).unwrap();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file.rewind().unwrap();
        let mut blocks = Blocks::new(Interruptible::new(file, never.as_fd()), cuts);
        let next = || blocks.next().unwrap();
        let blocks = std::iter::from_fn(next);
        blocks
            .map(|block| String::from_utf8(block).unwrap())
            .collect()
    }

    #[test]
    fn blocks_end_with_lines_and_a_longer_line_is_one() {
        assert_eq!(all(cuts(5), b"a\nb\nc\nd"), ["a\nb\n", "c\nd"]);
        assert_eq!(all(cuts(4), b"a\nb\nc\n"), ["a\nb\n", "c\n"]);
        assert_eq!(all(cuts(2), b"a\nlonger\nb\n"), ["a\n", "longer\n", "b\n"]);
        assert_eq!(all(cuts(100), b"a\nb"), ["a\nb"]);
        assert_eq!(all(cuts(100), b""), [""; 0]);
        assert_eq!(all(cuts(1), b"\n\n"), ["\n", "\n"]);
    }

    #[test]
    fn records_may_be_counted_and_have_many_lines() {
        let two = Cuts {
            records: Some(2),
            ..cuts(1)
        };
        assert_eq!(all(two.clone(), b"a\nb\nc\n"), ["a\nb\n", "c\n"]);
        let header = Cuts {
            has_header: true,
            ..two
        };
        assert_eq!(all(header.clone(), b"h\na\nb\nc"), ["h\na\nb\n", "h\nc"]);
        assert_eq!(all(header, b"h\n"), [""; 0]);
        let of_two_lines = Cuts {
            lines: 2,
            ..cuts(7)
        };
        assert_eq!(
            all(of_two_lines, b"a\nb\nc\nd\ne\nf\n"),
            ["a\nb\n", "c\nd\n", "e\nf\n"]
        );
    }

    #[test]
    fn records_may_begin_with_something() {
        let starts = |size| Cuts {
            end: Vec::new(),
            start: b">".to_vec(),
            ..cuts(size)
        };
        let text = b">1\nac\n>2\ngt\n>3\n";
        assert_eq!(all(starts(10), text), [">1\nac\n", ">2\ngt\n>3\n"]);
        assert_eq!(all(starts(1), text), [">1\nac\n", ">2\ngt\n", ">3\n"]);
        let both = Cuts {
            end: b"\n".to_vec(),
            ..starts(1)
        };
        assert_eq!(all(both, b">a>b\n>c\n"), [">a>b\n", ">c\n"]);
        let nothing = Cuts {
            start: Vec::new(),
            ..starts(2)
        };
        assert_eq!(all(nothing, b"abcde"), ["ab", "cd", "e"]);
    }

    #[test]
    fn sizes_and_texts() {
        assert_eq!(size("10"), Ok(10));
        assert_eq!(
            ["2k", "2K", "1m", "1M"].map(|text| size(text).unwrap()),
            [2000, 2048, 1_000_000, 1_048_576]
        );
        assert!(size("-1").unwrap_err().contains("slot"));
        for wrong in ["", "0", "M", "1.5M", "x", "1T1", "99999999999G"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
        assert_eq!(text(r"\n\t\\a\0"), b"\n\t\\a\0");
        assert_eq!(text("a\\"), b"a\\");
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_records_stay_whole(
            text in "[ab>\n]{0,60}", size in 1_usize..20, end in "[a\n]{0,2}", start in "[>b]{0,1}",
            lines in 1_usize..4, records in prop::option::of(1_usize..4),
        ) {
            prop_assume!(!end.is_empty() || !start.is_empty());
            let cuts = Cuts {
                size,
                end: end.clone().into_bytes(),
                start: start.clone().into_bytes(),
                lines,
                records,
                has_header: false,
                is_bare: false,
            };
            let blocks = all(cuts, text.as_bytes());
            prop_assert_eq!(blocks.concat(), text);
            for pair in blocks.windows(2) {
                prop_assert!(pair[0].ends_with(&end) && pair[1].starts_with(&start));
            }
        }
    }
}
