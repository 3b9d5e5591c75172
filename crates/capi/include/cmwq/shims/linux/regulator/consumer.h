/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_REGULATOR_CONSUMER_H
#define CMWQ_SHIM_REGULATOR_CONSUMER_H

#include <linux/device.h>
#include <linux/notifier.h>
struct regulator;
struct regulator_bulk_data { const char *supply; struct regulator *consumer; int init_load_uA; };
extern struct regulator *regulator_get(struct device *dev, const char *id);
extern struct regulator *regulator_get_optional(struct device *dev, const char *id);
extern void regulator_put(struct regulator *r);
extern struct regulator *devm_regulator_get(struct device *dev, const char *id);
extern struct regulator *devm_regulator_get_optional(struct device *dev, const char *id);
extern struct regulator *devm_regulator_get_exclusive(struct device *dev, const char *id);
extern int devm_regulator_get_enable(struct device *dev, const char *id);
extern int devm_regulator_get_enable_optional(struct device *dev, const char *id);
extern int devm_regulator_bulk_get(struct device *dev, int n, struct regulator_bulk_data *c);
extern int devm_regulator_bulk_get_enable(struct device *dev, int n, const char *const *id);
extern int regulator_bulk_enable(int n, struct regulator_bulk_data *c);
extern int regulator_bulk_disable(int n, struct regulator_bulk_data *c);
extern int regulator_enable(struct regulator *r);
extern int regulator_disable(struct regulator *r);
extern int regulator_is_enabled(struct regulator *r);
extern int regulator_set_voltage(struct regulator *r, int min, int max);
extern int regulator_get_voltage(struct regulator *r);
extern int regulator_set_current_limit(struct regulator *r, int min, int max);
extern int regulator_get_current_limit(struct regulator *r);
extern int regulator_set_load(struct regulator *r, int load);
extern int regulator_register_notifier(struct regulator *r, struct notifier_block *nb);
extern int regulator_unregister_notifier(struct regulator *r, struct notifier_block *nb);
#define REGULATOR_EVENT_UNDER_VOLTAGE 0x01
#define REGULATOR_EVENT_OVER_CURRENT 0x02
#define REGULATOR_EVENT_REGULATION_OUT 0x04
#define REGULATOR_EVENT_FAIL 0x08
#define REGULATOR_EVENT_OVER_TEMP 0x10
#define REGULATOR_EVENT_FORCE_DISABLE 0x20
#define REGULATOR_EVENT_VOLTAGE_CHANGE 0x40
#define REGULATOR_EVENT_DISABLE 0x80
#define REGULATOR_EVENT_ENABLE 0x1000
extern int devm_regulator_register_notifier(struct regulator *r, struct notifier_block *nb);

#endif
