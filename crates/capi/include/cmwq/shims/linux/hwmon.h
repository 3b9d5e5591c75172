/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_HWMON_H
#define CMWQ_SHIM_HWMON_H

#include <linux/device.h>
enum hwmon_sensor_types { hwmon_chip, hwmon_temp, hwmon_in, hwmon_curr, hwmon_power, hwmon_energy, hwmon_humidity, hwmon_fan, hwmon_pwm, hwmon_intrusion };
struct hwmon_channel_info { enum hwmon_sensor_types type; const u32 *config; };
struct hwmon_ops { umode_t visible; umode_t (*is_visible)(const void *d, enum hwmon_sensor_types t, u32 attr, int ch);
	int (*read)(struct device *dev, enum hwmon_sensor_types t, u32 attr, int ch, long *v); int (*read_string)(struct device *dev, enum hwmon_sensor_types t, u32 attr, int ch, const char **s);
	int (*write)(struct device *dev, enum hwmon_sensor_types t, u32 attr, int ch, long v); };
struct hwmon_chip_info { const struct hwmon_ops *ops; const struct hwmon_channel_info *const *info; };
#define HWMON_CHANNEL_INFO(t, ...) (&(const struct hwmon_channel_info){ .type = hwmon_##t, .config = (const u32[]){ __VA_ARGS__, 0 } })
enum { hwmon_temp_enable, hwmon_temp_input, hwmon_temp_type, hwmon_temp_lcrit, hwmon_temp_lcrit_hyst, hwmon_temp_min, hwmon_temp_min_hyst, hwmon_temp_max, hwmon_temp_max_hyst, hwmon_temp_crit, hwmon_temp_crit_hyst, hwmon_temp_emergency, hwmon_temp_alarm, hwmon_temp_fault, hwmon_temp_label,
	hwmon_temp_min_alarm,
	hwmon_temp_max_alarm,
	hwmon_temp_crit_alarm,
	hwmon_temp_emergency_hyst,
	hwmon_temp_emergency_alarm,
	hwmon_temp_lcrit_alarm,
	hwmon_temp_offset,
	hwmon_temp_lowest,
	hwmon_temp_highest,
	hwmon_temp_reset_history,
	hwmon_temp_rated_min,
	hwmon_temp_rated_max };
#define HWMON_T_INPUT BIT(hwmon_temp_input)
#define HWMON_T_MIN_ALARM BIT(hwmon_temp_min_alarm)
#define HWMON_T_MAX_ALARM BIT(hwmon_temp_max_alarm)
#define HWMON_T_CRIT_ALARM BIT(hwmon_temp_crit_alarm)
#define HWMON_T_EMERGENCY_HYST BIT(hwmon_temp_emergency_hyst)
#define HWMON_T_EMERGENCY_ALARM BIT(hwmon_temp_emergency_alarm)
#define HWMON_T_LCRIT_ALARM BIT(hwmon_temp_lcrit_alarm)
#define HWMON_T_OFFSET BIT(hwmon_temp_offset)
#define HWMON_T_LOWEST BIT(hwmon_temp_lowest)
#define HWMON_T_HIGHEST BIT(hwmon_temp_highest)
#define HWMON_T_RESET_HISTORY BIT(hwmon_temp_reset_history)
#define HWMON_T_RATED_MIN BIT(hwmon_temp_rated_min)
#define HWMON_T_RATED_MAX BIT(hwmon_temp_rated_max)
#define HWMON_T_CRIT_HYST BIT(hwmon_temp_crit_hyst)
#define HWMON_T_MAX_HYST BIT(hwmon_temp_max_hyst)
#define HWMON_T_MIN_HYST BIT(hwmon_temp_min_hyst)
#define HWMON_T_LCRIT BIT(hwmon_temp_lcrit)
#define HWMON_T_EMERGENCY BIT(hwmon_temp_emergency)
#define HWMON_T_LABEL BIT(hwmon_temp_label)
#define HWMON_T_MAX BIT(hwmon_temp_max)
#define HWMON_T_MIN BIT(hwmon_temp_min)
#define HWMON_T_CRIT BIT(hwmon_temp_crit)
#define HWMON_T_ALARM BIT(hwmon_temp_alarm)
#define HWMON_T_FAULT BIT(hwmon_temp_fault)
enum { hwmon_in_enable, hwmon_in_input, hwmon_in_label = 12 };
#define HWMON_I_INPUT BIT(hwmon_in_input)
#define HWMON_I_LABEL BIT(hwmon_in_label)
enum { hwmon_fan_enable, hwmon_fan_input, hwmon_fan_label, hwmon_fan_min, hwmon_fan_max, hwmon_fan_target = 8 };
#define HWMON_F_INPUT BIT(hwmon_fan_input)
#define HWMON_F_LABEL BIT(hwmon_fan_label)
#define HWMON_F_TARGET BIT(hwmon_fan_target)
enum { hwmon_pwm_input, hwmon_pwm_enable, hwmon_pwm_mode, hwmon_pwm_freq };
#define HWMON_PWM_INPUT BIT(hwmon_pwm_input)
#define HWMON_PWM_ENABLE BIT(hwmon_pwm_enable)
enum { hwmon_chip_temp_reset_history, hwmon_chip_update_interval = 7, hwmon_chip_alarms, hwmon_chip_samples,
	hwmon_chip_curr_samples, hwmon_chip_in_samples, hwmon_chip_power_samples, hwmon_chip_temp_samples, hwmon_chip_pec, hwmon_chip_register_tz };
#define HWMON_C_ALARMS BIT(hwmon_chip_alarms)
#define HWMON_C_SAMPLES BIT(hwmon_chip_samples)
#define HWMON_C_TEMP_SAMPLES BIT(hwmon_chip_temp_samples)
#define HWMON_C_REGISTER_TZ BIT(hwmon_chip_register_tz)
#define HWMON_C_PEC BIT(hwmon_chip_pec)
#define HWMON_C_UPDATE_INTERVAL BIT(hwmon_chip_update_interval)
enum { hwmon_power_enable, hwmon_power_input = 6 };
extern struct device *hwmon_device_register_with_info(struct device *dev, const char *name, void *d, const struct hwmon_chip_info *i, const struct attribute_group **g);
extern struct device *devm_hwmon_device_register_with_info(struct device *dev, const char *name, void *d, const struct hwmon_chip_info *i, const struct attribute_group **g);
extern struct device *devm_hwmon_device_register_with_groups(struct device *dev, const char *name, void *d, const struct attribute_group **g);
extern struct device *hwmon_device_register_with_groups(struct device *dev, const char *name, void *d, const struct attribute_group **g);
extern void hwmon_device_unregister(struct device *dev);
extern int hwmon_notify_event(struct device *dev, enum hwmon_sensor_types t, u32 attr, int ch);

#endif
