/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_HRTIMER_H
#define CMWQ_SHIM_HRTIMER_H

#include <linux/timer.h>
enum hrtimer_restart { HRTIMER_NORESTART, HRTIMER_RESTART };
enum hrtimer_mode {
	HRTIMER_MODE_ABS = 0, HRTIMER_MODE_REL = 1, HRTIMER_MODE_PINNED = 2, HRTIMER_MODE_SOFT = 4,
	HRTIMER_MODE_HARD = 8, HRTIMER_MODE_ABS_PINNED = 2, HRTIMER_MODE_REL_PINNED = 3,
	HRTIMER_MODE_ABS_SOFT = 4, HRTIMER_MODE_REL_SOFT = 5, HRTIMER_MODE_REL_HARD = 9,
	HRTIMER_MODE_REL_PINNED_SOFT = 7
};
struct hrtimer {
	struct cmwq_work work;
	ktime_t expires;
	enum hrtimer_restart (*function)(struct hrtimer *timer);
};
CMWQ_INLINE void hrtimer_start(struct hrtimer *timer, ktime_t time, const enum hrtimer_mode mode)
{
	s64 left;

	timer->expires = mode & HRTIMER_MODE_REL ? ktime_get() + time : time;
	left = timer->expires - ktime_get();
	cmwq_mod_delayed_work(CMWQ_SYSTEM_BH, &timer->work, left > 0 ? (u64)left : 0);
}
CMWQ_INLINE void cmwq_shim_hrtimer(struct cmwq_work *work)
{
	struct hrtimer *timer = container_of(work, struct hrtimer, work);

	if (timer->function(timer) == HRTIMER_RESTART)
		hrtimer_start(timer, timer->expires, HRTIMER_MODE_ABS);
}
CMWQ_INLINE void hrtimer_init(struct hrtimer *timer, int clock, enum hrtimer_mode mode)
{
	(void)clock, (void)mode;
	cmwq_work_init(&timer->work, cmwq_shim_hrtimer);
}
#define hrtimer_setup(timer, f, clock, mode) \
	do { hrtimer_init(timer, clock, mode); (timer)->function = (f); } while (0)
#define hrtimer_start_range_ns(timer, time, range, mode) hrtimer_start(timer, time, mode)
#define hrtimer_start_expires(timer, mode) hrtimer_start(timer, (timer)->expires, HRTIMER_MODE_ABS)
#define hrtimer_restart(timer) hrtimer_start_expires(timer, HRTIMER_MODE_ABS)
#define hrtimer_set_expires(timer, time) ((timer)->expires = (time))
#define hrtimer_get_expires(timer) ((timer)->expires)
#define hrtimer_get_remaining(timer) ktime_sub((timer)->expires, ktime_get())
#define hrtimer_cancel(timer) ({ int was_ = cmwq_work_cancel_sync(&(timer)->work) > 0; was_; })
#define hrtimer_try_to_cancel(timer) ({ bool was_ = cmwq_work_cancel(&(timer)->work) > 0; was_; })
#define hrtimer_active(timer) (cmwq_work_busy(&(timer)->work) > 0)
#define hrtimer_is_queued(timer) (cmwq_work_pending(&(timer)->work) > 0)
#define hrtimer_callback_running(timer) ((cmwq_work_busy(&(timer)->work) & 2) != 0)
#define hrtimer_cb_get_time(timer) ktime_get()
CMWQ_INLINE u64 hrtimer_forward(struct hrtimer *timer, ktime_t now, ktime_t interval)
{
	u64 turns = 0;

	while (timer->expires <= now) {
		timer->expires += interval;
		turns++;
	}
	return turns;
}
#define hrtimer_forward_now(timer, interval) hrtimer_forward(timer, ktime_get(), interval)
#ifndef CLOCK_MONOTONIC
#define CLOCK_REALTIME 0
#define CLOCK_MONOTONIC 1
#define CLOCK_BOOTTIME 7
#endif

#endif
