/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_SYSFS_H
#define CMWQ_SHIM_SYSFS_H

#include <linux/types.h>
#include <linux/list.h>
#include <linux/stat.h>
#include <linux/sprintf.h>
#include <linux/kernel.h>
struct kobject;
struct file;
struct attribute { const char *name; umode_t mode; };
struct bin_attribute { struct attribute attr; size_t size; void *private;
	ssize_t (*read)(struct file *file, struct kobject *kobj, struct bin_attribute *attr, char *buf,
			loff_t at, size_t n);
	ssize_t (*write)(struct file *file, struct kobject *kobj, struct bin_attribute *attr, char *buf,
			 loff_t at, size_t n); };
struct attribute_group {
	const char *name;
	umode_t (*is_visible)(struct kobject *kobj, struct attribute *attr, int n);
	umode_t (*is_bin_visible)(struct kobject *kobj, const struct bin_attribute *attr, int n);
	struct attribute **attrs;
	struct bin_attribute **bin_attrs;
};
struct sysfs_ops {
	ssize_t (*show)(struct kobject *kobj, struct attribute *attr, char *buf);
	ssize_t (*store)(struct kobject *kobj, struct attribute *attr, const char *buf, size_t n);
};
#define __ATTR(name_, mode_, show_, store_) \
	{ .attr = { .name = #name_, .mode = mode_ }, .show = show_, .store = store_ }
#define __ATTR_RO(name_) { .attr = { .name = #name_, .mode = 0444 }, .show = name_##_show }
#define __ATTR_RW(name_) __ATTR(name_, 0644, name_##_show, name_##_store)
#define __ATTR_WO(name_) { .attr = { .name = #name_, .mode = 0200 }, .store = name_##_store }
#define __ATTR_NULL { .attr = { .name = NULL } }
#define __ATTRIBUTE_GROUPS(name_) \
	static const struct attribute_group *name_##_groups[] __attribute__((unused)) = { \
		&name_##_group, NULL }
#define ATTRIBUTE_GROUPS(name_) \
	static const struct attribute_group name_##_group = { .attrs = name_##_attrs }; \
	__ATTRIBUTE_GROUPS(name_)
#define BIN_ATTR(name_, mode_, read_, write_, size_) \
	struct bin_attribute bin_attr_##name_ = { .attr = { .name = #name_, .mode = mode_ }, \
		.read = read_, .write = write_, .size = size_ }
#define BIN_ATTR_RO(name_, size_) BIN_ATTR(name_, 0444, name_##_read, NULL, size_)
#define BIN_ATTR_RW(name_, size_) BIN_ATTR(name_, 0644, name_##_read, name_##_write, size_)
#define sysfs_attr_init(attr) ((void)(attr))
#define sysfs_bin_attr_init(attr) ((void)(attr))
#define sysfs_emit(buf, fmt, ...) scnprintf(buf, 4096, fmt, ##__VA_ARGS__)
#define sysfs_emit_at(buf, at, fmt, ...) scnprintf((buf) + (at), 4096 - (size_t)(at), fmt, ##__VA_ARGS__)
extern int sysfs_create_group(struct kobject *kobj, const struct attribute_group *group);
extern int sysfs_create_groups(struct kobject *kobj, const struct attribute_group **groups);
extern void sysfs_remove_group(struct kobject *kobj, const struct attribute_group *group);
extern void sysfs_remove_groups(struct kobject *kobj, const struct attribute_group **groups);
extern int sysfs_update_group(struct kobject *kobj, const struct attribute_group *group);
extern int sysfs_create_file(struct kobject *kobj, const struct attribute *attr);
extern void sysfs_remove_file(struct kobject *kobj, const struct attribute *attr);
extern int sysfs_create_files(struct kobject *kobj, const struct attribute *const *attrs);
extern void sysfs_remove_files(struct kobject *kobj, const struct attribute *const *attrs);
extern int sysfs_create_bin_file(struct kobject *kobj, const struct bin_attribute *attr);
extern void sysfs_remove_bin_file(struct kobject *kobj, const struct bin_attribute *attr);
extern int sysfs_create_link(struct kobject *kobj, struct kobject *to, const char *name);
extern void sysfs_remove_link(struct kobject *kobj, const char *name);
extern void sysfs_notify(struct kobject *kobj, const char *dir, const char *attr);

#endif
