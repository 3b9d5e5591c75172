/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_DEVICE_H
#define CMWQ_SHIM_DEVICE_H

/* Devices are what a test rig makes of them. Printing and what is managed work. */
#include <linux/types.h>
#include <linux/kobject.h>
#include <linux/klist.h>
#include <linux/list.h>
#include <linux/mod_devicetable.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/pm.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/ratelimit.h>
#include <linux/uidgid.h>
#include <linux/gfp.h>
#include <linux/bug.h>
#include <linux/overflow.h>
#include <linux/compiler.h>
struct device;
struct device_node;
struct fwnode_handle;
struct module;
struct of_device_id;
struct bus_type { const char *name; const char *dev_name;
	const struct attribute_group **bus_groups, **dev_groups, **drv_groups;
	int (*match)(struct device *dev, const void *drv);
	int (*uevent)(const struct device *dev, struct kobj_uevent_env *env);
	int (*probe)(struct device *dev); void (*remove)(struct device *dev);
	void (*shutdown)(struct device *dev); const struct dev_pm_ops *pm; };
enum probe_type { PROBE_DEFAULT_STRATEGY, PROBE_PREFER_ASYNCHRONOUS, PROBE_FORCE_SYNCHRONOUS };
struct device_driver { const char *name; const struct bus_type *bus; struct module *owner;
	const char *mod_name; bool suppress_bind_attrs; enum probe_type probe_type;
	const struct of_device_id *of_match_table; const struct acpi_device_id *acpi_match_table;
	int (*probe)(struct device *dev); int (*remove)(struct device *dev);
	void (*shutdown)(struct device *dev); int (*suspend)(struct device *dev, pm_message_t state);
	int (*resume)(struct device *dev);
	const struct attribute_group **groups, **dev_groups; const struct dev_pm_ops *pm;
	void (*coredump)(struct device *dev); };
struct class { const char *name; const struct attribute_group **class_groups, **dev_groups;
	int (*dev_uevent)(const struct device *dev, struct kobj_uevent_env *env);
	char *(*devnode)(const struct device *dev, umode_t *mode);
	void (*class_release)(const struct class *class); void (*dev_release)(struct device *dev);
	const struct dev_pm_ops *pm; };
struct device_type { const char *name; const struct attribute_group **groups;
	int (*uevent)(const struct device *dev, struct kobj_uevent_env *env);
	char *(*devnode)(const struct device *dev, umode_t *mode, kuid_t *uid, kgid_t *gid);
	void (*release)(struct device *dev); const struct dev_pm_ops *pm; };
struct dev_pm_info { bool can_wakeup, is_suspended; int wakeup_count; void *wakeup; };
struct cmwq_shim_managed { struct cmwq_shim_managed *next; void (*act)(void *data); void *data; };
struct device {
	struct kobject kobj;
	struct device *parent;
	const struct device_type *type;
	const struct bus_type *bus;
	struct device_driver *driver;
	void *platform_data;
	void *driver_data;
	struct mutex mutex;
	struct dev_pm_info power;
	const char *init_name;
	struct device_node *of_node;
	struct fwnode_handle *fwnode;
	int numa_node;
	dev_t devt;
	u32 id;
	const struct class *class;
	const struct attribute_group **groups;
	void (*release)(struct device *dev);
	u64 *dma_mask, coherent_dma_mask;
	struct cmwq_shim_managed *managed;
};
struct device_attribute {
	struct attribute attr;
	ssize_t (*show)(struct device *dev, struct device_attribute *attr, char *buf);
	ssize_t (*store)(struct device *dev, struct device_attribute *attr, const char *buf, size_t n);
};
struct dev_ext_attribute { struct device_attribute attr; void *var; };
struct class_attribute { struct attribute attr;
	ssize_t (*show)(const struct class *class, const struct class_attribute *attr, char *buf);
	ssize_t (*store)(const struct class *class, const struct class_attribute *attr, const char *buf,
			 size_t n); };
struct driver_attribute { struct attribute attr;
	ssize_t (*show)(struct device_driver *driver, char *buf);
	ssize_t (*store)(struct device_driver *driver, const char *buf, size_t n); };
#define DEVICE_ATTR(name_, mode_, show_, store_) \
	struct device_attribute dev_attr_##name_ = __ATTR(name_, mode_, show_, store_)
#define DEVICE_ATTR_RW(name_) struct device_attribute dev_attr_##name_ = __ATTR_RW(name_)
#define DEVICE_ATTR_RO(name_) struct device_attribute dev_attr_##name_ = __ATTR_RO(name_)
#define DEVICE_ATTR_WO(name_) struct device_attribute dev_attr_##name_ = __ATTR_WO(name_)
#define DEVICE_ATTR_ADMIN_RW DEVICE_ATTR_RW
#define DEVICE_ATTR_ADMIN_RO DEVICE_ATTR_RO
#define DRIVER_ATTR_RW(name_) struct driver_attribute driver_attr_##name_ = __ATTR_RW(name_)
#define DRIVER_ATTR_RO(name_) struct driver_attribute driver_attr_##name_ = __ATTR_RO(name_)
#define DRIVER_ATTR_WO(name_) struct driver_attribute driver_attr_##name_ = __ATTR_WO(name_)
#define CLASS_ATTR_RW(name_) struct class_attribute class_attr_##name_ = __ATTR_RW(name_)
#define CLASS_ATTR_RO(name_) struct class_attribute class_attr_##name_ = __ATTR_RO(name_)
#define CLASS_ATTR_WO(name_) struct class_attribute class_attr_##name_ = __ATTR_WO(name_)
#define dev_name(dev) ((dev)->init_name ? (dev)->init_name : kobject_name(&(dev)->kobj))
#define kobj_to_dev(k) container_of(k, struct device, kobj)
#define dev_get_drvdata(dev) ((dev)->driver_data)
#define dev_set_drvdata(dev, data) ((void)((dev)->driver_data = (data)))
#define dev_get_platdata(dev) ((dev)->platform_data)
#define dev_to_node(dev) ((dev)->numa_node)
#define set_dev_node(dev, node) ((void)((dev)->numa_node = (node)))
#define dev_of_node(dev) ((dev)->of_node)
#define dev_fwnode(dev) ((dev)->fwnode)
#define device_lock(dev) mutex_lock(&(dev)->mutex)
#define device_unlock(dev) mutex_unlock(&(dev)->mutex)
#define device_trylock(dev) mutex_trylock(&(dev)->mutex)
#define device_lock_assert(dev) ((void)(dev))
#define device_may_wakeup(dev) ((dev)->power.can_wakeup)
#define device_can_wakeup(dev) ((dev)->power.can_wakeup)
#define device_init_wakeup(dev, on) ((dev)->power.can_wakeup = (on), 0)
#define devm_device_init_wakeup(dev) device_init_wakeup(dev, true)
#define device_set_wakeup_capable(dev, on) ((void)((dev)->power.can_wakeup = (on)))
#define device_wakeup_enable(dev) ((void)(dev), 0)
#define device_wakeup_disable(dev) ((void)(dev))
#define device_set_wakeup_enable(dev, on) ((void)(dev), 0)
#define pm_wakeup_event(dev, ms) ((void)(dev))
#define pm_wakeup_hard_event(dev) ((void)(dev))
#define pm_wakeup_dev_event(dev, ms, hard) ((void)(dev))
#define pm_stay_awake(dev) ((void)(dev))
#define pm_relax(dev) ((void)(dev))
struct wakeup_source { const char *name; };
#define wakeup_source_register(dev, name_) ((struct wakeup_source *)kzalloc(sizeof(struct wakeup_source), GFP_KERNEL))
#define wakeup_source_unregister(ws) kfree(ws)
#define __pm_stay_awake(ws) ((void)(ws))
#define __pm_relax(ws) ((void)(ws))
#define __pm_wakeup_event(ws, ms) ((void)(ws))
#define pm_wakeup_ws_event(ws, ms, hard) ((void)(ws))
#define CMWQ_DEV_PRINT(call, dev, fmt, ...) call("%s: " fmt, dev_name(dev), ##__VA_ARGS__)
#ifndef dev_fmt
#define dev_fmt(fmt) fmt
#endif
#define dev_emerg(dev, fmt, ...) CMWQ_DEV_PRINT(pr_emerg, dev, dev_fmt(fmt), ##__VA_ARGS__)
#define dev_crit(dev, fmt, ...) CMWQ_DEV_PRINT(pr_crit, dev, dev_fmt(fmt), ##__VA_ARGS__)
#define dev_alert(dev, fmt, ...) CMWQ_DEV_PRINT(pr_alert, dev, dev_fmt(fmt), ##__VA_ARGS__)
#define dev_err(dev, fmt, ...) CMWQ_DEV_PRINT(pr_err, dev, dev_fmt(fmt), ##__VA_ARGS__)
#define dev_warn(dev, fmt, ...) CMWQ_DEV_PRINT(pr_warn, dev, dev_fmt(fmt), ##__VA_ARGS__)
#define dev_notice(dev, fmt, ...) CMWQ_DEV_PRINT(pr_notice, dev, dev_fmt(fmt), ##__VA_ARGS__)
#define dev_info(dev, fmt, ...) CMWQ_DEV_PRINT(pr_info, dev, dev_fmt(fmt), ##__VA_ARGS__)
#define dev_dbg(dev, fmt, ...) CMWQ_DEV_PRINT(pr_debug, dev, dev_fmt(fmt), ##__VA_ARGS__)
#define dev_vdbg dev_dbg
#define dev_printk(level, dev, fmt, ...) CMWQ_DEV_PRINT(printk, dev, fmt, ##__VA_ARGS__)
#define dev_err_once(dev, fmt, ...) CMWQ_ONCE(dev_err(dev, fmt, ##__VA_ARGS__))
#define dev_warn_once(dev, fmt, ...) CMWQ_ONCE(dev_warn(dev, fmt, ##__VA_ARGS__))
#define dev_info_once(dev, fmt, ...) CMWQ_ONCE(dev_info(dev, fmt, ##__VA_ARGS__))
#define dev_notice_once dev_notice
#define dev_dbg_once dev_dbg
#define dev_err_ratelimited dev_err
#define dev_warn_ratelimited dev_warn
#define dev_info_ratelimited dev_info
#define dev_notice_ratelimited dev_notice
#define dev_dbg_ratelimited dev_dbg
#define dev_WARN(dev, fmt, ...) WARN(1, "%s: " fmt, dev_name(dev), ##__VA_ARGS__)
#define dev_WARN_ONCE(dev, condition, fmt, ...) WARN_ONCE(condition, fmt, ##__VA_ARGS__)
#define dev_err_probe(dev, error, fmt, ...) ({ int error_ = (int)(error); \
	if (error_ != -EPROBE_DEFER) dev_err(dev, fmt, ##__VA_ARGS__); error_; })
#define dev_warn_probe(dev, error, fmt, ...) ({ dev_warn(dev, fmt, ##__VA_ARGS__); (int)(error); })
CMWQ_INLINE int devm_add_action(struct device *dev, void (*act)(void *data), void *data)
{
	struct cmwq_shim_managed *managed =
		(struct cmwq_shim_managed *)kmalloc(sizeof(*managed), GFP_KERNEL);

	if (!managed)
		return -ENOMEM;
	managed->next = dev->managed;
	managed->act = act;
	managed->data = data;
	dev->managed = managed;
	return 0;
}
CMWQ_INLINE int devm_add_action_or_reset(struct device *dev, void (*act)(void *data), void *data)
{
	int error = devm_add_action(dev, act, data);

	if (error)
		act(data);
	return error;
}
/* What a rig calls when the driver has left a device: undoes what is managed, the last first. */
CMWQ_INLINE void cmwq_shim_devres_release(struct device *dev)
{
	while (dev->managed) {
		struct cmwq_shim_managed *managed = dev->managed;

		dev->managed = managed->next;
		managed->act(managed->data);
		kfree(managed);
	}
}
CMWQ_INLINE void devm_remove_action(struct device *dev, void (*act)(void *data), void *data)
{
	struct cmwq_shim_managed **at;

	for (at = &dev->managed; *at; at = &(*at)->next) {
		struct cmwq_shim_managed *managed = *at;

		if (managed->act == act && managed->data == data) {
			*at = managed->next;
			kfree(managed);
			return;
		}
	}
}
#define devm_release_action(dev, act, data) (devm_remove_action(dev, act, data), (act)(data))
CMWQ_INLINE void cmwq_shim_free(void *p) { kfree(p); }
CMWQ_INLINE void *devm_kmalloc(struct device *dev, size_t size, gfp_t gfp)
{
	void *p = kmalloc(size, gfp);

	return p && devm_add_action_or_reset(dev, cmwq_shim_free, p) ? NULL : p;
}
#define devm_kzalloc(dev, size, gfp) devm_kmalloc(dev, size, (gfp) | __GFP_ZERO)
#define devm_kcalloc(dev, n, size, gfp) devm_kzalloc(dev, size_mul(n, size), gfp)
#define devm_kmalloc_array(dev, n, size, gfp) devm_kmalloc(dev, size_mul(n, size), gfp)
#define devm_kfree(dev, p) devm_release_action(dev, cmwq_shim_free, (void *)(unsigned long)(p))
CMWQ_INLINE void *devm_kmemdup(struct device *dev, const void *from, size_t n, gfp_t gfp)
{
	void *p = devm_kmalloc(dev, n, gfp);

	return p ? memcpy(p, from, n) : NULL;
}
#define devm_kstrdup(dev, s, gfp) ((char *)devm_kmemdup(dev, s, strlen(s) + 1, gfp))
CMWQ_INLINE char *devm_kasprintf(struct device *dev, gfp_t gfp, const char *fmt, ...)
{
	va_list args;
	char *text;

	va_start(args, fmt);
	text = kvasprintf(gfp, fmt, args);
	va_end(args);
	return text && devm_add_action_or_reset(dev, cmwq_shim_free, text) ? NULL : text;
}
#define devm_get_free_pages(dev, gfp, order) ((unsigned long)devm_kzalloc(dev, PAGE_SIZE << (order), gfp))
extern int device_register(struct device *dev);
extern void device_unregister(struct device *dev);
extern void device_initialize(struct device *dev);
extern int device_add(struct device *dev);
extern void device_del(struct device *dev);
extern struct device *get_device(struct device *dev);
extern void put_device(struct device *dev);
extern int dev_set_name(struct device *dev, const char *fmt, ...);
extern struct device *device_create(const struct class *class, struct device *parent, dev_t devt,
				    void *data, const char *fmt, ...);
extern struct device *device_create_with_groups(const struct class *class, struct device *parent,
	dev_t devt, void *data, const struct attribute_group **groups, const char *fmt, ...);
extern void device_destroy(const struct class *class, dev_t devt);
extern int device_create_file(struct device *dev, const struct device_attribute *attr);
extern void device_remove_file(struct device *dev, const struct device_attribute *attr);
extern int device_create_bin_file(struct device *dev, const struct bin_attribute *attr);
extern void device_remove_bin_file(struct device *dev, const struct bin_attribute *attr);
extern int device_add_groups(struct device *dev, const struct attribute_group **groups);
extern int devm_device_add_groups(struct device *dev, const struct attribute_group **groups);
extern int devm_device_add_group(struct device *dev, const struct attribute_group *group);
extern int device_for_each_child(struct device *dev, void *data,
				 int (*f)(struct device *dev, void *data));
extern struct device *device_find_child(struct device *dev, void *data,
					int (*match)(struct device *dev, void *data));
extern int device_attach(struct device *dev);
extern void device_release_driver(struct device *dev);
extern int device_reprobe(struct device *dev);
extern int driver_register(struct device_driver *driver);
extern void driver_unregister(struct device_driver *driver);
extern int driver_create_file(const struct device_driver *driver, const struct driver_attribute *attr);
extern void driver_remove_file(const struct device_driver *driver, const struct driver_attribute *attr);
extern int bus_register(const struct bus_type *bus);
extern void bus_unregister(const struct bus_type *bus);
extern int bus_for_each_dev(const struct bus_type *bus, struct device *start, void *data,
			    int (*f)(struct device *dev, void *data));
extern int class_register(const struct class *class);
extern void class_unregister(const struct class *class);
extern struct class *cmwq_shim_class_create(const char *name);
#define class_create(...) cmwq_shim_class_create(CMWQ_CLASS_NAME(__VA_ARGS__, __VA_ARGS__, 0))
#define CMWQ_CLASS_NAME(a, b, ...) b
extern void class_destroy(const struct class *class);
extern struct device *class_find_device_by_name(const struct class *class, const char *name);
extern const char *dev_driver_string(const struct device *dev);
extern const void *device_get_match_data(const struct device *dev);
extern const void *of_device_get_match_data(const struct device *dev);
extern void *devres_alloc_k(void (*release)(struct device *dev, void *data), size_t size, gfp_t gfp);
#define devres_alloc(release, size, gfp) devres_alloc_k(release, size, gfp)
extern void devres_add(struct device *dev, void *res);
extern void devres_free(void *res);
extern int devres_release(struct device *dev, void (*release)(struct device *dev, void *data),
	int (*match)(struct device *dev, void *res, void *data), void *data);
#define module_driver(driver, register_, unregister_, ...) \
	static int __init cmwq_shim_init_##driver(void) { return register_(&(driver), ##__VA_ARGS__); } \
	module_init(cmwq_shim_init_##driver); \
	static void __exit cmwq_shim_exit_##driver(void) { unregister_(&(driver), ##__VA_ARGS__); } \
	module_exit(cmwq_shim_exit_##driver)
#define builtin_driver(driver, register_) \
	static int __init cmwq_shim_init_##driver(void) { return register_(&(driver)); } \
	module_init(cmwq_shim_init_##driver)
#include <linux/module.h>

#endif
