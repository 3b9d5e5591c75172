/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_RANDOM_H
#define CMWQ_SHIM_RANDOM_H

#include <linux/types.h>
#include_next <linux/random.h>
extern long cmwq_shim_getrandom(void *to, size_t n, unsigned int flags) __asm__("getrandom");
CMWQ_INLINE void get_random_bytes(void *to, size_t n)
{
	char *at = (char *)to;

	while (n) {
		long got = cmwq_shim_getrandom(at, n, 0);

		if (got > 0) {
			at += got;
			n -= (size_t)got;
		}
	}
}
#define CMWQ_RANDOM(name, type) \
	CMWQ_INLINE type name(void) { type v; get_random_bytes(&v, sizeof(v)); return v; }
CMWQ_RANDOM(get_random_u8, u8)
CMWQ_RANDOM(get_random_u16, u16)
CMWQ_RANDOM(get_random_u32, u32)
CMWQ_RANDOM(get_random_u64, u64)
CMWQ_RANDOM(get_random_long, unsigned long)
#define get_random_int get_random_u32
#define prandom_u32 get_random_u32
CMWQ_INLINE u32 get_random_u32_below(u32 end) { return (u32)(((u64)get_random_u32() * end) >> 32); }
#define prandom_u32_max get_random_u32_below
#define get_random_u32_inclusive(a, b) ((a) + get_random_u32_below((b) - (a) + 1))
#define prandom_bytes get_random_bytes

#endif
