/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_SLAB_H
#define CMWQ_SHIM_SLAB_H

#include <linux/types.h>
#include <linux/gfp.h>
#include <linux/overflow.h>
#include <linux/cleanup.h>
#include <linux/cache.h>
#include <linux/workqueue.h>
#include <linux/err.h>
#include <linux/string.h>
#define ARCH_KMALLOC_MINALIGN 16
#define ARCH_DMA_MINALIGN 64
#define KMALLOC_MAX_SIZE (1UL << 30)
#define ZERO_SIZE_PTR ((void *)16)
#define ZERO_OR_NULL_PTR(p) ((unsigned long)(p) <= 16)
CMWQ_INLINE void *kmalloc(size_t size, gfp_t gfp)
{
	return gfp & __GFP_ZERO ? __builtin_calloc(1, size ? size : 1) :
				  __builtin_malloc(size ? size : 1);
}
#define kzalloc(size, gfp) kmalloc(size, (gfp) | __GFP_ZERO)
#define kmalloc_array(n, size, gfp) kmalloc(size_mul(n, size), gfp)
#define kcalloc(n, size, gfp) kmalloc(size_mul(n, size), (gfp) | __GFP_ZERO)
#define kmalloc_node(size, gfp, node) kmalloc(size, gfp)
#define kzalloc_node(size, gfp, node) kzalloc(size, gfp)
#define kcalloc_node(n, size, gfp, node) kcalloc(n, size, gfp)
#define kmalloc_array_node(n, size, gfp, node) kmalloc_array(n, size, gfp)
#define kmalloc_obj(p, ...) ((__typeof__(p) *)kmalloc(sizeof(p), GFP_KERNEL))
#define kzalloc_obj(p, ...) ((__typeof__(p) *)kzalloc(sizeof(p), GFP_KERNEL))
#define krealloc(p, size, gfp) __builtin_realloc((void *)(unsigned long)(p), size)
#define krealloc_array(p, n, size, gfp) krealloc(p, size_mul(n, size), gfp)
CMWQ_INLINE void kfree(const void *p)
{
	if (!ZERO_OR_NULL_PTR(p))
		__builtin_free((void *)(unsigned long)p);
}
#define kfree_sensitive kfree
#define kzfree kfree
#define kvfree kfree
#define kvmalloc kmalloc
#define kvzalloc kzalloc
#define kvmalloc_array kmalloc_array
#define kvcalloc kcalloc
#define kvmalloc_node kmalloc_node
#define kvzalloc_node kzalloc_node
#define kvrealloc(p, size, gfp) krealloc(p, size, gfp)
DEFINE_FREE(kfree, void *, if (!IS_ERR_OR_NULL(_T)) kfree(_T))
DEFINE_FREE(kvfree, void *, if (!IS_ERR_OR_NULL(_T)) kfree(_T))
#define SLAB_HWCACHE_ALIGN 1u
#define SLAB_PANIC 2u
#define SLAB_RECLAIM_ACCOUNT 4u
#define SLAB_MEM_SPREAD 8u
#define SLAB_ACCOUNT 16u
#define SLAB_TYPESAFE_BY_RCU 32u
#define SLAB_POISON 64u
#define SLAB_CONSISTENCY_CHECKS 128u
#define SLAB_RED_ZONE 256u
struct kmem_cache {
	size_t size;
	void (*ctor)(void *object);
};
CMWQ_INLINE struct kmem_cache *kmem_cache_create(const char *name, unsigned int size,
						 unsigned int align, slab_flags_t flags,
						 void (*ctor)(void *object))
{
	struct kmem_cache *cache = (struct kmem_cache *)kmalloc(sizeof(*cache), GFP_KERNEL);

	(void)name, (void)align, (void)flags;
	if (cache) {
		cache->size = size;
		cache->ctor = ctor;
	}
	return cache;
}
#define kmem_cache_create_usercopy(name, size, align, flags, off, n, ctor) \
	kmem_cache_create(name, size, align, flags, ctor)
#define KMEM_CACHE(type, flags) kmem_cache_create(#type, sizeof(struct type), 0, flags, NULL)
CMWQ_INLINE void *kmem_cache_alloc(struct kmem_cache *cache, gfp_t gfp)
{
	void *object = kmalloc(cache->size, gfp);

	if (object && cache->ctor)
		cache->ctor(object);
	return object;
}
#define kmem_cache_zalloc(cache, gfp) kmem_cache_alloc(cache, (gfp) | __GFP_ZERO)
#define kmem_cache_alloc_node(cache, gfp, node) kmem_cache_alloc(cache, gfp)
CMWQ_INLINE void kmem_cache_free(struct kmem_cache *cache, void *object)
{
	(void)cache;
	kfree(object);
}
#define kmem_cache_destroy(cache) kfree(cache)
#define kmem_cache_shrink(cache) 0
#define ksize(p) 0

#endif
