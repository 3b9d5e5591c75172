/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_OF_H
#define CMWQ_SHIM_OF_H

#include <linux/mod_devicetable.h>
#include <linux/property.h>
#include <linux/err.h>
struct device_node { const char *name, *full_name; void *data; };
struct of_phandle_args { struct device_node *np; int args_count; u32 args[16]; };
#ifdef CONFIG_OF
#define of_match_ptr(p) (p)
#else
#define of_match_ptr(p) NULL
#endif
#define of_node_get(np) (np)
#define of_node_put(np) ((void)(np))
#define of_fwnode_handle(np) ((struct fwnode_handle *)(np))
extern const void *of_get_property(const struct device_node *np, const char *name, int *length);
extern bool of_property_read_bool(const struct device_node *np, const char *name);
extern bool of_property_present(const struct device_node *np, const char *name);
extern int of_property_read_u8(const struct device_node *np, const char *name, u8 *to);
extern int of_property_read_u16(const struct device_node *np, const char *name, u16 *to);
extern int of_property_read_u32(const struct device_node *np, const char *name, u32 *to);
extern int of_property_read_s32(const struct device_node *np, const char *name, s32 *to);
extern int of_property_read_u64(const struct device_node *np, const char *name, u64 *to);
extern int of_property_read_u8_array(const struct device_node *np, const char *name, u8 *to, size_t n);
extern int of_property_read_u32_array(const struct device_node *np, const char *name, u32 *to, size_t n);
extern int of_property_read_u32_index(const struct device_node *np, const char *name, u32 at, u32 *to);
extern int of_property_read_string(const struct device_node *np, const char *name, const char **to);
extern int of_property_read_string_index(const struct device_node *np, const char *name, int n, const char **to);
extern int of_property_count_u32_elems(const struct device_node *np, const char *name);
extern int of_property_count_strings(const struct device_node *np, const char *name);
extern int of_property_count_elems_of_size(const struct device_node *np, const char *name, int size);
extern int of_property_match_string(const struct device_node *np, const char *name, const char *s);
extern struct device_node *of_get_child_by_name(const struct device_node *np, const char *name);
extern struct device_node *of_parse_phandle(const struct device_node *np, const char *name, int n);
extern int of_parse_phandle_with_args(const struct device_node *np, const char *list, const char *cells,
				      int n, struct of_phandle_args *to);
extern struct device_node *of_find_node_by_name(struct device_node *from, const char *name);
extern struct device_node *of_find_compatible_node(struct device_node *from, const char *type, const char *c);
extern struct device_node *of_get_parent(const struct device_node *np);
extern struct device_node *of_get_next_child(const struct device_node *np, struct device_node *prev);
extern struct device_node *of_get_next_available_child(const struct device_node *np, struct device_node *prev);
extern int of_get_child_count(const struct device_node *np);
extern int of_get_available_child_count(const struct device_node *np);
extern int of_device_is_available(const struct device_node *np);
extern int of_device_is_compatible(const struct device_node *np, const char *c);
extern int of_machine_is_compatible(const char *c);
extern int of_alias_get_id(struct device_node *np, const char *stem);
extern bool of_node_name_eq(const struct device_node *np, const char *name);
extern const struct of_device_id *of_match_node(const struct of_device_id *ids, const struct device_node *np);
extern const struct of_device_id *of_match_device(const struct of_device_id *ids, const struct device *dev);
extern int of_irq_get(struct device_node *np, int n);
extern int of_irq_get_byname(struct device_node *np, const char *name);
extern unsigned int irq_of_parse_and_map(struct device_node *np, int n);
extern void irq_dispose_mapping(unsigned int irq);
extern void *of_iomap(struct device_node *np, int n);
extern int of_platform_populate(struct device_node *np, const struct of_device_id *ids, const void *lookup,
				struct device *parent);
extern int devm_of_platform_populate(struct device *dev);
extern void of_platform_depopulate(struct device *dev);
struct platform_device;
extern struct platform_device *of_find_device_by_node(struct device_node *np);
#define for_each_child_of_node(parent, child) \
	for (child = of_get_next_child(parent, NULL); child; child = of_get_next_child(parent, child))
#define for_each_available_child_of_node(parent, child) \
	for (child = of_get_next_available_child(parent, NULL); child; \
	     child = of_get_next_available_child(parent, child))
#define for_each_child_of_node_scoped(parent, child) \
	for (struct device_node *child = of_get_next_child(parent, NULL); child; \
	     child = of_get_next_child(parent, child))
#define for_each_available_child_of_node_scoped(parent, child) \
	for (struct device_node *child = of_get_next_available_child(parent, NULL); child; \
	     child = of_get_next_available_child(parent, child))
DEFINE_FREE(device_node, struct device_node *, (void)_T)

#endif
