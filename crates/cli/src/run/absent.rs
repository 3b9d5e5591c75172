//! Options of GNU parallel and xargs that there are not: what to write instead. What looks alike
//! here mostly means something else, so it is not offered.

/// Options, without their dashes, and what to do.
type Absent = (&'static [&'static str], &'static str);

const ABSENT: [Absent; 17] = [
    (
        &["s", "max-chars"],
        "-n N gives up to N lines to a job, and never more than an argument list can hold",
    ),
    (
        &["version", "V", "minversion"],
        "cmwq --version prints the version",
    ),
    (
        &["record-env"],
        "jobs have the whole environment; env -i COMMAND, or unset, takes from it",
    ),
    (&["x"], "an argument that is too long is an error anyway"),
    (
        &["retry-failed"],
        "--joblog FILE --resume with the same input and COMMAND runs what has failed",
    ),
    (
        &["skip-first-line"],
        "tail -n +2 FILE leaves the first line out, and --header : takes it as names",
    ),
    (
        &["tmux", "tmuxpane", "fg", "bg", "tty"],
        "jobs have no terminal: a loop of the shell starts them one by one",
    ),
    (
        &["semaphorename", "id", "wait", "semaphoretimeout", "st"],
        "flock(1) runs one command at a time",
    ),
    (
        &[
            "onall",
            "nonall",
            "transfer",
            "transferfile",
            "tf",
            "return",
            "cleanup",
            "trc",
            "basefile",
            "bf",
            "sshdelay",
            "hostgroups",
            "hgrp",
            "filter-hosts",
            "M",
        ],
        "jobs run on this machine: COMMAND may be ssh, scp or rsync, with the host as the line",
    ),
    (
        &["sqlmaster", "sqlworker", "sqlandworker", "sql"],
        "--joblog FILE is a table of the jobs, and --results DIR has their output",
    ),
    (
        &["group-by", "shard", "bin"],
        "sort(1) and split(1) put lines together, and --pipe cuts them into blocks",
    ),
    (
        &["J", "profile", "tollef", "shebang", "hashbang"],
        "a function of the shell keeps options: p() { cmwq run -k \"$@\"; }",
    ),
    (
        &["latest-line", "ll"],
        "--line-buffer writes lines as they come, and --progress=full shows what runs",
    ),
    (
        &["memsuspend", "limit"],
        "--min-free-memory SIZE starts no job that would take too much",
    ),
    (
        &[
            "number-of-cpus",
            "number-of-cores",
            "number-of-threads",
            "number-of-sockets",
        ],
        "nproc(1) has the number of CPUs",
    ),
    (
        &[
            "seqreplace",
            "extensionreplace",
            "er",
            "U",
            "basenamereplace",
            "bnr",
            "basenameextensionreplace",
            "bner",
            "dirnamereplace",
            "dnr",
            "slotreplace",
            "parens",
            "match",
        ],
        "{#}, {%}, {.}, {/}, {//} and {/.} have no other names; -I WORD renames {}",
    ),
    (
        &[
            "shellquote",
            "shell-quote",
            "D",
            "show-limits",
            "max-line-length-allowed",
            "files0",
        ],
        "--dry-run prints what would run, quoted for a shell",
    ),
];

/// What to say of an option that is not known, as it was given.
pub(crate) fn option(given: &str) -> Option<String> {
    let name = given.trim_start_matches('-');
    let name = name.split('=').next().unwrap_or(name);
    let (_, what_to_do) = ABSENT.iter().find(|(names, _)| names.contains(&name))?;
    Some(format!("there is no {given}: {what_to_do}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_is_known_however_it_is_given() {
        for given in ["-s", "--max-chars", "--max-chars=9"] {
            let says = option(given).unwrap();
            assert!(
                says.starts_with(&format!("there is no {given}: -n N")),
                "{says}"
            );
        }
        assert_eq!(option("--nonsense"), None);
    }
}
