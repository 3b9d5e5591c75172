/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_KFIFO_H
#define CMWQ_SHIM_KFIFO_H

#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
/* A ring of a power of two of elements, for one reader and one writer. */
struct cmwq_shim_ring { unsigned int in, out, mask; };
#define STRUCT_KFIFO(type_, size_) struct { struct cmwq_shim_ring ring; type_ *data; type_ buf[size_]; }
#define STRUCT_KFIFO_PTR(type_) struct { struct cmwq_shim_ring ring; type_ *data; type_ buf[0]; }
#define DECLARE_KFIFO(name, type_, size_) STRUCT_KFIFO(type_, size_) name
#define DECLARE_KFIFO_PTR(name, type_) STRUCT_KFIFO_PTR(type_) name
#define DEFINE_KFIFO(name, type_, size_) \
	DECLARE_KFIFO(name, type_, size_) = { .ring = { 0, 0, (size_) - 1 } }
struct kfifo { struct cmwq_shim_ring ring; unsigned char *data; unsigned char buf[0]; };
#define CMWQ_FIFO_DATA(f) ((f)->data ? (f)->data : (f)->buf)
#define INIT_KFIFO(f) ((f).ring = (struct cmwq_shim_ring){ 0, 0, ARRAY_SIZE((f).buf) - 1 }, (void)((f).data = NULL))
#define kfifo_alloc(f, n, gfp) ({ unsigned int n_ = (unsigned int)roundup_pow_of_two(n); \
	(f)->data = (__typeof__((f)->data))kcalloc(n_, sizeof(*(f)->data), gfp); \
	(f)->ring = (struct cmwq_shim_ring){ 0, 0, n_ - 1 }; (f)->data ? 0 : -ENOMEM; })
#define kfifo_free(f) (kfree((f)->data), (void)((f)->data = NULL))
#define kfifo_initialized(f) ((f)->ring.mask != 0)
#define kfifo_size(f) ((f)->ring.mask + 1)
#define kfifo_len(f) (smp_load_acquire(&(f)->ring.in) - (f)->ring.out)
#define kfifo_avail(f) (kfifo_size(f) - ((f)->ring.in - smp_load_acquire(&(f)->ring.out)))
#define kfifo_is_empty(f) (kfifo_len(f) == 0)
#define kfifo_is_full(f) (kfifo_avail(f) == 0)
#define kfifo_reset(f) ((void)((f)->ring.in = (f)->ring.out = 0))
#define kfifo_reset_out(f) ((void)((f)->ring.out = (f)->ring.in))
#define kfifo_put(f, v) ({ bool room_ = !kfifo_is_full(f); if (room_) { \
	CMWQ_FIFO_DATA(f)[(f)->ring.in & (f)->ring.mask] = (v); \
	smp_store_release(&(f)->ring.in, (f)->ring.in + 1); } (int)room_; })
#define kfifo_peek(f, p) ({ bool any_ = !kfifo_is_empty(f); \
	if (any_) *(p) = CMWQ_FIFO_DATA(f)[(f)->ring.out & (f)->ring.mask]; (int)any_; })
#define kfifo_skip(f) smp_store_release(&(f)->ring.out, (f)->ring.out + 1)
#define kfifo_get(f, p) ({ int got_ = kfifo_peek(f, p); if (got_) kfifo_skip(f); got_; })
#define kfifo_in(f, p, n) ({ const __typeof__(*(f)->buf) *p_ = (const void *)(p); \
	unsigned int n_ = (unsigned int)(n), done_ = 0; \
	while (done_ < n_ && kfifo_put(f, p_[done_])) done_++; done_; })
#define kfifo_out(f, p, n) ({ __typeof__(*(f)->buf) *p_ = (void *)(p); \
	unsigned int n_ = (unsigned int)(n), done_ = 0; \
	while (done_ < n_ && kfifo_get(f, &p_[done_])) done_++; done_; })
#define kfifo_in_spinlocked(f, p, n, lock) \
	({ spin_lock(lock); unsigned int k_ = kfifo_in(f, p, n); spin_unlock(lock); k_; })
#define kfifo_out_spinlocked(f, p, n, lock) \
	({ spin_lock(lock); unsigned int k_ = kfifo_out(f, p, n); spin_unlock(lock); k_; })
#define kfifo_in_locked kfifo_in_spinlocked
#define kfifo_out_locked kfifo_out_spinlocked

#endif
