/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_CLK_H
#define CMWQ_SHIM_CLK_H

#include <linux/device.h>
struct clk; struct clk_bulk_data { const char *id; struct clk *clk; };
extern struct clk *clk_get(struct device *dev, const char *id);
extern void clk_put(struct clk *c);
extern struct clk *devm_clk_get(struct device *dev, const char *id);
extern struct clk *devm_clk_get_optional(struct device *dev, const char *id);
extern struct clk *devm_clk_get_enabled(struct device *dev, const char *id);
extern struct clk *devm_clk_get_optional_enabled(struct device *dev, const char *id);
extern struct clk *devm_clk_get_prepared(struct device *dev, const char *id);
extern int devm_clk_bulk_get_all(struct device *dev, struct clk_bulk_data **c);
extern int clk_prepare(struct clk *c);
extern void clk_unprepare(struct clk *c);
extern int clk_enable(struct clk *c);
extern void clk_disable(struct clk *c);
extern int clk_prepare_enable(struct clk *c);
extern void clk_disable_unprepare(struct clk *c);
extern unsigned long clk_get_rate(struct clk *c);
extern int clk_set_rate(struct clk *c, unsigned long rate);
extern long clk_round_rate(struct clk *c, unsigned long rate);

#endif
