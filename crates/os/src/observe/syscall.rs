//! The `syscall` file of a thread: what a blocked thread waits in.

/// `SYS_futex_wait` (Linux 6.7) has this number on every architecture that cmwq runs on; the libc
/// crate does not name it everywhere.
const SYS_FUTEX_WAIT: i64 = 455;
const FUTEX_WAIT_REQUEUE_PI: u64 = 11;
const FUTEX_LOCK_PI2: u64 = 13;

/// What a `syscall` file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocked {
    /// On a CPU or waiting for one.
    Running,
    /// Blocked in a system call.
    In {
        /// The call's number.
        nr: i64,
        /// Its arguments, as the registers held them.
        args: [u64; 6],
    },
    /// Blocked, but in no system call: a page fault, a stop.
    Outside,
    /// The file could not be read or understood.
    Unknown,
}

/// Reads the text of a `syscall` file. `None` if it is cut or malformed.
pub fn parse_syscall(text: &[u8]) -> Option<Blocked> {
    // The kernel ends each of the three forms with a newline: without it the text was cut.
    let text = std::str::from_utf8(text).ok()?.strip_suffix('\n')?;
    if text == "running" {
        return Some(Blocked::Running);
    }
    let mut words = text.split(' ');
    let nr: i64 = words.next()?.parse().ok()?;
    let mut registers = [0; 8];
    let mut count = 0;
    for word in words {
        *registers.get_mut(count)? = hex(word)?;
        count += 1;
    }
    let [args @ .., _sp, _pc] = registers;
    match (nr, count) {
        (-1, 2) => Some(Blocked::Outside),
        (_, 8) => Some(Blocked::In { nr, args }),
        _ => None,
    }
}

fn hex(word: &str) -> Option<u64> {
    u64::from_str_radix(word.strip_prefix("0x")?, 16).ok()
}

impl Blocked {
    /// The address of the futex the thread waits on, if that is what it does. Several threads on
    /// one address are a convoy.
    pub fn futex_address(&self) -> Option<u64> {
        match *self {
            Blocked::In { nr, args } if nr == libc::SYS_futex => waits(args[1]).then_some(args[0]),
            Blocked::In {
                nr: SYS_FUTEX_WAIT,
                args,
            } => Some(args[0]),
            _ => None,
        }
    }
}

/// Whether a futex operation waits until its word changes; the others return, or wait only for
/// locks inside the kernel.
fn waits(op: u64) -> bool {
    const FLAGS: u64 = (libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME) as u64;
    const WAITING: [u64; 5] = [
        libc::FUTEX_WAIT as u64,
        libc::FUTEX_WAIT_BITSET as u64,
        libc::FUTEX_LOCK_PI as u64,
        FUTEX_LOCK_PI2,
        FUTEX_WAIT_REQUEUE_PI,
    ];
    // The kernel takes an int: the register's upper half may hold anything.
    WAITING.contains(&(op & u64::from(u32::MAX) & !FLAGS))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn futex(op: u64) -> Blocked {
        Blocked::In {
            nr: libc::SYS_futex,
            args: [0x7f00, op, 0, 0, 0, 0],
        }
    }

    #[test]
    fn the_three_forms() {
        assert_eq!(parse_syscall(b"running\n"), Some(Blocked::Running));
        assert_eq!(
            parse_syscall(b"-1 0x7ffd2d9c93d8 0x7f30ff9492ad\n"),
            Some(Blocked::Outside)
        );
        assert_eq!(
            parse_syscall(b"202 0x1 0x80 0x3 0x4 0x5 0xffffffffffffffff 0x7 0x8\n"),
            Some(Blocked::In {
                nr: 202,
                args: [1, 0x80, 3, 4, 5, u64::MAX]
            })
        );
        // nr -1 with arguments: a tracer skipped the call.
        assert!(matches!(
            parse_syscall(b"-1 0x1 0x2 0x3 0x4 0x5 0x6 0x7 0x8\n"),
            Some(Blocked::In { nr: -1, .. })
        ));
    }

    #[test]
    fn every_cut_is_noticed() {
        let full = b"202 0x1 0x80 0x3 0x4 0x5 0x6 0x7 0x8\n";
        for text in [&full[..], b"running\n", b"-1 0x1 0x2\n"] {
            for length in 0..text.len() {
                assert_eq!(parse_syscall(&text[..length]), None, "{length}");
            }
        }
        for bad in [
            &b"\n"[..],
            b"x\n",
            b"1 2 3\n",
            b"1 0x1\n",
            b"0 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0\n",
            b"\xff\n",
        ] {
            assert_eq!(parse_syscall(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn only_waiting_operations_have_an_address() {
        for op in [
            0,
            9,
            6,
            13,
            11,
            128,
            137,
            0x109,
            0x189,
            0xffff_ffff_0000_0080,
        ] {
            assert_eq!(futex(op).futex_address(), Some(0x7f00), "{op:#x}");
        }
        for op in [1, 129, 3, 4, 5, 7, 8, 10, 12, 0x81] {
            assert_eq!(futex(op).futex_address(), None, "{op:#x}");
        }
        let other = |nr| {
            Blocked::In {
                nr,
                args: [0x7f00, 0, 0, 0, 0, 0],
            }
            .futex_address()
        };
        assert_eq!(other(SYS_FUTEX_WAIT), Some(0x7f00));
        assert_eq!(other(libc::SYS_read), None);
        assert_eq!(Blocked::Running.futex_address(), None);
        assert_eq!(Blocked::Outside.futex_address(), None);
    }
}
