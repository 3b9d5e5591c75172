/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_CDEV_H
#define CMWQ_SHIM_CDEV_H

#include <linux/fs.h>
#include <linux/kobject.h>
#include <linux/device.h>
struct cdev { struct kobject kobj; struct module *owner; const struct file_operations *ops;
	      struct list_head list; dev_t dev; unsigned int count; };
extern void cdev_init(struct cdev *cdev, const struct file_operations *fops);
extern struct cdev *cdev_alloc(void);
extern int cdev_add(struct cdev *cdev, dev_t dev, unsigned int n);
extern void cdev_del(struct cdev *cdev);
extern int cdev_device_add(struct cdev *cdev, struct device *dev);
extern void cdev_device_del(struct cdev *cdev, struct device *dev);

#endif
