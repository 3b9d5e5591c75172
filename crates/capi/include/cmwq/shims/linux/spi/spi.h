/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_SPI_SPI_H
#define CMWQ_SHIM_SPI_SPI_H

#include <linux/device.h>
#include <linux/completion.h>
#include <linux/gpio/consumer.h>
struct spi_controller { struct device dev; };
struct spi_device { struct device dev; struct spi_controller *controller; u32 max_speed_hz; u8 bits_per_word; u32 mode; int irq; void *controller_data; char modalias[32]; };
struct spi_transfer { const void *tx_buf; void *rx_buf; unsigned int len; u16 error; bool cs_change; u8 bits_per_word; u32 speed_hz; struct { u16 value; u8 unit; } delay, cs_change_delay; struct list_head transfer_list; };
struct spi_message { struct list_head transfers; struct spi_device *spi; int status; unsigned int actual_length; void (*complete)(void *context); void *context; };
struct spi_driver { const struct spi_device_id *id_table; int (*probe)(struct spi_device *spi); void (*remove)(struct spi_device *spi); void (*shutdown)(struct spi_device *spi); struct device_driver driver; };
#define SPI_CPHA 1
#define SPI_CPOL 2
#define SPI_MODE_0 0
#define SPI_MODE_1 1
#define SPI_MODE_2 2
#define SPI_MODE_3 3
#define SPI_CS_HIGH 4
#define SPI_DELAY_UNIT_USECS 0
#define to_spi_device(d) container_of(d, struct spi_device, dev)
#define spi_get_drvdata(s) dev_get_drvdata(&(s)->dev)
#define spi_set_drvdata(s, data) dev_set_drvdata(&(s)->dev, data)
#define spi_message_init(m) (memset(m, 0, sizeof(*(m))), INIT_LIST_HEAD(&(m)->transfers))
#define spi_message_add_tail(t, m) list_add_tail(&(t)->transfer_list, &(m)->transfers)
#define module_spi_driver(driver) module_driver(driver, spi_register_driver, spi_unregister_driver)
extern int spi_register_driver(struct spi_driver *driver);
extern void spi_unregister_driver(struct spi_driver *driver);
extern int spi_setup(struct spi_device *spi);
extern int spi_sync(struct spi_device *spi, struct spi_message *m);
extern int spi_async(struct spi_device *spi, struct spi_message *m);
extern int spi_sync_transfer(struct spi_device *spi, struct spi_transfer *t, unsigned int n);
extern int spi_write(struct spi_device *spi, const void *p, size_t n);
extern int spi_read(struct spi_device *spi, void *p, size_t n);
extern int spi_write_then_read(struct spi_device *spi, const void *t, unsigned int nt, void *r, unsigned int nr);
extern ssize_t spi_w8r8(struct spi_device *spi, u8 c);
extern const struct spi_device_id *spi_get_device_id(const struct spi_device *spi);
extern const void *spi_get_device_match_data(const struct spi_device *spi);

#endif
