//! The shapes of machines, read from trees of files: real ones, broken ones, garbage.

mod broken;
mod garbage;
mod machines;
mod tree;
