/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_MISCDEVICE_H
#define CMWQ_SHIM_MISCDEVICE_H

#include <linux/device.h>
#include <linux/fs.h>
#define MISC_DYNAMIC_MINOR 255
#define WATCHDOG_MINOR 130
#define LCD_MINOR 156
#define HWRNG_MINOR 183
struct miscdevice { int minor; const char *name; const struct file_operations *fops;
	struct list_head list; struct device *parent, *this_device;
	const struct attribute_group **groups; const char *nodename; umode_t mode; };
extern int misc_register(struct miscdevice *misc);
extern void misc_deregister(struct miscdevice *misc);
#define module_misc_device(misc) module_driver(misc, misc_register, misc_deregister)

#endif
