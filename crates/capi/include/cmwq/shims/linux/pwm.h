/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_PWM_H
#define CMWQ_SHIM_PWM_H

#include <linux/device.h>
#include <linux/err.h>
enum pwm_polarity { PWM_POLARITY_NORMAL, PWM_POLARITY_INVERSED };
struct pwm_args { u64 period; enum pwm_polarity polarity; };
struct pwm_state { u64 period, duty_cycle; enum pwm_polarity polarity; bool enabled, usage_power; };
struct pwm_device { const char *label; struct pwm_args args; struct pwm_state state; };
#define pwm_get_args(p, a) ((void)(*(a) = (p)->args))
#define pwm_get_state(p, s) ((void)(*(s) = (p)->state))
#define pwm_init_state(p, s) ((s)->period = (p)->args.period, (s)->duty_cycle = 0, (void)((s)->polarity = (p)->args.polarity))
#define pwm_get_period(p) ((p)->state.period)
#define pwm_get_duty_cycle(p) ((p)->state.duty_cycle)
#define pwm_is_enabled(p) ((p)->state.enabled)
#define pwm_set_relative_duty_cycle(s, d, scale) ((s)->duty_cycle = (s)->period * (d) / (scale), 0)
extern struct pwm_device *pwm_get(struct device *dev, const char *id);
extern void pwm_put(struct pwm_device *p);
extern struct pwm_device *devm_pwm_get(struct device *dev, const char *id);
extern struct pwm_device *devm_fwnode_pwm_get(struct device *dev, struct fwnode_handle *f, const char *id);
extern int pwm_apply_might_sleep(struct pwm_device *p, const struct pwm_state *s);
extern int pwm_apply_atomic(struct pwm_device *p, const struct pwm_state *s);
extern int pwm_config(struct pwm_device *p, int duty, int period);
extern int pwm_enable(struct pwm_device *p);
extern void pwm_disable(struct pwm_device *p);
extern void pwm_adjust_config(struct pwm_device *p);
extern bool pwm_might_sleep(struct pwm_device *p);

#endif
