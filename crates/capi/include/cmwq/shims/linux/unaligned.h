/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_UNALIGNED_H
#define CMWQ_SHIM_UNALIGNED_H

#include <linux/types.h>
#include <asm/byteorder.h>
#define CMWQ_UNALIGNED(n) \
	CMWQ_INLINE u##n cmwq_shim_get##n(const void *p) { u##n v; __builtin_memcpy(&v, p, sizeof(v)); return v; } \
	CMWQ_INLINE void cmwq_shim_put##n(u##n v, void *p) { __builtin_memcpy(p, &v, sizeof(v)); }
CMWQ_UNALIGNED(16)
CMWQ_UNALIGNED(32)
CMWQ_UNALIGNED(64)
#define get_unaligned_le16(p) le16_to_cpu(cmwq_shim_get16(p))
#define get_unaligned_le32(p) le32_to_cpu(cmwq_shim_get32(p))
#define get_unaligned_le64(p) le64_to_cpu(cmwq_shim_get64(p))
#define get_unaligned_be16(p) be16_to_cpu(cmwq_shim_get16(p))
#define get_unaligned_be32(p) be32_to_cpu(cmwq_shim_get32(p))
#define get_unaligned_be64(p) be64_to_cpu(cmwq_shim_get64(p))
#define put_unaligned_le16(v, p) cmwq_shim_put16(cpu_to_le16((u16)(v)), p)
#define put_unaligned_le32(v, p) cmwq_shim_put32(cpu_to_le32((u32)(v)), p)
#define put_unaligned_le64(v, p) cmwq_shim_put64(cpu_to_le64((u64)(v)), p)
#define put_unaligned_be16(v, p) cmwq_shim_put16(cpu_to_be16((u16)(v)), p)
#define put_unaligned_be32(v, p) cmwq_shim_put32(cpu_to_be32((u32)(v)), p)
#define put_unaligned_be64(v, p) cmwq_shim_put64(cpu_to_be64((u64)(v)), p)
CMWQ_INLINE u32 get_unaligned_be24(const void *p)
{
	const u8 *b = (const u8 *)p;

	return (u32)b[0] << 16 | (u32)b[1] << 8 | b[2];
}
CMWQ_INLINE u32 get_unaligned_le24(const void *p)
{
	const u8 *b = (const u8 *)p;

	return (u32)b[2] << 16 | (u32)b[1] << 8 | b[0];
}
#define get_unaligned(p) ({ __typeof__(*(p)) v_; __builtin_memcpy(&v_, p, sizeof(v_)); v_; })
#define put_unaligned(v, p) ({ __typeof__(*(p)) v_ = (v); __builtin_memcpy(p, &v_, sizeof(v_)); })

#endif
