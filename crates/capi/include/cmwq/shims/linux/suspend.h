/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_SUSPEND_H
#define CMWQ_SHIM_SUSPEND_H

#include <linux/notifier.h>
#include <linux/device.h>
#include <linux/pm.h>
#define PM_HIBERNATION_PREPARE 1
#define PM_POST_HIBERNATION 2
#define PM_SUSPEND_PREPARE 3
#define PM_POST_SUSPEND 4
#define PM_RESTORE_PREPARE 5
#define PM_POST_RESTORE 6
extern int register_pm_notifier(struct notifier_block *nb);
extern int unregister_pm_notifier(struct notifier_block *nb);
extern void pm_system_wakeup(void);
#define pm_notifier(f, priority_) ((void)0)

#endif
