//! What comes next in a script.

/// How long the name of a variable is that the text begins with.
pub(super) fn name(text: &[u8]) -> usize {
    let is_of_name = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_';
    match text.first() {
        Some(first) if !first.is_ascii_digit() => text.iter().take_while(is_of_name).count(),
        _ => 0,
    }
}

/// Whether the brackets that were opened before it end with `))`, and are no two of commands.
pub(super) fn is_arithmetic(text: &[u8]) -> bool {
    let mut depth = 2;
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => depth -= 1,
            _ => {}
        }
        if depth == 1 {
            return text.get(at + 1) == Some(&b')');
        }
    }
    false
}

/// Whether what stands behind `${` is `x[...]`, `x:1` or the like, and not `x:-...`.
pub(super) fn has_index(text: &[u8]) -> bool {
    let text = text
        .strip_prefix(b"#")
        .or(text.strip_prefix(b"!"))
        .unwrap_or(text);
    let special = usize::from(matches!(text.first(), Some(b'@' | b'*')));
    match &text[name(text).max(special)..] {
        [b'[', ..] => true,
        [b':', next, ..] => !b"-=?+".contains(next),
        _ => false,
    }
}
