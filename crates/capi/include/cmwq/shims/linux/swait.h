/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_SWAIT_H
#define CMWQ_SHIM_SWAIT_H

/* Simple wait queues are wait queues. */
#include <linux/wait.h>
#define swait_queue_head wait_queue_head
#define DECLARE_SWAIT_QUEUE_HEAD(name) struct swait_queue_head name = \
	__WAIT_QUEUE_HEAD_INITIALIZER(name)
#define DECLARE_SWAIT_QUEUE_HEAD_ONSTACK(name) DECLARE_SWAIT_QUEUE_HEAD(name)
#define init_swait_queue_head(q) init_waitqueue_head(q)
#define swait_active(q) waitqueue_active(q)
#define swq_has_sleeper(q) wq_has_sleeper(q)
#define swake_up_one(q) wake_up(q)
#define swake_up_all(q) wake_up_all(q)
#define swait_event_exclusive(q, condition) wait_event(q, condition)
#define swait_event_interruptible_exclusive(q, condition) wait_event_interruptible(q, condition)
#define swait_event_idle_exclusive(q, condition) wait_event_idle(q, condition)
#define swait_event_timeout_exclusive(q, condition, t) wait_event_timeout(q, condition, t)
#define swait_event_idle_timeout_exclusive(q, condition, t) wait_event_timeout(q, condition, t)

#endif
