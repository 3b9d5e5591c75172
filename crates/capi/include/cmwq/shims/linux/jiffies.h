/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_JIFFIES_H
#define CMWQ_SHIM_JIFFIES_H

#include <linux/types.h>
#include <linux/limits.h>
#ifndef HZ
#define HZ 1000
#endif
struct cmwq_shim_time {
	long sec, nsec;
};
CMWQ_INLINE u64 cmwq_shim_now(int clock)
{
	struct cmwq_shim_time time;

	cmwq_shim_clock(clock, &time);
	return (u64)time.sec * 1000000000u + (u64)time.nsec;
}
/* CLOCK_MONOTONIC in ticks of 1/HZ s. */
#define jiffies ((unsigned long)(cmwq_shim_now(1) / (1000000000u / HZ)))
#define get_jiffies_64() ((u64)jiffies)
#define jiffies_64 ((u64)jiffies)
#define INITIAL_JIFFIES 0UL
#define MAX_JIFFY_OFFSET ((LONG_MAX >> 1) - 1)
#define TICK_NSEC (1000000000L / HZ)
#define time_after(a, b) ((long)((b) - (a)) < 0)
#define time_before(a, b) time_after(b, a)
#define time_after_eq(a, b) ((long)((a) - (b)) >= 0)
#define time_before_eq(a, b) time_after_eq(b, a)
#define time_after64(a, b) ((s64)((b) - (a)) < 0)
#define time_before64(a, b) time_after64(b, a)
#define time_after_eq64(a, b) ((s64)((a) - (b)) >= 0)
#define time_in_range(a, b, c) (time_after_eq(a, b) && time_before_eq(a, c))
#define time_in_range_open(a, b, c) (time_after_eq(a, b) && time_before(a, c))
#define time_is_before_jiffies(a) time_after(jiffies, a)
#define time_is_after_jiffies(a) time_before(jiffies, a)
#define time_is_before_eq_jiffies(a) time_after_eq(jiffies, a)
#define time_is_after_eq_jiffies(a) time_before_eq(jiffies, a)
#define msecs_to_jiffies(ms) ((unsigned long)(((u64)(ms) * HZ + 999) / 1000))
#define usecs_to_jiffies(us) ((unsigned long)(((u64)(us) * HZ + 999999) / 1000000))
#define nsecs_to_jiffies(ns) ((unsigned long)((u64)(ns) * HZ / 1000000000))
#define nsecs_to_jiffies64(ns) ((u64)nsecs_to_jiffies(ns))
#define secs_to_jiffies(s) ((unsigned long)(s) * HZ)
#define jiffies_to_msecs(j) ((unsigned int)((u64)(j) * 1000 / HZ))
#define jiffies_to_usecs(j) ((unsigned int)((u64)(j) * 1000000 / HZ))
#define jiffies_to_nsecs(j) ((u64)(j) * (1000000000 / HZ))
#define jiffies64_to_msecs(j) ((u64)(j) * 1000 / HZ)
#define jiffies64_to_nsecs(j) jiffies_to_nsecs(j)
#define jiffies_delta_to_msecs(d) jiffies_to_msecs((d) < 0 ? 0 : (d))
#define clock_t_to_jiffies(x) ((unsigned long)(x) * (HZ / 100))
#define jiffies_to_clock_t(x) ((long)(x) / (HZ / 100))
#define round_jiffies(j) (j)
#define round_jiffies_relative(j) (j)
#define round_jiffies_up(j) (j)
#define round_jiffies_up_relative(j) (j)
#define __round_jiffies(j, cpu) (j)
#define __round_jiffies_relative(j, cpu) (j)
#define NSEC_PER_USEC 1000L
#define NSEC_PER_MSEC 1000000L
#define NSEC_PER_SEC 1000000000L
#define USEC_PER_MSEC 1000L
#define USEC_PER_SEC 1000000L
#define MSEC_PER_SEC 1000L
#define PSEC_PER_NSEC 1000L
#define FSEC_PER_SEC 1000000000000000LL

#endif
