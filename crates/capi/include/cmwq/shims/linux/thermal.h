/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_THERMAL_H
#define CMWQ_SHIM_THERMAL_H

#include <linux/device.h>
struct thermal_zone_device; struct thermal_cooling_device { void *devdata; };
struct thermal_cooling_device_ops { int (*get_max_state)(struct thermal_cooling_device *c, unsigned long *s); int (*get_cur_state)(struct thermal_cooling_device *c, unsigned long *s); int (*set_cur_state)(struct thermal_cooling_device *c, unsigned long s); };
enum thermal_notify_event { THERMAL_EVENT_UNSPECIFIED };
extern void thermal_zone_device_update(struct thermal_zone_device *t, enum thermal_notify_event e);
extern int thermal_zone_get_temp(struct thermal_zone_device *t, int *temp);
extern struct thermal_zone_device *thermal_zone_get_zone_by_name(const char *name);

#endif
