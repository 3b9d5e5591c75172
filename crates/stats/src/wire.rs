//! How values are written as bytes, and read from bytes that may be anything.

use std::fmt;

/// Bytes of one text. Longer ones are cut when they are written, and refused when they are read.
pub const MAX_TEXT: usize = 4096;

/// Bytes are no snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Malformed {
    /// They end in the middle of a value.
    Short,
    /// They go on behind the last value.
    Long,
    /// A list would have more entries than there are bytes.
    List,
    /// A text is longer than [`MAX_TEXT`].
    TextLength,
    /// A text is not UTF-8.
    Text,
    /// A truth value is neither 0 nor 1.
    Bool,
    /// One of several is none of them.
    Choice,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Malformed::Short => "it ends in the middle of a value",
            Malformed::Long => "it goes on behind its last value",
            Malformed::List => "a list is longer than the page",
            Malformed::TextLength => "a text is too long",
            Malformed::Text => "a text is not UTF-8",
            Malformed::Bool => "a truth value is neither 0 nor 1",
            Malformed::Choice => "one of several is none of them",
        })
    }
}

impl std::error::Error for Malformed {}

/// What can be written and read.
pub(crate) trait Value: Sized {
    fn put(&self, out: &mut Vec<u8>);
    fn take(from: &mut &[u8]) -> Result<Self, Malformed>;
}

fn split<'a>(from: &mut &'a [u8], len: usize) -> Result<&'a [u8], Malformed> {
    let (taken, rest) = from.split_at_checked(len).ok_or(Malformed::Short)?;
    *from = rest;
    Ok(taken)
}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl Value for $number {
            fn put(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }

            fn take(from: &mut &[u8]) -> Result<Self, Malformed> {
                let bytes = split(from, size_of::<$number>())?;
                Ok(<$number>::from_le_bytes(bytes.try_into().expect("as long as asked for")))
            }
        }
    )*};
}

numbers!(u8, u32, u64, i32);

impl Value for bool {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }

    fn take(from: &mut &[u8]) -> Result<Self, Malformed> {
        match u8::take(from)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Malformed::Bool),
        }
    }
}

impl Value for String {
    fn put(&self, out: &mut Vec<u8>) {
        let kept = &self[..self.floor_char_boundary_at(MAX_TEXT)];
        (kept.len() as u32).put(out);
        out.extend_from_slice(kept.as_bytes());
    }

    fn take(from: &mut &[u8]) -> Result<Self, Malformed> {
        let len = u32::take(from)? as usize;
        if len > MAX_TEXT {
            return Err(Malformed::TextLength);
        }
        let bytes = split(from, len)?.to_vec();
        String::from_utf8(bytes).map_err(|_| Malformed::Text)
    }
}

/// The standard library has it from 1.91 on.
trait FloorCharBoundary {
    fn floor_char_boundary_at(&self, most: usize) -> usize;
}

impl FloorCharBoundary for str {
    fn floor_char_boundary_at(&self, most: usize) -> usize {
        let end = self.len().min(most);
        (0..=end)
            .rev()
            .find(|&i| self.is_char_boundary(i))
            .unwrap_or(0)
    }
}

impl<T: Value> Value for Vec<T> {
    fn put(&self, out: &mut Vec<u8>) {
        (self.len() as u32).put(out);
        self.iter().for_each(|value| value.put(out));
    }

    fn take(from: &mut &[u8]) -> Result<Self, Malformed> {
        let len = u32::take(from)? as usize;
        // Each entry has a byte at least. Memory is taken for what was read, not for what was said.
        if len > from.len() {
            return Err(Malformed::List);
        }
        (0..len).map(|_| T::take(from)).collect()
    }
}

/// A struct whose fields are written one after the other.
macro_rules! record {
    ($(#[$about:meta])* $name:ident { $($(#[$field_about:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$about])*
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize))]
        pub struct $name { $($(#[$field_about])* pub $field: $type,)* }

        impl crate::wire::Value for $name {
            fn put(&self, out: &mut Vec<u8>) {
                $(self.$field.put(out);)*
            }

            fn take(from: &mut &[u8]) -> Result<Self, crate::wire::Malformed> {
                Ok($name { $($field: crate::wire::Value::take(from)?,)* })
            }
        }
    };
}
pub(crate) use record;
