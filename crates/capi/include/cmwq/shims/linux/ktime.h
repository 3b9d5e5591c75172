/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_KTIME_H
#define CMWQ_SHIM_KTIME_H

#include <linux/time64.h>
#include <linux/math64.h>
#define KTIME_MAX ((s64)~((u64)1 << 63))
#define KTIME_SEC_MAX (KTIME_MAX / NSEC_PER_SEC)
#define ktime_get() ((ktime_t)cmwq_shim_now(1))
#define ktime_get_ns() cmwq_shim_now(1)
#define ktime_get_raw() ((ktime_t)cmwq_shim_now(4))
#define ktime_get_raw_ns() cmwq_shim_now(4)
#define ktime_get_real() ((ktime_t)cmwq_shim_now(0))
#define ktime_get_real_ns() cmwq_shim_now(0)
#define ktime_get_boottime() ((ktime_t)cmwq_shim_now(7))
#define ktime_get_boottime_ns() cmwq_shim_now(7)
#define ktime_get_mono_fast_ns() cmwq_shim_now(1)
#define ktime_get_coarse() ktime_get()
#define ktime_get_seconds() ((time64_t)(cmwq_shim_now(1) / NSEC_PER_SEC))
#define ktime_get_boottime_seconds() ((time64_t)(cmwq_shim_now(7) / NSEC_PER_SEC))
#define ktime_get_real_seconds() ((time64_t)(cmwq_shim_now(0) / NSEC_PER_SEC))
#define ktime_get_ts64(ts) (*(ts) = ktime_to_timespec64(ktime_get()))
#define ktime_get_real_ts64(ts) (*(ts) = ktime_to_timespec64(ktime_get_real()))
#define ktime_get_boottime_ts64(ts) (*(ts) = ktime_to_timespec64(ktime_get_boottime()))
#define local_clock() cmwq_shim_now(1)
#define sched_clock() cmwq_shim_now(1)
#define ktime_set(s, ns) ((ktime_t)(s) * NSEC_PER_SEC + (ktime_t)(ns))
#define ktime_add(a, b) ((ktime_t)((a) + (b)))
#define ktime_sub(a, b) ((ktime_t)((a) - (b)))
#define ktime_add_ns(k, n) ((ktime_t)((k) + (s64)(n)))
#define ktime_sub_ns(k, n) ((ktime_t)((k) - (s64)(n)))
#define ktime_add_us(k, n) ktime_add_ns(k, (s64)(n) * 1000)
#define ktime_sub_us(k, n) ktime_sub_ns(k, (s64)(n) * 1000)
#define ktime_add_ms(k, n) ktime_add_ns(k, (s64)(n) * NSEC_PER_MSEC)
#define ktime_sub_ms(k, n) ktime_sub_ns(k, (s64)(n) * NSEC_PER_MSEC)
#define ktime_to_ns(k) ((s64)(k))
#define ktime_to_us(k) ((s64)(k) / NSEC_PER_USEC)
#define ktime_to_ms(k) ((s64)(k) / NSEC_PER_MSEC)
#define ktime_us_delta(a, b) ktime_to_us(ktime_sub(a, b))
#define ktime_ms_delta(a, b) ktime_to_ms(ktime_sub(a, b))
#define ktime_compare(a, b) ((a) < (b) ? -1 : (a) > (b))
#define ktime_after(a, b) ((a) > (b))
#define ktime_before(a, b) ((a) < (b))
#define ktime_divns(k, d) ((s64)(k) / (s64)(d))
#define ns_to_ktime(n) ((ktime_t)(n))
#define us_to_ktime(n) ((ktime_t)(n) * NSEC_PER_USEC)
#define ms_to_ktime(n) ((ktime_t)(n) * NSEC_PER_MSEC)
CMWQ_INLINE struct timespec64 ktime_to_timespec64(ktime_t k)
{
	struct timespec64 ts = { k / NSEC_PER_SEC, (long)(k % NSEC_PER_SEC) };

	return ts;
}
#define ns_to_timespec64(n) ktime_to_timespec64(n)
#define timespec64_to_ktime(ts) ktime_set((ts).tv_sec, (ts).tv_nsec)
#define timespec64_to_ns(ts) ktime_set((ts)->tv_sec, (ts)->tv_nsec)

#endif
