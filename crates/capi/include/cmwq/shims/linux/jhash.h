/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_JHASH_H
#define CMWQ_SHIM_JHASH_H

/* A hash of its own: its values are not the kernel's. */
#include <linux/types.h>
#define JHASH_INITVAL 0xdeadbeefu
CMWQ_INLINE u32 cmwq_shim_mix(u32 hash, u32 word)
{
	hash = (hash ^ word) * 0x9e3779b1u;
	return hash ^ hash >> 15;
}
CMWQ_INLINE u32 jhash(const void *key, u32 length, u32 initval)
{
	const u8 *at = (const u8 *)key;
	u32 hash = cmwq_shim_mix(initval, length), n;

	for (n = 0; n < length; n++)
		hash = cmwq_shim_mix(hash, at[n]);
	return hash;
}
#define jhash2(words, n, initval) jhash(words, (u32)(n) * 4, initval)
CMWQ_INLINE u32 jhash_3words(u32 a, u32 b, u32 c, u32 initval)
{
	u32 words[3] = { a, b, c };

	return jhash2(words, 3, initval);
}
#define jhash_2words(a, b, initval) jhash_3words(a, b, 0, initval)
#define jhash_1word(a, initval) jhash_3words(a, 0, 0, initval)

#endif
