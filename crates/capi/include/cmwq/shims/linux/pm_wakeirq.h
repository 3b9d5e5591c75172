/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_PM_WAKEIRQ_H
#define CMWQ_SHIM_PM_WAKEIRQ_H

#include <linux/device.h>
#define dev_pm_set_wake_irq(dev, irq) 0
#define dev_pm_clear_wake_irq(dev) ((void)(dev))

#endif
