/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_HASH_H
#define CMWQ_SHIM_HASH_H

#include <linux/types.h>
#define hash_32(v, bits) ((u32)((u32)(v) * 0x61C88647u) >> (32 - (bits)))
#define hash_64(v, bits) ((u32)(((u64)(v) * 0x61C8864680B583EBull) >> (64 - (bits))))
#define hash_long(v, bits) hash_64(v, bits)
#define hash_ptr(p, bits) hash_long((unsigned long)(p), bits)

#endif
