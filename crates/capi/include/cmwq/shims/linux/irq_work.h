/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_IRQ_WORK_H
#define CMWQ_SHIM_IRQ_WORK_H

#include <linux/types.h>
#include <linux/container_of.h>
#include "../../../cmwq.h"
struct irq_work { struct cmwq_work work; void (*func)(struct irq_work *work); };
CMWQ_INLINE void cmwq_shim_irq_work(struct cmwq_work *work)
{
	struct irq_work *of = container_of(work, struct irq_work, work);

	of->func(of);
}
#define DEFINE_IRQ_WORK(name, f) struct irq_work name = { CMWQ_WORK_INITIALIZER(cmwq_shim_irq_work), f }
#define IRQ_WORK_INIT(f) { CMWQ_WORK_INITIALIZER(cmwq_shim_irq_work), f }
#define init_irq_work(w, f) (cmwq_work_init(&(w)->work, cmwq_shim_irq_work), (void)((w)->func = (f)))
#define irq_work_queue(w) ({ bool was_ = cmwq_queue_work(CMWQ_SYSTEM_BH_HIGHPRI, &(w)->work) > 0; was_; })
#define irq_work_queue_on(w, cpu) ({ bool was_ = cmwq_queue_work_on(cpu, CMWQ_SYSTEM_BH_HIGHPRI, &(w)->work) > 0; was_; })
#define irq_work_sync(w) ((void)cmwq_work_flush(&(w)->work))

#endif
