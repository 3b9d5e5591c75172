//! What does this word mean?
//!
//! The kernel's words keep the kernel's meaning:
//! [its document](https://docs.kernel.org/core-api/workqueue.html) has more of them.
//!
//! # Item
//! What is queued: a spawned closure, or a [`Work`](crate::Work). The kernel says work item.
//!
//! # Worker
//! A thread that executes items. Workers belong to pools, and queues with equal attributes share a
//! pool.
//!
//! # Pending
//! Queued and not begun, or waiting for its timer.
//!
//! # Slot
//! The right of an item to be *active*. A queue has `max_active` of them. An item holds its slot
//! from when it may begin until it ends.
//!
//! # Managed
//! The kind of queue that runs as many items as keep the CPUs busy: the default.
//!
//! # Unmanaged
//! The kind that starts every active item at once.
//!
//! # Claim
//! To execute the item that one would otherwise wait for, on the waiting thread: see
//! [`Stacking::Claim`](crate::Stacking::Claim).
//!
//! # Hint
//! An announcement that the calling item is about to block, so that another worker may start at
//! once: [`blocking`](crate::blocking), and every wait for an item.
//!
//! # Pod
//! CPUs that are near to each other, such as those that share a cache. An
//! [`AffinityScope`](crate::AffinityScope) says which. An item belongs to the pod of the CPU that
//! queued it, and runs there if that leaves no CPU idle.
//!
//! # Home
//! The CPU that an item was queued on, or for.
//!
//! # Scope
//! What cuts the CPUs into pods, or the part of a program whose closures may borrow:
//! [`Scope`](crate::Scope). The context tells which.
//!
//! # Canary
//! A thread that runs only if its CPU has nothing else to do, and tells that the CPU idles: see
//! [`CanaryForm`](crate::CanaryForm).
//!
//! # Tick
//! The thread that looks at workers while items wait.
//!
//! # Look
//! One reading of what the busy workers do: [`look`](crate::look).
//!
//! # Rescuer
//! A thread of a [`mem_reclaim`](crate::WorkqueueBuilder::mem_reclaim) queue that executes its
//! items if no worker can be made.
//!
//! # Convoy
//! Items that queue up at one lock, so that more workers make it slower. As many run as end
//! fastest.
//!
//! # Drain
//! To wait until nothing is queued or running, while others may not queue.
//!
//! # Flush
//! To wait for what was queued so far.
//!
//! # Job
//! One loop cut into chunks, which several threads share: [`Job`](crate::Job).
