/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_GPIO_H
#define CMWQ_SHIM_GPIO_H

#include <linux/gpio/consumer.h>
#define gpio_is_valid(n) ((n) >= 0)
extern int gpio_request(unsigned int n, const char *label);
extern void gpio_free(unsigned int n);
extern int gpio_get_value(unsigned int n);
extern void gpio_set_value(unsigned int n, int v);
extern int gpio_get_value_cansleep(unsigned int n);
extern void gpio_set_value_cansleep(unsigned int n, int v);
extern int gpio_direction_input(unsigned int n);
extern int gpio_direction_output(unsigned int n, int v);
extern int gpio_to_irq(unsigned int n);
extern int devm_gpio_request_one(struct device *dev, unsigned int n, unsigned long flags, const char *label);
extern int devm_gpio_request(struct device *dev, unsigned int n, const char *label);
#define GPIOF_IN 1
#define GPIOF_OUT_INIT_LOW 0
#define GPIOF_OUT_INIT_HIGH 2

#endif
