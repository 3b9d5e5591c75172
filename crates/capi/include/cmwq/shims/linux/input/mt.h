/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_INPUT_MT_H
#define CMWQ_SHIM_INPUT_MT_H

#include <linux/input.h>
#define INPUT_MT_POINTER 1
#define INPUT_MT_DIRECT 2
#define INPUT_MT_DROP_UNUSED 4
#define INPUT_MT_TRACK 8
#define INPUT_MT_SEMI_MT 16
extern int input_mt_init_slots(struct input_dev *dev, unsigned int n, unsigned int flags);
extern bool input_mt_report_slot_state(struct input_dev *dev, unsigned int tool, bool active);
extern void input_mt_sync_frame(struct input_dev *dev);
extern void input_mt_report_pointer_emulation(struct input_dev *dev, bool count);
#define input_mt_slot(d, n) input_event(d, EV_ABS, ABS_MT_SLOT, n)
#define input_mt_report_slot_inactive(d) input_mt_report_slot_state(d, 0, false)

#endif
