/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_CRC16_H
#define CMWQ_SHIM_CRC16_H

#include <linux/types.h>
CMWQ_INLINE u16 crc16(u16 crc, const u8 *p, size_t n)
{
	int bit;

	for (; n--; p++)
		for (crc ^= *p, bit = 0; bit < 8; bit++)
			crc = (u16)(crc >> 1 ^ (crc & 1 ? 0xa001 : 0));
	return crc;
}
#define crc16_byte(crc, c) ({ u8 byte_ = (c); crc16(crc, &byte_, 1); })

#endif
