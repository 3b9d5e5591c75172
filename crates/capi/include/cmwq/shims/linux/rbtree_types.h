/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_RBTREE_TYPES_H
#define CMWQ_SHIM_RBTREE_TYPES_H

#include <linux/rbtree.h>

#endif
