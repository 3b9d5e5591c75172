//! The text of a scenario, and mistakes that point into it.

use std::fmt;
use std::ops::Range;

/// Bytes of the file.
pub(crate) type Span = Range<usize>;

/// A scenario file: its name, for messages, and its text.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) text: String,
}

/// Where something was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// In the file.
    File(Span),
    /// In a setting from outside of it: its text.
    Setting(String),
}

/// What is wrong with a scenario, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The file, or the setting.
    pub source: String,
    /// Line and column in the file, from 1 on; columns count characters.
    pub at: Option<(usize, usize)>,
    /// What is wrong, and what would be right.
    pub message: String,
    /// The line, and how many characters of it are meant.
    excerpt: Option<(String, usize)>,
}

impl Mistake {
    /// A mistake in a setting from outside of the file.
    pub(crate) fn in_setting(setting: &str, message: impl Into<String>) -> Mistake {
        Mistake {
            source: format!("setting {setting}"),
            at: None,
            message: message.into(),
            excerpt: None,
        }
    }
}

impl Source {
    /// A mistake that was made there.
    pub(crate) fn mistake(&self, origin: &Origin, message: impl Into<String>) -> Mistake {
        match origin {
            Origin::File(span) => self.mistake_at(span, message.into()),
            Origin::Setting(setting) => Mistake::in_setting(setting, message),
        }
    }

    fn mistake_at(&self, span: &Span, message: String) -> Mistake {
        let start = self.floor(span.start);
        let end = self.floor(span.end).max(start);
        let line_start = self.text[..start].rfind('\n').map_or(0, |at| at + 1);
        let line = self.text[line_start..].lines().next().unwrap_or_default();
        let column = self.text[line_start..start].chars().count() + 1;
        let meant = self.text[start..end].lines().next().unwrap_or_default();
        Mistake {
            source: self.name.clone(),
            at: Some((self.text[..start].matches('\n').count() + 1, column)),
            message,
            excerpt: Some((line.to_owned(), meant.chars().count().max(1))),
        }
    }

    /// The nearest place at or before this one where a character begins.
    fn floor(&self, at: usize) -> usize {
        let at = at.min(self.text.len());
        (0..=at)
            .rev()
            .find(|&at| self.text.is_char_boundary(at))
            .unwrap_or(0)
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Mistake {
            source, message, ..
        } = self;
        let (Some((line, column)), Some((text, meant))) = (self.at, &self.excerpt) else {
            return write!(f, "{source}: {message}");
        };
        let margin = " ".repeat(line.to_string().len());
        // Tabs stay tabs, so that the mark stands below what it marks.
        let tab_or_space = |c| if c == '\t' { '\t' } else { ' ' };
        let indent: String = text.chars().take(column - 1).map(tab_or_space).collect();
        writeln!(f, "{source}:{line}:{column}: {message}")?;
        writeln!(f, " {line} | {text}")?;
        write!(f, " {margin} | {indent}{}", "^".repeat(*meant))
    }
}

impl std::error::Error for Mistake {}

/// The known name that is most like this one, if one is.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let by_distance = known.into_iter().map(|other| (edits(name, other), other));
    let (distance, best) = by_distance.min_by_key(|&(distance, _)| distance)?;
    let (short, long) = (name.chars().count(), best.chars().count());
    let allowed = (short.max(long) / 3).max(1);
    // Something of the name must be left.
    (distance <= allowed && distance < short).then_some(best)
}

/// `; did you mean ...?`, or what there is to choose from.
pub(crate) fn suggestion<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    match (nearest(name, known.iter().copied()), known.len()) {
        (Some(best), _) => format!("; did you mean `{best}`?"),
        (None, 0) => "; there is none".to_owned(),
        (None, 1..=12) => format!("; known: {}", known.join(", ")),
        (None, _) => String::new(),
    }
}

/// How many characters must be changed, added, left out or swapped with the next to make `b` of
/// `a`.
fn edits(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let change = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = change.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_stands_below_what_is_meant() {
        let source = Source {
            name: "a.toml".to_owned(),
            text: "x = 1\n\tname = \"ä\" # b\n".to_owned(),
        };
        let span = 7..11;
        let mistake = source.mistake(&Origin::File(span), "no");
        assert_eq!(mistake.at, Some((2, 2)));
        let shown = "a.toml:2:2: no\n 2 | \tname = \"ä\" # b\n   | \t^^^^";
        assert_eq!(mistake.to_string(), shown);
    }

    #[test]
    fn a_place_beyond_the_text_is_its_end() {
        let source = Source {
            name: "a".to_owned(),
            text: "é".to_owned(),
        };
        assert_eq!(source.mistake(&Origin::File(1..99), "m").at, Some((1, 1)));
        assert_eq!(source.mistake(&Origin::File(50..99), "m").at, Some((1, 2)));
    }

    #[test]
    fn names_are_near_if_few_letters_differ() {
        assert_eq!(nearest("kcrpytd", ["kcryptd", "fio"]), Some("kcryptd"));
        assert_eq!(nearest("x", ["kcryptd"]), None);
        assert_eq!(nearest("x", ["y"]), None);
        assert_eq!(nearest("x", []), None);
        assert_eq!(edits("kitten", "sitting"), 3);
        assert_eq!(edits("ab", "ba"), 1);
    }
}
