//! Here-documents: what is to end their lines.

/// Lines behind `<<END`.
#[derive(Clone, Debug)]
pub(super) struct HereDocument {
    end: Vec<u8>,
    /// `<<-`
    strips_tabs: bool,
    /// The word that ends them has no quotes.
    pub(super) expands: bool,
}

impl HereDocument {
    /// The one that begins with this text behind `<<`, and how much of it says so: `END`, `-END`,
    /// `'END'`.
    pub(super) fn read(text: &[u8]) -> (Self, usize) {
        let strips_tabs = text.first() == Some(&b'-');
        let mut at = usize::from(strips_tabs);
        while let Some(b' ' | b'\t') = text.get(at) {
            at += 1;
        }
        let (mut end, mut expands, mut quote) = (Vec::new(), true, None);
        while let Some(&byte) = text.get(at) {
            let is_over = b" \t\n|&;<>()`".contains(&byte);
            match (quote, byte) {
                (None, _) if is_over => break,
                (None, b'\'' | b'"') => (quote, expands) = (Some(byte), false),
                (None, b'\\') => expands = false,
                (Some(open), _) if open == byte => quote = None,
                _ => end.push(byte),
            }
            at += 1;
        }
        let document = Self {
            end,
            strips_tabs,
            expands,
        };
        (document, at)
    }

    /// Whether this line is its end.
    pub(super) fn ends_with(&self, line: &[u8]) -> bool {
        let tabs = line.iter().take_while(|&&byte| byte == b'\t').count();
        let stripped = if self.strips_tabs { tabs } else { 0 };
        line[stripped..] == self.end
    }
}
