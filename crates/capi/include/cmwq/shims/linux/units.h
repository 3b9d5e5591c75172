/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_UNITS_H
#define CMWQ_SHIM_UNITS_H

#include <linux/math.h>
#define DECI 10UL
#define CENTI 100UL
#define MILLI 1000UL
#define MICRO 1000000UL
#define NANO 1000000000UL
#define HECTO 100UL
#define DECA 10UL
#define KILO 1000UL
#define MEGA 1000000UL
#define GIGA 1000000000UL
#define PICO 1000000000000ULL
#define TERA 1000000000000ULL
#define NANOHZ_PER_HZ 1000000000UL
#define MICROHZ_PER_HZ 1000000UL
#define MILLIHZ_PER_HZ 1000UL
#define HZ_PER_KHZ 1000UL
#define HZ_PER_MHZ 1000000UL
#define KHZ_PER_MHZ 1000UL
#define MILLIWATT_PER_WATT 1000UL
#define MICROWATT_PER_MILLIWATT 1000UL
#define MICROWATT_PER_WATT 1000000UL
#define MILLIDEGREE_PER_DEGREE 1000
#define MILLIDEGREE_PER_DECIDEGREE 100
#define ABSOLUTE_ZERO_MILLICELSIUS (-273150)
#define milli_kelvin_to_millicelsius(t) ((t) + ABSOLUTE_ZERO_MILLICELSIUS)
#define millicelsius_to_milli_kelvin(t) ((t) - ABSOLUTE_ZERO_MILLICELSIUS)
#define kelvin_to_millicelsius(t) ((t) * 1000L + ABSOLUTE_ZERO_MILLICELSIUS)
#define deci_kelvin_to_millicelsius(t) ((t) * 100L + ABSOLUTE_ZERO_MILLICELSIUS)
#define kelvin_to_celsius(t) \
	DIV_ROUND_CLOSEST(kelvin_to_millicelsius(t), MILLIDEGREE_PER_DEGREE)
#define celsius_to_kelvin(t) ((t) + 273)
#define deci_kelvin_to_celsius(t) \
	DIV_ROUND_CLOSEST(deci_kelvin_to_millicelsius(t), MILLIDEGREE_PER_DEGREE)

#endif
