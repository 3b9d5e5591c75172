/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_PLATFORM_DEVICE_H
#define CMWQ_SHIM_PLATFORM_DEVICE_H

#include <linux/device.h>
#include <linux/ioport.h>
struct mfd_cell;
struct platform_device { const char *name; int id; bool id_auto; struct device dev; u32 num_resources;
	struct resource *resource; const struct platform_device_id *id_entry;
	const struct mfd_cell *mfd_cell; };
struct platform_driver { int (*probe)(struct platform_device *pdev);
	union { void (*remove)(struct platform_device *pdev); void (*remove_new)(struct platform_device *pdev); };
	void (*shutdown)(struct platform_device *pdev);
	int (*suspend)(struct platform_device *pdev, pm_message_t state);
	int (*resume)(struct platform_device *pdev);
	struct device_driver driver; const struct platform_device_id *id_table;
	bool prevent_deferred_probe, driver_managed_dma; };
struct platform_device_info { struct device *parent; struct fwnode_handle *fwnode; const char *name;
	int id; const struct resource *res; unsigned int num_res; const void *data; size_t size_data;
	u64 dma_mask; };
#define PLATFORM_DEVID_NONE (-1)
#define PLATFORM_DEVID_AUTO (-2)
#define to_platform_device(d) container_of((d), struct platform_device, dev)
#define to_platform_driver(d) container_of((d), struct platform_driver, driver)
#define platform_get_drvdata(pdev) dev_get_drvdata(&(pdev)->dev)
#define platform_set_drvdata(pdev, data) dev_set_drvdata(&(pdev)->dev, data)
#define platform_get_device_id(pdev) ((pdev)->id_entry)
extern int platform_driver_register(struct platform_driver *driver);
extern void platform_driver_unregister(struct platform_driver *driver);
extern int platform_device_register(struct platform_device *pdev);
extern void platform_device_unregister(struct platform_device *pdev);
extern struct platform_device *platform_device_register_simple(const char *name, int id,
	const struct resource *res, unsigned int n);
extern struct platform_device *platform_device_register_data(struct device *parent, const char *name,
	int id, const void *data, size_t size);
extern struct platform_device *platform_device_register_full(const struct platform_device_info *info);
extern struct platform_device *platform_device_register_resndata(struct device *parent,
	const char *name, int id, const struct resource *res, unsigned int n, const void *data, size_t size);
extern struct platform_device *platform_device_alloc(const char *name, int id);
extern int platform_device_add(struct platform_device *pdev);
extern void platform_device_del(struct platform_device *pdev);
extern void platform_device_put(struct platform_device *pdev);
extern int platform_device_add_data(struct platform_device *pdev, const void *data, size_t size);
extern int platform_device_add_resources(struct platform_device *pdev, const struct resource *res,
					 unsigned int n);
extern struct resource *platform_get_resource(struct platform_device *pdev, unsigned int type,
					      unsigned int n);
extern struct resource *platform_get_resource_byname(struct platform_device *pdev, unsigned int type,
						     const char *name);
extern int platform_get_irq(struct platform_device *pdev, unsigned int n);
extern int platform_get_irq_optional(struct platform_device *pdev, unsigned int n);
extern int platform_get_irq_byname(struct platform_device *pdev, const char *name);
extern int platform_get_irq_byname_optional(struct platform_device *pdev, const char *name);
extern int platform_irq_count(struct platform_device *pdev);
extern void *devm_platform_ioremap_resource(struct platform_device *pdev, unsigned int n);
extern void *devm_platform_ioremap_resource_byname(struct platform_device *pdev, const char *name);
extern void *devm_platform_get_and_ioremap_resource(struct platform_device *pdev, unsigned int n,
						    struct resource **res);
extern int cmwq_shim_platform_probe(struct platform_driver *driver,
				    int (*probe)(struct platform_device *pdev));
#define platform_driver_probe cmwq_shim_platform_probe
#define module_platform_driver(driver) \
	module_driver(driver, platform_driver_register, platform_driver_unregister)
#define builtin_platform_driver(driver) builtin_driver(driver, platform_driver_register)
#define module_platform_driver_probe(driver, probe) \
	static int __init cmwq_shim_init_##driver(void) { return platform_driver_probe(&(driver), probe); } \
	module_init(cmwq_shim_init_##driver); \
	static void __exit cmwq_shim_exit_##driver(void) { platform_driver_unregister(&(driver)); } \
	module_exit(cmwq_shim_exit_##driver)

#endif
