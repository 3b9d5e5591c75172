//! The man pages of section 3 say what the header says. `CMWQ_WRITE_MAN=1` writes them anew.

mod common;

use common::here;
use std::collections::BTreeMap;
use std::fs;

/// Declarations with the comment above them.
struct Block {
    functions: Vec<String>,
    prototypes: Vec<String>,
    text: String,
}

/// What the header documents, in its order.
fn blocks(header: &str) -> Vec<Block> {
    let start = header
        .find("extern \"C\" {")
        .expect("declarations begin there");
    let mut lines = header[start..].lines().peekable();
    let mut found = Vec::new();
    while let Some(line) = lines.next() {
        if !line.starts_with("/*") {
            continue;
        }
        let mut comment = line.to_owned();
        while !comment.contains("*/") {
            comment = comment + "\n" + lines.next().expect("a comment ends");
        }
        let mut code = String::new();
        while let Some(line) = lines.next_if(|line| !line.is_empty() && !line.starts_with("/*")) {
            if !line.starts_with('#') && !line.starts_with("\t{") {
                code = code + line.trim() + " ";
            }
        }
        found.extend(block(&comment, &code));
    }
    found
}

fn block(comment: &str, code: &str) -> Option<Block> {
    // Structs have no prototypes.
    let code = match code.find("};") {
        Some(end) => &code[end + 2..],
        None => code,
    };
    let prototypes: Vec<String> = code
        .split(';')
        .map(str::trim)
        .filter(|code| code.contains("cmwq_") && code.contains('(') && !code.starts_with("typedef"))
        .map(|code| format!("{code};"))
        .collect();
    let functions: Vec<String> = prototypes.iter().filter_map(|code| name(code)).collect();
    let text = comment
        .lines()
        .map(|line| line.trim_matches([' ', '*', '/']));
    let text = text
        .filter(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join(" ");
    (!functions.is_empty()).then_some(Block {
        functions,
        prototypes,
        text,
    })
}

/// The function that a prototype declares.
fn name(prototype: &str) -> Option<String> {
    let before = &prototype[..prototype.find('(')?];
    let name = before.rsplit([' ', '*']).next()?;
    name.starts_with("cmwq_").then(|| name.to_owned())
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\e").replace('-', "\\-")
}

fn summary(text: &str) -> String {
    let end = text.find(['.', ':', ';']).unwrap_or(text.len());
    escaped(text[..end].trim())
}

const HEAD: &str = ".\\\" Made of include/cmwq.h: see tests/man.rs.\n";

/// The pages by name.
fn pages(header: &str) -> BTreeMap<String, String> {
    let mut pages = BTreeMap::new();
    let mut list = String::new();
    for block in blocks(header) {
        let (first, more) = block.functions.split_first().expect("there is one");
        let summary = summary(&block.text);
        let synopsis: String = block
            .prototypes
            .iter()
            .map(|p| format!(".B {}\n", escaped(p)))
            .collect();
        let page = format!(
            "{HEAD}.TH {first} 3 \"\" \"cmwq\" \"cmwq\"\n.SH NAME\n{} \\- {summary}\n.SH SYNOPSIS\n\
             .nf\n.B #include <cmwq.h>\n.PP\n{synopsis}.fi\n.SH DESCRIPTION\n{}\n.SH SEE ALSO\n\
             .BR cmwq (3),\nfor the rules of all calls and the values of errors.\n",
            block.functions.join(", "),
            escaped(&block.text),
        );
        let names: Vec<_> = block
            .functions
            .iter()
            .map(|name| format!("\\fB{name}\\fP(3)"))
            .collect();
        list += &format!(".PP\n{}\n.br\n{summary}.\n", names.join(", "));
        pages.insert(first.clone(), page);
        for name in more {
            pages.insert(name.clone(), format!(".so man3/{first}.3\n"));
        }
    }
    pages.insert("cmwq".into(), overview(header, &list));
    pages
}

/// The comment at the top of the header, and all functions.
fn overview(header: &str, list: &str) -> String {
    let start = header.find(" * cmwq.h - ").expect("it begins so");
    let end = header[start..].find(" */").expect("it ends") + start;
    let body: String = header[start..end]
        .lines()
        .skip(1)
        .map(|line| {
            match line
                .trim_start_matches(" *")
                .strip_prefix(' ')
                .unwrap_or("")
            {
                "" => ".PP\n".to_owned(),
                item if item.starts_with("- ") => format!(".IP \\(bu 2\n{}\n", escaped(&item[2..])),
                text => escaped(text.trim()) + "\n",
            }
        })
        .collect();
    format!(
        "{HEAD}.TH cmwq 3 \"\" \"cmwq\" \"cmwq\"\n.SH NAME\ncmwq \\- concurrency\\-managed \
         workqueues for Linux user space\n.SH SYNOPSIS\n.nf\n.B #include <cmwq.h>\n.PP\nLink with \
         \\-lcmwq.\n.fi\n.SH DESCRIPTION\n{body}.SH FUNCTIONS\n{list}.SH SEE ALSO\n\
         .BR cmwq\\-linux (7)\n"
    )
}

#[test]
fn pages_say_what_the_header_says() {
    let header = fs::read_to_string(here().join("include/cmwq.h")).expect("it is there");
    let pages = pages(&header);
    let map = fs::read_to_string(here().join("cmwq.map")).expect("it is there");
    for name in map.lines().filter_map(|line| line.trim().strip_suffix(';')) {
        assert!(
            !name.starts_with("cmwq_") || pages.contains_key(name),
            "{name} has no page"
        );
    }
    for (name, page) in &pages {
        let path = here().join(format!("man/{name}.3"));
        if std::env::var_os("CMWQ_WRITE_MAN").is_some() {
            fs::write(&path, page).expect("it can be written");
        }
        let is = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            is == *page,
            "{name}.3 is not what the header says: CMWQ_WRITE_MAN=1 writes it"
        );
    }
}
