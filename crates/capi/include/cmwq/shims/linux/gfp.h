/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_GFP_H
#define CMWQ_SHIM_GFP_H

#include <linux/types.h>
#define GFP_KERNEL ((gfp_t)0x1u)
#define GFP_ATOMIC ((gfp_t)0x2u)
#define GFP_NOWAIT ((gfp_t)0x4u)
#define GFP_NOIO ((gfp_t)0x8u)
#define GFP_NOFS ((gfp_t)0x10u)
#define GFP_USER GFP_KERNEL
#define GFP_HIGHUSER GFP_KERNEL
#define GFP_DMA ((gfp_t)0x20u)
#define GFP_DMA32 GFP_DMA
#define GFP_KERNEL_ACCOUNT GFP_KERNEL
#define __GFP_ZERO ((gfp_t)0x100u)
#define __GFP_NOWARN ((gfp_t)0x200u)
#define __GFP_NORETRY ((gfp_t)0x400u)
#define __GFP_NOFAIL ((gfp_t)0x800u)
#define __GFP_HIGHMEM ((gfp_t)0x1000u)
#define __GFP_DIRECT_RECLAIM ((gfp_t)0x2000u)
#define __GFP_RECLAIM ((gfp_t)0x4000u)
#define __GFP_RETRY_MAYFAIL ((gfp_t)0x8000u)
#define __GFP_COMP ((gfp_t)0x10000u)
#define __GFP_MEMALLOC ((gfp_t)0x20000u)
#define __GFP_NOMEMALLOC ((gfp_t)0x40000u)
#define __GFP_ACCOUNT ((gfp_t)0x80000u)
#define __GFP_HIGH ((gfp_t)0x100000u)
#define __GFP_KSWAPD_RECLAIM ((gfp_t)0x200000u)
#define __GFP_THISNODE ((gfp_t)0x400000u)
#define gfpflags_allow_blocking(gfp) (!((gfp) & (GFP_ATOMIC | GFP_NOWAIT)))
#define PAGE_SHIFT 12
#define PAGE_SIZE (1UL << PAGE_SHIFT)
#define PAGE_MASK (~(PAGE_SIZE - 1))
#define offset_in_page(p) ((unsigned long)(p) & ~PAGE_MASK)
CMWQ_INLINE void *cmwq_shim_pages(gfp_t gfp, unsigned int order)
{
	void *pages = NULL;

	if (cmwq_shim_aligned(&pages, PAGE_SIZE, PAGE_SIZE << order))
		return NULL;
	return gfp & __GFP_ZERO ? __builtin_memset(pages, 0, PAGE_SIZE << order) : pages;
}
#define __get_free_pages(gfp, order) ((unsigned long)cmwq_shim_pages(gfp, order))
#define __get_free_page(gfp) __get_free_pages(gfp, 0)
#define get_zeroed_page(gfp) __get_free_pages((gfp) | __GFP_ZERO, 0)
#define free_pages(page, order) __builtin_free((void *)(page))
#define free_page(page) free_pages(page, 0)
#define alloc_pages_exact(size, gfp) cmwq_shim_pages(gfp, get_order(size))
#define free_pages_exact(p, size) __builtin_free(p)
CMWQ_INLINE int get_order(unsigned long size)
{
	int order = 0;

	while ((PAGE_SIZE << order) < size)
		order++;
	return order;
}

#endif
