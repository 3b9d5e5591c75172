/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_INPUT_MATRIX_KEYPAD_H
#define CMWQ_SHIM_INPUT_MATRIX_KEYPAD_H

#include <linux/input.h>
#define MATRIX_MAX_ROWS 32
#define MATRIX_MAX_COLS 32
#define KEY(row, col, val) ((((row) & 31) << 24) | (((col) & 31) << 16) | ((val) & 0xffff))
#define KEY_ROW(k) (((k) >> 24) & 0xff)
#define KEY_COL(k) (((k) >> 16) & 0xff)
#define KEY_VAL(k) ((k) & 0xffff)
#define MATRIX_SCAN_CODE(row, col, shift) (((row) << (shift)) + (col))
struct matrix_keymap_data { const u32 *keymap; unsigned int keymap_size; };
extern int matrix_keypad_build_keymap(const struct matrix_keymap_data *d, const char *name, unsigned int rows, unsigned int cols, unsigned short *map, struct input_dev *dev);
extern int matrix_keypad_parse_properties(struct device *dev, unsigned int *rows, unsigned int *cols);

#endif
