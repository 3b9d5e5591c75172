/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_I2C_H
#define CMWQ_SHIM_I2C_H

#include <linux/device.h>
#include <linux/of.h>
#include <linux/acpi.h>
#include <linux/errno.h>
#include_next <linux/i2c.h>
struct i2c_adapter { struct module *owner; const struct i2c_algorithm *algo; struct device dev; int nr, timeout, retries; char name[48]; void *algo_data; };
struct i2c_client { unsigned short flags, addr; char name[20]; struct i2c_adapter *adapter; struct device dev; int irq; };
struct i2c_board_info { char type[20]; unsigned short flags, addr; const char *dev_name; void *platform_data; int irq; struct fwnode_handle *fwnode; };
enum i2c_alert_protocol { I2C_PROTOCOL_SMBUS_ALERT, I2C_PROTOCOL_SMBUS_HOST_NOTIFY };
struct i2c_driver { unsigned int class; int (*probe)(struct i2c_client *client); void (*remove)(struct i2c_client *client);
	void (*shutdown)(struct i2c_client *client);
	void (*alert)(struct i2c_client *client, enum i2c_alert_protocol protocol, unsigned int data);
	struct device_driver driver; const struct i2c_device_id *id_table;
	int (*detect)(struct i2c_client *client, struct i2c_board_info *info); const unsigned short *address_list; u32 flags; };
#define I2C_NAME_SIZE 20
#define I2C_CLIENT_PEC 0x04
#define I2C_CLIENT_TEN 0x10
#define I2C_CLIENT_HOST_NOTIFY 0x40
#define I2C_CLIENT_END 0xfffeU
#define I2C_CLIENT_WAKE 0x80
#define I2C_BOARD_INFO(type_, addr_) .type = type_, .addr = (addr_)
#define I2C_CLASS_HWMON 1
#define to_i2c_client(d) container_of(d, struct i2c_client, dev)
#define to_i2c_adapter(d) container_of(d, struct i2c_adapter, dev)
#define i2c_get_clientdata(client) dev_get_drvdata(&(client)->dev)
#define i2c_set_clientdata(client, data) dev_set_drvdata(&(client)->dev, data)
#define i2c_get_adapdata(a) dev_get_drvdata(&(a)->dev)
#define i2c_set_adapdata(a, data) dev_set_drvdata(&(a)->dev, data)
#define i2c_add_driver(driver) i2c_register_driver(NULL, driver)
#define module_i2c_driver(driver) module_driver(driver, i2c_add_driver, i2c_del_driver)
extern int i2c_register_driver(struct module *owner, struct i2c_driver *driver);
extern void i2c_del_driver(struct i2c_driver *driver);
extern int i2c_transfer(struct i2c_adapter *a, struct i2c_msg *msgs, int n);
extern int i2c_master_send(const struct i2c_client *c, const char *buf, int n);
extern int i2c_master_recv(const struct i2c_client *c, char *buf, int n);
extern int i2c_check_functionality(struct i2c_adapter *a, u32 f);
extern s32 i2c_smbus_read_byte(const struct i2c_client *c);
extern s32 i2c_smbus_write_byte(const struct i2c_client *c, u8 v);
extern s32 i2c_smbus_read_byte_data(const struct i2c_client *c, u8 reg);
extern s32 i2c_smbus_write_byte_data(const struct i2c_client *c, u8 reg, u8 v);
extern s32 i2c_smbus_read_word_data(const struct i2c_client *c, u8 reg);
extern s32 i2c_smbus_read_word_swapped(const struct i2c_client *c, u8 reg);
extern s32 i2c_smbus_write_word_data(const struct i2c_client *c, u8 reg, u16 v);
extern s32 i2c_smbus_write_word_swapped(const struct i2c_client *c, u8 reg, u16 v);
extern s32 i2c_smbus_read_block_data(const struct i2c_client *c, u8 reg, u8 *v);
extern s32 i2c_smbus_write_block_data(const struct i2c_client *c, u8 reg, u8 n, const u8 *v);
extern s32 i2c_smbus_read_i2c_block_data(const struct i2c_client *c, u8 reg, u8 n, u8 *v);
extern s32 i2c_smbus_write_i2c_block_data(const struct i2c_client *c, u8 reg, u8 n, const u8 *v);
extern s32 i2c_smbus_read_i2c_block_data_or_emulated(const struct i2c_client *c, u8 reg, u8 n, u8 *v);
extern struct i2c_client *i2c_new_client_device(struct i2c_adapter *a, const struct i2c_board_info *info);
extern struct i2c_client *i2c_new_dummy_device(struct i2c_adapter *a, u16 addr);
extern struct i2c_client *devm_i2c_new_dummy_device(struct device *dev, struct i2c_adapter *a, u16 addr);
extern void i2c_unregister_device(struct i2c_client *c);
extern const void *i2c_get_match_data(const struct i2c_client *c);
extern const struct i2c_device_id *i2c_client_get_device_id(const struct i2c_client *c);
extern const struct i2c_device_id *i2c_match_id(const struct i2c_device_id *id, const struct i2c_client *c);
extern int i2c_adapter_id(struct i2c_adapter *a);
extern struct i2c_adapter *i2c_get_adapter(int n);
extern void i2c_put_adapter(struct i2c_adapter *a);
#define i2c_verify_client(dev) to_i2c_client(dev)

#endif
