//! Numbers with units, read exactly: times, sizes, shares, sets of CPUs.

use cmwq_policy::{CpuMask, Nanos};

use crate::Random;

/// How a length or a time is drawn each time that it is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Amount {
    /// Always this.
    Fixed(Nanos),
    /// Between these, both included, all equally likely.
    Between(Nanos, Nanos),
    /// Exponentially distributed around this mean.
    Around(Nanos),
}

impl Amount {
    /// One of them.
    pub(crate) fn draw(self, random: &mut Random) -> Nanos {
        match self {
            Amount::Fixed(nanos) => nanos,
            Amount::Between(least, most) => random.between(least, most),
            Amount::Around(mean) => random.exponential(mean),
        }
    }
}

const TIMES: [(&str, u128); 5] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
];

const SIZES: [(&str, u128); 4] = [
    ("B", 1),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
];

/// The longest time: far more than any run lasts, and no sum of a few of them overflows.
const LONGEST: u128 = 1 << 55;

/// The largest size, 1 TiB.
const LARGEST: u128 = 1 << 40;

/// The most that a KiB may take: the largest size still takes a time that can be told.
const SLOWEST: u64 = 1_000_000_000;

/// A decimal number and what follows it: digits, how many of them are behind the point, the rest.
pub(crate) fn number(text: &str) -> Option<(u128, u32, &str)> {
    let is_number = |c: char| c.is_ascii_digit() || c == '.' || c == '_';
    let end = text.find(|c| !is_number(c)).unwrap_or(text.len());
    let (written, unit) = text.split_at(end);
    let (whole, fraction) = written.split_once('.').unwrap_or((written, ""));
    let digits: String = [whole, fraction].concat().replace('_', "");
    let fraction = fraction.replace('_', "");
    if whole.is_empty() || fraction.contains('.') || (written.contains('.') && fraction.is_empty())
    {
        return None;
    }
    // More digits than that mean nothing, and might overflow.
    let fits = digits.len() <= 20 && fraction.len() <= 12;
    let digits = digits.parse().ok().filter(|_| fits)?;
    Some((digits, fraction.len() as u32, unit))
}

/// A kind of numbers with units.
struct Measure {
    what: &'static str,
    like: &'static str,
    units: &'static [(&'static str, u128)],
    most: u128,
}

const TIME: Measure = Measure {
    what: "time",
    like: "40us, 1.5ms or 2s",
    units: &TIMES,
    most: LONGEST,
};

const SIZE: Measure = Measure {
    what: "size",
    like: "512B, 32KiB or 1.5MiB",
    units: &SIZES,
    most: LARGEST,
};

fn scaled(text: &str, measure: &Measure) -> Result<u64, String> {
    let Measure {
        what,
        like,
        units,
        most,
    } = *measure;
    let wrong = || format!("`{text}` is no {what}: write it like {like}");
    let (digits, behind, unit) = number(text).ok_or_else(wrong)?;
    if digits == 0 && unit.is_empty() {
        return Ok(0);
    }
    let names: Vec<&str> = units.iter().map(|unit| unit.0).collect();
    let (_, scale) = units.iter().find(|known| known.0 == unit).ok_or_else(|| {
        let problem = match unit {
            "" => "has no unit".to_owned(),
            _ => format!("has the unit `{unit}`"),
        };
        format!("`{text}` {problem}: the units are {}", names.join(", "))
    })?;
    let ten = 10u128.pow(behind);
    let rounded = (digits * scale + ten / 2) / ten;
    match rounded {
        _ if rounded > most => Err(format!("`{text}` is too much")),
        _ => Ok(rounded as u64),
    }
}

/// A time, as `40us` or `1.5ms`.
pub(crate) fn time(text: &str) -> Result<Nanos, String> {
    scaled(text, &TIME)
}

/// Bytes, as `32KiB`.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    scaled(text, &SIZE)
}

/// A time for each KiB.
pub(crate) fn per_kib(text: &str) -> Result<Nanos, String> {
    match time(text)? {
        nanos if nanos <= SLOWEST => Ok(nanos),
        _ => Err(format!("`{text}` is too much for a KiB: at most 1s")),
    }
}

/// A share in so many parts of one: `0.62` or `62%`.
pub(crate) fn share(text: &str, parts: u32) -> Result<u32, String> {
    let wrong = || format!("`{text}` is no share: write it like 0.62 or 62%");
    let (digits, behind, unit) = number(text).ok_or_else(wrong)?;
    let behind = match unit {
        "" => behind,
        "%" => behind + 2,
        _ => return Err(wrong()),
    };
    let ten = 10u128.pow(behind);
    let value = (digits * u128::from(parts) + ten / 2) / ten;
    match value <= u128::from(parts) {
        true => Ok(value as u32),
        false => Err(format!(
            "`{text}` is more than the whole: 0 to 1, or 0% to 100%"
        )),
    }
}

/// A size in whole KiB.
pub(crate) fn kib(text: &str) -> Result<u32, String> {
    let bytes = size(text)?;
    u32::try_from(bytes.div_ceil(1024)).map_err(|_| format!("`{text}` is too much"))
}

/// A whole number of this range.
pub(crate) fn whole(text: &str, least: i64, most: i64) -> Result<i64, String> {
    let value: Option<i64> = text.replace('_', "").parse().ok();
    let value = value.ok_or_else(|| format!("`{text}` is no whole number"))?;
    match (least..=most).contains(&value) {
        true => Ok(value),
        false => Err(format!("{value} is out of range: {least} to {most}")),
    }
}

/// `40us`, `40us..60us`, `40..60us` or `~40us`.
pub(crate) fn amount(text: &str) -> Result<Amount, String> {
    if let Some(mean) = text.strip_prefix('~') {
        return time(mean).map(Amount::Around);
    }
    let Some((from, to)) = text.split_once("..") else {
        return time(text).map(Amount::Fixed);
    };
    let end = time(to)?;
    let start = match number(from) {
        Some((_, _, "")) => {
            let (_, _, unit) = number(to).expect("it was read");
            time(&format!("{from}{unit}"))?
        }
        _ => time(from)?,
    };
    match start <= end {
        true => Ok(Amount::Between(start, end)),
        false => Err(format!("`{text}` ends before it begins")),
    }
}

/// `0-3,8`, of a machine of so many CPUs.
pub(crate) fn cpus(text: &str, there_are: usize) -> Result<CpuMask, String> {
    let mut mask = CpuMask::first(0);
    for part in text.split(',').filter(|_| !text.trim().is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let cpu = |text: &str| text.trim().parse::<usize>().ok();
        let (Some(first), Some(last)) = (cpu(first), cpu(last)) else {
            return Err(format!("`{text}` is no set of CPUs: write it like 0-3,8"));
        };
        if last >= there_are {
            let highest = there_are - 1;
            return Err(format!(
                "CPU {last} is not there: the machine has 0 to {highest}"
            ));
        }
        if first > last {
            return Err(format!("`{part}` ends before it begins"));
        }
        (first..=last).for_each(|cpu| mask.insert(cpu));
    }
    match mask.is_empty() {
        true => Err("the set has no CPU".to_owned()),
        false => Ok(mask),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes_are_exact() {
        assert!(per_kib("2s").unwrap_err().contains("at most 1s"));
        assert!(size("2000GiB").unwrap_err().contains("too much"));
        assert_eq!(time("1.5us"), Ok(1_500));
        assert_eq!(time("0"), Ok(0));
        assert_eq!(time("0.0001us"), Ok(0));
        assert_eq!(time("2s"), Ok(2_000_000_000));
        assert_eq!(size("1.5KiB"), Ok(1536));
        assert_eq!(time("1_000ns"), Ok(1000));
        assert!(time("5").unwrap_err().contains("has no unit"));
        assert!(time("5 us").unwrap_err().contains("unit"));
        assert!(time("5min").unwrap_err().contains("ns, us, µs, ms, s"));
        assert!(size("32KB").unwrap_err().contains("KiB"));
        assert!(
            time("99999999999999999999s")
                .unwrap_err()
                .contains("too much")
        );
        for wrong in ["", ".", "1.", ".5us", "1.2.3us", "-1us", "us"] {
            assert!(time(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn shares_are_of_one() {
        assert_eq!(share("0.62", 1000), Ok(620));
        assert_eq!(share("62.5%", 1000), Ok(625));
        assert_eq!(share("1", 1000), Ok(1000));
        assert!(
            share("620", 1000)
                .unwrap_err()
                .contains("more than the whole")
        );
        assert!(share("101%", 1000).is_err());
        assert!(share("x", 1000).is_err());
    }

    #[test]
    fn amounts_have_three_forms() {
        assert_eq!(amount("40us"), Ok(Amount::Fixed(40_000)));
        assert_eq!(amount("40..60us"), Ok(Amount::Between(40_000, 60_000)));
        assert_eq!(amount("0..1ms"), Ok(Amount::Between(0, 1_000_000)));
        assert_eq!(
            amount("900us..1ms"),
            Ok(Amount::Between(900_000, 1_000_000))
        );
        assert_eq!(amount("~2ms"), Ok(Amount::Around(2_000_000)));
        assert!(amount("2ms..1ms").unwrap_err().contains("before"));
        assert!(amount("1..2").is_err());
    }

    #[test]
    fn sets_of_cpus_are_of_the_machine() {
        assert_eq!(cpus("0-2,5", 8).unwrap().to_string(), "0-2,5");
        assert!(cpus("8", 8).unwrap_err().contains("0 to 7"));
        assert!(cpus("", 8).unwrap_err().contains("no CPU"));
        assert!(cpus("3-1", 8).is_err());
        assert!(cpus("a", 8).is_err());
    }
}
