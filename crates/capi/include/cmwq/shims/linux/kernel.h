/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_KERNEL_H
#define CMWQ_SHIM_KERNEL_H

#include_next <linux/kernel.h>
#include <linux/types.h>
#include <linux/align.h>
#include <linux/array_size.h>
#include <linux/bitops.h>
#include <linux/bug.h>
#include <linux/build_bug.h>
#include <linux/container_of.h>
#include <linux/err.h>
#include <linux/kconfig.h>
#include <linux/kstrtox.h>
#include <linux/limits.h>
#include <linux/log2.h>
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/preempt.h>
#include <linux/printk.h>
#include <linux/sprintf.h>
#include <linux/stddef.h>
#include <linux/typecheck.h>
#include <asm/byteorder.h>
#define might_sleep() ((void)0)
#define might_sleep_if(condition) ((void)(condition))
#define cant_sleep() ((void)0)
#define might_fault() ((void)0)
#define upper_32_bits(n) ((u32)(((u64)(n)) >> 32))
#define lower_32_bits(n) ((u32)(n))
#define upper_16_bits(n) ((u16)((n) >> 16))
#define lower_16_bits(n) ((u16)(n))
#define REPEAT_BYTE(x) (~0UL / 0xff * (x))
#define u64_to_user_ptr(x) ((void *)(unsigned long)(x))
#define STACK_MAGIC 0xdeadbeef
#define PTR_IF(condition, p) ((condition) ? (p) : NULL)
#define __stringify_1(x...) #x
#define __stringify(x...) __stringify_1(x)
#define trace_printk printk
#define THIS_IP ((unsigned long)__builtin_return_address(0))
#define _RET_IP_ ((unsigned long)__builtin_return_address(0))
#define _THIS_IP_ 0UL
#define hex_asc_lo(x) ("0123456789abcdef"[(x) & 15])
#define hex_asc_hi(x) ("0123456789abcdef"[((x) >> 4) & 15])

#endif
