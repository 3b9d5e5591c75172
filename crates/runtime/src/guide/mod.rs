//! The guide: eight pages, to be read in any order.
//!
//! | page | answers |
//! | --- | --- |
//! | [`which_queue`] | Which queue do I want? |
//! | [`many_inputs`] | How do I run something for each of many inputs? |
//! | [`again_and_later`] | How do I do something again and again, or later? |
//! | [`limits`] | How do I keep items from using too much memory or too many connections? |
//! | [`waiting`] | How do I wait, and what if a wait could never end? |
//! | [`async_runtimes`] | How do I use it beside tokio and others? |
//! | [`process`] | What does it add to my process, and how does that end? |
//! | [`words`] | What does this word mean? |

pub mod again_and_later;
pub mod async_runtimes;
pub mod limits;
pub mod many_inputs;
pub mod process;
pub mod waiting;
pub mod which_queue;
pub mod words;
