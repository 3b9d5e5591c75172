use super::super::columns::Cut;
use super::super::shell::shell_for;
use super::*;
use proptest::prelude::*;
use std::process::{Command, Output};

fn script(text: &str) -> Result<Script, String> {
    Script::new(OsStr::new(text), &Holes::of(Cut::Whole), false)
}

fn text(text: &str, value: &[u8]) -> OsString {
    let job = Arguments {
        columns: &[value],
        sequence: 1,
        slot: 1,
    };
    script(text).unwrap().text(&job)
}

fn run(shell: &str, script: &str, value: &[u8]) -> Output {
    let text = text(script, value);
    let ran = Command::new(shell)
        .arg("-c")
        .arg(text)
        .env("x", "")
        .output();
    ran.unwrap()
}

fn of(word: &str) -> bool {
    is_script(&[OsString::from(word)])
}

#[test]
fn one_word_with_shell_syntax_is_a_script() {
    assert!(of("gzip -d {}") && of("true;") && of("echo>x"));
    assert!(!of("gzip") && !of("./{}.sh") && !of("{}") && !of("a.b-c_d"));
    assert!(!is_script(&["a b".into(), "c".into()]) && !is_script(&[]));
}

#[test]
fn without_a_hole_the_line_is_the_last_argument() {
    assert_eq!(text("cd /; ls -l", b"a b"), "cd /; ls -l 'a b'");
    assert_eq!(text("echo {#}; ls", b"x"), "echo 1; ls");
    assert_eq!(text("ls # all", b"x\ny"), "ls # all x y");
}

/// Scripts, and what is around the value that they print.
const ANY_SHELL: [(&str, &str, &str); 37] = [
    ("printf %s {}", "", ""),
    (r#"printf %s "{}""#, "", ""),
    ("printf %s '{}'", "", ""),
    (r#"printf %s "a"{}'b'"#, "a", "b"),
    (r#"printf %s "$(printf %s {}; echo)""#, "", ""),
    (r#"printf %s "$(printf %s "{}"; echo)""#, "", ""),
    (r#"x="it's {}"; printf %s "$x""#, "it's ", ""),
    ("(printf %s {})", "", ""),
    ("printf %s \"`printf %s {}; echo`\"", "", ""),
    ("printf %s \"`printf %s \"{}\"; echo`\"", "", ""),
    ("x=`printf %s \"{}\"; echo`; printf %s \"$x\"", "", ""),
    ("x=`printf %s '{}'; echo`; printf %s \"$x\"", "", ""),
    (
        "x=`printf %s \"$(printf %s '{}')\"; echo`; printf %s \"$x\"",
        "",
        "",
    ),
    (r#"printf %s \"{}"#, "\"", ""),
    (r#"printf %s "\"{}""#, "\"", ""),
    ("case a in (a) printf %s {};; esac", "", ""),
    (
        "x=\"$(case a in a) printf %s {};; esac; echo)\"; printf %s \"$x\"",
        "",
        "",
    ),
    (
        "x=\"$(case a in b|a) case c in c) printf %s {};; esac;; esac; echo)\"; printf %s \"$x\"",
        "",
        "",
    ),
    ("# don't\nprintf %s {}", "", ""),
    ("printf %s {} # it's \"{}", "", ""),
    (": it\\'s # `'\nprintf %s {}", "", ""),
    ("printf %s a#{} # '", "a#", ""),
    ("printf %s $#{}", "0", ""),
    ("cat <<EOF\n{}\nEOF", "", "\n"),
    ("cat <<EOF; printf %s {}\nEOF", "", ""),
    (
        "cat <<-EOF\n\tit's `echo a`{}$((1 + 1))\n\tEOF\n:",
        "it's a",
        "2\n",
    ),
    (
        "cat <<E\"O\"F >/dev/null\nit's {#}\nEOF\nprintf %s '{}'",
        "",
        "",
    ),
    (
        "cat <<A - /dev/fd/3 3<<B\nit's\nA\n\"{}\nB",
        "it's\n\"",
        "\n",
    ),
    ("x=1; printf %s $x{}", "1", ""),
    ("x=1; printf %s \"$x{}\"", "1", ""),
    ("printf %s \"${}\"", "$", ""),
    ("printf %s ${}", "$", ""),
    ("x=`printf %s ${}; echo`; printf %s \"$x\"", "$", ""),
    ("printf %s \"${y:-\"{}\"}\"", "", ""),
    ("x='a'; printf %s ${x:+'{}'}", "", ""),
    ("x=a; printf %s \"${#x}{}$((3 - (1 + 1)))\"", "1", "1"),
    ("f() { printf %s {}; }; for i in a; do f; done", "", ""),
];

const BASH: [(&str, &str, &str); 8] = [
    ("printf %s $'{}'", "", ""),
    ("printf %s $'it\\'s {}'", "it's ", ""),
    ("cat <<<{}", "", "\n"),
    ("cat <(printf %s {})", "", ""),
    ("a=( x {} ); printf %s \"${a[1]}\"", "", ""),
    ("((1 << 2)); [[ a =~ (a|b) ]] && printf %s {}", "", ""),
    ("for ((i=0; i<1; i++)); do printf %s {}; done", "", ""),
    ("((true); printf %s {})", "", ""),
];

fn arrives(shell: &str, (script, before, behind): (&str, &str, &str), value: &[u8]) {
    let ran = run(shell, script, value);
    let says = String::from_utf8_lossy(&ran.stderr);
    let whole = [before.as_bytes(), value, behind.as_bytes()].concat();
    assert!(
        ran.stdout == whole,
        "{shell}, {script}, {value:?}: {ran:?}, {says}"
    );
}

/// Values that would be something else to a shell, somewhere.
const HOSTILE: [&str; 16] = [
    "$(echo x)",
    "`echo x`",
    "'; echo x; '",
    "\"; echo x; \"",
    "a\necho x",
    "\\'; echo x; #",
    "\nEOF\necho x",
    "EOF",
    "}; echo x",
    ")); echo x",
    "# x",
    "\tx",
    "x[$(echo x >&2)]",
    "(echo x)",
    "\\`echo x\\`",
    "7",
];

#[test]
fn a_hostile_value_arrives_whole_wherever_it_stands() {
    for value in HOSTILE {
        for case in ANY_SHELL {
            arrives("sh", case, value.as_bytes());
            arrives("bash", case, value.as_bytes());
        }
        for case in BASH {
            assert_eq!(shell_for(case.0.as_bytes(), "sh"), "bash", "{}", case.0);
            arrives("bash", case, value.as_bytes());
        }
    }
}

#[test]
fn where_a_value_cannot_stand_a_job_fails() {
    let lines = "cat <<'EOF'\n{}\nEOF\n";
    let number = "x=$(( {} * 2 )); printf %s $x";
    for (script, value, out) in [
        (number, "21", Some("42")),
        (number, "-0x10", Some("-32")),
        (number, "x[$(echo y >&2)]", None),
        (number, "$(echo 1)", None),
        ("a=(1 2); printf %s ${a[{}]}", "1", Some("2")),
        ("a=(1 2); printf %s ${a[{}]}", "$(echo 1)", None),
        ("a=xyz; printf %s ${a:{}}", "a[$(echo 1)]", None),
        ("((1 < {})) && echo yes", "2", Some("yes\n")),
        ("((1 < {})) && echo yes", "a[$(echo 1)]", None),
        (
            "printf %s \"${y:-{}}\"",
            "\\}$(echo 1)\"",
            Some("\\}$(echo 1)\""),
        ),
        ("printf %s \"${y:-{}}\"", "it's", None),
        (lines, "it's $(x)", Some("it's $(x)\n")),
        (lines, "EOF", None),
        (lines, "a\nEOF\necho x", None),
        ("cat <<EOF\n$(printf %s {})\nEOF", "a b", Some("a b\n")),
        ("cat <<EOF\n$(printf %s {})\nEOF", "a\nEOF\necho x", None),
    ] {
        let ran = run("bash", script, value.as_bytes());
        let says = String::from_utf8_lossy(&ran.stderr);
        match out {
            Some(out) => assert_eq!(
                String::from_utf8_lossy(&ran.stdout),
                out,
                "{script}: {says}"
            ),
            None => {
                assert_eq!(
                    (ran.status.code(), &ran.stdout[..]),
                    (Some(2), &b""[..]),
                    "{script}"
                );
                assert!(
                    says.starts_with("cmwq run: a value ") && says.ends_with('\n'),
                    "{says}"
                );
            }
        }
    }
}

#[test]
fn where_nothing_can_be_put_the_script_is_refused() {
    for text in [
        "echo `echo \\`echo {}\\``",
        "echo \"${x%'{}'}\"",
        "echo \"{}",
        "echo 'a' '{}",
        "(echo {}",
        "echo $(echo {}",
        "case a in a) echo {};; esac )\" '{}",
    ] {
        let error = script(text).unwrap_err();
        assert!(error.contains(text), "{error}");
    }
    // What does not end has no value in it: the shell says what is wrong.
    assert!(script("echo {} \"").is_ok() && script("echo '{}' \"a").is_ok());
    assert!(script("echo `echo \\`echo a\\`` {}").is_ok());
}

#[test]
fn a_number_before_a_redirection_is_no_descriptor() {
    assert_eq!(text("echo {}>&2", b"1"), "echo '1'>&2");
    assert_eq!(text("echo {} >&2", b"1"), "echo 1 >&2");
    assert_eq!(text("cat {}<x", b"a"), "cat a<x");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn a_value_arrives_whole_between_any_quotes(
        value in prop::collection::vec(1_u8.., 0..12),
        case in prop::sample::select(ANY_SHELL.to_vec()),
    ) {
        // A substitution drops newlines at its end.
        prop_assume!(value.last() != Some(&b'\n'));
        arrives("sh", case, &value);
    }

    #[test]
    fn a_value_arrives_whole_in_bash(
        value in prop::collection::vec(1_u8.., 0..12),
        case in prop::sample::select([&ANY_SHELL[..], &BASH[..]].concat()),
    ) {
        prop_assume!(value.last() != Some(&b'\n'));
        arrives("bash", case, &value);
    }

    /// Made of what is special, in any order: it ends, and refuses or makes something.
    #[test]
    fn any_script_is_read(text in "[a{}'\"`$()#\n<E;\\\\ ]{0,40}") {
        if let Ok(script) = script(&text) {
            let job = Arguments { columns: &[b"'x"], sequence: 1, slot: 1 };
            script.text(&job);
        }
    }
}
