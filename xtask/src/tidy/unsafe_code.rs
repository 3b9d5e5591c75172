//! Every `unsafe` is argued: a block or impl by a `SAFETY:` comment above it, a function or trait
//! by a `# Safety` section that tells callers or implementers what to keep.

use super::Violation;
use super::source::Source;

/// What an `unsafe` keyword introduces.
enum Form {
    Block,
    Impl,
    Promise(&'static str),
}

/// Checks one file.
pub(super) fn check(source: &Source) -> Vec<Violation> {
    (0..source.code.len())
        .filter(|&i| source.is(i, "unsafe"))
        .filter_map(|i| Some((i, form(source, i)?)))
        .filter_map(|(i, form)| {
            Some(Violation::new(
                source.path,
                source.code[i].line,
                unargued(source, i, &form)?,
            ))
        })
        .collect()
}

/// `None` for attributes (`#[unsafe(no_mangle)]`) and for types (`unsafe fn(u8)`).
fn form(source: &Source, i: usize) -> Option<Form> {
    let mut next = i + 1;
    if source.is(next, "extern") {
        // The ABI string may be left out.
        next += if source.is(next + 1, "fn") || source.is(next + 1, "{") {
            1
        } else {
            2
        };
    }
    match source.code.get(next)?.text {
        "{" => Some(Form::Block),
        "impl" => Some(Form::Impl),
        "fn" if !source.is(next + 1, "(") => Some(Form::Promise("fn")),
        "trait" => Some(Form::Promise("trait")),
        _ => None,
    }
}

/// What is wrong with the `unsafe` at `i`, if anything. A function that implements a trait's
/// unsafe one may point at that contract in a `SAFETY:` comment instead of repeating it.
fn unargued(source: &Source, i: usize, form: &Form) -> Option<String> {
    let comments = source.comments_for(i, source.code[i].offset);
    let says = |mark| comments.iter().any(|c| c.contains(mark));
    let safe = says("SAFETY:");
    match form {
        Form::Block if !safe => Some(
            "unsafe block without its argument: put a `// SAFETY: …` comment directly above".into(),
        ),
        Form::Impl if !safe => Some(
            "unsafe impl without its argument: put a `// SAFETY: …` comment directly above".into(),
        ),
        Form::Promise(what) if !safe && !says("# Safety") => Some(format!(
            "unsafe {what} that does not say what it demands: add a `# Safety` section to its documentation"
        )),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(src: &str) -> Vec<usize> {
        let found = check(&Source::new("x.rs", src));
        found.iter().map(|v| v.line).collect()
    }

    #[test]
    fn argued_blocks_pass() {
        assert!(lines("fn f() {\n // SAFETY: p is valid.\n unsafe { g(p) }\n}").is_empty());
        assert!(lines("fn f() {\n // SAFETY: long,\n // in two lines.\n #[a]\n let x =\n  unsafe { g(p) };\n}").is_empty());
        assert!(
            lines("fn f() {\n // SAFETY: ok.\n let x = h(1, |a| a,\n   unsafe { g(p) });\n}")
                .is_empty()
        );
        assert!(
            lines("fn f() {\n match a {\n  // SAFETY: ok.\n  A => unsafe { g() },\n }\n}")
                .is_empty()
        );
    }

    #[test]
    fn blocks_without_argument_are_found() {
        assert_eq!(lines("fn f() {\n unsafe { g(p) }\n}"), [2]);
        assert_eq!(lines("fn f() {\n // Fast.\n unsafe { g(p) }\n}"), [3]);
        assert_eq!(
            lines("fn f() {\n // SAFETY: far.\n\n unsafe { g(p) }\n}"),
            [4],
            "not directly above"
        );
        assert_eq!(
            lines("fn f() {\n // SAFETY: a.\n unsafe { g() };\n unsafe { h() };\n}"),
            [4]
        );
        assert_eq!(
            lines("fn f() {\n unsafe {\n // SAFETY: inside is too late.\n g() }\n}"),
            [2]
        );
        assert_eq!(
            lines(
                "fn f() {\n match a {\n // SAFETY: ok.\n A => unsafe { g() },\n B => unsafe { h() },\n }\n}"
            ),
            [5]
        );
        assert_eq!(lines("unsafe extern \"C\" {\n fn g();\n}"), [1]);
    }

    #[test]
    fn impls_need_a_comment() {
        assert!(lines("// SAFETY: plain data.\nunsafe impl Send for A {}").is_empty());
        assert_eq!(
            lines("// SAFETY: plain data.\nunsafe impl Send for A {}\nunsafe impl Sync for A {}"),
            [3]
        );
    }

    #[test]
    fn functions_and_traits_need_a_section() {
        assert!(lines("/// Reads.\n///\n/// # Safety\n/// `p` is valid.\n#[inline]\npub unsafe fn f(p: P) {}").is_empty());
        assert_eq!(lines("/// Reads.\npub unsafe fn f(p: P) {}"), [2]);
        assert_eq!(lines("pub unsafe extern \"C\" fn f(p: P) {}"), [1]);
        assert_eq!(lines("unsafe trait T {}"), [1]);
        assert!(
            lines("impl A for B {\n // SAFETY: the contract of `A::f`.\n unsafe fn f() {}\n}")
                .is_empty()
        );
    }

    #[test]
    fn what_is_not_unsafe_code_passes() {
        assert!(lines("type F = unsafe fn(u8); type G = unsafe extern \"C\" fn(u8);").is_empty());
        assert!(
            lines("#[unsafe(no_mangle)]\npub fn f() { let s = \"unsafe { }\"; } // unsafe { }")
                .is_empty()
        );
    }
}
