//! What tests of the screen share, and the test that draws its picture.

mod picture;
pub(super) mod rig;
