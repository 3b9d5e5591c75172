//! The C face of cmwq: `libcmwq`, whose functions `include/cmwq.h` declares and documents.
//!
//! It stands on `cmwq_engine` beside the Rust face. C code embeds items in its own structs, and
//! the engine works on them where they are. `docs/c.md` is the guide.
//!
//! Every function here is called by C. What a pointer must be, the header says; a function checks
//! what can be checked cheaply (NULL, an item that was never initialised, a destroyed queue), and
//! `CMWQ_CHECKED=1` checks the rest (`checked`). Only [`abi`] follows pointers of the program.
//!
//! A panic of ours ends the process with a message, because these functions are `extern "C"`: it
//! never unwinds into C. Functions of the program are called by `cmwq_engine::user`.

// # Floors
//
// Lowest first; a module imports from its own floor and from those below.
//
// 1. `errno`, `mode`, `names`: numbers of errors, who watches, names of functions
// 2. `say`: what people are told
// 3. `abi`: what C and Rust both know, and pointers of the program
// 4. `checked`: `CMWQ_CHECKED=1`
// 5. `handle`, `item`: queues and items behind their pointers
// 6. `attrs`, `queue`, `work`, `current`, `process`
// 7. `job`, `async_calls`, `linux`
pub mod abi;
mod async_calls;
mod attrs;
mod checked;
mod current;
mod errno;
mod handle;
mod item;
mod job;
mod linux;
mod mode;
mod names;
mod process;
mod queue;
mod say;
mod work;
