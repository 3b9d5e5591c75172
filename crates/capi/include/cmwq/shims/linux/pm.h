/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_PM_H
#define CMWQ_SHIM_PM_H

#include <linux/types.h>
#include <linux/completion.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/workqueue.h>
struct device;
typedef struct pm_message { int event; } pm_message_t;
#define CMWQ_PM_CALLS(X) X(prepare) X(suspend) X(resume) X(freeze) X(thaw) X(poweroff) X(restore) \
	X(suspend_late) X(resume_early) X(freeze_late) X(thaw_early) X(poweroff_late) X(restore_early) \
	X(suspend_noirq) X(resume_noirq) X(freeze_noirq) X(thaw_noirq) X(poweroff_noirq) \
	X(restore_noirq) X(runtime_suspend) X(runtime_resume) X(runtime_idle)
#define CMWQ_PM_CALL(name) int (*name)(struct device *dev);
struct dev_pm_ops { CMWQ_PM_CALLS(CMWQ_PM_CALL) void (*complete)(struct device *dev); };
#define SYSTEM_SLEEP_PM_OPS(s, r) .suspend = s, .resume = r, .freeze = s, .thaw = r, \
	.poweroff = s, .restore = r,
#define RUNTIME_PM_OPS(s, r, i) .runtime_suspend = s, .runtime_resume = r, .runtime_idle = i,
#define LATE_SYSTEM_SLEEP_PM_OPS(s, r) .suspend_late = s, .resume_early = r,
#define NOIRQ_SYSTEM_SLEEP_PM_OPS(s, r) .suspend_noirq = s, .resume_noirq = r,
/* As in the kernel, the older macros name nothing without the option. */
#ifdef CONFIG_PM_SLEEP
#define SET_SYSTEM_SLEEP_PM_OPS SYSTEM_SLEEP_PM_OPS
#define SET_LATE_SYSTEM_SLEEP_PM_OPS LATE_SYSTEM_SLEEP_PM_OPS
#define SET_NOIRQ_SYSTEM_SLEEP_PM_OPS NOIRQ_SYSTEM_SLEEP_PM_OPS
#else
#define SET_SYSTEM_SLEEP_PM_OPS(s, r)
#define SET_LATE_SYSTEM_SLEEP_PM_OPS(s, r)
#define SET_NOIRQ_SYSTEM_SLEEP_PM_OPS(s, r)
#endif
#ifdef CONFIG_PM
#define SET_RUNTIME_PM_OPS RUNTIME_PM_OPS
#else
#define SET_RUNTIME_PM_OPS(s, r, i)
#endif
#define SIMPLE_DEV_PM_OPS(name, s, r) \
	const struct dev_pm_ops name __attribute__((unused)) = { SET_SYSTEM_SLEEP_PM_OPS(s, r) }
#define DEFINE_SIMPLE_DEV_PM_OPS(name, s, r) \
	const struct dev_pm_ops name __attribute__((unused)) = { SYSTEM_SLEEP_PM_OPS(s, r) }
#define UNIVERSAL_DEV_PM_OPS(name, s, r, i) const struct dev_pm_ops name \
	__attribute__((unused)) = { SET_SYSTEM_SLEEP_PM_OPS(s, r) SET_RUNTIME_PM_OPS(s, r, i) }
#define DEFINE_RUNTIME_DEV_PM_OPS(name, s, r, i) const struct dev_pm_ops name \
	__attribute__((unused)) = { SYSTEM_SLEEP_PM_OPS(s, r) RUNTIME_PM_OPS(s, r, i) }
#define EXPORT_SIMPLE_DEV_PM_OPS SIMPLE_DEV_PM_OPS
#define EXPORT_GPL_SIMPLE_DEV_PM_OPS SIMPLE_DEV_PM_OPS
#define pm_sleep_ptr(p) (p)
#define pm_ptr(p) (p)
#define PM_EVENT_SUSPEND 2
#define PMSG_SUSPEND ((struct pm_message){ 2 })

#endif
