/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_CRC_CCITT_H
#define CMWQ_SHIM_CRC_CCITT_H

#include <linux/types.h>
CMWQ_INLINE u16 crc_ccitt(u16 crc, const u8 *p, size_t n)
{
	int bit;

	for (; n--; p++)
		for (crc ^= *p, bit = 0; bit < 8; bit++)
			crc = (u16)(crc >> 1 ^ (crc & 1 ? 0x8408 : 0));
	return crc;
}
#define crc_ccitt_byte(crc, c) ({ u8 byte_ = (c); crc_ccitt(crc, &byte_, 1); })

#endif
