/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_THERMAL_H
#define CMWQ_SHIM_THERMAL_H

#include <linux/device.h>
struct thermal_zone_device; struct thermal_cooling_device { void *devdata; };
struct thermal_cooling_device_ops { int (*get_max_state)(struct thermal_cooling_device *c, unsigned long *s); int (*get_cur_state)(struct thermal_cooling_device *c, unsigned long *s); int (*set_cur_state)(struct thermal_cooling_device *c, unsigned long s); };
#define THERMAL_TEMP_INVALID (-274000)
enum thermal_notify_event {
	THERMAL_EVENT_UNSPECIFIED,
	THERMAL_EVENT_TEMP_SAMPLE,
	THERMAL_TRIP_VIOLATED,
	THERMAL_TRIP_CHANGED,
};
enum thermal_device_mode { THERMAL_DEVICE_DISABLED, THERMAL_DEVICE_ENABLED };
enum thermal_trip_type {
	THERMAL_TRIP_ACTIVE,
	THERMAL_TRIP_PASSIVE,
	THERMAL_TRIP_HOT,
	THERMAL_TRIP_CRITICAL,
};
enum thermal_trend { THERMAL_TREND_STABLE, THERMAL_TREND_RAISING, THERMAL_TREND_DROPPING };
struct thermal_trip {
	int temperature, hysteresis;
	enum thermal_trip_type type;
	u8 flags;
	void *priv;
};
struct thermal_zone_device_ops {
	int (*get_temp)(struct thermal_zone_device *t, int *temp);
	int (*set_trips)(struct thermal_zone_device *t, int low, int high);
	int (*change_mode)(struct thermal_zone_device *t, enum thermal_device_mode mode);
	int (*set_trip_temp)(struct thermal_zone_device *t, const struct thermal_trip *trip,
			     int temp);
	void (*hot)(struct thermal_zone_device *t);
	void (*critical)(struct thermal_zone_device *t);
};
struct thermal_zone_params;
extern struct thermal_zone_device *thermal_zone_device_register_with_trips(
	const char *type, const struct thermal_trip *trips, int n, void *priv,
	const struct thermal_zone_device_ops *ops, const struct thermal_zone_params *params,
	unsigned int passive_ms, unsigned int polling_ms);
extern struct thermal_zone_device *devm_thermal_of_zone_register(
	struct device *dev, int id, void *priv, const struct thermal_zone_device_ops *ops);
extern void thermal_zone_device_unregister(struct thermal_zone_device *t);
extern int thermal_zone_device_enable(struct thermal_zone_device *t);
extern int thermal_zone_device_disable(struct thermal_zone_device *t);
extern void *thermal_zone_device_priv(struct thermal_zone_device *t);
extern void thermal_zone_device_update(struct thermal_zone_device *t, enum thermal_notify_event e);
extern int thermal_zone_get_temp(struct thermal_zone_device *t, int *temp);
extern struct thermal_zone_device *thermal_zone_get_zone_by_name(const char *name);

#endif
