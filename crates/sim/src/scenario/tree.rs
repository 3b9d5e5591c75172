//! A TOML document as a tree in which every key and value knows where it was said, and in which
//! single values can be replaced before anything is read.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::source::{Mistake, Origin, Source, Span, suggestion};

/// A value, and where it was said.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) origin: Origin,
    pub(crate) value: Value,
}

#[derive(Clone, Debug)]
pub(crate) enum Value {
    Text(String),
    /// An integer or a decimal fraction, as written: nothing is rounded before its unit is known.
    Number(String),
    Bool(bool),
    List(Vec<Node>),
    /// In the order of the file.
    Table(Vec<Entry>),
}

/// A key with its value.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) origin: Origin,
    pub(crate) node: Node,
}

/// Something to put into a tree: where, and what.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    /// The keys that lead there, and where each was said.
    pub(crate) path: Vec<(String, Origin)>,
    pub(crate) node: Node,
}

impl Change {
    /// The path in one word.
    pub(crate) fn key(&self) -> String {
        let keys: Vec<&str> = self.path.iter().map(|(key, _)| key.as_str()).collect();
        keys.join(".")
    }
}

/// Lists of tables with a name each; a path goes on with that name.
const NAMED: [&str; 6] = ["queue", "item", "thread", "lock", "semaphore", "device"];

/// Tables with keys of their own.
const PLAIN: [&str; 2] = ["machine", "constants"];

impl Node {
    /// Reads a document.
    pub(crate) fn parse(source: &Source) -> Result<Node, Mistake> {
        let table = DeTable::parse(&source.text).map_err(|error| {
            let end = source.text.len();
            let origin = Origin::File(error.span().unwrap_or(end..end));
            source.mistake(&origin, error.message())
        })?;
        let span = table.span();
        table_node(source, table.into_inner(), span)
    }

    /// The value of a setting from outside: TOML if it is that, else a string.
    pub(crate) fn of_setting(setting: &str, text: &str) -> Node {
        let origin = Origin::Setting(setting.to_owned());
        let source = Source {
            name: String::new(),
            text: text.to_owned(),
        };
        let parsed = DeValue::parse(text).ok();
        let node = parsed.and_then(|value| node_of(&source, value).ok());
        let mut node = node.unwrap_or_else(|| Node {
            origin: origin.clone(),
            value: Value::Text(text.to_owned()),
        });
        node.move_to(&origin);
        node
    }

    fn move_to(&mut self, origin: &Origin) {
        self.origin = origin.clone();
        match &mut self.value {
            Value::List(nodes) => nodes.iter_mut().for_each(|node| node.move_to(origin)),
            Value::Table(entries) => entries.iter_mut().for_each(|entry| {
                entry.origin = origin.clone();
                entry.node.move_to(origin);
            }),
            Value::Text(_) | Value::Number(_) | Value::Bool(_) => {}
        }
    }

    /// What a table has under this key.
    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        let Value::Table(entries) = &self.value else {
            return None;
        };
        entries.iter().find(|e| e.key == key).map(|e| &e.node)
    }

    /// What a table says that its name is.
    fn name(&self) -> Option<&str> {
        match &self.get("name")?.value {
            Value::Text(name) => Some(name),
            _ => None,
        }
    }

    /// Takes a key out of a table.
    pub(crate) fn remove(&mut self, key: &str) -> Option<Node> {
        let Value::Table(entries) = &mut self.value else {
            return None;
        };
        let at = entries.iter().position(|e| e.key == key)?;
        Some(entries.remove(at).node)
    }

    /// What kind of value it is, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self.value {
            Value::Text(_) => "a string",
            Value::Number(_) => "a number",
            Value::Bool(_) => "true or false",
            Value::List(_) => "a list",
            Value::Table(_) => "a table",
        }
    }

    /// Puts a value where the path leads; keys that are not there are made, named things are not.
    pub(crate) fn apply(&mut self, source: &Source, change: &Change) -> Result<(), Mistake> {
        let ((section, origin), rest) = change.path.split_first().expect("a path has a key");
        let form = match section.as_str() {
            name if PLAIN.contains(&name) => "key",
            name if NAMED.contains(&name) => "name.key",
            name => {
                let known = suggestion(name, PLAIN.iter().chain(&NAMED).copied());
                let message = format!("there is no section `{name}`{known}");
                return Err(source.mistake(origin, message));
            }
        };
        let is_named = form == "name.key";
        if rest.len() < 1 + usize::from(is_named) {
            let message = format!("`{}` names no key: say `{section}.{form}`", change.key());
            return Err(source.mistake(origin, message));
        }
        if !is_named {
            return self.table_at(section, origin).put(source, rest, change);
        }
        let (name, origin) = &rest[0];
        let named = self.named(section, name);
        let node = named.map_err(|message| source.mistake(origin, message))?;
        node.put(source, &rest[1..], change)
    }

    /// The table under this key, made if there is none.
    fn table_at(&mut self, key: &str, origin: &Origin) -> &mut Node {
        let Value::Table(entries) = &mut self.value else {
            unreachable!("only asked of tables");
        };
        let at = entries.iter().position(|e| e.key == key);
        let at = at.unwrap_or_else(|| {
            entries.push(Entry {
                key: key.to_owned(),
                origin: origin.clone(),
                node: Node {
                    origin: origin.clone(),
                    value: Value::Table(Vec::new()),
                },
            });
            entries.len() - 1
        });
        &mut entries[at].node
    }

    fn named(&mut self, section: &str, name: &str) -> Result<&mut Node, String> {
        let Value::Table(entries) = &mut self.value else {
            unreachable!("a document is a table");
        };
        let list = entries.iter_mut().find(|e| e.key == section);
        let nodes = match list.map(|entry| &mut entry.node.value) {
            Some(Value::List(nodes)) => nodes.as_mut_slice(),
            _ => &mut [],
        };
        let found = nodes.iter().position(|node| node.name() == Some(name));
        let Some(at) = found else {
            let known = suggestion(name, nodes.iter().filter_map(Node::name));
            return Err(format!("there is no {section} `{name}`{known}"));
        };
        Ok(&mut nodes[at])
    }

    /// Puts the changed value below this table.
    fn put(
        &mut self,
        source: &Source,
        path: &[(String, Origin)],
        change: &Change,
    ) -> Result<(), Mistake> {
        let ((key, origin), rest) = path.split_first().expect("a path ends with a key");
        let Value::Table(entries) = &mut self.value else {
            let message = format!(
                "`{}`: what has the key `{key}` here is no table",
                change.key()
            );
            return Err(source.mistake(origin, message));
        };
        if !rest.is_empty() {
            return self.table_at(key, origin).put(source, rest, change);
        }
        let entry = Entry {
            key: key.clone(),
            origin: origin.clone(),
            node: change.node.clone(),
        };
        match entries.iter_mut().find(|e| e.key == *key) {
            Some(before) => *before = entry,
            None => entries.push(entry),
        }
        Ok(())
    }

    /// The value at a path, if there is one.
    pub(crate) fn at(&self, path: &[String]) -> Option<&Node> {
        let Some((key, rest)) = path.split_first() else {
            return Some(self);
        };
        match &self.value {
            Value::Table(_) => self.get(key)?.at(rest),
            Value::List(nodes) => nodes.iter().find(|node| node.name() == Some(key))?.at(rest),
            _ => None,
        }
    }
}

fn node_of(source: &Source, value: Spanned<DeValue<'_>>) -> Result<Node, Mistake> {
    let span = value.span();
    let origin = Origin::File(span.clone());
    let value = match value.into_inner() {
        DeValue::String(text) => Value::Text(text.into_owned()),
        DeValue::Integer(number) if number.radix() == 10 => {
            Value::Number(number.as_str().to_owned())
        }
        DeValue::Integer(_) => return Err(source.mistake(&origin, "numbers are decimal here")),
        DeValue::Float(number) => Value::Number(number.as_str().to_owned()),
        DeValue::Boolean(yes) => Value::Bool(yes),
        DeValue::Datetime(_) => {
            return Err(source.mistake(&origin, "no date is understood here"));
        }
        DeValue::Array(nodes) => {
            let nodes = nodes.into_iter().map(|node| node_of(source, node));
            Value::List(nodes.collect::<Result<_, _>>()?)
        }
        DeValue::Table(table) => return table_node(source, table, span),
    };
    Ok(Node { origin, value })
}

fn table_node(source: &Source, table: DeTable<'_>, span: Span) -> Result<Node, Mistake> {
    let mut entries = Vec::new();
    for (key, value) in table {
        let at = key.span();
        let entry = Entry {
            key: key.into_inner().into_owned(),
            origin: Origin::File(at.clone()),
            node: node_of(source, value)?,
        };
        entries.push((at.start, entry));
    }
    // The parser sorts by key; what depends on order here depends on the file's.
    entries.sort_by_key(|(start, _)| *start);
    let entries = entries.into_iter().map(|(_, entry)| entry).collect();
    Ok(Node {
        origin: Origin::File(span),
        value: Value::Table(entries),
    })
}
