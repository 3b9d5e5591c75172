//! What can be wrong with the recorded data or the table of differences.

use std::fmt;
use std::path::PathBuf;

/// Why scenarios or the table could not be read.
#[derive(Debug)]
pub enum Error {
    /// A file or folder could not be read.
    Io {
        /// What was to be read.
        path: PathBuf,
        /// Why it could not.
        error: std::io::Error,
    },
    /// The folder holds no file whose name ends in `.jsonl`, or nothing is in them.
    NoScenarios(PathBuf),
    /// A line is not a scenario.
    Json {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// What is missing or wrong.
        error: serde_json::Error,
    },
    /// An operation of a script has no meaning.
    Script(ScriptError),
    /// A row of the table of differences cannot be used.
    Table {
        /// Line of the document, from 1.
        line: usize,
        /// What is wrong with it.
        what: String,
    },
}

/// An operation that cannot be understood, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptError {
    /// The scenario's id.
    pub scenario: String,
    /// `main`, `thread T` or `item I`.
    pub actor: String,
    /// Number of the operation in that body, from 1.
    pub line: usize,
    /// The word that is wrong; the last one of the operation where a word is missing.
    pub word: String,
    /// What is wrong with it.
    pub what: String,
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ScriptError {
            scenario,
            actor,
            line,
            word,
            what,
        } = self;
        write!(f, "{scenario}: {actor} op {line}, `{word}`: {what}")
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Io { path, error } => write!(f, "{}: {error}", path.display()),
            Error::NoScenarios(path) => {
                write!(
                    f,
                    "{}: there is no scenario in a file whose name ends in .jsonl",
                    path.display()
                )
            }
            Error::Json { path, line, error } => write!(f, "{}:{line}: {error}", path.display()),
            Error::Script(error) => error.fmt(f),
            Error::Table { line, what } => write!(f, "table of differences, line {line}: {what}"),
        }
    }
}

impl std::error::Error for ScriptError {}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Io { error, .. } => Some(error),
            Error::Json { error, .. } => Some(error),
            Error::Script(error) => Some(error),
            Error::NoScenarios(_) | Error::Table { .. } => None,
        }
    }
}

impl From<ScriptError> for Error {
    fn from(error: ScriptError) -> Error {
        Error::Script(error)
    }
}
