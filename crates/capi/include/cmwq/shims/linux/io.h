/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_IO_H
#define CMWQ_SHIM_IO_H

#include <linux/types.h>
#include <linux/ioport.h>
#include <linux/err.h>
#include <asm/byteorder.h>
#define CMWQ_IO(type, p) (*(volatile type *)(unsigned long)(p))
#define readb(p) CMWQ_IO(u8, p)
#define readw(p) CMWQ_IO(u16, p)
#define readl(p) CMWQ_IO(u32, p)
#define readq(p) CMWQ_IO(u64, p)
#define writeb(v, p) ((void)(CMWQ_IO(u8, p) = (u8)(v)))
#define writew(v, p) ((void)(CMWQ_IO(u16, p) = (u16)(v)))
#define writel(v, p) ((void)(CMWQ_IO(u32, p) = (u32)(v)))
#define writeq(v, p) ((void)(CMWQ_IO(u64, p) = (u64)(v)))
#define readb_relaxed readb
#define readw_relaxed readw
#define readl_relaxed readl
#define readq_relaxed readq
#define writeb_relaxed writeb
#define writew_relaxed writew
#define writel_relaxed writel
#define writeq_relaxed writeq
#define __raw_readb readb
#define __raw_readw readw
#define __raw_readl readl
#define __raw_writeb writeb
#define __raw_writew writew
#define __raw_writel writel
#define ioread8 readb
#define ioread16 readw
#define ioread32 readl
#define iowrite8 writeb
#define iowrite16 writew
#define iowrite32 writel
#define ioread16be(p) be16_to_cpu(readw(p))
#define ioread32be(p) be32_to_cpu(readl(p))
#define iowrite16be(v, p) writew(cpu_to_be16(v), p)
#define iowrite32be(v, p) writel(cpu_to_be32(v), p)
#define memcpy_fromio(to, from, n) ((void)__builtin_memcpy(to, (const void *)(from), n))
#define memcpy_toio(to, from, n) ((void)__builtin_memcpy((void *)(to), from, n))
#define memset_io(p, c, n) ((void)__builtin_memset((void *)(p), c, n))
struct device;
extern void *ioremap(phys_addr_t at, size_t n);
extern void *ioremap_wc(phys_addr_t at, size_t n);
extern void iounmap(volatile void *p);
extern void *memremap(phys_addr_t at, size_t n, unsigned long flags);
extern void memunmap(void *p);
extern void *devm_ioremap(struct device *dev, resource_size_t at, resource_size_t n);
extern void *devm_ioremap_resource(struct device *dev, const struct resource *res);
extern u8 inb(unsigned long port);
extern u16 inw(unsigned long port);
extern u32 inl(unsigned long port);
extern void outb(u8 v, unsigned long port);
extern void outw(u16 v, unsigned long port);
extern void outl(u32 v, unsigned long port);
extern phys_addr_t virt_to_phys(volatile void *p);
#define MEMREMAP_WB 1
#define MEMREMAP_WC 4

#endif
