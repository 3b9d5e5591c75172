/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_BITOPS_H
#define CMWQ_SHIM_BITOPS_H

#include <linux/bits.h>
#include <linux/compiler.h>
#define CMWQ_BIT_OF(n, p) ((unsigned long *)(unsigned long)(p) + BIT_WORD((unsigned long)(n)))
CMWQ_INLINE void set_bit(long n, volatile void *p)
{
	__atomic_fetch_or(CMWQ_BIT_OF(n, p), BIT_MASK(n), __ATOMIC_SEQ_CST);
}
CMWQ_INLINE void clear_bit(long n, volatile void *p)
{
	__atomic_fetch_and(CMWQ_BIT_OF(n, p), ~BIT_MASK(n), __ATOMIC_SEQ_CST);
}
CMWQ_INLINE void change_bit(long n, volatile void *p)
{
	__atomic_fetch_xor(CMWQ_BIT_OF(n, p), BIT_MASK(n), __ATOMIC_SEQ_CST);
}
CMWQ_INLINE bool test_bit(long n, const volatile void *p)
{
	return (__atomic_load_n(CMWQ_BIT_OF(n, p), __ATOMIC_SEQ_CST) & BIT_MASK(n)) != 0;
}
CMWQ_INLINE bool test_and_set_bit(long n, volatile void *p)
{
	return (__atomic_fetch_or(CMWQ_BIT_OF(n, p), BIT_MASK(n), __ATOMIC_SEQ_CST) &
		BIT_MASK(n)) != 0;
}
CMWQ_INLINE bool test_and_clear_bit(long n, volatile void *p)
{
	return (__atomic_fetch_and(CMWQ_BIT_OF(n, p), ~BIT_MASK(n), __ATOMIC_SEQ_CST) &
		BIT_MASK(n)) != 0;
}
CMWQ_INLINE bool test_and_change_bit(long n, volatile void *p)
{
	return (__atomic_fetch_xor(CMWQ_BIT_OF(n, p), BIT_MASK(n), __ATOMIC_SEQ_CST) &
		BIT_MASK(n)) != 0;
}
#define __set_bit set_bit
#define __clear_bit clear_bit
#define __change_bit change_bit
#define __test_and_set_bit test_and_set_bit
#define __test_and_clear_bit test_and_clear_bit
#define test_bit_acquire test_bit
#define clear_bit_unlock clear_bit
#define test_and_set_bit_lock test_and_set_bit
#define assign_bit(n, p, v) do { if (v) set_bit(n, p); else clear_bit(n, p); } while (0)
#define __assign_bit assign_bit
#define __ffs(x) ((unsigned long)__builtin_ctzl(x))
#define ffz(x) __ffs(~(x))
#define __fls(x) ((unsigned long)(63 - __builtin_clzl(x)))
#define fls(x) ((x) ? 32 - __builtin_clz((unsigned int)(x)) : 0)
#define fls64(x) ((x) ? 64 - __builtin_clzll(x) : 0)
#define fls_long(x) fls64(x)
#define ffs(x) __builtin_ffs((int)(x))
#define hweight8(x) ((unsigned int)__builtin_popcount((u8)(x)))
#define hweight16(x) ((unsigned int)__builtin_popcount((u16)(x)))
#define hweight32(x) ((unsigned int)__builtin_popcount(x))
#define hweight64(x) ((unsigned int)__builtin_popcountll(x))
#define hweight_long(x) ((unsigned int)__builtin_popcountl(x))
#define rol32(x, n) ((u32)(x) << ((n) & 31) | (u32)(x) >> (-(n) & 31))
#define ror32(x, n) ((u32)(x) >> ((n) & 31) | (u32)(x) << (-(n) & 31))
#define sign_extend32(value, bit) ((s32)((u32)(value) << (31 - (bit))) >> (31 - (bit)))
#define sign_extend64(value, bit) ((s64)((u64)(value) << (63 - (bit))) >> (63 - (bit)))
#define get_count_order(n) ((n) > 1 ? fls((n) - 1) : 0)
CMWQ_INLINE unsigned long cmwq_shim_find(const unsigned long *map, unsigned long size,
					 unsigned long from, unsigned long flip)
{
	for (; from < size; from++)
		if (((map[BIT_WORD(from)] ^ flip) >> (from % BITS_PER_LONG)) & 1)
			return from;
	return size;
}
#define find_first_bit(map, size) cmwq_shim_find(map, size, 0, 0)
#define find_next_bit(map, size, from) cmwq_shim_find(map, size, from, 0)
#define find_first_zero_bit(map, size) cmwq_shim_find(map, size, 0, ~0UL)
#define find_next_zero_bit(map, size, from) cmwq_shim_find(map, size, from, ~0UL)
CMWQ_INLINE unsigned long find_last_bit(const unsigned long *map, unsigned long size)
{
	unsigned long n = size;

	while (n--)
		if ((map[BIT_WORD(n)] >> (n % BITS_PER_LONG)) & 1)
			return n;
	return size;
}
#define for_each_set_bit(n, map, size) \
	for ((n) = find_first_bit(map, size); (n) < (size); (n) = find_next_bit(map, size, (n) + 1))
#define for_each_set_bit_from(n, map, size) \
	for ((n) = find_next_bit(map, size, n); (n) < (size); (n) = find_next_bit(map, size, (n) + 1))
#define for_each_clear_bit(n, map, size) \
	for ((n) = find_first_zero_bit(map, size); (n) < (size); \
	     (n) = find_next_zero_bit(map, size, (n) + 1))

#endif
