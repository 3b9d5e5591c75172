/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_INTERRUPT_H
#define CMWQ_SHIM_INTERRUPT_H

/* Interrupts are a rig's: it calls the handlers. Tasklets are items of a BH queue. */
#include <linux/device.h>
#include <linux/irqreturn.h>
#include <linux/preempt.h>
#include <linux/hrtimer.h>
#include <linux/kref.h>
#include <linux/cpumask.h>
#include <linux/jiffies.h>
#include <linux/irqflags.h>
typedef irqreturn_t (*irq_handler_t)(int irq, void *data);
#define IRQF_TRIGGER_NONE 0
#define IRQF_TRIGGER_RISING 1
#define IRQF_TRIGGER_FALLING 2
#define IRQF_TRIGGER_HIGH 4
#define IRQF_TRIGGER_LOW 8
#define IRQF_TRIGGER_MASK 15
#define IRQF_SHARED 0x80
#define IRQF_PROBE_SHARED 0x100
#define IRQF_TIMER 0x200
#define IRQF_PERCPU 0x400
#define IRQF_NOBALANCING 0x800
#define IRQ_NOTCONNECTED (1u << 31)
enum irqchip_irq_state { IRQCHIP_STATE_PENDING, IRQCHIP_STATE_ACTIVE, IRQCHIP_STATE_MASKED,
			 IRQCHIP_STATE_LINE_LEVEL };
extern int irq_get_irqchip_state(unsigned int irq, enum irqchip_irq_state which, bool *state);
#define IRQF_ONESHOT 0x2000
#define IRQF_NO_SUSPEND 0x4000
#define IRQF_FORCE_RESUME 0x8000
#define IRQF_NO_THREAD 0x10000
#define IRQF_EARLY_RESUME 0x20000
#define IRQF_COND_SUSPEND 0x40000
#define IRQF_NO_AUTOEN 0x80000
#define IRQ_TYPE_NONE 0
#define IRQ_TYPE_EDGE_RISING 1
#define IRQ_TYPE_EDGE_FALLING 2
#define IRQ_TYPE_EDGE_BOTH 3
#define IRQ_TYPE_LEVEL_HIGH 4
#define IRQ_TYPE_LEVEL_LOW 8
extern int request_irq(unsigned int irq, irq_handler_t handler, unsigned long flags, const char *name,
		       void *data);
extern int request_threaded_irq(unsigned int irq, irq_handler_t handler, irq_handler_t thread,
				unsigned long flags, const char *name, void *data);
extern int request_any_context_irq(unsigned int irq, irq_handler_t handler, unsigned long flags,
				   const char *name, void *data);
extern int devm_request_irq(struct device *dev, unsigned int irq, irq_handler_t handler,
			    unsigned long flags, const char *name, void *data);
extern int devm_request_threaded_irq(struct device *dev, unsigned int irq, irq_handler_t handler,
	irq_handler_t thread, unsigned long flags, const char *name, void *data);
extern int devm_request_any_context_irq(struct device *dev, unsigned int irq, irq_handler_t handler,
	unsigned long flags, const char *name, void *data);
extern const void *free_irq(unsigned int irq, void *data);
extern void devm_free_irq(struct device *dev, unsigned int irq, void *data);
extern void disable_irq(unsigned int irq);
extern void disable_irq_nosync(unsigned int irq);
extern void enable_irq(unsigned int irq);
extern void synchronize_irq(unsigned int irq);
extern bool synchronize_hardirq(unsigned int irq);
extern int enable_irq_wake(unsigned int irq);
extern int disable_irq_wake(unsigned int irq);
extern int irq_set_irq_wake(unsigned int irq, unsigned int on);
extern int irq_set_irq_type(unsigned int irq, unsigned int type);
extern int irq_set_affinity_hint(unsigned int irq, const struct cpumask *mask);
DEFINE_LOCK_GUARD_1(disable_irq, int, disable_irq((unsigned int)*_T->lock), \
		    enable_irq((unsigned int)*_T->lock))

struct tasklet_struct { struct cmwq_work work; union { void (*func)(unsigned long data);
	void (*callback)(struct tasklet_struct *t); }; unsigned long data; bool use_callback; };
CMWQ_INLINE void cmwq_shim_tasklet(struct cmwq_work *work)
{
	struct tasklet_struct *t = container_of(work, struct tasklet_struct, work);

	if (t->use_callback)
		t->callback(t);
	else
		t->func(t->data);
}
#define DECLARE_TASKLET(name, f) struct tasklet_struct name = \
	{ CMWQ_WORK_INITIALIZER(cmwq_shim_tasklet), { .callback = f }, 0, true }
#define DECLARE_TASKLET_OLD(name, f) struct tasklet_struct name = \
	{ CMWQ_WORK_INITIALIZER(cmwq_shim_tasklet), { .func = f }, 0, false }
CMWQ_INLINE void tasklet_setup(struct tasklet_struct *t, void (*f)(struct tasklet_struct *t))
{
	cmwq_work_init(&t->work, cmwq_shim_tasklet);
	t->callback = f;
	t->use_callback = true;
}
CMWQ_INLINE void tasklet_init(struct tasklet_struct *t, void (*f)(unsigned long data),
			      unsigned long data)
{
	cmwq_work_init(&t->work, cmwq_shim_tasklet);
	t->func = f;
	t->data = data;
	t->use_callback = false;
}
#define tasklet_schedule(t) ((void)cmwq_queue_work(CMWQ_SYSTEM_BH, &(t)->work))
#define tasklet_hi_schedule(t) ((void)cmwq_queue_work(CMWQ_SYSTEM_BH_HIGHPRI, &(t)->work))
#define tasklet_kill(t) ((void)(cmwq_work_flush(&(t)->work), cmwq_work_cancel_sync(&(t)->work)))
#define tasklet_disable(t) ((void)cmwq_work_disable_sync(&(t)->work))
#define tasklet_disable_nosync(t) ((void)cmwq_work_disable(&(t)->work))
#define tasklet_enable(t) ((void)cmwq_work_enable(&(t)->work))
#define from_tasklet(var, callback, member) container_of(callback, __typeof__(*var), member)

#endif
