/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_PM_RUNTIME_H
#define CMWQ_SHIM_PM_RUNTIME_H

#include <linux/device.h>
#define pm_runtime_enable(dev) ((void)(dev))
#define pm_runtime_disable(dev) ((void)(dev))
#define pm_runtime_set_active(dev) ((void)(dev), 0)
#define pm_runtime_set_suspended(dev) ((void)(dev))
#define pm_runtime_get(dev) ((void)(dev), 0)
#define pm_runtime_get_sync(dev) ((void)(dev), 0)
#define pm_runtime_get_noresume(dev) ((void)(dev))
#define pm_runtime_get_if_in_use(dev) 1
#define pm_runtime_resume_and_get(dev) ((void)(dev), 0)
#define pm_runtime_put(dev) ((void)(dev), 0)
#define pm_runtime_put_sync(dev) ((void)(dev), 0)
#define pm_runtime_put_noidle(dev) ((void)(dev))
#define pm_runtime_put_autosuspend(dev) ((void)(dev), 0)
#define pm_runtime_put_sync_suspend(dev) 0
#define pm_runtime_mark_last_busy(dev) ((void)(dev))
#define pm_runtime_use_autosuspend(dev) ((void)(dev))
#define pm_runtime_dont_use_autosuspend(dev) ((void)(dev))
#define pm_runtime_set_autosuspend_delay(dev, ms) ((void)(dev))
#define pm_runtime_suspended(dev) false
#define pm_runtime_active(dev) true
#define pm_runtime_enabled(dev) true
#define pm_runtime_resume(dev) ((void)(dev), 0)
#define pm_runtime_suspend(dev) ((void)(dev), 0)
#define pm_runtime_idle(dev) 0
#define pm_runtime_allow(dev) ((void)(dev))
#define pm_runtime_forbid(dev) ((void)(dev))
#define pm_request_resume(dev) 0
#define pm_request_idle(dev) 0
#define pm_runtime_force_suspend NULL
#define pm_runtime_force_resume NULL
#define devm_pm_runtime_enable(dev) 0
#define pm_runtime_barrier(dev) 0
#define pm_runtime_irq_safe(dev) ((void)(dev))
#define pm_runtime_no_callbacks(dev) ((void)(dev))

#endif
