/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_GPIO_KEYS_H
#define CMWQ_SHIM_GPIO_KEYS_H

#include <linux/types.h>
struct device;
struct gpio_keys_button { unsigned int code; int gpio, active_low; const char *desc; unsigned int type; int wakeup, wakeup_event_action, debounce_interval; bool can_disable; int value; unsigned int irq, wakeirq; };
struct gpio_keys_platform_data { const struct gpio_keys_button *buttons; int nbuttons; unsigned int poll_interval, rep:1; int (*enable)(struct device *dev); void (*disable)(struct device *dev); const char *name; };

#endif
