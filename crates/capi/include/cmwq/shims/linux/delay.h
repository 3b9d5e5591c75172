/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_DELAY_H
#define CMWQ_SHIM_DELAY_H

#include <linux/jiffies.h>
#include <linux/sched.h>
CMWQ_INLINE void cmwq_shim_nap(void *time)
{
	cmwq_shim_nanosleep(1, 0, time, NULL);
}
CMWQ_INLINE void cmwq_shim_sleep_ns(u64 ns)
{
	struct cmwq_shim_time time = { (long)(ns / 1000000000), (long)(ns % 1000000000) };

	cmwq_blocking(cmwq_shim_nap, &time);
}
CMWQ_INLINE void cmwq_shim_spin_ns(u64 ns)
{
	u64 end = cmwq_shim_now(1) + ns;

	while (cmwq_shim_now(1) < end)
		;
}
#define msleep(ms) cmwq_shim_sleep_ns((u64)(ms) * 1000000)
#define msleep_interruptible(ms) (msleep(ms), 0UL)
#define ssleep(s) msleep((u64)(s) * 1000)
#define usleep_range(least, most) cmwq_shim_sleep_ns((u64)(least) * 1000)
#define usleep_range_state(least, most, state) usleep_range(least, most)
#define fsleep(us) cmwq_shim_sleep_ns((u64)(us) * 1000)
#define usleep_idle_range usleep_range
#define mdelay(ms) cmwq_shim_spin_ns((u64)(ms) * 1000000)
#define udelay(us) cmwq_shim_spin_ns((u64)(us) * 1000)
#define ndelay(ns) cmwq_shim_spin_ns(ns)
#define loops_per_jiffy 1000000UL

#endif
