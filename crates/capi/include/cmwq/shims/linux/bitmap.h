/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_BITMAP_H
#define CMWQ_SHIM_BITMAP_H

#include <linux/bitops.h>
#include <linux/string.h>
#define DECLARE_BITMAP(name, bits) unsigned long name[BITS_TO_LONGS(bits)]
#define bitmap_size(n) (BITS_TO_LONGS(n) * sizeof(long))
#define bitmap_zero(map, n) ((void)memset(map, 0, bitmap_size(n)))
#define bitmap_fill(map, n) ((void)memset(map, 0xff, bitmap_size(n)))
#define bitmap_copy(to, from, n) ((void)memcpy(to, from, bitmap_size(n)))
#define bitmap_zalloc(n, gfp) ((unsigned long *)kzalloc(bitmap_size(n), gfp))
#define bitmap_alloc(n, gfp) ((unsigned long *)kmalloc(bitmap_size(n), gfp))
#define bitmap_free(map) kfree(map)
#define bitmap_empty(map, n) (find_first_bit(map, n) == (unsigned long)(n))
#define bitmap_full(map, n) (find_first_zero_bit(map, n) == (unsigned long)(n))
CMWQ_INLINE unsigned int bitmap_weight(const unsigned long *map, unsigned int n)
{
	unsigned int i, weight = 0;

	for (i = 0; i < n; i++)
		weight += test_bit(i, map);
	return weight;
}
CMWQ_INLINE void bitmap_set(unsigned long *map, unsigned int from, unsigned int n)
{
	while (n--)
		set_bit(from++, map);
}
CMWQ_INLINE void bitmap_clear(unsigned long *map, unsigned int from, unsigned int n)
{
	while (n--)
		clear_bit(from++, map);
}
#define CMWQ_BITMAP_OP(name, op) \
	CMWQ_INLINE bool name(unsigned long *to, const unsigned long *a, const unsigned long *b, \
			      unsigned int n) \
	{ \
		unsigned long any = 0; \
		for (n = BITS_TO_LONGS(n); n--;) \
			any |= to[n] = a[n] op b[n]; \
		return any != 0; \
	}
CMWQ_BITMAP_OP(bitmap_and, &)
CMWQ_BITMAP_OP(bitmap_or, |)
CMWQ_BITMAP_OP(bitmap_xor, ^)
CMWQ_BITMAP_OP(bitmap_andnot, & ~)
CMWQ_INLINE bool bitmap_equal(const unsigned long *a, const unsigned long *b, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (test_bit(i, a) != test_bit(i, b))
			return false;
	return true;
}
/* Last: the allocator includes the workqueue, which has CPU masks. */
#include <linux/slab.h>

#endif
