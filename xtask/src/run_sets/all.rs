//! The sets of jobs, in the order of the tables.

use super::daily::daily;
use super::sets::{Kind, Set};

pub(super) fn sets() -> Vec<Set> {
    let burn = |name, about, n, each| Set {
        name,
        about,
        kind: Kind::Burn(n, each),
        max_args: 1,
    };
    let mut sets = vec![
        burn(
            "ninety",
            "90 jobs: 30 of 120 ms CPU time, 60 of 20 ms and 180 ms of waiting",
            90,
            crate::bench::ninety,
        ),
        Set {
            name: "checksums",
            about: "`sha256sum` of 20,000 files of 4 to 64 KiB from a cold cache, 50 to a job",
            kind: Kind::Files(20_000, |n| 4 << (n % 5), &["sha256sum"]),
            max_args: 50,
        },
        Set {
            name: "compress",
            about: "`gzip` of 500 files of 64 to 512 KiB",
            kind: Kind::Files(500, |n| 64 << (n % 4), &["gzip", "-kf"]),
            max_args: 1,
        },
        burn(
            "waits",
            "200 jobs: 150 wait for 200 to 600 ms and need 2 ms, 50 need 60 ms",
            200,
            |n| match n % 4 {
                0 => (60, 0),
                part => (2, 200 * part),
            },
        ),
        burn(
            "tests",
            "a test suite of 300 programs: 5 to 40 ms each, every fifth waits 100 ms to 1 s",
            300,
            |n| {
                (
                    5 + 5 * (n % 8),
                    if n % 5 == 0 {
                        100 * (1 + n / 5 % 10)
                    } else {
                        0
                    },
                )
            },
        ),
        Set::empty(3000),
    ];
    sets.extend(daily());
    sets
}
