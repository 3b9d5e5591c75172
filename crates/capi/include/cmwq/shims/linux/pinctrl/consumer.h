/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_PINCTRL_CONSUMER_H
#define CMWQ_SHIM_PINCTRL_CONSUMER_H

struct device; struct pinctrl; struct pinctrl_state;
extern int pinctrl_pm_select_default_state(struct device *dev);
extern int pinctrl_pm_select_sleep_state(struct device *dev);
extern struct pinctrl *devm_pinctrl_get(struct device *dev);
extern struct pinctrl_state *pinctrl_lookup_state(struct pinctrl *p, const char *name);
extern int pinctrl_select_state(struct pinctrl *p, struct pinctrl_state *s);
#define PINCTRL_STATE_DEFAULT "default"
#define PINCTRL_STATE_SLEEP "sleep"

#endif
