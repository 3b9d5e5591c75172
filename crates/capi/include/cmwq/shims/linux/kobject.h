/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_KOBJECT_H
#define CMWQ_SHIM_KOBJECT_H

#include <linux/kref.h>
#include <linux/sysfs.h>
struct kset;
struct kobj_type {
	void (*release)(struct kobject *kobj);
	const struct sysfs_ops *sysfs_ops;
	const struct attribute_group **default_groups;
};
struct kobject {
	const char *name;
	struct list_head entry;
	struct kobject *parent;
	struct kset *kset;
	const struct kobj_type *ktype;
	struct kref kref;
};
struct kobj_uevent_env { char *envp[64]; int envp_idx; char buf[2048]; int buflen; };
struct kobj_attribute {
	struct attribute attr;
	ssize_t (*show)(struct kobject *kobj, struct kobj_attribute *attr, char *buf);
	ssize_t (*store)(struct kobject *kobj, struct kobj_attribute *attr, const char *buf, size_t n);
};
enum kobject_action { KOBJ_ADD, KOBJ_REMOVE, KOBJ_CHANGE, KOBJ_MOVE, KOBJ_ONLINE, KOBJ_OFFLINE };
#define kobject_name(kobj) ((kobj)->name)
#define kobject_init(kobj, type) ((kobj)->ktype = (type), kref_init(&(kobj)->kref))
extern struct kobject *kernel_kobj;
extern int kobject_init_and_add(struct kobject *kobj, const struct kobj_type *type,
				struct kobject *parent, const char *fmt, ...);
extern struct kobject *kobject_create_and_add(const char *name, struct kobject *parent);
extern struct kobject *kobject_get(struct kobject *kobj);
extern void kobject_put(struct kobject *kobj);
extern void kobject_del(struct kobject *kobj);
extern int kobject_uevent(struct kobject *kobj, enum kobject_action action);
extern int kobject_uevent_env(struct kobject *kobj, enum kobject_action action, char *envp[]);
extern int add_uevent_var(struct kobj_uevent_env *env, const char *fmt, ...);

#endif
