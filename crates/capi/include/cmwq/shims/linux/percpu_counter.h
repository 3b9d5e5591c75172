/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_PERCPU_COUNTER_H
#define CMWQ_SHIM_PERCPU_COUNTER_H

/* One count, which is exact at any time. */
#include <linux/atomic.h>
struct percpu_counter { atomic64_t count; };
#define percpu_counter_init(c, n, gfp) ({ atomic64_set(&(c)->count, n); 0; })
#define percpu_counter_destroy(c) ((void)(c))
#define percpu_counter_set(c, n) atomic64_set(&(c)->count, n)
#define percpu_counter_add(c, n) ((void)atomic64_add_return(n, &(c)->count))
#define percpu_counter_add_batch(c, n, batch) percpu_counter_add(c, n)
#define percpu_counter_sub(c, n) percpu_counter_add(c, -(s64)(n))
#define percpu_counter_inc(c) percpu_counter_add(c, 1)
#define percpu_counter_dec(c) percpu_counter_add(c, -1)
#define percpu_counter_read(c) atomic64_read(&(c)->count)
#define percpu_counter_sum(c) atomic64_read(&(c)->count)
#define percpu_counter_initialized(c) true
CMWQ_INLINE s64 percpu_counter_read_positive(struct percpu_counter *c)
{
	s64 n = percpu_counter_read(c);

	return n > 0 ? n : 0;
}
#define percpu_counter_sum_positive(c) percpu_counter_read_positive(c)
CMWQ_INLINE int percpu_counter_compare(struct percpu_counter *c, s64 with)
{
	s64 n = percpu_counter_read(c);

	return n < with ? -1 : n > with;
}

#endif
