//! `--results`: files with what each job has written, where users of GNU parallel look for them.

use super::hole::{Arguments, Holes, Text};
use super::output::{Blocks, Spool};
use super::spare::Spared;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

/// A longer name is none to the file system.
const LONGEST_NAME: usize = 255;

/// Where the files of the jobs are.
pub(super) struct Results {
    path: Text,
    names: Vec<Vec<u8>>,
}

/// What becomes of one job's output.
#[derive(Debug, PartialEq, Eq)]
struct Files {
    stdout: PathBuf,
    stderr: PathBuf,
    seq: PathBuf,
    exitval: PathBuf,
}

/// Writes what is in a file.
type Content<'a> = &'a mut dyn FnMut(&mut File) -> io::Result<()>;

impl Results {
    pub(super) fn new(path: &Path, holes: &Holes) -> Self {
        Self {
            path: Text::new(path.as_os_str().as_bytes(), holes),
            names: holes.names.clone(),
        }
    }

    /// Writes the files, which `create` makes, over what may be there. Nothing is left to be
    /// written elsewhere.
    ///
    /// # Errors
    /// Names the file that cannot be written.
    pub(super) fn write<'a>(
        &self,
        job: &Arguments<'_>,
        status: ExitStatus,
        blocks: &mut Blocks,
        create: impl Fn(&Path) -> io::Result<Spared<'a, File>>,
    ) -> io::Result<()> {
        let files = self.files(job);
        // A shell's word for a signal.
        let exit = status.code().or(status.signal().map(|signal| 128 + signal));
        let text = |number: i64| format!("{number}\n").into_bytes();
        let (seq, exit) = (job.sequence as i64, i64::from(exit.unwrap_or(0)));
        let write = |path, content: Content<'_>| write(path, seq, &create, content);
        write(&files.stdout, &mut |file| take(&mut blocks.out, file))?;
        write(&files.stderr, &mut |file| take(&mut blocks.err, file))?;
        write(&files.seq, &mut |file| file.write_all(&text(seq)))?;
        write(&files.exitval, &mut |file| file.write_all(&text(exit)))
    }

    fn files(&self, job: &Arguments<'_>) -> Files {
        let path = PathBuf::from(OsString::from_vec(self.path.filled(job)));
        // "{#}/": a folder for each.
        let is_folder = path.as_os_str().as_bytes().ends_with(b"/");
        let folder = match self.path.has_holes() {
            true if !is_folder => return beside(path),
            true => path,
            false => self.folder(path, job),
        };
        Files {
            stdout: folder.join("stdout"),
            stderr: folder.join("stderr"),
            seq: folder.join("seq"),
            exitval: folder.join("exitval"),
        }
    }

    /// Two levels for each column: its number or name, and its value.
    fn folder(&self, mut folder: PathBuf, job: &Arguments<'_>) -> PathBuf {
        for (at, column) in job.columns.iter().enumerate() {
            let number = (at + 1).to_string().into_bytes();
            let name = self.names.get(at).filter(|name| !name.is_empty());
            let name = name.map_or(number, |name| name.clone());
            for component in [&name[..], column] {
                let component = component_of(component, job.sequence);
                folder.push(OsStr::from_bytes(&component));
            }
        }
        folder
    }
}

fn beside(stdout: PathBuf) -> Files {
    let with = |ending: &str| {
        let mut path = stdout.clone().into_os_string();
        path.push(ending);
        PathBuf::from(path)
    };
    Files {
        stderr: with(".err"),
        seq: with(".seq"),
        exitval: with(".exitval"),
        stdout,
    }
}

/// The name of a file for a value: no slash, not `.` or `..`, not empty, and not too long.
/// Different values have different names.
fn component_of(value: &[u8], sequence: u64) -> Vec<u8> {
    let mut name = Vec::with_capacity(value.len());
    for &byte in value {
        match byte {
            b'\\' => name.extend(b"\\\\"),
            b'/' => name.extend(b"\\_"),
            b'\t' => name.extend(b"\\t"),
            0 => name.extend(b"\\0"),
            other => name.push(other),
        }
    }
    if matches!(&name[..], b"" | b"." | b"..") {
        name.insert(0, b'\\');
    }
    if name.len() > LONGEST_NAME {
        let mark = format!("\\#{sequence}");
        name.truncate(LONGEST_NAME - mark.len());
        name.extend(mark.into_bytes());
    }
    name
}

fn take(spool: &mut Option<Spool>, to: &mut File) -> io::Result<()> {
    spool.take().map_or(Ok(()), |spool| spool.write_to(to))
}

/// The file is there as a whole or not at all, also if jobs with equal arguments write it at the
/// same time: the last one stays.
fn write<'a>(
    path: &Path,
    sequence: i64,
    create: impl Fn(&Path) -> io::Result<Spared<'a, File>>,
    content: Content<'_>,
) -> io::Result<()> {
    let mut part = path.as_os_str().to_owned();
    part.push(format!(".part{sequence}"));
    let made = path.parent().map_or(Ok(()), fs::create_dir_all);
    let written = made
        .and_then(|()| content(&mut create(Path::new(&part))?.made))
        .and_then(|()| fs::rename(&part, path));
    written.map_err(|error| {
        // Half a file would be taken for a whole one by somebody.
        let _ = fs::remove_file(&part);
        io::Error::new(error.kind(), format!("results {}: {error}", path.display()))
    })
}

/// Whether GNU parallel would write one table.
pub(super) fn is_table(path: &Path) -> bool {
    let ending = path.extension().and_then(OsStr::to_str);
    matches!(ending, Some("csv" | "tsv" | "json"))
}

#[cfg(test)]
mod tests {
    use super::super::columns::Cut;
    use super::*;

    fn stdout(path: &str, columns: &[&[u8]], names: &[&str]) -> String {
        let holes = Holes {
            names: names.iter().map(|name| name.as_bytes().to_vec()).collect(),
            ..Holes::of(Cut::Joints(columns.len()))
        };
        let job = Arguments {
            columns,
            sequence: 7,
            slot: 1,
        };
        let files = Results::new(Path::new(path), &holes).files(&job);
        files.stdout.to_str().unwrap().to_owned()
    }

    #[test]
    fn each_column_is_two_folders() {
        assert_eq!(stdout("d", &[b"a b"], &[]), "d/1/a b/stdout");
        assert_eq!(stdout("d/", &[b"a", b"x/y"], &[]), "d/1/a/2/x\\_y/stdout");
        assert_eq!(
            stdout("d", &[b"a", b"b"], &["host", ""]),
            "d/host/a/2/b/stdout"
        );
    }

    #[test]
    fn a_path_with_a_hole_is_a_file_or_a_folder() {
        assert_eq!(stdout("d/{#}-{1}.txt", &[b"a"], &[]), "d/7-a.txt");
        assert_eq!(stdout("d/{#}/", &[b"a"], &[]), "d/7/stdout");
    }

    #[test]
    fn any_value_is_a_name_of_its_own() {
        let of = |value: &[u8]| String::from_utf8(component_of(value, 7)).unwrap();
        let values: [&[u8]; 8] = [b"", b".", b"..", b"/", b"\\_", b"\\", b"\t", b"..."];
        let mut names: Vec<String> = values.into_iter().map(of).collect();
        assert!(
            names
                .iter()
                .all(|name| !name.is_empty() && !name.contains('/'))
        );
        names.sort();
        names.dedup();
        assert_eq!(names.len(), values.len());
        let long = of(&[b'x'; 1000]);
        assert!(
            long.len() == LONGEST_NAME && long.ends_with("x\\#7"),
            "{long}"
        );
    }
}
