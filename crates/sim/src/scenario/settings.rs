//! What is put into a scenario before it is read: settings from outside, and what its sweeps and
//! variants say, each combination of them a cell.

use super::source::{Mistake, Origin, Source, suggestion};
use super::tree::{Change, Entry, Node, Value};
use super::units;
use crate::Topology;

/// Cells of a scenario.
const MOST_CELLS: usize = 1_000;

/// How a scenario is used.
#[derive(Clone, Debug, Default)]
pub struct Use {
    /// Settings, each `key=value`: `queue.NAME.key`, `machine.key`, `constants.name`, ... A value
    /// that begins with `*` is a factor for the one in the file. One of a key that the file sweeps,
    /// or `variants.NAME=VALUE`, keeps the cells with that value only.
    pub set: Vec<String>,
    /// The seed, in place of the file's.
    pub seed: Option<u64>,
    /// What `topology = "this"` stands for.
    pub this: Option<Topology>,
}

/// What varies, and the cells that come of it.
pub(crate) struct Plan {
    pub(crate) axes: Vec<String>,
    pub(crate) cells: Vec<Planned>,
}

/// A cell to be.
#[derive(Clone, Default)]
pub(crate) struct Planned {
    pub(crate) values: Vec<(String, String)>,
    pub(crate) changes: Vec<Change>,
}

/// Something that varies.
struct Axis {
    name: String,
    /// Where it stands in the file.
    start: usize,
    /// Each with its name.
    values: Vec<(String, Vec<Change>)>,
}

/// Takes sweeps and variants out of the tree and puts the settings in.
pub(crate) fn plan(source: &Source, root: &mut Node, used: &Use) -> Result<Plan, Mistake> {
    let sweep = root.remove("sweep");
    let variants = root.remove("variants");
    let mut axes = Vec::new();
    if let Some(node) = &sweep {
        axes.extend(sweeps(source, node)?);
    }
    if let Some(node) = &variants {
        axes.extend(variants_of(source, node)?);
    }
    axes.sort_by_key(|axis| axis.start);
    let mut settings = Vec::new();
    for setting in &used.set {
        settings.extend(set(root, &mut axes, setting)?);
    }
    settings.extend(
        used.seed
            .map(|seed| change("machine.seed", "seed", &seed.to_string())),
    );
    // Here once for what is said of them, and in each cell again: they prevail over variants.
    for setting in &settings {
        root.apply(source, setting)?;
    }
    combine(source, &sweep, &axes, &settings)
}

fn change(key: &str, setting: &str, text: &str) -> Change {
    let origin = Origin::Setting(setting.to_owned());
    let keys = key.split('.').map(|key| (key.to_owned(), origin.clone()));
    Change {
        path: keys.collect(),
        node: Node::of_setting(setting, text),
    }
}

fn set(root: &Node, axes: &mut Vec<Axis>, setting: &str) -> Result<Option<Change>, Mistake> {
    let wrong = |message: &str| Mistake::in_setting(setting, message);
    let (key, text) = setting
        .split_once('=')
        .ok_or_else(|| wrong("write it as key=value"))?;
    let (key, text) = (key.trim(), text.trim());
    if key.split('.').any(str::is_empty) {
        return Err(wrong("write the key as section.key or section.name.key"));
    }
    if let Some(axis) = key.strip_prefix("variants.") {
        return choose(axes, axis, text, setting).map(|()| None);
    }
    // What is set does not vary.
    axes.retain(|axis| axis.name != key);
    if let Some(factor) = text.strip_prefix('*') {
        let path: Vec<String> = key.split('.').map(str::to_owned).collect();
        let before = root
            .at(&path)
            .ok_or_else(|| wrong("there is no such value to multiply"))?;
        let before = match &before.value {
            Value::Text(text) | Value::Number(text) => text.clone(),
            _ => return Err(wrong("the value to multiply is no number")),
        };
        let product = times(&before, factor).map_err(|message| wrong(&message))?;
        return Ok(Some(change(key, setting, &product)));
    }
    Ok(Some(change(key, setting, text)))
}

/// Keeps one variant only, and does what it says.
fn choose(axes: &mut [Axis], name: &str, value: &str, setting: &str) -> Result<(), Mistake> {
    let known: Vec<String> = axes.iter().map(|axis| axis.name.clone()).collect();
    let Some(axis) = axes.iter_mut().find(|axis| axis.name == name) else {
        let known = suggestion(name, known.iter().map(String::as_str));
        return Err(Mistake::in_setting(
            setting,
            format!("there are no variants `{name}`{known}"),
        ));
    };
    let names: Vec<String> = axis.values.iter().map(|(name, _)| name.clone()).collect();
    axis.values.retain(|(name, _)| name == value);
    match axis.values.is_empty() {
        false => Ok(()),
        true => {
            let known = suggestion(value, names.iter().map(String::as_str));
            let message = format!("`{name}` has no variant `{value}`{known}");
            Err(Mistake::in_setting(setting, message))
        }
    }
}

/// A number with a unit, times a plain one.
fn times(value: &str, factor: &str) -> Result<String, String> {
    let (digits, behind, unit) =
        units::number(value).ok_or_else(|| format!("`{value}` is no number to multiply"))?;
    let (by, by_behind, rest) =
        units::number(factor).ok_or_else(|| format!("`{factor}` is no factor"))?;
    if !rest.is_empty() {
        return Err(format!("`{factor}` is no factor: a factor has no unit"));
    }
    let behind = behind + by_behind;
    let product = digits
        .checked_mul(by)
        .filter(|_| behind <= 12)
        .ok_or_else(|| format!("`{value}` times {factor} has too many digits"))?;
    let ten = 10u128.pow(behind);
    let (whole, fraction) = (product / ten, product % ten);
    Ok(match fraction {
        0 => format!("{whole}{unit}"),
        _ => format!("{whole}.{fraction:0width$}{unit}", width = behind as usize),
    })
}

/// `[sweep]`: keys with lists of values.
fn sweeps(source: &Source, node: &Node) -> Result<Vec<Axis>, Mistake> {
    let mut leaves = Vec::new();
    flatten(source, node, &[], &mut leaves)?;
    let axis = |leaf: Change| {
        let Value::List(nodes) = &leaf.node.value else {
            let message = "a sweep is a list of values";
            return Err(source.mistake(&leaf.node.origin, message));
        };
        if nodes.is_empty() {
            return Err(source.mistake(&leaf.node.origin, "a sweep needs a value"));
        }
        let value = |node: &Node| {
            let change = Change {
                node: node.clone(),
                ..leaf.clone()
            };
            (shown(node), vec![change])
        };
        Ok(Axis {
            name: leaf.key(),
            start: start_of(&leaf.path[0].1),
            values: nodes.iter().map(value).collect(),
        })
    };
    leaves.into_iter().map(axis).collect()
}

/// `[variants.NAME]`: names with what each changes.
fn variants_of(source: &Source, node: &Node) -> Result<Vec<Axis>, Mistake> {
    let axis = |entry: &Entry| {
        let values = entries(source, &entry.node, "variants have names")?;
        let value = |variant: &Entry| {
            let mut changes = Vec::new();
            flatten(source, &variant.node, &[], &mut changes)?;
            Ok((variant.key.clone(), changes))
        };
        if values.is_empty() {
            return Err(source.mistake(&entry.origin, "there is no variant"));
        }
        Ok(Axis {
            name: entry.key.clone(),
            start: start_of(&entry.origin),
            values: values.iter().map(value).collect::<Result<_, _>>()?,
        })
    };
    let named = entries(source, node, "variants have a name: [variants.NAME]")?;
    named.iter().map(axis).collect()
}

fn entries<'a>(source: &Source, node: &'a Node, message: &str) -> Result<&'a [Entry], Mistake> {
    match &node.value {
        Value::Table(entries) => Ok(entries),
        _ => Err(source.mistake(&node.origin, message)),
    }
}

/// The values in tables and in tables of tables, with their paths. Keys may have dots themselves.
fn flatten(
    source: &Source,
    node: &Node,
    above: &[(String, Origin)],
    leaves: &mut Vec<Change>,
) -> Result<(), Mistake> {
    for entry in entries(source, node, "this should be a table of keys and values")? {
        let mut path = above.to_vec();
        let keys = entry.key.split('.');
        path.extend(keys.map(|key| (key.to_owned(), entry.origin.clone())));
        match &entry.node.value {
            Value::Table(_) => flatten(source, &entry.node, &path, leaves)?,
            _ => leaves.push(Change {
                path,
                node: entry.node.clone(),
            }),
        }
    }
    Ok(())
}

fn start_of(origin: &Origin) -> usize {
    match origin {
        Origin::File(span) => span.start,
        Origin::Setting(_) => 0,
    }
}

/// A value, as a table of results has it.
fn shown(node: &Node) -> String {
    match &node.value {
        Value::Text(text) | Value::Number(text) => text.clone(),
        Value::Bool(yes) => yes.to_string(),
        Value::List(nodes) => {
            let shown: Vec<String> = nodes.iter().map(shown).collect();
            format!("[{}]", shown.join(", "))
        }
        Value::Table(_) => "{..}".to_owned(),
    }
}

/// Every combination; the first axis varies slowest.
fn combine(
    source: &Source,
    sweep: &Option<Node>,
    axes: &[Axis],
    settings: &[Change],
) -> Result<Plan, Mistake> {
    let number = axes
        .iter()
        .try_fold(1usize, |n, axis| n.checked_mul(axis.values.len()));
    if number.is_none_or(|number| number > MOST_CELLS) {
        let origin = sweep
            .as_ref()
            .map_or(Origin::File(0..0), |node| node.origin.clone());
        let sizes: Vec<String> = axes
            .iter()
            .map(|axis| axis.values.len().to_string())
            .collect();
        let message = format!(
            "{} cells are too many: at most {MOST_CELLS}",
            sizes.join(" x ")
        );
        return Err(source.mistake(&origin, message));
    }
    let mut cells = vec![Planned::default()];
    for axis in axes {
        let with = |cell: &Planned| {
            let cell = cell.clone();
            let value = move |(name, changes): &(String, Vec<Change>)| {
                let mut cell = cell.clone();
                cell.values.push((axis.name.clone(), name.clone()));
                cell.changes.extend(changes.iter().cloned());
                cell
            };
            axis.values.iter().map(value).collect::<Vec<Planned>>()
        };
        cells = cells.iter().flat_map(with).collect();
    }
    for cell in &mut cells {
        cell.changes.extend(settings.iter().cloned());
    }
    let axes = axes.iter().map(|axis| axis.name.clone()).collect();
    Ok(Plan { axes, cells })
}

#[cfg(test)]
mod tests {
    use super::times;

    #[test]
    fn factors_keep_the_unit() {
        assert_eq!(times("40us", "1.25"), Ok("50us".to_owned()));
        assert_eq!(times("3", "0.75"), Ok("2.25".to_owned()));
        assert_eq!(times("0.62", "1.1"), Ok("0.682".to_owned()));
        assert!(times("fast", "2").is_err());
        assert!(times("40us", "2us").is_err());
    }
}
