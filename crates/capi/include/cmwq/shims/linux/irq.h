/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_IRQ_H
#define CMWQ_SHIM_IRQ_H

#include <linux/interrupt.h>
struct irq_data { unsigned int irq; unsigned long hwirq; void *chip_data; };
extern struct irq_data *irq_get_irq_data(unsigned int irq);
extern unsigned int irqd_get_trigger_type(struct irq_data *data);
extern unsigned int irq_get_trigger_type(unsigned int irq);
extern void irq_set_status_flags(unsigned int irq, unsigned long set);
extern void irq_clear_status_flags(unsigned int irq, unsigned long clear);
#define IRQ_NOAUTOEN (1 << 12)
#define IRQ_NOREQUEST (1 << 11)

#endif
