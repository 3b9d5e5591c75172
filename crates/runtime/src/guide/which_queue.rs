//! Which queue do I want?
//!
//! For one closure, none: [`spawn`](crate::spawn) uses the queue that is always there. Build a
//! queue of your own to limit its items, to give them an order or a priority, or to wait for all
//! of them. A queue has no threads, so a queue for each customer or each file is fine.
//!
//! | your work | build | what runs at once |
//! | --- | --- | --- |
//! | anything, or you do not know | `Workqueue::builder("name")` | as many items as keep the CPUs busy |
//! | must begin in order, though several may run at once | [`.fifo()`](crate::WorkqueueBuilder::fifo) | as many items as keep the CPUs busy |
//! | must run in order, one by one | [`.ordered()`](crate::WorkqueueBuilder::ordered) | one item |
//! | uses memory, connections or licences | [`.max_active(8)`](crate::WorkqueueBuilder::max_active) | as many items as keep the CPUs busy, never more than 8 |
//! | must never wait for a free CPU: heartbeats, connections of a server that mostly wait | [`.unmanaged()`](crate::WorkqueueBuilder::unmanaged) | every item, each on a thread |
//! | may wait until everybody else is done | [`.nice(19)`](crate::WorkqueueBuilder::nice) | as the kind says, at low priority; other queues begin their items all the same |
//! | uses data that belongs to one CPU | [`.percpu()`](crate::WorkqueueBuilder::percpu) | one item per CPU, more if it sleeps |
//! | is tiny and never sleeps | [`.bh()`](crate::WorkqueueBuilder::bh) | one item per CPU, to its end |
//! | must go on when no thread can be made | [`.mem_reclaim()`](crate::WorkqueueBuilder::mem_reclaim) | as the kind says |
//! | a long loop over a range or a slice | [`Job`](crate::Job) instead of a queue | parts of the loop, on idle CPUs |
//!
//! ```
//! use cmwq::Workqueue;
//!
//! let anything = Workqueue::builder("requests").build()?;
//! let journal = Workqueue::builder("journal").ordered().build()?;
//! let database = Workqueue::builder("database").max_active(8).build()?;
//! let batch = Workqueue::builder("reindex").nice(19).build()?;
//! # Ok::<(), cmwq::BuildError>(())
//! ```
//!
//! # What is the difference between managed and unmanaged?
//!
//! A [*managed*](super::words#managed) queue, the default, starts the next item when a CPU would
//! idle. An item that waits makes room for another one, whether it waits for a disk, a lock, a
//! child or the network. An unmanaged queue starts every item at once, up to its limit. A thousand
//! items that compute slow each other down there.
//!
//! # What is the difference between `ordered` and `max_active(1)`?
//!
//! Both run one item at a time. An ordered queue also keeps the order if its attributes change, and
//! its limit cannot be changed.
