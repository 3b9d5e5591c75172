/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_MM_H
#define CMWQ_SHIM_MM_H

#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <linux/sched.h>
#include <linux/rwsem.h>
#include <linux/align.h>
#include <linux/kernel.h>
#define PAGE_ALIGN(n) ALIGN(n, PAGE_SIZE)
#define PAGE_ALIGNED(n) IS_ALIGNED((unsigned long)(n), PAGE_SIZE)
#define PFN_UP(n) (((n) + PAGE_SIZE - 1) >> PAGE_SHIFT)
#define PFN_DOWN(n) ((n) >> PAGE_SHIFT)
struct vm_area_struct;

#endif
