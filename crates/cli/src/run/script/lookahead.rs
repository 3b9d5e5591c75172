//! What comes next in a script.

/// Of what stands behind `${`: how long a sign before the name is, and the name.
pub(super) fn name(text: &[u8]) -> (usize, usize) {
    let sign = usize::from(matches!(text.first(), Some(b'#' | b'!')));
    let is_of_name = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_';
    let named = text[sign..].iter().take_while(is_of_name).count();
    let is_all = matches!(text.get(sign), Some(b'@' | b'*'));
    (sign, named.max(usize::from(is_all)))
}

/// Whether it is `:1` or the like behind the name in `${x:1}`, and not `:-...`.
pub(super) fn has_offset(text: &[u8]) -> bool {
    matches!(text, [b':', next, ..] if !b"-=?+".contains(next))
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

/// What a shell makes of a text between `"`.
pub(super) fn without_layer(text: &[u8]) -> Vec<u8> {
    let (mut made, mut rest) = (Vec::new(), text.iter());
    while let Some(&byte) = rest.next() {
        match (byte, rest.as_slice().first()) {
            (b'\\', Some(next)) if b"\\\"$`".contains(next) => {
                made.push(*next);
                rest.next();
            }
            _ => made.push(byte),
        }
    }
    made
}
