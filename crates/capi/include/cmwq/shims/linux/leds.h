/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_LEDS_H
#define CMWQ_SHIM_LEDS_H

#include <linux/device.h>
#include <linux/timer.h>
#include <linux/rwsem.h>
enum led_brightness { LED_OFF = 0, LED_ON = 1, LED_HALF = 127, LED_FULL = 255 };
enum led_default_state { LEDS_DEFSTATE_OFF, LEDS_DEFSTATE_ON, LEDS_DEFSTATE_KEEP };
struct led_pattern { u32 delta_t; int brightness; };
struct led_classdev; struct led_trigger { const char *name; int (*activate)(struct led_classdev *c); void (*deactivate)(struct led_classdev *c); const struct attribute_group **groups; struct list_head led_cdevs; };
struct led_classdev { const char *name; unsigned int brightness, max_brightness, color; int flags; unsigned long work_flags;
	void (*brightness_set)(struct led_classdev *c, enum led_brightness b); int (*brightness_set_blocking)(struct led_classdev *c, enum led_brightness b);
	enum led_brightness (*brightness_get)(struct led_classdev *c); int (*blink_set)(struct led_classdev *c, unsigned long *on, unsigned long *off);
	int (*pattern_set)(struct led_classdev *c, struct led_pattern *p, u32 n, int repeat); int (*pattern_clear)(struct led_classdev *c);
	struct device *dev; const struct attribute_group **groups; const char *default_trigger; unsigned long blink_delay_on, blink_delay_off; void *trigger_data; struct led_trigger *trigger; struct mutex led_access; };
struct led_init_data { struct fwnode_handle *fwnode; const char *default_label, *devicename; bool devname_mandatory; };
struct led_info { const char *name, *default_trigger; int flags; };
struct led_platform_data { int num_leds; struct led_info *leds; };
#define LED_SUSPENDED (1 << 0)
#define LED_CORE_SUSPENDRESUME (1 << 16)
#define LED_RETAIN_AT_SHUTDOWN (1 << 22)
extern int led_classdev_register_ext(struct device *dev, struct led_classdev *c, struct led_init_data *d);
#define led_classdev_register(dev, c) led_classdev_register_ext(dev, c, NULL)
extern int devm_led_classdev_register_ext(struct device *dev, struct led_classdev *c, struct led_init_data *d);
#define devm_led_classdev_register(dev, c) devm_led_classdev_register_ext(dev, c, NULL)
extern void led_classdev_unregister(struct led_classdev *c);
extern void led_classdev_suspend(struct led_classdev *c);
extern void led_classdev_resume(struct led_classdev *c);
extern void led_set_brightness(struct led_classdev *c, unsigned int b);
extern int led_set_brightness_sync(struct led_classdev *c, unsigned int b);
extern void led_trigger_register_simple(const char *name, struct led_trigger **t);
extern void led_trigger_unregister_simple(struct led_trigger *t);
extern void led_trigger_event(struct led_trigger *t, enum led_brightness b);
extern void led_trigger_blink(struct led_trigger *t, unsigned long on, unsigned long off);
extern int led_trigger_register(struct led_trigger *t);
extern void led_trigger_unregister(struct led_trigger *t);
#define module_led_trigger(t) module_driver(t, led_trigger_register, led_trigger_unregister)
#define led_get_trigger_data(c) ((c)->trigger_data)
#define led_set_trigger_data(c, d) ((void)((c)->trigger_data = (d)))
#define led_trigger_get_led(dev) ((struct led_classdev *)dev_get_drvdata(dev))
#define led_trigger_get_drvdata(dev) led_get_trigger_data(led_trigger_get_led(dev))
extern enum led_default_state led_init_default_state_get(struct fwnode_handle *f);
extern void led_set_brightness_nosleep(struct led_classdev *c, unsigned int b);

#endif
