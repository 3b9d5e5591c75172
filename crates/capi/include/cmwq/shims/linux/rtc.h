/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_RTC_H
#define CMWQ_SHIM_RTC_H

#include <linux/device.h>
#include <linux/interrupt.h>
#include_next <linux/rtc.h>
struct rtc_device; struct rtc_class_ops { int (*ioctl)(struct device *dev, unsigned int cmd, unsigned long arg); int (*read_time)(struct device *dev, struct rtc_time *t); int (*set_time)(struct device *dev, struct rtc_time *t); int (*read_alarm)(struct device *dev, struct rtc_wkalrm *a); int (*set_alarm)(struct device *dev, struct rtc_wkalrm *a); int (*alarm_irq_enable)(struct device *dev, unsigned int on); };
struct rtc_device { struct device dev; const struct rtc_class_ops *ops; struct mutex ops_lock; time64_t range_min; u64 range_max; struct work_struct irqwork; };
#define to_rtc_device(d) container_of(d, struct rtc_device, dev)
extern struct rtc_device *devm_rtc_allocate_device(struct device *dev);
extern int devm_rtc_register_device(struct rtc_device *rtc);
extern void rtc_update_irq(struct rtc_device *rtc, unsigned long n, unsigned long events);
extern int rtc_valid_tm(struct rtc_time *t);
extern void rtc_time64_to_tm(time64_t time, struct rtc_time *t);
extern time64_t rtc_tm_to_time64(struct rtc_time *t);

#endif
