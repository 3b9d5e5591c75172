/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_IDR_H
#define CMWQ_SHIM_IDR_H

/* Numbers for pointers, and numbers alone. */
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/limits.h>
struct idr { spinlock_t lock; void **places; unsigned int size, base, next; };
#define IDR_INIT(name) { { 0 }, NULL, 0, 0, 0 }
#define DEFINE_IDR(name) struct idr name = IDR_INIT(name)
#define idr_init(i) ((void)(*(i) = (struct idr)IDR_INIT(*(i))))
#define idr_init_base(i, base_) (idr_init(i), (void)((i)->base = (base_)))
#define idr_preload(gfp) ((void)0)
#define idr_preload_end() ((void)0)
/* An allocated number whose pointer is NULL. */
#define CMWQ_IDR_NULL ((void *)1)
CMWQ_INLINE int cmwq_shim_idr_alloc(struct idr *idr, void *p, unsigned int from, unsigned int end)
{
	unsigned int n = from < idr->base ? idr->base : from;

	while (n < idr->size && n < end && idr->places[n])
		n++;
	if (n >= end)
		return -ENOSPC;
	if (n >= idr->size) {
		unsigned int size = n + n / 2 + 16;
		void **places = (void **)krealloc(idr->places, size * sizeof(void *), GFP_KERNEL);

		if (!places)
			return -ENOMEM;
		memset(places + idr->size, 0, (size - idr->size) * sizeof(void *));
		idr->places = places;
		idr->size = size;
	}
	idr->places[n] = p ? p : CMWQ_IDR_NULL;
	return (int)n;
}
CMWQ_INLINE int idr_alloc(struct idr *idr, void *p, int from, int end, gfp_t gfp)
{
	int n;

	(void)gfp;
	spin_lock(&idr->lock);
	n = cmwq_shim_idr_alloc(idr, p, (unsigned int)from, end > 0 ? (unsigned int)end : INT_MAX);
	spin_unlock(&idr->lock);
	return n;
}
CMWQ_INLINE int idr_alloc_cyclic(struct idr *idr, void *p, int from, int end, gfp_t gfp)
{
	int n;

	(void)gfp;
	spin_lock(&idr->lock);
	if (idr->next < (unsigned int)from)
		idr->next = (unsigned int)from;
	n = cmwq_shim_idr_alloc(idr, p, idr->next, end > 0 ? (unsigned int)end : INT_MAX);
	if (n < 0)
		n = cmwq_shim_idr_alloc(idr, p, (unsigned int)from,
					end > 0 ? (unsigned int)end : INT_MAX);
	if (n >= 0)
		idr->next = (unsigned int)n + 1;
	spin_unlock(&idr->lock);
	return n;
}
CMWQ_INLINE void *idr_find(const struct idr *idr, unsigned long n)
{
	struct idr *of = (struct idr *)(unsigned long)idr;
	void *p = NULL;

	spin_lock(&of->lock);
	if (n < of->size && of->places[n] != CMWQ_IDR_NULL)
		p = of->places[n];
	spin_unlock(&of->lock);
	return p;
}
CMWQ_INLINE void *idr_remove(struct idr *idr, unsigned long n)
{
	void *p = NULL;

	spin_lock(&idr->lock);
	if (n < idr->size) {
		p = idr->places[n] == CMWQ_IDR_NULL ? NULL : idr->places[n];
		idr->places[n] = NULL;
	}
	spin_unlock(&idr->lock);
	return p;
}
CMWQ_INLINE void *idr_replace(struct idr *idr, void *p, unsigned long n)
{
	void *old = ERR_PTR(-ENOENT);

	spin_lock(&idr->lock);
	if (n < idr->size && idr->places[n]) {
		old = idr->places[n] == CMWQ_IDR_NULL ? NULL : idr->places[n];
		idr->places[n] = p ? p : CMWQ_IDR_NULL;
	}
	spin_unlock(&idr->lock);
	return old;
}
CMWQ_INLINE void *idr_get_next(struct idr *idr, int *n)
{
	unsigned int at = (unsigned int)*n;
	void *p = NULL;

	spin_lock(&idr->lock);
	for (; at < idr->size && !p; at++)
		if (idr->places[at] && idr->places[at] != CMWQ_IDR_NULL) {
			p = idr->places[at];
			*n = (int)at;
		}
	spin_unlock(&idr->lock);
	return p;
}
CMWQ_INLINE int idr_for_each(const struct idr *idr, int (*f)(int n, void *p, void *data), void *data)
{
	int n = 0, answer = 0;
	void *p;

	for (; !answer && (p = idr_get_next((struct idr *)(unsigned long)idr, &n)); n++)
		answer = f(n, p, data);
	return answer;
}
#define idr_for_each_entry(idr, p, n) \
	for ((n) = 0; ((p) = (__typeof__(p))idr_get_next(idr, (int *)&(n))); (n)++)
CMWQ_INLINE bool idr_is_empty(const struct idr *idr)
{
	int n = 0;

	return !idr_get_next((struct idr *)(unsigned long)idr, &n);
}
#define idr_destroy(idr) (kfree((idr)->places), (void)((idr)->places = NULL, (idr)->size = 0))
struct ida { struct idr idr; };
#define IDA_BITMAP_BITS 1024
#define IDA_INIT(name) { IDR_INIT(name) }
#define DEFINE_IDA(name) struct ida name = IDA_INIT(name)
#define ida_init(ida) idr_init(&(ida)->idr)
#define ida_alloc(ida, gfp) idr_alloc(&(ida)->idr, NULL, 0, 0, gfp)
#define ida_alloc_min(ida, from, gfp) idr_alloc(&(ida)->idr, NULL, (int)(from), 0, gfp)
#define ida_alloc_max(ida, last, gfp) idr_alloc(&(ida)->idr, NULL, 0, (int)(last) + 1, gfp)
#define ida_alloc_range(ida, from, last, gfp) idr_alloc(&(ida)->idr, NULL, (int)(from), (int)(last) + 1, gfp)
#define ida_free(ida, n) ((void)idr_remove(&(ida)->idr, n))
CMWQ_INLINE bool ida_is_empty(struct ida *ida)
{
	bool empty = true;
	unsigned int at;

	spin_lock(&ida->idr.lock);
	for (at = 0; at < ida->idr.size && empty; at++)
		empty = !ida->idr.places[at];
	spin_unlock(&ida->idr.lock);
	return empty;
}
#define ida_destroy(ida) idr_destroy(&(ida)->idr)
#define ida_simple_get(ida, from, end, gfp) idr_alloc(&(ida)->idr, NULL, (int)(from), (int)(end), gfp)
#define ida_simple_remove ida_free

#endif
