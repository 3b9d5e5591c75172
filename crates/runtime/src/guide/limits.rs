//! How do I keep items from using too much memory or too many connections?
//!
//! A limit is for what items use beside CPUs. How many run is decided without one.
//!
//! | you want | say |
//! | --- | --- |
//! | as many as keep the CPUs busy | nothing |
//! | at most 8 connections | [`.max_active(8)`](crate::WorkqueueBuilder::max_active) |
//! | at most 8 licences, on machines with several memory nodes, too | [`.max_active_exact(8)`](crate::WorkqueueBuilder::max_active_exact) |
//! | another limit later | [`set_max_active`](crate::Workqueue::set_max_active) |
//! | a limit for each customer | a queue for each customer |
//!
//! An item holds a [slot](super::words#slot) from when it is its turn until it ends, also while it
//! waits for something. So a chain of items that wait for each other needs a slot for each. If the
//! chain is longer than the limit that you set, one of the waits is
//! [an error](super::waiting#waits-that-can-never-end).
//!
//! ```
//! let customers: Vec<_> = (0..100)
//!     .map(|n| cmwq::Workqueue::builder(&format!("customer {n}")).max_active_exact(2).build())
//!     .collect::<Result<_, _>>()?;
//! customers[7].spawn(|| println!("one of two requests of customer 7")).join()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
