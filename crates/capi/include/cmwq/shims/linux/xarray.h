/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_XARRAY_H
#define CMWQ_SHIM_XARRAY_H

/* A map from indices to entries: a tree under a lock. */
#include <linux/errno.h>
#include <linux/gfp.h>
#include <linux/rbtree.h>
#include <linux/spinlock.h>
#include <linux/mutex.h>
struct xa_limit { u32 max, min; };
#define XA_LIMIT(min_, max_) ((struct xa_limit){ .max = (max_), .min = (min_) })
#define xa_limit_32b XA_LIMIT(0, 0xffffffffu)
#define xa_limit_31b XA_LIMIT(0, 0x7fffffffu)
#define xa_limit_16b XA_LIMIT(0, 0xffffu)
typedef unsigned int xa_mark_t;
#define XA_MARK_0 0u
#define XA_MARK_1 1u
#define XA_MARK_2 2u
#define XA_PRESENT 8u
#define XA_FLAGS_LOCK_IRQ 1u
#define XA_FLAGS_LOCK_BH 2u
#define XA_FLAGS_ALLOC 4u
#define XA_FLAGS_ALLOC1 (XA_FLAGS_ALLOC | 8u)
/* An entry that is reserved: xa_load() gives NULL. */
#define XA_ZERO_ENTRY ((void *)0x406)
struct cmwq_shim_xa {
	struct rb_node node;
	unsigned long index;
	void *entry;
	unsigned int marks;
};
struct xarray {
	spinlock_t xa_lock;
	unsigned int xa_flags;
	struct rb_root root;
};
#define XARRAY_INIT(name, flags) { { 0 }, (flags), RB_ROOT_INITIALIZER }
#define DEFINE_XARRAY_FLAGS(name, flags) struct xarray name = XARRAY_INIT(name, flags)
#define DEFINE_XARRAY(name) DEFINE_XARRAY_FLAGS(name, 0)
#define DEFINE_XARRAY_ALLOC(name) DEFINE_XARRAY_FLAGS(name, XA_FLAGS_ALLOC)
#define DEFINE_XARRAY_ALLOC1(name) DEFINE_XARRAY_FLAGS(name, XA_FLAGS_ALLOC1)
CMWQ_INLINE void xa_init_flags(struct xarray *xa, gfp_t flags)
{
	spin_lock_init(&xa->xa_lock);
	xa->xa_flags = flags;
	xa->root.rb_node = NULL;
}
#define xa_init(xa) xa_init_flags(xa, 0)
#define xa_lock(xa) spin_lock(&(xa)->xa_lock)
#define xa_unlock(xa) spin_unlock(&(xa)->xa_lock)
#define xa_trylock(xa) spin_trylock(&(xa)->xa_lock)
#define xa_lock_bh xa_lock
#define xa_unlock_bh xa_unlock
#define xa_lock_irq xa_lock
#define xa_unlock_irq xa_unlock
#define xa_lock_irqsave(xa, flags) spin_lock_irqsave(&(xa)->xa_lock, flags)
#define xa_unlock_irqrestore(xa, flags) spin_unlock_irqrestore(&(xa)->xa_lock, flags)
#define xa_mk_value(v) ((void *)((unsigned long)(v) << 1 | 1))
#define xa_to_value(entry) ((unsigned long)(entry) >> 1)
#define xa_is_value(entry) (((unsigned long)(entry) & 1) != 0)
#define xa_empty(xa) (READ_ONCE((xa)->root.rb_node) == NULL)
/* Errors are entries too. */
#define xa_mk_err(error) ((void *)((unsigned long)(long)(error) << 2 | 2))
#define xa_is_err(entry) ((unsigned long)(entry) >= (unsigned long)xa_mk_err(-4095))
#define xa_err(entry) (xa_is_err(entry) ? (int)((long)(entry) >> 2) : 0)
/* The first one at the index or after it. */
CMWQ_INLINE struct cmwq_shim_xa *cmwq_shim_xa_from(struct xarray *xa, unsigned long index)
{
	struct rb_node *at = xa->root.rb_node;
	struct cmwq_shim_xa *found = NULL;

	while (at) {
		struct cmwq_shim_xa *here = rb_entry(at, struct cmwq_shim_xa, node);

		if (here->index >= index) {
			found = here;
			at = at->rb_left;
		} else {
			at = at->rb_right;
		}
	}
	return found;
}
CMWQ_INLINE struct cmwq_shim_xa *cmwq_shim_xa_at(struct xarray *xa, unsigned long index)
{
	struct cmwq_shim_xa *found = cmwq_shim_xa_from(xa, index);

	return found && found->index == index ? found : NULL;
}
CMWQ_INLINE void *cmwq_shim_xa_seen(const struct cmwq_shim_xa *at)
{
	return at && at->entry != XA_ZERO_ENTRY ? at->entry : NULL;
}
CMWQ_INLINE struct cmwq_shim_xa *cmwq_shim_xa_add(struct xarray *xa, unsigned long index)
{
	struct cmwq_shim_xa *added = (struct cmwq_shim_xa *)__builtin_calloc(1, sizeof(*added));
	struct rb_node **link = &xa->root.rb_node, *parent = NULL;

	if (!added)
		return NULL;
	added->index = index;
	while (*link) {
		parent = *link;
		link = rb_entry(parent, struct cmwq_shim_xa, node)->index > index ?
			       &parent->rb_left : &parent->rb_right;
	}
	rb_link_node(&added->node, parent, link);
	rb_insert_color(&added->node, &xa->root);
	return added;
}
/* With the lock held. Returns the old entry, or an error. */
CMWQ_INLINE void *cmwq_shim_xa_set(struct xarray *xa, unsigned long index, void *entry)
{
	struct cmwq_shim_xa *at = cmwq_shim_xa_at(xa, index);
	void *old = at ? at->entry : NULL;

	if (!entry) {
		if (at) {
			rb_erase(&at->node, &xa->root);
			__builtin_free(at);
		}
		return old;
	}
	if (!at && !(at = cmwq_shim_xa_add(xa, index)))
		return xa_mk_err(-ENOMEM);
	at->entry = entry;
	return old;
}
CMWQ_INLINE void *cmwq_shim_xa_shown(void *entry)
{
	return entry == XA_ZERO_ENTRY ? NULL : entry;
}
#define __xa_store(xa, index, entry, gfp) \
	((void)(gfp), cmwq_shim_xa_shown(cmwq_shim_xa_set(xa, index, entry)))
#define __xa_erase(xa, index) cmwq_shim_xa_shown(cmwq_shim_xa_set(xa, index, NULL))
CMWQ_INLINE void *xa_load(struct xarray *xa, unsigned long index)
{
	void *entry;

	xa_lock(xa);
	entry = cmwq_shim_xa_seen(cmwq_shim_xa_at(xa, index));
	xa_unlock(xa);
	return entry;
}
CMWQ_INLINE void *xa_store(struct xarray *xa, unsigned long index, void *entry, gfp_t gfp)
{
	void *old;

	(void)gfp;
	/* What is stored as NULL in an array that gives indices away stays reserved. */
	if (!entry && xa->xa_flags & XA_FLAGS_ALLOC)
		entry = XA_ZERO_ENTRY;
	xa_lock(xa);
	old = cmwq_shim_xa_shown(cmwq_shim_xa_set(xa, index, entry));
	xa_unlock(xa);
	return old;
}
CMWQ_INLINE void *xa_erase(struct xarray *xa, unsigned long index)
{
	void *old;

	xa_lock(xa);
	old = __xa_erase(xa, index);
	xa_unlock(xa);
	return old;
}
CMWQ_INLINE int cmwq_shim_xa_insert(struct xarray *xa, unsigned long index, void *entry)
{
	if (cmwq_shim_xa_at(xa, index))
		return -EBUSY;
	return xa_err(cmwq_shim_xa_set(xa, index, entry ? entry : XA_ZERO_ENTRY));
}
CMWQ_INLINE int xa_insert(struct xarray *xa, unsigned long index, void *entry, gfp_t gfp)
{
	int error;

	(void)gfp;
	xa_lock(xa);
	error = cmwq_shim_xa_insert(xa, index, entry);
	xa_unlock(xa);
	return error;
}
#define __xa_insert(xa, index, entry, gfp) ((void)(gfp), cmwq_shim_xa_insert(xa, index, entry))
#define xa_reserve(xa, index, gfp) \
	({ int reserved_ = xa_insert(xa, index, NULL, gfp); reserved_ == -EBUSY ? 0 : reserved_; })
CMWQ_INLINE void *cmwq_shim_xa_cmpxchg(struct xarray *xa, unsigned long index, void *old,
				       void *entry)
{
	void *now = cmwq_shim_xa_seen(cmwq_shim_xa_at(xa, index)), *failed = NULL;

	if (now == old)
		failed = cmwq_shim_xa_set(xa, index, entry);
	return xa_is_err(failed) ? failed : now;
}
CMWQ_INLINE void *xa_cmpxchg(struct xarray *xa, unsigned long index, void *old, void *entry,
			     gfp_t gfp)
{
	void *now;

	(void)gfp;
	xa_lock(xa);
	now = cmwq_shim_xa_cmpxchg(xa, index, old, entry);
	xa_unlock(xa);
	return now;
}
/* The lowest free index in [min, max], with the lock held. */
CMWQ_INLINE int __xa_alloc(struct xarray *xa, u32 *id, void *entry, struct xa_limit limit,
			   gfp_t gfp)
{
	unsigned long index = limit.min;
	struct cmwq_shim_xa *at;
	struct rb_node *next;

	(void)gfp;
	if (!index && (xa->xa_flags & XA_FLAGS_ALLOC1) == XA_FLAGS_ALLOC1)
		index = 1;
	for (at = cmwq_shim_xa_from(xa, index); at && at->index == index; index++) {
		next = rb_next(&at->node);
		at = next ? rb_entry(next, struct cmwq_shim_xa, node) : NULL;
	}
	if (index > limit.max)
		return -EBUSY;
	*id = (u32)index;
	return xa_err(cmwq_shim_xa_set(xa, index, entry ? entry : XA_ZERO_ENTRY));
}
CMWQ_INLINE int xa_alloc(struct xarray *xa, u32 *id, void *entry, struct xa_limit limit, gfp_t gfp)
{
	int error;

	xa_lock(xa);
	error = __xa_alloc(xa, id, entry, limit, gfp);
	xa_unlock(xa);
	return error;
}
/* Goes on after the last one: 1 if it began anew. */
CMWQ_INLINE int xa_alloc_cyclic(struct xarray *xa, u32 *id, void *entry, struct xa_limit limit,
				u32 *next, gfp_t gfp)
{
	struct xa_limit rest = limit;
	int error, again = 0;

	xa_lock(xa);
	if (*next > rest.min)
		rest.min = *next;
	error = __xa_alloc(xa, id, entry, rest, gfp);
	if (error == -EBUSY && rest.min > limit.min) {
		again = 1;
		error = __xa_alloc(xa, id, entry, limit, gfp);
	}
	if (!error)
		*next = *id + 1;
	xa_unlock(xa);
	return error ? error : again;
}
#define xa_alloc_irq xa_alloc
#define xa_alloc_bh xa_alloc
#define xa_alloc_cyclic_irq xa_alloc_cyclic
#define xa_store_irq xa_store
#define xa_store_bh xa_store
#define xa_erase_irq xa_erase
#define xa_erase_bh xa_erase
#define xa_insert_irq xa_insert
#define xa_insert_bh xa_insert
#define xa_cmpxchg_irq xa_cmpxchg
#define xa_release(xa, index) ((void)xa_cmpxchg(xa, index, NULL, NULL, 0))
/* The first entry in [*index, max] that has the mark. */
CMWQ_INLINE void *xa_find(struct xarray *xa, unsigned long *index, unsigned long max,
			  xa_mark_t mark)
{
	struct cmwq_shim_xa *at;
	struct rb_node *next;
	void *entry = NULL;

	xa_lock(xa);
	at = cmwq_shim_xa_from(xa, *index);
	while (at && at->index <= max) {
		if (cmwq_shim_xa_seen(at) && (mark == XA_PRESENT || at->marks >> mark & 1)) {
			*index = at->index;
			entry = at->entry;
			break;
		}
		next = rb_next(&at->node);
		at = next ? rb_entry(next, struct cmwq_shim_xa, node) : NULL;
	}
	xa_unlock(xa);
	return entry;
}
CMWQ_INLINE void *xa_find_after(struct xarray *xa, unsigned long *index, unsigned long max,
				xa_mark_t mark)
{
	unsigned long from = *index + 1;
	void *entry = from ? xa_find(xa, &from, max, mark) : NULL;

	if (entry)
		*index = from;
	return entry;
}
#define xa_for_each_range(xa, at, entry, start, last) \
	for ((at) = (start), (entry) = (__typeof__(entry))xa_find(xa, &(at), last, XA_PRESENT); \
	     (entry); (entry) = (__typeof__(entry))xa_find_after(xa, &(at), last, XA_PRESENT))
#define xa_for_each_start(xa, at, entry, start) xa_for_each_range(xa, at, entry, start, ~0UL)
#define xa_for_each(xa, at, entry) xa_for_each_start(xa, at, entry, 0)
#define xa_for_each_marked(xa, at, entry, mark) \
	for ((at) = 0, (entry) = (__typeof__(entry))xa_find(xa, &(at), ~0UL, mark); \
	     (entry); (entry) = (__typeof__(entry))xa_find_after(xa, &(at), ~0UL, mark))
CMWQ_INLINE void cmwq_shim_xa_mark(struct xarray *xa, unsigned long index, xa_mark_t mark, bool on)
{
	struct cmwq_shim_xa *at;

	xa_lock(xa);
	at = cmwq_shim_xa_at(xa, index);
	if (at && on)
		at->marks |= 1u << mark;
	else if (at)
		at->marks &= ~(1u << mark);
	xa_unlock(xa);
}
#define xa_set_mark(xa, index, mark) cmwq_shim_xa_mark(xa, index, mark, true)
#define xa_clear_mark(xa, index, mark) cmwq_shim_xa_mark(xa, index, mark, false)
CMWQ_INLINE bool xa_get_mark(struct xarray *xa, unsigned long index, xa_mark_t mark)
{
	struct cmwq_shim_xa *at;
	bool has;

	xa_lock(xa);
	at = cmwq_shim_xa_at(xa, index);
	has = at && at->marks >> mark & 1;
	xa_unlock(xa);
	return has;
}
CMWQ_INLINE bool xa_marked(struct xarray *xa, xa_mark_t mark)
{
	unsigned long index = 0;

	return xa_find(xa, &index, ~0UL, mark) != NULL;
}
/* Frees the array, not what its entries point to. */
CMWQ_INLINE void xa_destroy(struct xarray *xa)
{
	struct rb_node *first;

	xa_lock(xa);
	while ((first = rb_first(&xa->root))) {
		rb_erase(first, &xa->root);
		__builtin_free(rb_entry(first, struct cmwq_shim_xa, node));
	}
	xa_unlock(xa);
}

#endif
