/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_RESET_H
#define CMWQ_SHIM_RESET_H

struct device; struct reset_control;
extern struct reset_control *devm_reset_control_get(struct device *dev, const char *id);
extern struct reset_control *devm_reset_control_get_optional(struct device *dev, const char *id);
extern struct reset_control *devm_reset_control_get_exclusive(struct device *dev, const char *id);
extern struct reset_control *devm_reset_control_get_optional_exclusive(struct device *dev, const char *id);
extern int reset_control_assert(struct reset_control *r);
extern int reset_control_deassert(struct reset_control *r);
extern int reset_control_reset(struct reset_control *r);

#endif
