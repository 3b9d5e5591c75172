/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_DEVM_HELPERS_H
#define CMWQ_SHIM_DEVM_HELPERS_H

#include <linux/device.h>
#include <linux/workqueue.h>
CMWQ_INLINE void cmwq_shim_cancel_work(void *work)
{
	cancel_work_sync((struct work_struct *)work);
}
CMWQ_INLINE void cmwq_shim_cancel_delayed(void *work)
{
	cancel_delayed_work_sync((struct delayed_work *)work);
}
/* Initialises an item, and cancels it when the device goes. */
CMWQ_INLINE int devm_work_autocancel(struct device *dev, struct work_struct *work,
				     work_func_t func)
{
	INIT_WORK(work, func);
	return devm_add_action(dev, cmwq_shim_cancel_work, work);
}
CMWQ_INLINE int devm_delayed_work_autocancel(struct device *dev, struct delayed_work *work,
					     work_func_t func)
{
	INIT_DELAYED_WORK(work, func);
	return devm_add_action(dev, cmwq_shim_cancel_delayed, work);
}

#endif
