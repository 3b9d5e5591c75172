//! Where the groups of this process are in the file system.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

/// The visible groups of this process in one mounted hierarchy.
#[derive(Clone, Debug)]
pub(crate) struct Hierarchy {
    v2: bool,
    /// The process's own group if it is visible, then its ancestors, up to the mount.
    groups: Vec<PathBuf>,
}

impl Hierarchy {
    /// Each group with whether it is of version 2, innermost first.
    pub(crate) fn groups(&self) -> impl Iterator<Item = (bool, &Path)> {
        self.groups.iter().map(|group| (self.v2, group.as_path()))
    }
}

/// The hierarchies that have, or for version 2 may have, this controller.
pub(crate) fn find(root: &Path, controller: &str) -> Vec<Hierarchy> {
    let proc_self = root.join("proc/self");
    let memberships = fs::read(proc_self.join("cgroup")).unwrap_or_default();
    let mounts = fs::read(proc_self.join("mountinfo")).unwrap_or_default();
    let mounts: Vec<Mount> = lines(&mounts).filter_map(Mount::parse).collect();
    lines(&memberships)
        .filter_map(Membership::parse)
        .filter(|membership| membership.has(controller))
        .flat_map(|membership| visible(root, &membership, &mounts))
        .collect()
}

/// A hierarchy may be mounted more than once, showing more of it or less.
fn visible(root: &Path, membership: &Membership, mounts: &[Mount]) -> Vec<Hierarchy> {
    let fitting = mounts.iter().filter(|mount| mount.shows(membership));
    let groups = fitting.map(|mount| mount.groups(root, membership.path));
    groups
        .filter(|groups| !groups.is_empty())
        .map(|groups| Hierarchy {
            v2: membership.is_v2(),
            groups,
        })
        .collect()
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|&byte| byte == b'\n')
}

/// A line of `/proc/self/cgroup`: `ID:CONTROLLERS:PATH`.
struct Membership<'a> {
    controllers: &'a [u8],
    path: &'a Path,
}

impl<'a> Membership<'a> {
    fn parse(line: &'a [u8]) -> Option<Self> {
        let mut parts = line.splitn(3, |&byte| byte == b':');
        let (_id, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        let path = Path::new(OsStr::from_bytes(path));
        path.is_absolute()
            .then_some(Membership { controllers, path })
    }

    /// Version 2 names no controllers: whether it has one shows in the groups.
    fn is_v2(&self) -> bool {
        self.controllers.is_empty()
    }

    fn has(&self, controller: &str) -> bool {
        self.is_v2() || has_word(self.controllers, controller.as_bytes())
    }
}

/// A cgroup mount in `/proc/self/mountinfo`.
struct Mount {
    /// The group that the mount shows as its top; as the reader's cgroup namespace sees it.
    root: PathBuf,
    point: PathBuf,
    v2: bool,
    /// For version 1 it names the controllers.
    options: Vec<u8>,
}

impl Mount {
    /// `ID PARENT DEVICE ROOT POINT OPTIONS [TAGS..] - FSTYPE SOURCE SUPEROPTIONS`.
    fn parse(line: &[u8]) -> Option<Self> {
        let mut words = line.split(|&byte| byte == b' ');
        let (root, point) = (words.nth(3)?, words.next()?);
        let fstype = words.by_ref().skip_while(|word| *word != b"-").nth(1)?;
        let options = words.nth(1)?;
        let v2 = match fstype {
            b"cgroup" => false,
            b"cgroup2" => true,
            _ => return None,
        };
        Some(Mount {
            root: unescape(root),
            point: unescape(point),
            v2,
            options: options.to_vec(),
        })
    }

    fn shows(&self, membership: &Membership) -> bool {
        match (self.v2, membership.is_v2()) {
            (true, true) => true,
            (false, false) => {
                let mut controllers = membership.controllers.split(|&byte| byte == b',');
                controllers.all(|controller| has_word(&self.options, controller))
            }
            _ => false,
        }
    }

    /// The group `path` and its ancestors below this mount; none if the mount shows another part
    /// of the hierarchy.
    fn groups(&self, root: &Path, path: &Path) -> Vec<PathBuf> {
        let point = root.join(self.point.strip_prefix("/").unwrap_or(&self.point));
        match path.strip_prefix(&self.root) {
            // A path that leaves the mount again does not show below it.
            Ok(below) if levels_up(below) == 0 => {
                let own = point.join(below);
                let groups = own.ancestors().take(below.components().count() + 1);
                groups.map(Path::to_path_buf).collect()
            }
            _ if self.is_above(path) => vec![point],
            _ => Vec::new(),
        }
    }

    /// Whether the mount's top is an ancestor of `path` with groups in between whose names the
    /// cgroup namespace hides: `/../..` seen from `/`.
    fn is_above(&self, path: &Path) -> bool {
        let only_up = self.root.components().count() == levels_up(&self.root) + 1;
        only_up && levels_up(&self.root) > levels_up(path)
    }
}

fn levels_up(path: &Path) -> usize {
    path.components()
        .filter(|&part| part == Component::ParentDir)
        .count()
}

/// Whether a comma-separated list has this word.
fn has_word(list: &[u8], word: &[u8]) -> bool {
    list.split(|&byte| byte == b',').any(|entry| entry == word)
}

/// Undoes mountinfo's `\040` for blanks and the like.
fn unescape(text: &[u8]) -> PathBuf {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        let escaped = (byte == b'\\').then(|| octal(after)).flatten();
        plain.push(escaped.unwrap_or(byte));
        rest = match escaped {
            Some(_) => &after[3..],
            None => after,
        };
    }
    PathBuf::from(OsString::from_vec(plain))
}

/// The byte that three octal digits stand for.
fn octal(text: &[u8]) -> Option<u8> {
    let digits = std::str::from_utf8(text.get(..3)?).ok()?;
    u8::from_str_radix(digits, 8).ok()
}
