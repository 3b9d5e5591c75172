/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_GPIO_DRIVER_H
#define CMWQ_SHIM_GPIO_DRIVER_H

/* What a chip of pins offers. A rig registers it, and calls it. */
#include <linux/device.h>
#include <linux/gpio/consumer.h>
#define GPIO_LINE_DIRECTION_OUT 0
#define GPIO_LINE_DIRECTION_IN 1
struct gpio_chip {
	const char *label;
	struct device *parent;
	struct fwnode_handle *fwnode;
	struct module *owner;
	int (*request)(struct gpio_chip *chip, unsigned int n);
	void (*free)(struct gpio_chip *chip, unsigned int n);
	int (*get_direction)(struct gpio_chip *chip, unsigned int n);
	int (*direction_input)(struct gpio_chip *chip, unsigned int n);
	int (*direction_output)(struct gpio_chip *chip, unsigned int n, int value);
	int (*get)(struct gpio_chip *chip, unsigned int n);
	void (*set)(struct gpio_chip *chip, unsigned int n, int value);
	int (*set_config)(struct gpio_chip *chip, unsigned int n, unsigned long config);
	int (*to_irq)(struct gpio_chip *chip, unsigned int n);
	int base;
	u16 ngpio;
	const char *const *names;
	bool can_sleep;
};
extern int gpiochip_add_data(struct gpio_chip *chip, void *data);
extern int devm_gpiochip_add_data(struct device *dev, struct gpio_chip *chip, void *data);
extern void *gpiochip_get_data(struct gpio_chip *chip);
extern void gpiochip_remove(struct gpio_chip *chip);

#endif
