//! Tables in Markdown, and how their cells say how something compares.

/// A table in Markdown; the first line is its header.
pub(super) fn markdown(lines: Vec<Vec<String>>) -> String {
    if lines.len() < 2 {
        return "Not measured.\n".to_owned();
    }
    let rule = vec!["---".to_owned(); lines[0].len()];
    let mut text = String::new();
    for line in lines[..1].iter().chain([&rule]).chain(&lines[1..]) {
        text.push_str(&format!("| {} |\n", line.join(" | ")));
    }
    text
}

pub(super) fn cells(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

pub(super) fn verdict(times: f64) -> String {
    let loss = if times > 1.0 { " (loss)" } else { "" };
    format!("{times:.3}{loss}")
}
