/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_EXTCON_H
#define CMWQ_SHIM_EXTCON_H

#include <linux/device.h>
#include <linux/notifier.h>
#define EXTCON_NONE 0
#define EXTCON_USB 1
#define EXTCON_USB_HOST 2
#define EXTCON_CHG_USB_SDP 5
#define EXTCON_CHG_USB_DCP 6
#define EXTCON_CHG_USB_CDP 7
#define EXTCON_CHG_USB_ACA 8
#define EXTCON_CHG_USB_FAST 9
#define EXTCON_CHG_USB_SLOW 10
#define EXTCON_CHG_WPT 11
#define EXTCON_CHG_USB_PD 12
#define EXTCON_JACK_MICROPHONE 20
#define EXTCON_JACK_HEADPHONE 21
#define EXTCON_JACK_LINE_OUT 23
#define EXTCON_DISP_HDMI 40
#define EXTCON_DISP_MHL 41
#define EXTCON_DISP_DP 44
#define EXTCON_DOCK 60
#define EXTCON_JIG 61
#define EXTCON_MECHANICAL 62
#define EXTCON_PROP_USB_VBUS 0
#define EXTCON_PROP_USB_TYPEC_POLARITY 1
#define EXTCON_PROP_USB_SS 2
union extcon_property_value { int intval; };
struct extcon_dev;
extern struct extcon_dev *devm_extcon_dev_allocate(struct device *dev, const unsigned int *cable);
extern int devm_extcon_dev_register(struct device *dev, struct extcon_dev *e);
extern int extcon_set_state(struct extcon_dev *e, unsigned int id, bool state);
extern int extcon_set_state_sync(struct extcon_dev *e, unsigned int id, bool state);
extern int extcon_get_state(struct extcon_dev *e, unsigned int id);
extern int extcon_sync(struct extcon_dev *e, unsigned int id);
extern int extcon_set_property(struct extcon_dev *e, unsigned int id, unsigned int p, union extcon_property_value v);
extern int extcon_get_property(struct extcon_dev *e, unsigned int id, unsigned int p, union extcon_property_value *v);
extern int extcon_set_property_capability(struct extcon_dev *e, unsigned int id, unsigned int p);
extern struct extcon_dev *extcon_get_edev_by_phandle(struct device *dev, int n);
extern struct extcon_dev *extcon_get_extcon_dev(const char *name);
extern int devm_extcon_register_notifier(struct device *dev, struct extcon_dev *e, unsigned int id, struct notifier_block *nb);
extern int devm_extcon_register_notifier_all(struct device *dev, struct extcon_dev *e, struct notifier_block *nb);
extern int extcon_register_notifier(struct extcon_dev *e, unsigned int id, struct notifier_block *nb);
extern int extcon_unregister_notifier(struct extcon_dev *e, unsigned int id, struct notifier_block *nb);

#endif
