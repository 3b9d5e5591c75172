/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_ERR_H
#define CMWQ_SHIM_ERR_H

#include <linux/types.h>
#include <linux/errno.h>
#define MAX_ERRNO 4095
#define IS_ERR_VALUE(x) unlikely((unsigned long)(void *)(x) >= (unsigned long)-MAX_ERRNO)
CMWQ_INLINE void *ERR_PTR(long error) { return (void *)error; }
CMWQ_INLINE long PTR_ERR(const void *ptr) { return (long)ptr; }
CMWQ_INLINE bool IS_ERR(const void *ptr) { return IS_ERR_VALUE((unsigned long)ptr); }
CMWQ_INLINE bool IS_ERR_OR_NULL(const void *ptr) { return !ptr || IS_ERR(ptr); }
CMWQ_INLINE void *ERR_CAST(const void *ptr) { return (void *)(unsigned long)ptr; }
CMWQ_INLINE int PTR_ERR_OR_ZERO(const void *ptr) { return IS_ERR(ptr) ? (int)PTR_ERR(ptr) : 0; }
#define IOMEM_ERR_PTR(error) ((void *)(long)(error))

#endif
