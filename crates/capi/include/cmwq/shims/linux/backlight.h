/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_BACKLIGHT_H
#define CMWQ_SHIM_BACKLIGHT_H

#include <linux/device.h>
#include <linux/mutex.h>
enum backlight_type { BACKLIGHT_RAW = 1, BACKLIGHT_PLATFORM, BACKLIGHT_FIRMWARE };
struct backlight_device;
struct backlight_properties { int brightness, max_brightness, power; enum backlight_type type; unsigned int state; int scale; };
struct backlight_ops { unsigned int options; int (*update_status)(struct backlight_device *b); int (*get_brightness)(struct backlight_device *b); bool (*controls_device)(struct backlight_device *b, struct device *d); };
struct backlight_device { struct backlight_properties props; struct mutex update_lock, ops_lock; const struct backlight_ops *ops; struct device dev; };
#define BL_CORE_SUSPENDRESUME 1
#define BACKLIGHT_POWER_ON 0
#define BACKLIGHT_POWER_OFF 4
#define bl_get_data(b) dev_get_drvdata(&(b)->dev)
#define to_backlight_device(d) container_of(d, struct backlight_device, dev)
#define backlight_is_blank(b) ((b)->props.power != 0)
#define backlight_get_brightness(b) (backlight_is_blank(b) ? 0 : (b)->props.brightness)
extern int backlight_update_status(struct backlight_device *b);
extern int backlight_enable(struct backlight_device *b);
extern int backlight_disable(struct backlight_device *b);
extern struct backlight_device *devm_backlight_device_register(struct device *dev, const char *name, struct device *parent, void *data, const struct backlight_ops *o, const struct backlight_properties *p);
extern void devm_backlight_device_unregister(struct device *dev, struct backlight_device *b);
extern struct backlight_device *devm_of_find_backlight(struct device *dev);

#endif
