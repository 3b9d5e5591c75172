use super::super::columns::Cut;
use super::super::shell::shell_for;
use super::*;
use proptest::prelude::*;
use std::process::{Command, Output};

fn script(text: &str) -> Result<Script, String> {
    Script::new(OsStr::new(text), &Holes::of(Cut::Whole), false)
}

fn job<'a>(columns: &'a [&'a [u8]]) -> Arguments<'a> {
    Arguments {
        columns,
        sequence: 1,
        slot: 1,
    }
}

/// As somebody would type it.
fn typed(text: &str, value: &[u8]) -> String {
    String::from_utf8(script(text).unwrap().typed(&job(&[value]))).unwrap()
}

fn command(shell: &str, text: &OsStr) -> Command {
    let mut command = Command::new(shell);
    command.arg("-c").arg(text).env("x", "").env_remove("y");
    command
}

fn run(shell: &str, text: &str, value: &[u8]) -> Output {
    let (text, values) = script(text).unwrap().filled(&job(&[value]));
    let values = values.into_iter().enumerate();
    let variables = values.map(|(at, value)| (format!("{VARIABLE}{}", at + 1), value));
    command(shell, &text).envs(variables).output().unwrap()
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
    assert_eq!(typed("cd /; ls -l", b"a b"), "cd /; ls -l 'a b'");
    assert_eq!(typed("echo {#}; ls", b"x"), "echo 1; ls");
    assert_eq!(typed("\n cd /\n ls\n\n", b"x"), "\n cd /\n ls x");
    assert_eq!(typed("ls #", b"x"), "ls # x");
    assert_eq!(typed("ls # all\n\n", b"x"), "ls # all x");
    assert_eq!(run("sh", "echo a # all\n", b"x\necho b").stdout, b"a\n");
    let error = script("cat <<EOF\nx\nEOF\n").unwrap_err();
    assert!(error.contains("write {} where"), "{error}");
    assert!(script("ls # all\nls").is_ok() && script("cat <<EOF\nx\nEOF\nls").is_ok());
    let (text, values) = script("echo a").unwrap().filled(&job(&[b"b c"]));
    assert_eq!(
        (text, values),
        ("echo a \"${CMWQ_V1}\"".into(), vec!["b c".into()])
    );
}

/// Scripts, and what is around the value that they print.
const ANY_SHELL: [(&str, &str, &str); 39] = [
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
    ("set -- x; printf %s $1{}", "x", ""),
    ("printf %s \\{}", "", ""),
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
fn an_expression_has_numbers_only() {
    let number = "a=1; printf %s $((a-{} * 2))";
    for (script, value, out) in [
        (number, "21", Some("-41")),
        (number, "-0x10", Some("33")),
        (number, "+1", Some("-1")),
        (number, "x[$(echo y >&2)]", None),
        (number, "$(echo 1)", None),
        (number, "2024-01-02", None),
        (number, "", None),
        ("a=(1 2); printf %s ${a[{}]}", "-1", Some("2")),
        ("a=(1 2); printf %s ${a[{}]}", "$(echo 1)", None),
        ("a=(); printf %s ${a[0]:-{}}", "x y", Some("x y")),
        ("a=xyz; printf %s ${a:{}}", "-1", Some("z")),
        ("a=xyz; printf %s ${a:{}}", "a[$(echo 1)]", None),
        ("set -- xyz; printf %s ${1:{}}", "a[$(echo 1)]", None),
        ("printf %s $((${y:-{}} + 1))", "2", Some("3")),
        ("printf %s $((${y:-{}} + 1))", "PATH=5", None),
        ("((1 < {})) && echo yes", "2", Some("yes\n")),
        ("((1 < {})) && echo yes", "a[$(echo 1)]", None),
        ("if((1<{}));then echo yes;fi", "a[$(echo 1)]", None),
        ("for((i=0;i<{};i++));do echo yes;done", "a[$(echo 1)]", None),
    ] {
        let ran = run("bash", script, value.as_bytes());
        let says = String::from_utf8_lossy(&ran.stderr);
        match out {
            Some(out) => {
                let ran = String::from_utf8_lossy(&ran.stdout);
                assert_eq!(ran, out, "{script}, {value}: {says}");
            }
            None => {
                let ended = (ran.status.code(), &ran.stdout[..]);
                assert_eq!(ended, (Some(2), &b""[..]), "{script}, {value}: {says}");
                let is_said = says.starts_with("cmwq run: job 1: a value ") && says.ends_with('\n');
                assert!(is_said, "{says}");
            }
        }
    }
}

#[test]
fn lines_in_which_a_shell_puts_nothing_have_no_values() {
    let error = script("cat <<'EOF'\n{}\nEOF\n").unwrap_err();
    assert!(error.contains("write <<END"), "{error}");
    assert!(script("cat <<'EOF' {}\nx\nEOF\n").is_ok());
    assert!(script("cat <<'EOF'\nx\nEOF\necho {}").is_ok());
}

#[test]
fn a_plain_value_may_be_a_part_of_a_name() {
    for (text, value, out) in [
        ("echo {1..{}}", "3", "1 2 3\n"),
        ("x_{}=5; echo $x_a", "a", "5\n"),
        ("f_{}() { echo $1; }; f_a 1", "a", "1\n"),
        ("for {} in 1 2; do echo $a; done", "a", "1\n2\n"),
        ("declare -A m; m[{}]=v; echo ${m[{}]}", "a b", "v\n"),
        ("echo ~{}", "root", "/root\n"),
        ("echo {}0>/dev/stderr", "1", "10\n"),
        ("case if in {}) echo yes;; esac", "if", "yes\n"),
    ] {
        let ran = run("bash", text, value.as_bytes());
        let all = [ran.stdout, ran.stderr].concat();
        assert_eq!(String::from_utf8(all).unwrap(), out, "{text}");
    }
}

/// Other programs, as far as they matter here.
const STAND_INS: &str = "ssh() { shift $n; sh -c \"$*\"; }; su() { shift $n; sh \"$@\"; }; n=1; ";

/// Scripts in scripts, whose shell reads the value once more.
const FOREIGN: [&str; 20] = [
    "sh -c \"printf %s {}\"",
    "sh -c 'printf %s {}'",
    "sh -c \"printf %s \\\"{}\\\"\"",
    "sh -c \"printf %s '{}'\"",
    "sh -c 'printf %s \"{}\"'",
    "sh -ec \"cd /; printf %s {}; :\"",
    "bash -e -o pipefail -c \"printf %s {}\"",
    "sh 2>/dev/null -c \"printf %s {}\"",
    "x=1 env bash -c \"printf %s {}\"",
    "sh -c 'x=\"a\"; printf %s {}; echo $x >/dev/null'",
    "if true; then /bin/sh -c \"printf %s {}\"; fi",
    "f() { bash -c \"printf %s {}\"; }; f",
    "timeout 9 sh -c \"printf %s {}\"",
    "eval \"printf %s {}\"",
    "eval x=1 \"y={};\" 'printf %s \"$y\"'",
    "eval printf %s \"{}\"",
    "trap \"printf %s {}\" EXIT; :",
    "n=3; ssh -p 22 host \"printf %s {}\"",
    "ssh host 'true && ' \"printf %s {}\"",
    "su x -c \"printf %s {}\"",
];

#[test]
fn a_hostile_value_arrives_whole_in_a_script_in_a_script() {
    for value in HOSTILE {
        for text in FOREIGN {
            let text = format!("{STAND_INS}{text}");
            arrives("sh", (&text, "", ""), value.as_bytes());
            arrives("bash", (&text, "", ""), value.as_bytes());
        }
    }
}

/// In these only a value without blanks or signs can be.
const FOREIGN_AND_STRANGE: [&str; 18] = [
    "ssh host \"sh -c 'printf %s {}'\"",
    "sh -c 'sh -c \"printf %s {}\"'",
    "ssh host 'printf '\\''%s'\\'' {}'",
    "sh -c 'printf %s '\"{}\"",
    "eval x=\"{}\"; printf %s \"$x\"",
    "eval x='{}'; printf %s \"$x\"",
    "ssh host printf %s x\"{}\" | cut -c2- | tr -d '\\n'",
    "ssh host printf %s {}",
    "sh -c \"x=\\$((1 + {})); echo \\$((x - 1)) | tr -d '\\n'\"",
    "sh -c 'x=`printf %s \"{}\"`; printf %s \"$x\"'",
    "bash -c 'x=`printf %s {}`; printf %s \"$x\"'",
    "sh -c \"cat <<E\n{}\nE\" | tr -d '\\n'",
    "sh -c \"printf %s \\{}\"",
    "sh -c 'printf %s \\{}'",
    "sh -c \"printf %s ${y:-{}}\"",
    "sh -c \"printf %s $(printf %s \"{}\")\"",
    "y=\"`sh -c \\\"printf %s {}\\\"`\"; printf %s \"$y\"",
    "sh -c 'x=1; printf %s $x{} | cut -c2- | tr -d \"\\n\"'",
];

#[test]
fn in_strange_places_of_a_script_in_a_script_no_value_is_executed() {
    for text in FOREIGN_AND_STRANGE {
        let text = format!("{STAND_INS}{text}");
        for value in MARKED {
            let ran = run("sh", &text, value.as_bytes());
            let says = String::from_utf8_lossy(&ran.stderr);
            let is_executed = says.lines().any(|line| line == "PWN");
            assert!(!is_executed, "{text}, {value}: {says}");
        }
        let ran = run("sh", &text, b"72");
        assert_eq!(
            String::from_utf8_lossy(&ran.stdout),
            "72",
            "{text}: {ran:?}"
        );
    }
}

#[test]
fn what_no_other_shell_reads_stays_as_it_is() {
    for (text, value, out) in [
        ("sh -c \"{}\"", "echo a; echo b", "a\nb\n"),
        ("bash -c '{}'", "echo a; echo b", "a\nb\n"),
        ("eval \"{}\"", "echo a; echo b", "a\nb\n"),
        ("n=1; ssh host \"{}\"", "echo a; echo b", "a\nb\n"),
        ("printf '%s\\n' -c \"{} x\"", "a b", "-c\na b x\n"),
        (
            "echo ssh; echo \"{} x\" -c \"y\"",
            "a b",
            "ssh\na b x -c y\n",
        ),
        (
            "echo -e ssh host \"x {}\"",
            "it's a b",
            "ssh host x it's a b\n",
        ),
        (
            "echo restart ssh on \"host {}\"",
            "a b",
            "restart ssh on host a b\n",
        ),
        (
            "cd /tmp; echo rsync -e ssh x \"d/{}\"",
            "a b",
            "rsync -e ssh x d/a b\n",
        ),
        ("ssh host cat <<<\"x {}\"", "a b", "x a b\n"),
        ("eval 'echo hi' 2>\"/dev/null\" \"'{}'\"", "a", "hi a\n"),
        (
            "flock() { shift; \"$@\"; }; flock l echo -c \"{}.c\"",
            "a b",
            "-c a b.c\n",
        ),
        (
            "xargs -I% sh -c 'echo % {}' </dev/null; echo \"{} x\"",
            "a b",
            "a b x\n",
        ),
        ("bash -c 'echo \"$1\"' _ \"{} x\"", "a b", "a b x\n"),
        ("bash -c 'echo \"$1\"' _ {}", "a b", "a b\n"),
    ] {
        let text = format!("{STAND_INS}{text}");
        let ran = run("bash", &text, value.as_bytes());
        let says = String::from_utf8_lossy(&ran.stderr);
        assert_eq!(String::from_utf8_lossy(&ran.stdout), out, "{text}: {says}");
    }
}

/// Strange scripts, of which nobody is sure that they are read right. A value may be altered, but
/// nothing of it is executed.
const STRANGE: [&str; 34] = [
    "x=`echo \\\\\"{}\\\\\"`",
    "x=`echo \"\\\\{}\"`",
    "x=`ls # \\{}`",
    "x=`echo \\`echo {}\\``",
    "(cat <<EOF) >/dev/null\n{}\nEOF",
    "cat <<EOF | (\n{}\nEOF\ncat)",
    "x=$(cat <<EOF)\n{}\nEOF",
    "cat <<EOF\nhi\nEOF",
    "ls\n",
    "ls;",
    "ls \\",
    "echo \"${y:-{}}\" {}",
    "echo \"${x%{}}\" {}",
    "echo \"${x:-it's}\" '{}' \"${y:-it's}\"",
    "echo \"${x%'{}'}\"",
    "cat <<-'EOF' {}\n\tx\n\tEOF\necho {}",
    "cat <<EOF\n$(printf '%s %s' '\n{}\n')\nEOF",
    "cat <<EOF\nfoo \\\nEOF\n{}\nEOF",
    "cat <<EOF\nEOF{}\nEOF",
    "cat <<EOF\r\nhi\r\nEOF\r\necho {}",
    "cat <<$'EOF'\n{}\nEOF\necho {}",
    "cat <<{}\n{}\nEOF",
    "[[ a#b == @(a)#{} ]]",
    "((i++))#don't\necho '{}'",
    "echo {2}#{1}",
    "echo \"`printf %s \"{}\"`\"",
    "[[ {} == y ]]; [[ x =~ ^{}$ ]]",
    "case x in {}) ;; esac",
    "echo {{},old/{}} {{}}",
    "echo {}0>/dev/null",
    "\"\\{}\"; $'\\{}'",
    "echo $(case a in a) if true; then echo {}; fi esac)",
    "$(case a in a) echo in case of {};; esac)",
    "echo \"$(function f { case a in a) echo '{}';; esac; }; f)\"",
];

/// They would say so if they were executed.
const MARKED: [&str; 10] = [
    "$(echo PWN >&2)",
    "`echo PWN >&2`",
    "; echo PWN >&2; :",
    "'; echo PWN >&2; '",
    "}\"; echo PWN >&2; #",
    "}\"; echo PWN >&2; #'",
    "`; echo PWN >&2; : #",
    "\n; echo PWN >&2",
    "EOF\necho PWN >&2",
    "\tEOF\necho PWN >&2\n",
];

#[test]
fn no_value_is_executed_however_strange_the_script() {
    let mut refused = 0;
    for text in STRANGE {
        if script(text).is_err() {
            refused += 1;
            continue;
        }
        for value in MARKED {
            for shell in ["sh", "bash"] {
                let ran = run(shell, text, value.as_bytes());
                let says = String::from_utf8_lossy(&ran.stderr);
                let is_executed = says.lines().any(|line| line == "PWN");
                assert!(!is_executed, "{shell}, {text}, {value}: {says}");
            }
        }
    }
    assert!(refused < 4, "{refused} were not tried");
}

#[test]
fn what_is_typed_does_the_same() {
    for (text, before, behind) in &ANY_SHELL[..8] {
        for value in HOSTILE {
            let ran = command("sh", OsStr::new(&typed(text, value.as_bytes()))).output();
            let out = String::from_utf8(ran.unwrap().stdout).unwrap();
            assert_eq!(out, format!("{before}{value}{behind}"), "{text}");
        }
    }
    assert_eq!(typed("echo {}>&2", b"1"), "echo '1'>&2");
    assert_eq!(typed("echo {} >&2", b"1"), "echo 1 >&2");
    assert_eq!(typed("echo \"${}\"", b"(x)"), "echo \"\\$(x)\"");
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

    /// Made of what is special, in any order.
    #[test]
    fn any_script_is_read(text in "[a{}'\"`$()#\n<E;\\\\ ]{0,40}") {
        if let Ok(script) = script(&text) {
            script.filled(&job(&[b"'x"]));
            script.typed(&job(&[b"'x"]));
        }
    }
}
