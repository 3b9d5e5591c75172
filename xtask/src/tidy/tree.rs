//! The files of the repository, read once, so that every rule is a function of text.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::{fs, io};

/// The repository: paths relative to its root, with `/`.
#[derive(Default)]
pub(super) struct Tree {
    texts: BTreeMap<String, String>,
    /// Every file and folder, also those that hold no text.
    paths: BTreeSet<String>,
}

impl Tree {
    /// Reads everything below `root` but build output and version control. Walking the folder
    /// instead of asking git keeps this working in an unpacked archive and for any user.
    pub(super) fn read(root: &Path) -> io::Result<Tree> {
        let mut tree = Tree::default();
        tree.read_folder(root, "")?;
        Ok(tree)
    }

    fn read_folder(&mut self, folder: &Path, prefix: &str) -> io::Result<()> {
        for entry in fs::read_dir(folder).map_err(|e| named(e, prefix))? {
            let entry = entry?;
            let name = entry.file_name();
            let path = format!("{prefix}{}", name.to_string_lossy());
            if name == ".git" || path == "target" {
                continue;
            }
            let kind = entry.file_type()?;
            if kind.is_dir() {
                self.read_folder(&entry.path(), &format!("{path}/"))?;
            } else if kind.is_file() {
                let bytes = fs::read(entry.path()).map_err(|e| named(e, &path))?;
                // What is not UTF-8 is no text: links may lead there, no rule reads it.
                self.texts.extend(
                    String::from_utf8(bytes)
                        .ok()
                        .map(|text| (path.clone(), text)),
                );
            }
            self.paths.insert(path);
        }
        Ok(())
    }

    /// Paths and texts, sorted by path.
    pub(super) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts.iter().map(|(p, t)| (p.as_str(), t.as_str()))
    }

    /// The files whose name ends in `.ext`.
    pub(super) fn with_extension(&self, ext: &str) -> impl Iterator<Item = (&str, &str)> {
        let has = move |path: &str| Path::new(path).extension().is_some_and(|e| e == ext);
        self.texts().filter(move |(path, _)| has(path))
    }

    pub(super) fn text(&self, path: &str) -> Option<&str> {
        self.texts.get(path).map(String::as_str)
    }

    /// Whether `path` is a file or folder of the repository; the root is `""`.
    pub(super) fn exists(&self, path: &str) -> bool {
        path.is_empty() || self.paths.contains(path)
    }

    /// The folders directly below `folder`, by name.
    pub(super) fn folders(&self, folder: &str) -> BTreeSet<&str> {
        let below = |path| str::strip_prefix(path, folder)?.strip_prefix('/');
        let inside = self.texts.keys().filter_map(|path| below(path));
        inside
            .filter_map(|path| Some(path.split_once('/')?.0))
            .collect()
    }

    /// A repository made of these files.
    #[cfg(test)]
    pub(super) fn of(files: &[(&str, &str)]) -> Tree {
        let mut tree = Tree::default();
        for (path, text) in files {
            tree.texts.insert(path.to_string(), text.to_string());
            let folders = path
                .match_indices('/')
                .map(|(at, _)| path[..at].to_string());
            tree.paths.extend(folders.chain([path.to_string()]));
        }
        tree
    }
}

fn named(error: io::Error, path: &str) -> io::Error {
    io::Error::new(error.kind(), format!("{path}: {error}"))
}
