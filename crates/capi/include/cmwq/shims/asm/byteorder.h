/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_ASM_BYTEORDER_H
#define CMWQ_SHIM_ASM_BYTEORDER_H
#include <linux/types.h>
#include_next <asm/byteorder.h>
#define swab16(x) __builtin_bswap16(x)
#define swab32(x) __builtin_bswap32(x)
#define swab64(x) __builtin_bswap64(x)
#define cpu_to_le16 __cpu_to_le16
#define cpu_to_le32 __cpu_to_le32
#define cpu_to_le64 __cpu_to_le64
#define le16_to_cpu __le16_to_cpu
#define le32_to_cpu __le32_to_cpu
#define le64_to_cpu __le64_to_cpu
#define cpu_to_be16 __cpu_to_be16
#define cpu_to_be32 __cpu_to_be32
#define cpu_to_be64 __cpu_to_be64
#define be16_to_cpu __be16_to_cpu
#define be32_to_cpu __be32_to_cpu
#define be64_to_cpu __be64_to_cpu
#define le16_to_cpup(p) le16_to_cpu(*(p))
#define le32_to_cpup(p) le32_to_cpu(*(p))
#define le64_to_cpup(p) le64_to_cpu(*(p))
#define be16_to_cpup(p) be16_to_cpu(*(p))
#define be32_to_cpup(p) be32_to_cpu(*(p))
#define be64_to_cpup(p) be64_to_cpu(*(p))
#define le16_to_cpus(p) (*(p) = le16_to_cpu(*(p)))
#define le32_to_cpus(p) (*(p) = le32_to_cpu(*(p)))
#define be16_to_cpus(p) (*(p) = be16_to_cpu(*(p)))
#define be32_to_cpus(p) (*(p) = be32_to_cpu(*(p)))
#define cpu_to_be16s(p) (*(p) = cpu_to_be16(*(p)))
#define cpu_to_le16s(p) (*(p) = cpu_to_le16(*(p)))
#define cpu_to_le32s(p) (*(p) = cpu_to_le32(*(p)))
#define htons cpu_to_be16
#define htonl cpu_to_be32
#define ntohs be16_to_cpu
#define ntohl be32_to_cpu
#define le16_add_cpu(p, v) (*(p) = cpu_to_le16(le16_to_cpu(*(p)) + (v)))
#define le32_add_cpu(p, v) (*(p) = cpu_to_le32(le32_to_cpu(*(p)) + (v)))
#define be16_add_cpu(p, v) (*(p) = cpu_to_be16(be16_to_cpu(*(p)) + (v)))
#define be32_add_cpu(p, v) (*(p) = cpu_to_be32(be32_to_cpu(*(p)) + (v)))
#endif
