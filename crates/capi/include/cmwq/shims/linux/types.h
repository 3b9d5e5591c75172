/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_TYPES_H
#define CMWQ_SHIM_TYPES_H

#include <linux/cmwq_shims.h>
#include <stdbool.h>
#include <stdint.h>
#include_next <linux/types.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s8 s8;
typedef __s16 s16;
typedef __s32 s32;
typedef __s64 s64;
typedef unsigned char unchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef u64 dma_addr_t;
typedef u64 phys_addr_t;
typedef phys_addr_t resource_size_t;
typedef unsigned int gfp_t;
typedef unsigned int fmode_t;
typedef unsigned int slab_flags_t;
typedef u64 sector_t;
typedef unsigned long pgoff_t;
typedef unsigned long irq_hw_number_t;
typedef s64 ktime_t;
#ifndef __clockid_t_defined
typedef int clockid_t;
#define __clockid_t_defined 1
#endif
typedef s64 time64_t;
typedef unsigned short umode_t;
#ifndef __ssize_t_defined
typedef long ssize_t;
#define __ssize_t_defined
#endif
#ifndef __off_t_defined
typedef long off_t;
#define __off_t_defined
#endif
#ifndef __loff_t_defined
typedef long loff_t;
#define __loff_t_defined
#endif
#ifndef __dev_t_defined
typedef unsigned long dev_t;
#define __dev_t_defined
#endif
#ifndef __pid_t_defined
typedef int pid_t;
#define __pid_t_defined
#endif
#ifndef __uid_t_defined
typedef unsigned int uid_t;
typedef unsigned int gid_t;
#define __uid_t_defined
#define __gid_t_defined
#endif
typedef struct {
	int counter;
} atomic_t;
typedef struct {
	s64 counter;
} atomic64_t;
struct list_head {
	struct list_head *next, *prev;
};
struct hlist_head {
	struct hlist_node *first;
};
struct hlist_node {
	struct hlist_node *next, **pprev;
};
#include <linux/compiler.h>

#endif
