/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_VMALLOC_H
#define CMWQ_SHIM_VMALLOC_H

#include <linux/slab.h>
#define vmalloc(n) kmalloc(n, GFP_KERNEL)
#define vzalloc(n) kzalloc(n, GFP_KERNEL)
#define vmalloc_node(n, node) vmalloc(n)
#define vzalloc_node(n, node) vzalloc(n)
#define vmalloc_user(n) cmwq_shim_pages(__GFP_ZERO, (unsigned int)get_order(n))
#define vmalloc_array(n, size) kmalloc_array(n, size, GFP_KERNEL)
#define vcalloc(n, size) kcalloc(n, size, GFP_KERNEL)
#define __vmalloc(n, gfp) kmalloc(n, gfp)
#define vfree kfree
#define vfree_atomic kfree
#define is_vmalloc_addr(p) 0

#endif
