/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_TIMER_H
#define CMWQ_SHIM_TIMER_H

/* A timer is an item of a BH queue: its function runs on a thread that runs nothing else meanwhile. */
#include <linux/types.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/container_of.h>
#include "../../../cmwq.h"
struct timer_list {
	struct cmwq_work work;
	unsigned long expires;
	void (*function)(struct timer_list *timer);
	unsigned int flags;
};
#define CMWQ_SHIM_TIMER struct timer_list
#define TIMER_DEFERRABLE 1u
#define TIMER_IRQSAFE 2u
#define TIMER_PINNED 4u
#define CMWQ_TIMER_OF_WORK 0x80000000u
CMWQ_INLINE void cmwq_shim_fire(struct cmwq_work *work)
{
	struct timer_list *timer = container_of(work, struct timer_list, work);

	timer->function(timer);
}
#define __TIMER_INITIALIZER(f, fl) { CMWQ_WORK_INITIALIZER(cmwq_shim_fire), 0, (f), (fl) }
#define DEFINE_TIMER(name, f) struct timer_list name = __TIMER_INITIALIZER(f, 0)
CMWQ_INLINE void timer_setup(struct timer_list *timer, void (*function)(struct timer_list *timer),
			     unsigned int flags)
{
	cmwq_work_init(&timer->work, cmwq_shim_fire);
	timer->expires = 0;
	timer->function = function;
	timer->flags = flags;
}
#define timer_setup_on_stack timer_setup
#define timer_init_key(timer, f, flags, name, key) timer_setup(timer, f, flags)
#define destroy_timer_on_stack(timer) ((void)(timer))
#define timer_destroy_on_stack(timer) ((void)(timer))
CMWQ_INLINE struct cmwq_work *cmwq_shim_timer_work(const struct timer_list *timer)
{
	struct timer_list *of = (struct timer_list *)(unsigned long)timer;

	/* In a delayed item the item comes first, and then the timer. */
	return of->flags & CMWQ_TIMER_OF_WORK ? (struct cmwq_work *)(void *)of - 1 : &of->work;
}
CMWQ_INLINE int timer_pending(const struct timer_list *timer)
{
	return cmwq_work_armed(cmwq_shim_timer_work(timer)) > 0;
}
CMWQ_INLINE int mod_timer(struct timer_list *timer, unsigned long expires)
{
	long left = (long)(expires - jiffies);

	timer->expires = expires;
	return cmwq_mod_delayed_work(CMWQ_SYSTEM_BH, &timer->work,
				     left > 0 ? (u64)left * TICK_NSEC : 0) > 0;
}
#define mod_timer_pending(timer, expires) (timer_pending(timer) ? mod_timer(timer, expires) : 0)
CMWQ_INLINE int timer_reduce(struct timer_list *timer, unsigned long expires)
{
	if (timer_pending(timer) && time_before_eq(timer->expires, expires))
		return 1;
	return mod_timer(timer, expires);
}
#define add_timer(timer) ((void)mod_timer(timer, (timer)->expires))
#define add_timer_on(timer, cpu) ((void)(cpu), add_timer(timer))
#define add_timer_global(timer) add_timer(timer)
#define add_timer_local(timer) add_timer(timer)
#define timer_delete(timer) ({ bool was_ = cmwq_work_cancel(&(timer)->work) > 0; was_; })
#define timer_delete_sync(timer) ({ bool was_ = cmwq_work_cancel_sync(&(timer)->work) > 0; was_; })
#define timer_delete_sync_try(timer) timer_delete_sync(timer)
#define timer_shutdown_sync(timer) ({ bool was_ = cmwq_work_disable_sync(&(timer)->work) > 0; was_; })
#define timer_shutdown(timer) ({ bool was_ = cmwq_work_disable(&(timer)->work) > 0; was_; })
#define del_timer(timer) timer_delete(timer)
#define del_timer_sync(timer) timer_delete_sync(timer)
#define try_to_del_timer_sync(timer) timer_delete(timer)
#define from_timer(var, callback, member) container_of(callback, __typeof__(*var), member)
#define timer_container_of(var, callback, member) from_timer(var, callback, member)

#endif
