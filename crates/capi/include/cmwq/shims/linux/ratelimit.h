/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_RATELIMIT_H
#define CMWQ_SHIM_RATELIMIT_H

#include <linux/spinlock.h>
#include <linux/jiffies.h>
struct ratelimit_state { spinlock_t lock; int interval, burst, printed, missed; unsigned long begin; };
#define RATELIMIT_STATE_INIT(name, interval_, burst_) { { 0 }, interval_, burst_, 0, 0, 0 }
#define DEFINE_RATELIMIT_STATE(name, interval_, burst_) \
	struct ratelimit_state name = RATELIMIT_STATE_INIT(name, interval_, burst_)
#define DEFAULT_RATELIMIT_INTERVAL (5 * HZ)
#define DEFAULT_RATELIMIT_BURST 10
CMWQ_INLINE void ratelimit_state_init(struct ratelimit_state *rs, int interval, int burst)
{
	*rs = (struct ratelimit_state)RATELIMIT_STATE_INIT(rs, interval, burst);
}
#define ratelimit_default_init(rs) ratelimit_state_init(rs, DEFAULT_RATELIMIT_INTERVAL, 10)
#define ratelimit_set_flags(rs, f) ((void)(rs))
CMWQ_INLINE int __ratelimit(struct ratelimit_state *rs)
{
	int may;

	spin_lock(&rs->lock);
	if (!rs->begin || time_after(jiffies, rs->begin + (unsigned long)rs->interval)) {
		rs->begin = jiffies;
		rs->printed = 0;
	}
	may = rs->printed < rs->burst;
	rs->printed += may;
	rs->missed += !may;
	spin_unlock(&rs->lock);
	return may;
}

#endif
