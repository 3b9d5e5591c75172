/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_DEV_PRINTK_H
#define CMWQ_SHIM_DEV_PRINTK_H

#include <linux/device.h>

#endif
