/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_REGMAP_H
#define CMWQ_SHIM_REGMAP_H

#include <linux/device.h>
#include <linux/bug.h>
#include <linux/iopoll.h>
struct regmap; struct regmap_field; struct regmap_irq_chip_data; struct i2c_client; struct spi_device;
struct reg_default { unsigned int reg, def; };
struct reg_sequence { unsigned int reg, def, delay_us; };
#define REG_SEQ(r, d, us) { .reg = r, .def = d, .delay_us = us }
#define REG_SEQ0(r, d) REG_SEQ(r, d, 0)
enum regcache_type { REGCACHE_NONE, REGCACHE_RBTREE, REGCACHE_FLAT, REGCACHE_MAPLE };
enum regmap_endian { REGMAP_ENDIAN_DEFAULT, REGMAP_ENDIAN_BIG, REGMAP_ENDIAN_LITTLE, REGMAP_ENDIAN_NATIVE };
struct regmap_range { unsigned int range_min, range_max; };
#define regmap_reg_range(low, high) { .range_min = low, .range_max = high }
struct regmap_access_table { const struct regmap_range *yes_ranges; unsigned int n_yes_ranges; const struct regmap_range *no_ranges; unsigned int n_no_ranges; };
struct regmap_range_cfg { const char *name; unsigned int range_min, range_max, selector_reg, selector_mask; int selector_shift; unsigned int window_start, window_len; };
struct regmap_config { const char *name; int reg_bits, reg_stride, reg_shift, pad_bits, val_bits; unsigned int reg_base;
	bool (*writeable_reg)(struct device *dev, unsigned int reg); bool (*readable_reg)(struct device *dev, unsigned int reg);
	bool (*volatile_reg)(struct device *dev, unsigned int reg); bool (*precious_reg)(struct device *dev, unsigned int reg);
	bool disable_locking; void (*lock)(void *arg); void (*unlock)(void *arg); void *lock_arg;
	int (*reg_read)(void *context, unsigned int reg, unsigned int *val); int (*reg_write)(void *context, unsigned int reg, unsigned int val);
	bool fast_io, can_sleep; unsigned int max_register; const struct regmap_access_table *wr_table, *rd_table, *volatile_table, *precious_table;
	const struct reg_default *reg_defaults; unsigned int num_reg_defaults; enum regcache_type cache_type; const void *reg_defaults_raw; unsigned int num_reg_defaults_raw;
	unsigned long read_flag_mask, write_flag_mask; bool use_single_read, use_single_write; enum regmap_endian reg_format_endian, val_format_endian;
	const struct regmap_range_cfg *ranges; unsigned int num_ranges; };
struct regmap_irq { unsigned int reg_offset, mask; };
#define REGMAP_IRQ_REG(irq, off, mask_) [irq] = { .reg_offset = (off), .mask = (mask_) }
struct regmap_irq_chip { const char *name; unsigned int status_base, mask_base, unmask_base, ack_base, wake_base; int num_regs; const struct regmap_irq *irqs; int num_irqs; bool init_ack_masked, mask_unmask_non_inverted; };
extern struct regmap *devm_regmap_init_i2c(struct i2c_client *c, const struct regmap_config *config);
extern struct regmap *devm_regmap_init_spi(struct spi_device *s, const struct regmap_config *config);
extern struct regmap *devm_regmap_init_mmio(struct device *dev, void *regs, const struct regmap_config *config);
extern struct regmap *dev_get_regmap(struct device *dev, const char *name);
extern int regmap_read(struct regmap *map, unsigned int reg, unsigned int *val);
extern int regmap_write(struct regmap *map, unsigned int reg, unsigned int val);
extern int regmap_bulk_read(struct regmap *map, unsigned int reg, void *val, size_t n);
extern int regmap_bulk_write(struct regmap *map, unsigned int reg, const void *val, size_t n);
extern int regmap_raw_read(struct regmap *map, unsigned int reg, void *val, size_t n);
extern int regmap_raw_write(struct regmap *map, unsigned int reg, const void *val, size_t n);
extern int regmap_noinc_read(struct regmap *map, unsigned int reg, void *val, size_t n);
extern int regmap_update_bits(struct regmap *map, unsigned int reg, unsigned int mask, unsigned int val);
extern int regmap_update_bits_check(struct regmap *map, unsigned int reg, unsigned int mask, unsigned int val, bool *change);
extern int regmap_write_bits(struct regmap *map, unsigned int reg, unsigned int mask, unsigned int val);
extern int regmap_set_bits(struct regmap *map, unsigned int reg, unsigned int bits);
extern int regmap_clear_bits(struct regmap *map, unsigned int reg, unsigned int bits);
extern int regmap_test_bits(struct regmap *map, unsigned int reg, unsigned int bits);
extern int regmap_multi_reg_write(struct regmap *map, const struct reg_sequence *regs, int n);
extern int regmap_register_patch(struct regmap *map, const struct reg_sequence *regs, int n);
extern int regcache_sync(struct regmap *map);
extern void regcache_cache_only(struct regmap *map, bool on);
extern void regcache_mark_dirty(struct regmap *map);
extern int devm_regmap_add_irq_chip(struct device *dev, struct regmap *map, int irq, int flags, int base, const struct regmap_irq_chip *chip, struct regmap_irq_chip_data **data);
extern int regmap_irq_get_virq(struct regmap_irq_chip_data *data, int irq);
extern struct device *regmap_get_device(struct regmap *map);
#define regmap_read_poll_timeout(map, reg, val, cond, s, t) ({ int e_; int r_ = read_poll_timeout(regmap_read, e_, e_ || (cond), s, t, false, map, reg, &(val)); e_ ? e_ : r_; })
struct reg_field { unsigned int reg, lsb, msb, id_size, id_offset; };
#define REG_FIELD(r, l, m) { .reg = r, .lsb = l, .msb = m }
extern struct regmap_field *devm_regmap_field_alloc(struct device *dev, struct regmap *map, struct reg_field f);
extern int devm_regmap_field_bulk_alloc(struct device *dev, struct regmap *map, struct regmap_field **f, const struct reg_field *r, int n);
extern int regmap_field_read(struct regmap_field *f, unsigned int *val);
extern int regmap_field_write(struct regmap_field *f, unsigned int val);
extern int regmap_field_update_bits(struct regmap_field *f, unsigned int mask, unsigned int val);

#endif
