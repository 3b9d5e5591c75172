/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_DMI_H
#define CMWQ_SHIM_DMI_H

#include <linux/mod_devicetable.h>
extern int dmi_check_system(const struct dmi_system_id *list);
extern const struct dmi_system_id *dmi_first_match(const struct dmi_system_id *list);
extern const char *dmi_get_system_info(int field);
extern bool dmi_match(enum dmi_field field, const char *text);

#endif
