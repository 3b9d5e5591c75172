/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_BITFIELD_H
#define CMWQ_SHIM_BITFIELD_H

#include <linux/bits.h>
#define __bf_shf(mask) (__builtin_ffsll(mask) - 1)
#define FIELD_MAX(mask) ((__typeof__(mask))((mask) >> __bf_shf(mask)))
#define FIELD_FIT(mask, v) (!((((__typeof__(mask))(v)) << __bf_shf(mask)) & ~(mask)))
#define FIELD_PREP(mask, v) (((__typeof__(mask))(v) << __bf_shf(mask)) & (mask))
#define FIELD_PREP_CONST FIELD_PREP
#define FIELD_GET(mask, reg) ((__typeof__(mask))(((reg) & (mask)) >> __bf_shf(mask)))
#define FIELD_MODIFY(mask, p, v) (*(p) = (*(p) & ~(mask)) | FIELD_PREP(mask, v))
#define u32_get_bits(v, f) ((u32)FIELD_GET((u32)(f), (u32)(v)))
#define u32_encode_bits(v, f) ((u32)FIELD_PREP((u32)(f), (u32)(v)))
#define u16_get_bits(v, f) ((u16)FIELD_GET((u16)(f), (u16)(v)))
#define u8_get_bits(v, f) ((u8)FIELD_GET((u8)(f), (u8)(v)))
#define le32_get_bits(v, f) u32_get_bits(le32_to_cpu(v), f)
#define le16_get_bits(v, f) u16_get_bits(le16_to_cpu(v), f)

#endif
