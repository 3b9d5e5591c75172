/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_SERIO_H
#define CMWQ_SHIM_SERIO_H

#include <linux/interrupt.h>
#include <linux/device.h>
#include_next <linux/serio.h>
struct serio_driver;
struct serio { void *port_data; char name[32], phys[32]; struct serio_device_id id; spinlock_t lock;
	int (*write)(struct serio *serio, unsigned char c); int (*open)(struct serio *serio); void (*close)(struct serio *serio);
	int (*start)(struct serio *serio); void (*stop)(struct serio *serio); struct serio *parent; struct serio_driver *drv; struct mutex drv_mutex; struct device dev; bool manual_bind; };
struct serio_driver { const char *description; const struct serio_device_id *id_table; bool manual_bind; void (*write_wakeup)(struct serio *serio);
	irqreturn_t (*interrupt)(struct serio *serio, unsigned char c, unsigned int flags); int (*connect)(struct serio *serio, struct serio_driver *drv);
	int (*reconnect)(struct serio *serio); int (*fast_reconnect)(struct serio *serio); void (*disconnect)(struct serio *serio); void (*cleanup)(struct serio *serio); struct device_driver driver; };
#define serio_get_drvdata(s) dev_get_drvdata(&(s)->dev)
#define serio_set_drvdata(s, data) dev_set_drvdata(&(s)->dev, data)
#define serio_write(s, c) ((s)->write ? (s)->write(s, c) : -1)
#define serio_pause_rx(s) spin_lock_irq(&(s)->lock)
#define serio_continue_rx(s) spin_unlock_irq(&(s)->lock)
extern int serio_open(struct serio *serio, struct serio_driver *drv);
extern void serio_close(struct serio *serio);
extern void serio_rescan(struct serio *serio);
extern void serio_reconnect(struct serio *serio);
extern void serio_register_port(struct serio *serio);
extern void serio_unregister_port(struct serio *serio);
extern irqreturn_t serio_interrupt(struct serio *serio, unsigned char data, unsigned int flags);
extern int serio_register_driver(struct serio_driver *drv);
extern void serio_unregister_driver(struct serio_driver *drv);
#define module_serio_driver(drv) module_driver(drv, serio_register_driver, serio_unregister_driver)

#endif
