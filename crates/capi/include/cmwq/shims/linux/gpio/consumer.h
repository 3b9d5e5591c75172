/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_GPIO_CONSUMER_H
#define CMWQ_SHIM_GPIO_CONSUMER_H

#include <linux/device.h>
#include <linux/property.h>
struct gpio_desc; struct gpio_descs { unsigned int ndescs; struct gpio_desc *desc[]; };
#define GPIOD_FLAGS_BIT_OPEN_DRAIN 8
enum gpiod_flags { GPIOD_ASIS = 0, GPIOD_IN = 1, GPIOD_OUT_LOW = 3, GPIOD_OUT_HIGH = 7, GPIOD_OUT_LOW_OPEN_DRAIN = 11, GPIOD_OUT_HIGH_OPEN_DRAIN = 15 };
extern struct gpio_desc *gpiod_get(struct device *dev, const char *id, enum gpiod_flags flags);
extern struct gpio_desc *gpiod_get_optional(struct device *dev, const char *id, enum gpiod_flags flags);
extern void gpiod_put(struct gpio_desc *d);
extern struct gpio_desc *devm_gpiod_get(struct device *dev, const char *id, enum gpiod_flags flags);
extern struct gpio_desc *devm_gpiod_get_optional(struct device *dev, const char *id, enum gpiod_flags flags);
extern struct gpio_desc *devm_gpiod_get_index(struct device *dev, const char *id, unsigned int n, enum gpiod_flags flags);
extern struct gpio_desc *devm_gpiod_get_index_optional(struct device *dev, const char *id, unsigned int n, enum gpiod_flags flags);
extern struct gpio_desc *devm_fwnode_gpiod_get(struct device *dev, struct fwnode_handle *f, const char *id, enum gpiod_flags flags, const char *label);
extern struct gpio_descs *devm_gpiod_get_array(struct device *dev, const char *id, enum gpiod_flags flags);
extern struct gpio_descs *devm_gpiod_get_array_optional(struct device *dev, const char *id, enum gpiod_flags flags);
extern int gpiod_get_value(const struct gpio_desc *d);
extern int gpiod_get_value_cansleep(const struct gpio_desc *d);
extern int gpiod_get_raw_value(const struct gpio_desc *d);
extern int gpiod_get_raw_value_cansleep(const struct gpio_desc *d);
extern void gpiod_set_value(struct gpio_desc *d, int v);
extern void gpiod_set_value_cansleep(struct gpio_desc *d, int v);
extern void gpiod_set_raw_value(struct gpio_desc *d, int v);
extern int gpiod_direction_input(struct gpio_desc *d);
extern int gpiod_direction_output(struct gpio_desc *d, int v);
extern int gpiod_get_direction(struct gpio_desc *d);
extern int gpiod_to_irq(const struct gpio_desc *d);
extern int gpiod_set_debounce(struct gpio_desc *d, unsigned int us);
extern int gpiod_set_consumer_name(struct gpio_desc *d, const char *name);
extern int gpiod_cansleep(const struct gpio_desc *d);
extern int gpiod_is_active_low(const struct gpio_desc *d);
extern int gpiod_count(struct device *dev, const char *id);
extern int desc_to_gpio(const struct gpio_desc *d);
extern struct gpio_desc *gpio_to_desc(unsigned int n);

#endif
