/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_IOPORT_H
#define CMWQ_SHIM_IOPORT_H

#include <linux/types.h>
struct resource { resource_size_t start, end; const char *name; unsigned long flags, desc;
		  struct resource *parent, *sibling, *child; };
#define IORESOURCE_IO 0x100
#define IORESOURCE_MEM 0x200
#define IORESOURCE_REG 0x300
#define IORESOURCE_IRQ 0x400
#define IORESOURCE_DMA 0x800
#define IORESOURCE_IRQ_HIGHEDGE 1
#define IORESOURCE_IRQ_LOWEDGE 2
#define resource_size(r) ((r)->end - (r)->start + 1)
#define resource_type(r) ((r)->flags & 0x1f00)
#define DEFINE_RES_NAMED(start_, size_, name_, flags_) \
	{ .start = (start_), .end = (start_) + (size_) - 1, .name = (name_), .flags = (flags_) }
#define DEFINE_RES_MEM(s, n) DEFINE_RES_NAMED(s, n, NULL, IORESOURCE_MEM)
#define DEFINE_RES_MEM_NAMED(s, n, name) DEFINE_RES_NAMED(s, n, name, IORESOURCE_MEM)
#define DEFINE_RES_IRQ(n) DEFINE_RES_NAMED(n, 1, NULL, IORESOURCE_IRQ)
#define DEFINE_RES_IRQ_NAMED(n, name) DEFINE_RES_NAMED(n, 1, name, IORESOURCE_IRQ)
extern struct resource *request_mem_region(resource_size_t start, resource_size_t n, const char *name);
extern void release_mem_region(resource_size_t start, resource_size_t n);
extern struct resource *request_region(resource_size_t start, resource_size_t n, const char *name);
extern void release_region(resource_size_t start, resource_size_t n);
struct device;
extern struct resource *devm_request_mem_region(struct device *dev, resource_size_t start,
						resource_size_t n, const char *name);
extern struct resource *devm_request_region(struct device *dev, resource_size_t start,
					    resource_size_t n, const char *name);

#endif
