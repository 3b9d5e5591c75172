/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_INPUT_H
#define CMWQ_SHIM_INPUT_H

#include <linux/device.h>
#include <linux/timer.h>
#include <linux/fs.h>
#include <linux/time.h>
#include <linux/mod_devicetable.h>
#define input_event cmwq_uapi_input_event
#include_next <linux/input.h>
#undef input_event
struct input_handle; struct input_handler; struct input_dev; struct ff_device;
struct input_dev_poller;
struct input_dev { struct input_dev_poller *poller; const char *name, *phys, *uniq; struct input_id id;
	unsigned long propbit[BITS_TO_LONGS(INPUT_PROP_CNT)], evbit[BITS_TO_LONGS(EV_CNT)], keybit[BITS_TO_LONGS(KEY_CNT)],
		relbit[BITS_TO_LONGS(REL_CNT)], absbit[BITS_TO_LONGS(ABS_CNT)], mscbit[BITS_TO_LONGS(MSC_CNT)],
		ledbit[BITS_TO_LONGS(LED_CNT)], sndbit[BITS_TO_LONGS(SND_CNT)], ffbit[BITS_TO_LONGS(FF_CNT)], swbit[BITS_TO_LONGS(SW_CNT)];
	unsigned int keycodemax, keycodesize; void *keycode;
	int (*setkeycode)(struct input_dev *dev, const struct input_keymap_entry *ke, unsigned int *old);
	int (*getkeycode)(struct input_dev *dev, struct input_keymap_entry *ke);
	struct ff_device *ff; int rep[REP_CNT]; struct input_absinfo *absinfo;
	unsigned long key[BITS_TO_LONGS(KEY_CNT)], led[BITS_TO_LONGS(LED_CNT)], snd[BITS_TO_LONGS(SND_CNT)], sw[BITS_TO_LONGS(SW_CNT)];
	int (*open)(struct input_dev *dev); void (*close)(struct input_dev *dev); int (*flush)(struct input_dev *dev, struct file *file);
	int (*event)(struct input_dev *dev, unsigned int type, unsigned int code, int value);
	spinlock_t event_lock; struct mutex mutex; unsigned int users; struct device dev; };
struct input_handler {
	void *private;
	void (*event)(struct input_handle *handle, unsigned int type, unsigned int code, int value);
	bool (*filter)(struct input_handle *handle, unsigned int type, unsigned int code, int value);
	bool (*match)(struct input_handler *handler, struct input_dev *dev);
	int (*connect)(struct input_handler *handler, struct input_dev *dev,
		       const struct input_device_id *id);
	void (*disconnect)(struct input_handle *handle);
	void (*start)(struct input_handle *handle);
	const char *name;
	const struct input_device_id *id_table;
};
struct input_handle {
	void *private;
	int open;
	const char *name;
	struct input_dev *dev;
	struct input_handler *handler;
};
extern int input_register_handler(struct input_handler *handler);
extern void input_unregister_handler(struct input_handler *handler);
extern int input_register_handle(struct input_handle *handle);
extern void input_unregister_handle(struct input_handle *handle);
extern int input_open_device(struct input_handle *handle);
extern void input_close_device(struct input_handle *handle);
extern void input_inject_event(struct input_handle *handle, unsigned int type, unsigned int code,
			       int value);
struct ff_device { int (*upload)(struct input_dev *dev, struct ff_effect *effect, struct ff_effect *old);
	int (*erase)(struct input_dev *dev, int id); int (*playback)(struct input_dev *dev, int id, int value);
	void (*set_gain)(struct input_dev *dev, u16 gain); void *private; };
#define to_input_dev(d) container_of(d, struct input_dev, dev)
#define input_get_drvdata(i) dev_get_drvdata(&(i)->dev)
#define input_set_drvdata(i, data) dev_set_drvdata(&(i)->dev, data)
extern struct input_dev *input_allocate_device(void);
extern struct input_dev *devm_input_allocate_device(struct device *dev);
extern void input_free_device(struct input_dev *dev);
extern int input_register_device(struct input_dev *dev);
extern void input_unregister_device(struct input_dev *dev);
extern void input_event(struct input_dev *dev, unsigned int type, unsigned int code, int value);
#define input_report_key(d, c, v) input_event(d, EV_KEY, c, !!(v))
#define input_report_rel(d, c, v) input_event(d, EV_REL, c, v)
#define input_report_abs(d, c, v) input_event(d, EV_ABS, c, v)
#define input_report_switch(d, c, v) input_event(d, EV_SW, c, !!(v))
#define input_sync(d) input_event(d, EV_SYN, SYN_REPORT, 0)
#define input_mt_sync(d) input_event(d, EV_SYN, SYN_MT_REPORT, 0)
extern void input_set_abs_params(struct input_dev *dev, unsigned int axis, int min, int max, int fuzz, int flat);
extern void input_set_capability(struct input_dev *dev, unsigned int type, unsigned int code);
extern void input_alloc_absinfo(struct input_dev *dev);
extern int input_setup_polling(struct input_dev *dev, void (*poll)(struct input_dev *dev));
extern void input_set_poll_interval(struct input_dev *dev, unsigned int ms);
extern void input_set_min_poll_interval(struct input_dev *dev, unsigned int ms);
extern void input_set_max_poll_interval(struct input_dev *dev, unsigned int ms);
extern int input_ff_create(struct input_dev *dev, unsigned int n);
extern int input_ff_create_memless(struct input_dev *dev, void *data, int (*play)(struct input_dev *dev, void *data, struct ff_effect *e));
extern void input_ff_destroy(struct input_dev *dev);
extern bool input_device_enabled(struct input_dev *dev);
extern int input_abs_get_max(struct input_dev *dev, unsigned int axis);
extern void input_set_timestamp(struct input_dev *dev, ktime_t t);
extern void input_enable_softrepeat(struct input_dev *dev, int delay, int period);

#endif
