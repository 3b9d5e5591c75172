/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_CRC32_H
#define CMWQ_SHIM_CRC32_H

/* Bit by bit: right, and slower than tables. */
#include <linux/bitrev.h>
/* The register before and after; who wants the usual sum begins with ~0 and inverts the result. */
CMWQ_INLINE u32 cmwq_shim_crc32_le(u32 crc, const void *p, size_t n, u32 poly)
{
	const u8 *at = (const u8 *)p;
	int bit;

	for (; n--; at++)
		for (crc ^= *at, bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? poly : 0);
	return crc;
}
CMWQ_INLINE u32 crc32_be(u32 crc, const void *p, size_t n)
{
	const u8 *at = (const u8 *)p;
	int bit;

	for (; n--; at++)
		for (crc ^= (u32)*at << 24, bit = 0; bit < 8; bit++)
			crc = crc << 1 ^ (crc & 0x80000000u ? 0x04c11db7u : 0);
	return crc;
}
#define crc32_le(crc, p, n) cmwq_shim_crc32_le(crc, p, n, 0xedb88320u)
#define crc32(crc, p, n) crc32_le(crc, p, n)
#define __crc32c_le(crc, p, n) cmwq_shim_crc32_le(crc, p, n, 0x82f63b78u)
#define crc32c(crc, p, n) __crc32c_le(crc, p, n)
#define ether_crc_le(n, p) crc32_le(~0u, p, n)
#define ether_crc(n, p) bitrev32(ether_crc_le(n, p))

#endif
