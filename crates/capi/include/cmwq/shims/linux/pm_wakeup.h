/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_PM_WAKEUP_H
#define CMWQ_SHIM_PM_WAKEUP_H

#include <linux/device.h>

#endif
