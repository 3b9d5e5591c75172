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
/* The weaker ones are as strong as the others. */
#define atomic_xor(i, v) ((void)atomic_fetch_xor(i, v))
#define atomic_add_return_relaxed atomic_add_return
#define atomic_add_return_acquire atomic_add_return
#define atomic_add_return_release atomic_add_return
#define atomic_sub_return_relaxed atomic_sub_return
#define atomic_sub_return_acquire atomic_sub_return
#define atomic_sub_return_release atomic_sub_return
#define atomic_inc_return_relaxed atomic_inc_return
#define atomic_inc_return_acquire atomic_inc_return
#define atomic_inc_return_release atomic_inc_return
#define atomic_dec_return_relaxed atomic_dec_return
#define atomic_dec_return_acquire atomic_dec_return
#define atomic_dec_return_release atomic_dec_return
#define atomic_fetch_add_relaxed atomic_fetch_add
#define atomic_fetch_add_acquire atomic_fetch_add
#define atomic_fetch_add_release atomic_fetch_add
#define atomic_fetch_sub_relaxed atomic_fetch_sub
#define atomic_fetch_sub_acquire atomic_fetch_sub
#define atomic_fetch_sub_release atomic_fetch_sub
#define atomic_fetch_inc_relaxed atomic_fetch_inc
#define atomic_fetch_inc_acquire atomic_fetch_inc
#define atomic_fetch_inc_release atomic_fetch_inc
#define atomic_fetch_dec_relaxed atomic_fetch_dec
#define atomic_fetch_dec_acquire atomic_fetch_dec
#define atomic_fetch_dec_release atomic_fetch_dec
#define atomic_fetch_and_relaxed atomic_fetch_and
#define atomic_fetch_and_acquire atomic_fetch_and
#define atomic_fetch_and_release atomic_fetch_and
#define atomic_fetch_andnot_relaxed atomic_fetch_andnot
#define atomic_fetch_andnot_acquire atomic_fetch_andnot
#define atomic_fetch_andnot_release atomic_fetch_andnot
#define atomic_fetch_or_relaxed atomic_fetch_or
#define atomic_fetch_or_acquire atomic_fetch_or
#define atomic_fetch_or_release atomic_fetch_or
#define atomic_fetch_xor_relaxed atomic_fetch_xor
#define atomic_fetch_xor_acquire atomic_fetch_xor
#define atomic_fetch_xor_release atomic_fetch_xor
#define atomic_xchg_relaxed atomic_xchg
#define atomic_xchg_acquire atomic_xchg
#define atomic_xchg_release atomic_xchg
#define atomic_cmpxchg_relaxed atomic_cmpxchg
#define atomic_cmpxchg_acquire atomic_cmpxchg
#define atomic_cmpxchg_release atomic_cmpxchg
#define atomic_try_cmpxchg_relaxed atomic_try_cmpxchg
#define atomic_try_cmpxchg_acquire atomic_try_cmpxchg
#define atomic_try_cmpxchg_release atomic_try_cmpxchg
#define atomic64_xor(i, v) ((void)atomic64_fetch_xor(i, v))
#define atomic64_add_return_relaxed atomic64_add_return
#define atomic64_add_return_acquire atomic64_add_return
#define atomic64_add_return_release atomic64_add_return
#define atomic64_sub_return_relaxed atomic64_sub_return
#define atomic64_sub_return_acquire atomic64_sub_return
#define atomic64_sub_return_release atomic64_sub_return
#define atomic64_inc_return_relaxed atomic64_inc_return
#define atomic64_inc_return_acquire atomic64_inc_return
#define atomic64_inc_return_release atomic64_inc_return
#define atomic64_dec_return_relaxed atomic64_dec_return
#define atomic64_dec_return_acquire atomic64_dec_return
#define atomic64_dec_return_release atomic64_dec_return
#define atomic64_fetch_add_relaxed atomic64_fetch_add
#define atomic64_fetch_add_acquire atomic64_fetch_add
#define atomic64_fetch_add_release atomic64_fetch_add
#define atomic64_fetch_sub_relaxed atomic64_fetch_sub
#define atomic64_fetch_sub_acquire atomic64_fetch_sub
#define atomic64_fetch_sub_release atomic64_fetch_sub
#define atomic64_fetch_inc_relaxed atomic64_fetch_inc
#define atomic64_fetch_inc_acquire atomic64_fetch_inc
#define atomic64_fetch_inc_release atomic64_fetch_inc
#define atomic64_fetch_dec_relaxed atomic64_fetch_dec
#define atomic64_fetch_dec_acquire atomic64_fetch_dec
#define atomic64_fetch_dec_release atomic64_fetch_dec
#define atomic64_fetch_and_relaxed atomic64_fetch_and
#define atomic64_fetch_and_acquire atomic64_fetch_and
#define atomic64_fetch_and_release atomic64_fetch_and
#define atomic64_fetch_andnot_relaxed atomic64_fetch_andnot
#define atomic64_fetch_andnot_acquire atomic64_fetch_andnot
#define atomic64_fetch_andnot_release atomic64_fetch_andnot
#define atomic64_fetch_or_relaxed atomic64_fetch_or
#define atomic64_fetch_or_acquire atomic64_fetch_or
#define atomic64_fetch_or_release atomic64_fetch_or
#define atomic64_fetch_xor_relaxed atomic64_fetch_xor
#define atomic64_fetch_xor_acquire atomic64_fetch_xor
#define atomic64_fetch_xor_release atomic64_fetch_xor
#define atomic64_xchg_relaxed atomic64_xchg
#define atomic64_xchg_acquire atomic64_xchg
#define atomic64_xchg_release atomic64_xchg
#define atomic64_cmpxchg_relaxed atomic64_cmpxchg
#define atomic64_cmpxchg_acquire atomic64_cmpxchg
#define atomic64_cmpxchg_release atomic64_cmpxchg
#define atomic64_try_cmpxchg_relaxed atomic64_try_cmpxchg
#define atomic64_try_cmpxchg_acquire atomic64_try_cmpxchg
#define atomic64_try_cmpxchg_release atomic64_try_cmpxchg

#endif
