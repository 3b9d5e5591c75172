/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_MEMPOOL_H
#define CMWQ_SHIM_MEMPOOL_H

#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
typedef void *(mempool_alloc_t)(gfp_t gfp, void *data);
typedef void (mempool_free_t)(void *element, void *data);
/* Keeps so many elements for times without memory. Who may sleep waits for one. */
typedef struct mempool {
	spinlock_t lock;
	int min_nr, curr_nr;
	void **elements;
	void *pool_data;
	mempool_alloc_t *alloc;
	mempool_free_t *free;
	wait_queue_head_t wait;
} mempool_t;
CMWQ_INLINE void mempool_exit(mempool_t *pool)
{
	while (pool->curr_nr)
		pool->free(pool->elements[--pool->curr_nr], pool->pool_data);
	kfree(pool->elements);
	pool->elements = NULL;
}
CMWQ_INLINE int mempool_init(mempool_t *pool, int min_nr, mempool_alloc_t *alloc,
			     mempool_free_t *free, void *data)
{
	spin_lock_init(&pool->lock);
	init_waitqueue_head(&pool->wait);
	pool->min_nr = min_nr;
	pool->curr_nr = 0;
	pool->pool_data = data;
	pool->alloc = alloc;
	pool->free = free;
	pool->elements = (void **)kcalloc((size_t)min_nr, sizeof(void *), GFP_KERNEL);
	while (pool->elements && pool->curr_nr < min_nr) {
		void *element = alloc(GFP_KERNEL, data);

		if (!element) {
			mempool_exit(pool);
			return -ENOMEM;
		}
		pool->elements[pool->curr_nr++] = element;
	}
	return pool->elements ? 0 : -ENOMEM;
}
CMWQ_INLINE mempool_t *mempool_create(int min_nr, mempool_alloc_t *alloc, mempool_free_t *free,
				      void *data)
{
	mempool_t *pool = (mempool_t *)kzalloc(sizeof(*pool), GFP_KERNEL);

	if (pool && mempool_init(pool, min_nr, alloc, free, data)) {
		kfree(pool);
		return NULL;
	}
	return pool;
}
#define mempool_create_node(n, alloc, free, data, gfp, node) mempool_create(n, alloc, free, data)
CMWQ_INLINE void mempool_destroy(mempool_t *pool)
{
	if (pool)
		mempool_exit(pool);
	kfree(pool);
}
CMWQ_INLINE void *cmwq_shim_mempool_take(mempool_t *pool)
{
	void *element = NULL;

	spin_lock(&pool->lock);
	if (pool->curr_nr)
		element = pool->elements[--pool->curr_nr];
	spin_unlock(&pool->lock);
	return element;
}
CMWQ_INLINE void *mempool_alloc(mempool_t *pool, gfp_t gfp)
{
	void *element = pool->alloc(gfp, pool->pool_data);

	if (!element)
		element = cmwq_shim_mempool_take(pool);
	if (!element && gfpflags_allow_blocking(gfp))
		wait_event(pool->wait, (element = cmwq_shim_mempool_take(pool)));
	return element;
}
CMWQ_INLINE void mempool_free(void *element, mempool_t *pool)
{
	if (!element)
		return;
	spin_lock(&pool->lock);
	if (pool->curr_nr < pool->min_nr) {
		pool->elements[pool->curr_nr++] = element;
		element = NULL;
	}
	spin_unlock(&pool->lock);
	if (element)
		pool->free(element, pool->pool_data);
	else
		wake_up(&pool->wait);
}
CMWQ_INLINE void *mempool_kmalloc(gfp_t gfp, void *size)
{
	return kmalloc((size_t)size, gfp);
}
CMWQ_INLINE void mempool_kfree(void *element, void *size)
{
	(void)size;
	kfree(element);
}
CMWQ_INLINE void *mempool_alloc_slab(gfp_t gfp, void *cache)
{
	return kmem_cache_alloc((struct kmem_cache *)cache, gfp);
}
CMWQ_INLINE void mempool_free_slab(void *element, void *cache)
{
	kmem_cache_free((struct kmem_cache *)cache, element);
}
#define mempool_create_kmalloc_pool(n, size) \
	mempool_create(n, mempool_kmalloc, mempool_kfree, (void *)(size_t)(size))
#define mempool_init_kmalloc_pool(pool, n, size) \
	mempool_init(pool, n, mempool_kmalloc, mempool_kfree, (void *)(size_t)(size))
#define mempool_create_slab_pool(n, cache) \
	mempool_create(n, mempool_alloc_slab, mempool_free_slab, cache)
#define mempool_init_slab_pool(pool, n, cache) \
	mempool_init(pool, n, mempool_alloc_slab, mempool_free_slab, cache)
#define mempool_initialized(pool) ((pool)->elements != NULL)

#endif
