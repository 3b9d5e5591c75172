/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_POWER_SUPPLY_H
#define CMWQ_SHIM_POWER_SUPPLY_H

#include <linux/device.h>
#include <linux/leds.h>
#include <linux/notifier.h>
#include <linux/workqueue.h>
enum { POWER_SUPPLY_STATUS_UNKNOWN, POWER_SUPPLY_STATUS_CHARGING, POWER_SUPPLY_STATUS_DISCHARGING, POWER_SUPPLY_STATUS_NOT_CHARGING, POWER_SUPPLY_STATUS_FULL };
enum power_supply_charge_type { POWER_SUPPLY_CHARGE_TYPE_UNKNOWN, POWER_SUPPLY_CHARGE_TYPE_NONE, POWER_SUPPLY_CHARGE_TYPE_TRICKLE, POWER_SUPPLY_CHARGE_TYPE_FAST, POWER_SUPPLY_CHARGE_TYPE_STANDARD, POWER_SUPPLY_CHARGE_TYPE_ADAPTIVE, POWER_SUPPLY_CHARGE_TYPE_CUSTOM, POWER_SUPPLY_CHARGE_TYPE_LONGLIFE, POWER_SUPPLY_CHARGE_TYPE_BYPASS };
enum { POWER_SUPPLY_HEALTH_UNKNOWN, POWER_SUPPLY_HEALTH_GOOD, POWER_SUPPLY_HEALTH_OVERHEAT, POWER_SUPPLY_HEALTH_DEAD, POWER_SUPPLY_HEALTH_OVERVOLTAGE, POWER_SUPPLY_HEALTH_UNSPEC_FAILURE, POWER_SUPPLY_HEALTH_COLD, POWER_SUPPLY_HEALTH_WATCHDOG_TIMER_EXPIRE, POWER_SUPPLY_HEALTH_SAFETY_TIMER_EXPIRE, POWER_SUPPLY_HEALTH_OVERCURRENT, POWER_SUPPLY_HEALTH_CALIBRATION_REQUIRED, POWER_SUPPLY_HEALTH_WARM, POWER_SUPPLY_HEALTH_COOL, POWER_SUPPLY_HEALTH_HOT, POWER_SUPPLY_HEALTH_NO_BATTERY };
enum { POWER_SUPPLY_TECHNOLOGY_UNKNOWN, POWER_SUPPLY_TECHNOLOGY_NiMH, POWER_SUPPLY_TECHNOLOGY_LION, POWER_SUPPLY_TECHNOLOGY_LIPO, POWER_SUPPLY_TECHNOLOGY_LiFe, POWER_SUPPLY_TECHNOLOGY_NiCd, POWER_SUPPLY_TECHNOLOGY_LiMn };
enum { POWER_SUPPLY_CAPACITY_LEVEL_UNKNOWN, POWER_SUPPLY_CAPACITY_LEVEL_CRITICAL, POWER_SUPPLY_CAPACITY_LEVEL_LOW, POWER_SUPPLY_CAPACITY_LEVEL_NORMAL, POWER_SUPPLY_CAPACITY_LEVEL_HIGH, POWER_SUPPLY_CAPACITY_LEVEL_FULL };
enum { POWER_SUPPLY_SCOPE_UNKNOWN, POWER_SUPPLY_SCOPE_SYSTEM, POWER_SUPPLY_SCOPE_DEVICE };
#define CMWQ_P(x) POWER_SUPPLY_PROP_##x
enum power_supply_property { CMWQ_P(STATUS), CMWQ_P(CHARGE_TYPE), CMWQ_P(HEALTH), CMWQ_P(PRESENT), CMWQ_P(ONLINE), CMWQ_P(AUTHENTIC), CMWQ_P(TECHNOLOGY), CMWQ_P(CYCLE_COUNT), CMWQ_P(VOLTAGE_MAX), CMWQ_P(VOLTAGE_MIN), CMWQ_P(VOLTAGE_MAX_DESIGN), CMWQ_P(VOLTAGE_MIN_DESIGN), CMWQ_P(VOLTAGE_NOW), CMWQ_P(VOLTAGE_AVG), CMWQ_P(VOLTAGE_OCV), CMWQ_P(VOLTAGE_BOOT), CMWQ_P(CURRENT_MAX), CMWQ_P(CURRENT_NOW), CMWQ_P(CURRENT_AVG), CMWQ_P(CURRENT_BOOT), CMWQ_P(POWER_NOW), CMWQ_P(POWER_AVG), CMWQ_P(CHARGE_FULL_DESIGN), CMWQ_P(CHARGE_EMPTY_DESIGN), CMWQ_P(CHARGE_FULL), CMWQ_P(CHARGE_EMPTY), CMWQ_P(CHARGE_NOW), CMWQ_P(CHARGE_AVG), CMWQ_P(CHARGE_COUNTER), CMWQ_P(CONSTANT_CHARGE_CURRENT), CMWQ_P(CONSTANT_CHARGE_CURRENT_MAX), CMWQ_P(CONSTANT_CHARGE_VOLTAGE), CMWQ_P(CONSTANT_CHARGE_VOLTAGE_MAX), CMWQ_P(CHARGE_CONTROL_LIMIT), CMWQ_P(CHARGE_CONTROL_LIMIT_MAX), CMWQ_P(CHARGE_CONTROL_START_THRESHOLD), CMWQ_P(CHARGE_CONTROL_END_THRESHOLD), CMWQ_P(CHARGE_BEHAVIOUR), CMWQ_P(INPUT_CURRENT_LIMIT), CMWQ_P(INPUT_VOLTAGE_LIMIT), CMWQ_P(INPUT_POWER_LIMIT), CMWQ_P(ENERGY_FULL_DESIGN), CMWQ_P(ENERGY_EMPTY_DESIGN), CMWQ_P(ENERGY_FULL), CMWQ_P(ENERGY_EMPTY), CMWQ_P(ENERGY_NOW), CMWQ_P(ENERGY_AVG), CMWQ_P(CAPACITY), CMWQ_P(CAPACITY_ALERT_MIN), CMWQ_P(CAPACITY_ALERT_MAX), CMWQ_P(CAPACITY_ERROR_MARGIN), CMWQ_P(CAPACITY_LEVEL), CMWQ_P(TEMP), CMWQ_P(TEMP_MAX), CMWQ_P(TEMP_MIN), CMWQ_P(TEMP_ALERT_MIN), CMWQ_P(TEMP_ALERT_MAX), CMWQ_P(TEMP_AMBIENT), CMWQ_P(TIME_TO_EMPTY_NOW), CMWQ_P(TIME_TO_EMPTY_AVG), CMWQ_P(TIME_TO_FULL_NOW), CMWQ_P(TIME_TO_FULL_AVG), CMWQ_P(TYPE), CMWQ_P(USB_TYPE), CMWQ_P(SCOPE), CMWQ_P(PRECHARGE_CURRENT), CMWQ_P(CHARGE_TERM_CURRENT), CMWQ_P(CALIBRATE), CMWQ_P(MANUFACTURE_YEAR), CMWQ_P(MANUFACTURE_MONTH), CMWQ_P(MANUFACTURE_DAY), CMWQ_P(MODEL_NAME), CMWQ_P(MANUFACTURER), CMWQ_P(SERIAL_NUMBER) };
enum power_supply_type { POWER_SUPPLY_TYPE_UNKNOWN, POWER_SUPPLY_TYPE_BATTERY, POWER_SUPPLY_TYPE_UPS, POWER_SUPPLY_TYPE_MAINS, POWER_SUPPLY_TYPE_USB, POWER_SUPPLY_TYPE_USB_DCP, POWER_SUPPLY_TYPE_USB_CDP, POWER_SUPPLY_TYPE_USB_ACA, POWER_SUPPLY_TYPE_USB_TYPE_C, POWER_SUPPLY_TYPE_USB_PD, POWER_SUPPLY_TYPE_USB_PD_DRP, POWER_SUPPLY_TYPE_APPLE_BRICK_ID, POWER_SUPPLY_TYPE_WIRELESS };
enum power_supply_usb_type { POWER_SUPPLY_USB_TYPE_UNKNOWN, POWER_SUPPLY_USB_TYPE_SDP, POWER_SUPPLY_USB_TYPE_DCP, POWER_SUPPLY_USB_TYPE_CDP, POWER_SUPPLY_USB_TYPE_ACA, POWER_SUPPLY_USB_TYPE_C, POWER_SUPPLY_USB_TYPE_PD };
enum power_supply_notifier_events { PSY_EVENT_PROP_CHANGED };
union power_supply_propval { int intval; const char *strval; };
struct power_supply;
struct power_supply_config { struct device_node *of_node; struct fwnode_handle *fwnode; void *drv_data; const struct attribute_group **attr_grp; char **supplied_to; size_t num_supplicants; bool no_wakeup_source; };
struct power_supply_desc { const char *name; enum power_supply_type type; u8 charge_behaviours; u32 usb_types; const enum power_supply_property *properties; size_t num_properties;
	int (*get_property)(struct power_supply *p, enum power_supply_property psp, union power_supply_propval *v); int (*set_property)(struct power_supply *p, enum power_supply_property psp, const union power_supply_propval *v);
	int (*property_is_writeable)(struct power_supply *p, enum power_supply_property psp); void (*external_power_changed)(struct power_supply *p); bool no_thermal; int use_for_apm; };
struct power_supply { const struct power_supply_desc *desc; char **supplied_to, **supplied_from; size_t num_supplicants, num_supplies; struct device_node *of_node; void *drv_data; struct device dev; struct work_struct changed_work; struct delayed_work deferred_register_work; };
struct power_supply_battery_ocv_table { int ocv, capacity; };
struct power_supply_resistance_temp_table { int temp, resistance; };
struct power_supply_battery_info { unsigned int technology; int energy_full_design_uwh, charge_full_design_uah, voltage_min_design_uv, voltage_max_design_uv, tricklecharge_current_ua, precharge_current_ua, precharge_voltage_max_uv, charge_term_current_ua, charge_restart_voltage_uv, overvoltage_limit_uv, constant_charge_current_max_ua, constant_charge_voltage_max_uv, factory_internal_resistance_uohm, temp_ambient_alert_min, temp_ambient_alert_max, temp_alert_min, temp_alert_max, temp_min, temp_max; const struct power_supply_resistance_temp_table *resist_table; int resist_table_size; int bti_resistance_ohm; };
#define power_supply_get_drvdata(p) ((p)->drv_data)
#define to_power_supply(d) container_of(d, struct power_supply, dev)
extern struct power_supply *power_supply_register(struct device *dev, const struct power_supply_desc *d, const struct power_supply_config *c);
extern void power_supply_unregister(struct power_supply *p);
extern struct power_supply *devm_power_supply_register(struct device *dev, const struct power_supply_desc *d, const struct power_supply_config *c);
extern struct power_supply *devm_power_supply_register_no_ws(struct device *dev, const struct power_supply_desc *d, const struct power_supply_config *c);
extern void power_supply_changed(struct power_supply *p);
extern struct power_supply *power_supply_get_by_name(const char *name);
extern void power_supply_put(struct power_supply *p);
extern struct power_supply *power_supply_get_by_phandle(struct device_node *np, const char *name);
extern struct power_supply *devm_power_supply_get_by_phandle(struct device *dev, const char *name);
extern int power_supply_get_property(struct power_supply *p, enum power_supply_property psp, union power_supply_propval *v);
extern int power_supply_set_property(struct power_supply *p, enum power_supply_property psp, const union power_supply_propval *v);
extern int power_supply_am_i_supplied(struct power_supply *p);
extern int power_supply_is_system_supplied(void);
extern int power_supply_get_property_from_supplier(struct power_supply *p, enum power_supply_property psp, union power_supply_propval *v);
extern int power_supply_reg_notifier(struct notifier_block *nb);
extern void power_supply_unreg_notifier(struct notifier_block *nb);
extern int power_supply_get_battery_info(struct power_supply *p, struct power_supply_battery_info **i);
extern void power_supply_put_battery_info(struct power_supply *p, struct power_supply_battery_info *i);
extern int power_supply_batinfo_ocv2cap(struct power_supply_battery_info *i, int ocv, int temp);
extern int power_supply_temp2resist_simple(const struct power_supply_resistance_temp_table *t, int n, int temp);
extern int power_supply_powers(struct power_supply *p, struct device *dev);

#endif
