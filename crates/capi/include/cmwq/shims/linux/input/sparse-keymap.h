/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_INPUT_SPARSE_KEYMAP_H
#define CMWQ_SHIM_INPUT_SPARSE_KEYMAP_H

#include <linux/input.h>
enum { KE_END, KE_KEY, KE_SW, KE_VSW, KE_IGNORE };
struct key_entry { int type; u32 code; union { u16 keycode; struct { u8 code, value; } sw; }; };
extern int sparse_keymap_setup(struct input_dev *dev, const struct key_entry *map, int (*f)(struct input_dev *, struct key_entry *));
extern bool sparse_keymap_report_event(struct input_dev *dev, unsigned int code, unsigned int value, bool release);
extern struct key_entry *sparse_keymap_entry_from_scancode(struct input_dev *dev, unsigned int code);
extern void sparse_keymap_report_entry(struct input_dev *dev, const struct key_entry *e, unsigned int v, bool release);

#endif
