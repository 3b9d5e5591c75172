//! What the dashboard asks, and what is exported.

use std::collections::BTreeSet;

use serde_json::Value;

fn dashboard() -> Value {
    serde_json::from_str(include_str!("../../dashboard.json")).expect("JSON")
}

fn list<'a>(value: &'a Value, name: &str) -> &'a Vec<Value> {
    value[name].as_array().expect("a list")
}

/// The queries of its panels.
pub(crate) fn queries() -> Vec<String> {
    let dashboard = dashboard();
    let panels = list(&dashboard, "panels").iter();
    let targets = panels.flat_map(|panel| list(panel, "targets"));
    targets
        .map(|target| target["expr"].as_str().expect("a query").to_owned())
        .collect()
}

/// The queries that fill its lists.
pub(crate) fn variables() -> Vec<String> {
    let dashboard = dashboard();
    let variables = list(&dashboard["templating"], "list").iter();
    let asked = variables.filter(|variable| variable["type"] == "query");
    asked
        .map(|variable| variable["query"].as_str().expect("a query").to_owned())
        .collect()
}

/// With what Grafana puts in.
pub(crate) fn filled_in(query: &str) -> String {
    let filled = query
        .replace("$__rate_interval", "1m")
        .replace("$job", ".*")
        .replace("$instance", ".*")
        .replace("$queue", ".*");
    assert!(!filled.contains('$'), "{filled}");
    filled
}

/// The names of metrics in a query.
pub(crate) fn names(query: &str) -> BTreeSet<String> {
    let words = query.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let ours = words.filter(|word| word.starts_with("cmwq_"));
    ours.map(str::to_owned).collect()
}

/// The names of the samples that this process exports, with those that have no value now.
pub(crate) fn exported() -> BTreeSet<String> {
    let text = cmwq_prometheus::encode();
    let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    let names = types.flat_map(|line| {
        let (name, sort) = line.split_once(' ').expect("a name and a type");
        let suffixes: &[&str] = match sort {
            "counter" => &["_total"],
            "histogram" => &["_bucket", "_sum", "_count"],
            _ => &[""],
        };
        suffixes.iter().map(move |suffix| format!("{name}{suffix}"))
    });
    names.collect()
}
