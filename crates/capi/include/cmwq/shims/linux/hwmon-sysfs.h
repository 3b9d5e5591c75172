/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_HWMON_SYSFS_H
#define CMWQ_SHIM_HWMON_SYSFS_H

#include <linux/device.h>
struct sensor_device_attribute { struct device_attribute dev_attr; int index; };
#define to_sensor_dev_attr(a) container_of(a, struct sensor_device_attribute, dev_attr)
#define SENSOR_ATTR(n, m, s, t, i) { .dev_attr = __ATTR(n, m, s, t), .index = i }
#define SENSOR_DEVICE_ATTR(n, m, s, t, i) struct sensor_device_attribute sensor_dev_attr_##n = SENSOR_ATTR(n, m, s, t, i)
#define SENSOR_DEVICE_ATTR_RO(n, f, i) SENSOR_DEVICE_ATTR(n, 0444, f##_show, NULL, i)
#define SENSOR_DEVICE_ATTR_RW(n, f, i) SENSOR_DEVICE_ATTR(n, 0644, f##_show, f##_store, i)

#endif
