/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_ATOMIC_H
#define CMWQ_SHIM_ATOMIC_H

#include <linux/types.h>
#include <linux/compiler.h>
#define ATOMIC_INIT(i) { (i) }
#define ATOMIC64_INIT(i) { (i) }
#define ATOMIC_LONG_INIT(i) { (i) }
typedef atomic64_t atomic_long_t;
#define xchg(p, v) __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST)
#define xchg_relaxed xchg
#define cmpxchg(p, old, value) ({ __typeof__(*(p)) was_ = (old); \
	__atomic_compare_exchange_n(p, &was_, (value), false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
	was_; })
#define cmpxchg_relaxed cmpxchg
#define cmpxchg_acquire cmpxchg
#define cmpxchg_release cmpxchg
#define try_cmpxchg(p, oldp, value) \
	__atomic_compare_exchange_n(p, oldp, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)

#define atomic_read(v) ((int)__atomic_load_n(&(v)->counter, __ATOMIC_SEQ_CST))
#define atomic_read_acquire atomic_read
#define atomic_set(v, i) __atomic_store_n(&(v)->counter, i, __ATOMIC_SEQ_CST)
#define atomic_set_release atomic_set
#define atomic_add_return(i, v) ((int)__atomic_add_fetch(&(v)->counter, i, __ATOMIC_SEQ_CST))
#define atomic_sub_return(i, v) ((int)__atomic_sub_fetch(&(v)->counter, i, __ATOMIC_SEQ_CST))
#define atomic_fetch_add(i, v) ((int)__atomic_fetch_add(&(v)->counter, i, __ATOMIC_SEQ_CST))
#define atomic_fetch_sub(i, v) ((int)__atomic_fetch_sub(&(v)->counter, i, __ATOMIC_SEQ_CST))
#define atomic_fetch_or(i, v) ((int)__atomic_fetch_or(&(v)->counter, i, __ATOMIC_SEQ_CST))
#define atomic_fetch_and(i, v) ((int)__atomic_fetch_and(&(v)->counter, i, __ATOMIC_SEQ_CST))
#define atomic_fetch_andnot(i, v) atomic_fetch_and(~(i), v)
#define atomic_fetch_xor(i, v) ((int)__atomic_fetch_xor(&(v)->counter, i, __ATOMIC_SEQ_CST))
#define atomic_fetch_inc(v) atomic_fetch_add(1, v)
#define atomic_fetch_dec(v) atomic_fetch_sub(1, v)
#define atomic_inc_return(v) atomic_add_return(1, v)
#define atomic_dec_return(v) atomic_sub_return(1, v)
#define atomic_add(i, v) ((void)atomic_add_return(i, v))
#define atomic_sub(i, v) ((void)atomic_sub_return(i, v))
#define atomic_inc(v) atomic_add(1, v)
#define atomic_dec(v) atomic_sub(1, v)
#define atomic_or(i, v) ((void)atomic_fetch_or(i, v))
#define atomic_and(i, v) ((void)atomic_fetch_and(i, v))
#define atomic_andnot(i, v) ((void)atomic_fetch_andnot(i, v))
#define atomic_inc_and_test(v) (atomic_inc_return(v) == 0)
#define atomic_dec_and_test(v) (atomic_dec_return(v) == 0)
#define atomic_sub_and_test(i, v) (atomic_sub_return(i, v) == 0)
#define atomic_add_negative(i, v) (atomic_add_return(i, v) < 0)
#define atomic_xchg(v, i) ((int)__atomic_exchange_n(&(v)->counter, i, __ATOMIC_SEQ_CST))
#define atomic_cmpxchg(v, old, new_) ((int)cmpxchg(&(v)->counter, old, new_))
#define atomic_try_cmpxchg(v, oldp, new_) try_cmpxchg(&(v)->counter, oldp, new_)
#define atomic_fetch_add_unless(v, a, u) ({ int at_ = atomic_read(v); \
	while (at_ != (u) && !__atomic_compare_exchange_n(&(v)->counter, &at_, at_ + (a), false, \
							  __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) \
		; \
	at_; })
#define atomic_add_unless(v, a, u) (atomic_fetch_add_unless(v, a, u) != (u))
#define atomic_inc_not_zero(v) atomic_add_unless(v, 1, 0)
#define atomic_inc_unless_negative(v) ({ int at_ = atomic_read(v); \
	while (at_ >= 0 && !atomic_try_cmpxchg(v, &at_, at_ + 1)) \
		; \
	at_ >= 0; })
#define atomic_dec_if_positive(v) ({ int at_ = atomic_read(v); \
	while (at_ > 0 && !atomic_try_cmpxchg(v, &at_, at_ - 1)) \
		; \
	at_ - 1; })

#define atomic64_read(v) ((s64)__atomic_load_n(&(v)->counter, __ATOMIC_SEQ_CST))
#define atomic64_read_acquire atomic64_read
#define atomic64_set(v, i) __atomic_store_n(&(v)->counter, i, __ATOMIC_SEQ_CST)
#define atomic64_set_release atomic64_set
#define atomic64_add_return(i, v) ((s64)__atomic_add_fetch(&(v)->counter, i, __ATOMIC_SEQ_CST))
#define atomic64_sub_return(i, v) ((s64)__atomic_sub_fetch(&(v)->counter, i, __ATOMIC_SEQ_CST))
#define atomic64_fetch_add(i, v) ((s64)__atomic_fetch_add(&(v)->counter, i, __ATOMIC_SEQ_CST))
#define atomic64_fetch_sub(i, v) ((s64)__atomic_fetch_sub(&(v)->counter, i, __ATOMIC_SEQ_CST))
#define atomic64_fetch_or(i, v) ((s64)__atomic_fetch_or(&(v)->counter, i, __ATOMIC_SEQ_CST))
#define atomic64_fetch_and(i, v) ((s64)__atomic_fetch_and(&(v)->counter, i, __ATOMIC_SEQ_CST))
#define atomic64_fetch_andnot(i, v) atomic64_fetch_and(~(i), v)
#define atomic64_fetch_xor(i, v) ((s64)__atomic_fetch_xor(&(v)->counter, i, __ATOMIC_SEQ_CST))
#define atomic64_fetch_inc(v) atomic64_fetch_add(1, v)
#define atomic64_fetch_dec(v) atomic64_fetch_sub(1, v)
#define atomic64_inc_return(v) atomic64_add_return(1, v)
#define atomic64_dec_return(v) atomic64_sub_return(1, v)
#define atomic64_add(i, v) ((void)atomic64_add_return(i, v))
#define atomic64_sub(i, v) ((void)atomic64_sub_return(i, v))
#define atomic64_inc(v) atomic64_add(1, v)
#define atomic64_dec(v) atomic64_sub(1, v)
#define atomic64_or(i, v) ((void)atomic64_fetch_or(i, v))
#define atomic64_and(i, v) ((void)atomic64_fetch_and(i, v))
#define atomic64_andnot(i, v) ((void)atomic64_fetch_andnot(i, v))
#define atomic64_inc_and_test(v) (atomic64_inc_return(v) == 0)
#define atomic64_dec_and_test(v) (atomic64_dec_return(v) == 0)
#define atomic64_sub_and_test(i, v) (atomic64_sub_return(i, v) == 0)
#define atomic64_add_negative(i, v) (atomic64_add_return(i, v) < 0)
#define atomic64_xchg(v, i) ((s64)__atomic_exchange_n(&(v)->counter, i, __ATOMIC_SEQ_CST))
#define atomic64_cmpxchg(v, old, new_) ((s64)cmpxchg(&(v)->counter, old, new_))
#define atomic64_try_cmpxchg(v, oldp, new_) try_cmpxchg(&(v)->counter, oldp, new_)
#define atomic64_fetch_add_unless(v, a, u) ({ s64 at_ = atomic64_read(v); \
	while (at_ != (u) && !__atomic_compare_exchange_n(&(v)->counter, &at_, at_ + (a), false, \
							  __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) \
		; \
	at_; })
#define atomic64_add_unless(v, a, u) (atomic64_fetch_add_unless(v, a, u) != (u))
#define atomic64_inc_not_zero(v) atomic64_add_unless(v, 1, 0)
#define atomic64_inc_unless_negative(v) ({ s64 at_ = atomic64_read(v); \
	while (at_ >= 0 && !atomic64_try_cmpxchg(v, &at_, at_ + 1)) \
		; \
	at_ >= 0; })
#define atomic64_dec_if_positive(v) ({ s64 at_ = atomic64_read(v); \
	while (at_ > 0 && !atomic64_try_cmpxchg(v, &at_, at_ - 1)) \
		; \
	at_ - 1; })

#define atomic_long_read(v) ((long)__atomic_load_n(&(v)->counter, __ATOMIC_SEQ_CST))
#define atomic_long_read_acquire atomic_long_read
#define atomic_long_set(v, i) __atomic_store_n(&(v)->counter, i, __ATOMIC_SEQ_CST)
#define atomic_long_set_release atomic_long_set
#define atomic_long_add_return(i, v) ((long)__atomic_add_fetch(&(v)->counter, i, __ATOMIC_SEQ_CST))
#define atomic_long_sub_return(i, v) ((long)__atomic_sub_fetch(&(v)->counter, i, __ATOMIC_SEQ_CST))
#define atomic_long_fetch_add(i, v) ((long)__atomic_fetch_add(&(v)->counter, i, __ATOMIC_SEQ_CST))
#define atomic_long_fetch_sub(i, v) ((long)__atomic_fetch_sub(&(v)->counter, i, __ATOMIC_SEQ_CST))
#define atomic_long_fetch_or(i, v) ((long)__atomic_fetch_or(&(v)->counter, i, __ATOMIC_SEQ_CST))
#define atomic_long_fetch_and(i, v) ((long)__atomic_fetch_and(&(v)->counter, i, __ATOMIC_SEQ_CST))
#define atomic_long_fetch_andnot(i, v) atomic_long_fetch_and(~(i), v)
#define atomic_long_fetch_xor(i, v) ((long)__atomic_fetch_xor(&(v)->counter, i, __ATOMIC_SEQ_CST))
#define atomic_long_fetch_inc(v) atomic_long_fetch_add(1, v)
#define atomic_long_fetch_dec(v) atomic_long_fetch_sub(1, v)
#define atomic_long_inc_return(v) atomic_long_add_return(1, v)
#define atomic_long_dec_return(v) atomic_long_sub_return(1, v)
#define atomic_long_add(i, v) ((void)atomic_long_add_return(i, v))
#define atomic_long_sub(i, v) ((void)atomic_long_sub_return(i, v))
#define atomic_long_inc(v) atomic_long_add(1, v)
#define atomic_long_dec(v) atomic_long_sub(1, v)
#define atomic_long_or(i, v) ((void)atomic_long_fetch_or(i, v))
#define atomic_long_and(i, v) ((void)atomic_long_fetch_and(i, v))
#define atomic_long_andnot(i, v) ((void)atomic_long_fetch_andnot(i, v))
#define atomic_long_inc_and_test(v) (atomic_long_inc_return(v) == 0)
#define atomic_long_dec_and_test(v) (atomic_long_dec_return(v) == 0)
#define atomic_long_sub_and_test(i, v) (atomic_long_sub_return(i, v) == 0)
#define atomic_long_add_negative(i, v) (atomic_long_add_return(i, v) < 0)
#define atomic_long_xchg(v, i) ((long)__atomic_exchange_n(&(v)->counter, i, __ATOMIC_SEQ_CST))
#define atomic_long_cmpxchg(v, old, new_) ((long)cmpxchg(&(v)->counter, old, new_))
#define atomic_long_try_cmpxchg(v, oldp, new_) try_cmpxchg(&(v)->counter, oldp, new_)
#define atomic_long_fetch_add_unless(v, a, u) ({ s64 at_ = atomic_long_read(v); \
	while (at_ != (u) && !__atomic_compare_exchange_n(&(v)->counter, &at_, at_ + (a), false, \
							  __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) \
		; \
	at_; })
#define atomic_long_add_unless(v, a, u) (atomic_long_fetch_add_unless(v, a, u) != (u))
#define atomic_long_inc_not_zero(v) atomic_long_add_unless(v, 1, 0)
#define atomic_long_inc_unless_negative(v) ({ s64 at_ = atomic_long_read(v); \
	while (at_ >= 0 && !atomic_long_try_cmpxchg(v, &at_, at_ + 1)) \
		; \
	at_ >= 0; })
#define atomic_long_dec_if_positive(v) ({ s64 at_ = atomic_long_read(v); \
	while (at_ > 0 && !atomic_long_try_cmpxchg(v, &at_, at_ - 1)) \
		; \
	at_ - 1; })

#endif
