/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_PROPERTY_H
#define CMWQ_SHIM_PROPERTY_H

#include <linux/device.h>
#include <linux/cleanup.h>
struct fwnode_handle { struct fwnode_handle *secondary; struct device *dev; };
struct property_entry { const char *name; size_t length; u64 value; };
#define PROPERTY_ENTRY_U32(n, v) { .name = n, .value = v }
#define PROPERTY_ENTRY_BOOL(n) { .name = n }
#define PROPERTY_ENTRY_STRING(n, s) { .name = n, .value = (u64)(unsigned long)(s) }
#define CMWQ_PROPERTIES(prefix, holder) \
	extern bool prefix##_read_bool(const holder *of, const char *name); \
	extern bool prefix##_present(const holder *of, const char *name); \
	extern int prefix##_read_u8(const holder *of, const char *name, u8 *to); \
	extern int prefix##_read_u16(const holder *of, const char *name, u16 *to); \
	extern int prefix##_read_u32(const holder *of, const char *name, u32 *to); \
	extern int prefix##_read_u64(const holder *of, const char *name, u64 *to); \
	extern int prefix##_read_u8_array(const holder *of, const char *name, u8 *to, size_t n); \
	extern int prefix##_read_u16_array(const holder *of, const char *name, u16 *to, size_t n); \
	extern int prefix##_read_u32_array(const holder *of, const char *name, u32 *to, size_t n); \
	extern int prefix##_read_u64_array(const holder *of, const char *name, u64 *to, size_t n); \
	extern int prefix##_read_string(const holder *of, const char *name, const char **to); \
	extern int prefix##_read_string_array(const holder *of, const char *name, const char **to, size_t n); \
	extern int prefix##_string_array_count(const holder *of, const char *name); \
	extern int prefix##_match_string(const holder *of, const char *name, const char *s); \
	extern int prefix##_count_u32(const holder *of, const char *name); \
	extern int prefix##_count_u16(const holder *of, const char *name); \
	extern int prefix##_count_u8(const holder *of, const char *name);
CMWQ_PROPERTIES(device_property, struct device)
CMWQ_PROPERTIES(fwnode_property, struct fwnode_handle)
extern unsigned int device_get_child_node_count(const struct device *dev);
extern struct fwnode_handle *device_get_next_child_node(const struct device *dev, struct fwnode_handle *at);
extern struct fwnode_handle *device_get_named_child_node(const struct device *dev, const char *name);
extern struct fwnode_handle *fwnode_handle_get(struct fwnode_handle *node);
extern void fwnode_handle_put(struct fwnode_handle *node);
extern int fwnode_irq_get(const struct fwnode_handle *node, unsigned int n);
extern const char *fwnode_get_name(const struct fwnode_handle *node);
extern struct fwnode_handle *fwnode_find_reference(const struct fwnode_handle *node, const char *name, unsigned int n);
extern bool is_of_node(const struct fwnode_handle *node);
extern bool is_acpi_device_node(const struct fwnode_handle *node);
#define to_of_node(node) ((struct device_node *)(node))
extern int device_create_managed_software_node(struct device *dev, const struct property_entry *p, const void *up);
#define device_for_each_child_node(dev, child) \
	for (child = device_get_next_child_node(dev, NULL); child; child = device_get_next_child_node(dev, child))
#define device_for_each_child_node_scoped(dev, child) \
	for (struct fwnode_handle *child = device_get_next_child_node(dev, NULL); child; \
	     child = device_get_next_child_node(dev, child))
DEFINE_FREE(fwnode_handle, struct fwnode_handle *, fwnode_handle_put(_T))

#endif
