/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_IOPOLL_H
#define CMWQ_SHIM_IOPOLL_H

#include <linux/delay.h>
#include <linux/io.h>
#include <linux/errno.h>
#define read_poll_timeout(op, val, cond, sleep_us, timeout_us, before, args...) ({ \
	u64 end_ = cmwq_shim_now(1) + (u64)(timeout_us) * 1000; int over_; \
	if ((before) && (sleep_us)) fsleep(sleep_us); \
	for (;;) { (val) = op(args); if (cond) { over_ = 0; break; } \
		if ((timeout_us) && cmwq_shim_now(1) > end_) { (val) = op(args); \
			over_ = (cond) ? 0 : -ETIMEDOUT; break; } \
		if (sleep_us) fsleep(sleep_us); } over_; })
#define read_poll_timeout_atomic read_poll_timeout
#define readx_poll_timeout(op, addr, val, cond, s, t) read_poll_timeout(op, val, cond, s, t, false, addr)
#define readx_poll_timeout_atomic readx_poll_timeout
#define readl_poll_timeout(a, v, c, s, t) readx_poll_timeout(readl, a, v, c, s, t)
#define readb_poll_timeout(a, v, c, s, t) readx_poll_timeout(readb, a, v, c, s, t)
#define readw_poll_timeout(a, v, c, s, t) readx_poll_timeout(readw, a, v, c, s, t)
#define readl_poll_timeout_atomic readl_poll_timeout
#define readl_relaxed_poll_timeout readl_poll_timeout

#endif
