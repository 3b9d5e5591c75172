/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_ACPI_H
#define CMWQ_SHIM_ACPI_H

#include <linux/device.h>
#include <linux/property.h>
typedef void *acpi_handle;
typedef u32 acpi_status;
#ifdef CONFIG_ACPI
#define ACPI_PTR(p) (p)
#else
#define ACPI_PTR(p) NULL
#endif
#define ACPI_COMPANION(dev) ((struct acpi_device *)NULL)
#define ACPI_HANDLE(dev) ((acpi_handle)NULL)
#define ACPI_SUCCESS(s) ((s) == 0)
#define ACPI_FAILURE(s) ((s) != 0)
#define has_acpi_companion(dev) false
struct acpi_device;
extern const struct acpi_device_id *acpi_match_device(const struct acpi_device_id *ids, const struct device *dev);
extern bool acpi_dev_found(const char *hid);

#endif
