/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_WATCHDOG_H
#define CMWQ_SHIM_WATCHDOG_H

#include <linux/device.h>
#include <linux/notifier.h>
#include_next <linux/watchdog.h>
struct watchdog_device; struct watchdog_ops { struct module *owner; int (*start)(struct watchdog_device *w); int (*stop)(struct watchdog_device *w); int (*ping)(struct watchdog_device *w); unsigned int (*status)(struct watchdog_device *w); int (*set_timeout)(struct watchdog_device *w, unsigned int t); unsigned int (*get_timeleft)(struct watchdog_device *w); int (*restart)(struct watchdog_device *w, unsigned long a, void *d); };
struct watchdog_device { int id; struct device *parent; const struct watchdog_info *info; const struct watchdog_ops *ops; unsigned int bootstatus, timeout, pretimeout, min_timeout, max_timeout, min_hw_heartbeat_ms, max_hw_heartbeat_ms; void *driver_data; unsigned long status; };
#define WATCHDOG_NOWAYOUT false
#define WATCHDOG_NOWAYOUT_INIT_STATUS 0
#define watchdog_set_drvdata(w, d) ((void)((w)->driver_data = (d)))
#define watchdog_get_drvdata(w) ((w)->driver_data)
extern int watchdog_register_device(struct watchdog_device *w);
extern void watchdog_unregister_device(struct watchdog_device *w);
extern int devm_watchdog_register_device(struct device *dev, struct watchdog_device *w);
extern int watchdog_init_timeout(struct watchdog_device *w, unsigned int t, struct device *dev);

#endif
