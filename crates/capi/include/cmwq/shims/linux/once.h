/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_ONCE_H
#define CMWQ_SHIM_ONCE_H

#include <linux/printk.h>
#define DO_ONCE(f, ...) CMWQ_ONCE((f)(__VA_ARGS__))

#endif
