/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_MOD_DEVICETABLE_H
#define CMWQ_SHIM_MOD_DEVICETABLE_H

#include <linux/types.h>
typedef unsigned long kernel_ulong_t;
#define SERIO_ANY 0xff
#define PCI_ANY_ID (~0)
#define HID_ANY_ID (~0)
struct of_device_id { char name[32], type[32], compatible[128]; const void *data; };
struct acpi_device_id { u8 id[16]; kernel_ulong_t driver_data; u32 cls, cls_msk; };
struct i2c_device_id { char name[20]; kernel_ulong_t driver_data; };
struct spi_device_id { char name[32]; kernel_ulong_t driver_data; };
struct platform_device_id { char name[24]; kernel_ulong_t driver_data; };
struct pci_device_id { u32 vendor, device, subvendor, subdevice, class, class_mask;
		       kernel_ulong_t driver_data; u32 override_only; };
struct usb_device_id { u16 match_flags, idVendor, idProduct, bcdDevice_lo, bcdDevice_hi;
	u8 bDeviceClass, bDeviceSubClass, bDeviceProtocol, bInterfaceClass, bInterfaceSubClass,
	   bInterfaceProtocol, bInterfaceNumber; kernel_ulong_t driver_info; };
struct serio_device_id { u8 type, extra, id, proto; };
struct hid_device_id { u16 bus, group; u32 vendor, product; kernel_ulong_t driver_data; };
struct pnp_device_id { u8 id[8]; kernel_ulong_t driver_data; };
#define INPUT_DEVICE_ID_MATCH_BUS 0x001
#define INPUT_DEVICE_ID_MATCH_VENDOR 0x002
#define INPUT_DEVICE_ID_MATCH_PRODUCT 0x004
#define INPUT_DEVICE_ID_MATCH_VERSION 0x008
#define INPUT_DEVICE_ID_MATCH_EVBIT 0x010
#define INPUT_DEVICE_ID_MATCH_KEYBIT 0x020
#define INPUT_DEVICE_ID_MATCH_RELBIT 0x040
#define INPUT_DEVICE_ID_MATCH_ABSBIT 0x080
#define INPUT_DEVICE_ID_MATCH_SWBIT 0x800
/* Room for the highest event, key, axis and switch of linux/input-event-codes.h. */
struct input_device_id {
	kernel_ulong_t flags;
	u16 bustype, vendor, product, version;
	kernel_ulong_t evbit[1], keybit[12], relbit[1], absbit[1], swbit[1];
	kernel_ulong_t driver_info;
};
struct dmi_system_id { int (*callback)(const struct dmi_system_id *id); const char *ident;
	struct { unsigned char slot, exact; char substr[79]; } matches[4]; void *driver_data; };
struct virtio_device_id { u32 device, vendor; };
struct auxiliary_device_id { char name[32]; kernel_ulong_t driver_data; };
struct x86_cpu_id { u16 vendor, family, model, steppings, feature; kernel_ulong_t driver_data; };
#define DMI_MATCH(a, b) { .slot = a, .substr = b }
#define DMI_EXACT_MATCH(a, b) { .slot = a, .substr = b, .exact = 1 }
enum dmi_field { DMI_NONE, DMI_BIOS_VENDOR, DMI_BIOS_VERSION, DMI_BIOS_DATE, DMI_SYS_VENDOR,
		 DMI_PRODUCT_NAME, DMI_PRODUCT_VERSION, DMI_PRODUCT_SERIAL, DMI_PRODUCT_UUID,
		 DMI_PRODUCT_SKU, DMI_PRODUCT_FAMILY, DMI_BOARD_VENDOR, DMI_BOARD_NAME };

#endif
