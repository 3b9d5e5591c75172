/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_SPINLOCK_TYPES_H
#define CMWQ_SHIM_SPINLOCK_TYPES_H

#include <linux/spinlock.h>

#endif
