//! Reading the keys of a table one by one, with a message for what is missing, wrong or unknown.

use cmwq_policy::Nanos;

use super::source::{Mistake, Origin, Source, suggestion};
use super::tree::{Node, Value};
use super::units;

/// What strings are read with: the file, and the constants that `$name` stands for.
pub(crate) struct Cx<'a> {
    pub(crate) source: &'a Source,
    /// Name and text.
    pub(crate) constants: Vec<(String, String)>,
}

impl Cx<'_> {
    pub(crate) fn wrong(&self, origin: &Origin, message: impl Into<String>) -> Mistake {
        self.source.mistake(origin, message)
    }

    /// A string or number as text, with constants put in.
    pub(crate) fn text(&self, node: &Node) -> Result<String, Mistake> {
        match &node.value {
            Value::Text(text) => self
                .expand(text)
                .map_err(|message| self.wrong(&node.origin, message)),
            Value::Number(text) => Ok(text.clone()),
            _ => Err(self.wrong(&node.origin, format!("this is {}, no string", node.kind()))),
        }
    }

    fn expand(&self, text: &str) -> Result<String, String> {
        let mut parts = text.split('$');
        let mut whole = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let in_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let end = part.find(|c| !in_name(c)).unwrap_or(part.len());
            let (name, rest) = part.split_at(end);
            let known = self.constants.iter().map(|(name, _)| name.as_str());
            let found = self.constants.iter().find(|(known, _)| known == name);
            let (_, value) = found.ok_or_else(|| {
                format!("there is no constant `{name}`{}", suggestion(name, known))
            })?;
            whole.push_str(value);
            whole.push_str(rest);
        }
        Ok(whole)
    }

    /// Reads a string or number.
    pub(crate) fn read<T>(
        &self,
        node: &Node,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<T, Mistake> {
        let text = self.text(node)?;
        read(&text).map_err(|message| self.wrong(&node.origin, message))
    }

    /// The elements of a list.
    pub(crate) fn list<'n>(&self, node: &'n Node) -> Result<&'n [Node], Mistake> {
        match &node.value {
            Value::List(nodes) => Ok(nodes),
            _ => Err(self.wrong(&node.origin, format!("this is {}, no list", node.kind()))),
        }
    }

    /// The place of a part of a string's text, if the string stands in the file as it is read.
    pub(crate) fn part(&self, node: &Node, from: usize, len: usize) -> Origin {
        let (Origin::File(span), Value::Text(text)) = (&node.origin, &node.value) else {
            return node.origin.clone();
        };
        let written = self
            .source
            .text
            .get(span.start + 1..span.end.saturating_sub(1));
        match written == Some(text) && !text.contains('$') {
            true => Origin::File(span.start + 1 + from..span.start + 1 + from + len),
            false => node.origin.clone(),
        }
    }
}

/// The keys of one table.
pub(crate) struct Fields<'a> {
    cx: &'a Cx<'a>,
    /// What the table describes, for messages.
    what: String,
    node: &'a Node,
    asked: Vec<&'static str>,
}

impl<'a> Fields<'a> {
    /// The keys of this table, which describes that.
    pub(crate) fn of(
        cx: &'a Cx<'a>,
        what: impl Into<String>,
        node: &'a Node,
    ) -> Result<Fields<'a>, Mistake> {
        let what = what.into();
        if !matches!(node.value, Value::Table(_)) {
            let message = format!("{what} is {}, but should be a table", node.kind());
            return Err(cx.wrong(&node.origin, message));
        }
        Ok(Fields {
            cx,
            what,
            node,
            asked: Vec::new(),
        })
    }

    /// What the table describes.
    pub(crate) fn rename(&mut self, what: String) {
        self.what = what;
    }

    /// The value of a key, if the table has it.
    pub(crate) fn node(&mut self, key: &'static str) -> Option<&'a Node> {
        self.asked.push(key);
        self.node.get(key)
    }

    /// The value of a key that must be there.
    pub(crate) fn needed(&mut self, key: &'static str) -> Result<&'a Node, Mistake> {
        let node = self.node(key);
        node.ok_or_else(|| {
            let message = format!("{} has no `{key}`", self.what);
            self.cx.wrong(&self.node.origin, message)
        })
    }

    /// A string or number, read by this function.
    pub(crate) fn read<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<Option<T>, Mistake> {
        let cx = self.cx;
        self.node(key).map(|node| cx.read(node, read)).transpose()
    }

    /// A time; `default` if it is not there.
    pub(crate) fn time(&mut self, key: &'static str, default: Nanos) -> Result<Nanos, Mistake> {
        Ok(self.read(key, units::time)?.unwrap_or(default))
    }

    /// A whole number of this range; `default` if it is not there.
    pub(crate) fn whole(
        &mut self,
        key: &'static str,
        range: std::ops::RangeInclusive<i64>,
        default: i64,
    ) -> Result<i64, Mistake> {
        let read = |text: &str| units::whole(text, *range.start(), *range.end());
        Ok(self.read(key, read)?.unwrap_or(default))
    }

    /// A whole number from 0 to `u32::MAX`.
    pub(crate) fn number(
        &mut self,
        key: &'static str,
        least: u32,
        default: u32,
    ) -> Result<u32, Mistake> {
        let range = i64::from(least)..=i64::from(u32::MAX);
        Ok(self.whole(key, range, i64::from(default))? as u32)
    }

    /// Parts of a thousand, written as a share of one.
    pub(crate) fn per_mille(&mut self, key: &'static str, default: u32) -> Result<u32, Mistake> {
        let read = |text: &str| units::share(text, 1000);
        Ok(self.read(key, read)?.unwrap_or(default))
    }

    /// True or false.
    pub(crate) fn bool(&mut self, key: &'static str, default: bool) -> Result<bool, Mistake> {
        let cx = self.cx;
        let Some(node) = self.node(key) else {
            return Ok(default);
        };
        match &node.value {
            Value::Bool(yes) => Ok(*yes),
            // What a constant or a setting says.
            Value::Text(_) => cx.read(node, |text| match text {
                "true" => Ok(true),
                "false" => Ok(false),
                _ => Err(format!("`{text}` is neither true nor false")),
            }),
            _ => {
                let message = format!("`{key}` is {}, but should be true or false", node.kind());
                Err(cx.wrong(&node.origin, message))
            }
        }
    }

    /// One of these words.
    pub(crate) fn word<T: Copy>(
        &mut self,
        key: &'static str,
        words: &[(&str, T)],
    ) -> Result<Option<T>, Mistake> {
        self.read(key, |text| {
            let found = words.iter().find(|(word, _)| *word == text);
            found.map(|(_, value)| *value).ok_or_else(|| {
                let known = suggestion(text, words.iter().map(|(word, _)| *word));
                format!("`{key}` cannot be `{text}`{known}")
            })
        })
    }

    /// A mistake in the value of this key, or in the table where it is not there.
    pub(crate) fn wrong(&self, key: &str, message: impl Into<String>) -> Mistake {
        let origin = self
            .node
            .get(key)
            .map_or(&self.node.origin, |node| &node.origin);
        self.cx.wrong(origin, message)
    }

    /// Everything was asked for that is known: what else is there is a mistake.
    pub(crate) fn done(self) -> Result<(), Mistake> {
        let Value::Table(entries) = &self.node.value else {
            return Ok(());
        };
        match entries
            .iter()
            .find(|e| !self.asked.contains(&e.key.as_str()))
        {
            None => Ok(()),
            Some(entry) => {
                let known = suggestion(&entry.key, self.asked.iter().copied());
                let message = format!("{} has no key `{}`{known}", self.what, entry.key);
                Err(self.cx.wrong(&entry.origin, message))
            }
        }
    }
}
