/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_REFCOUNT_H
#define CMWQ_SHIM_REFCOUNT_H

#include <linux/atomic.h>
typedef struct {
	atomic_t refs;
} refcount_t;
#define REFCOUNT_INIT(n) { .refs = ATOMIC_INIT(n) }
#define refcount_set(r, n) atomic_set(&(r)->refs, n)
#define refcount_read(r) ((unsigned int)atomic_read(&(r)->refs))
#define refcount_inc(r) atomic_inc(&(r)->refs)
#define refcount_dec(r) atomic_dec(&(r)->refs)
#define refcount_add(i, r) atomic_add(i, &(r)->refs)
#define refcount_inc_not_zero(r) atomic_inc_not_zero(&(r)->refs)
#define refcount_dec_and_test(r) atomic_dec_and_test(&(r)->refs)
#define refcount_sub_and_test(i, r) atomic_sub_and_test(i, &(r)->refs)
#define refcount_dec_not_one(r) atomic_add_unless(&(r)->refs, -1, 1)
#define refcount_dec_if_one(r) (atomic_cmpxchg(&(r)->refs, 1, 0) == 1)

#endif
