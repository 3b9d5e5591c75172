/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_WAIT_BIT_H
#define CMWQ_SHIM_WAIT_BIT_H

#include <linux/bitops.h>
#include <linux/wait.h>
/* 0, as there are no signals. Who clears the bit calls wake_up_bit() afterwards. */
#define wait_on_bit(word, bit, mode) \
	({ (void)(mode); wait_event(cmwq_shim_words, !test_bit(bit, word)); 0; })
#define wait_on_bit_io wait_on_bit
#define wait_on_bit_lock(word, bit, mode) \
	({ (void)(mode); wait_event(cmwq_shim_words, !test_and_set_bit(bit, word)); 0; })
#define wait_on_bit_lock_io wait_on_bit_lock
#define wait_on_bit_timeout(word, bit, mode, timeout) \
	((void)(mode), \
	 wait_event_timeout(cmwq_shim_words, !test_bit(bit, word), timeout) ? 0 : -EAGAIN)
#define wake_up_bit(word, bit) ((void)(word), (void)(bit), wake_up_all(&cmwq_shim_words))
#define clear_and_wake_up_bit(bit, word) (clear_bit(bit, word), wake_up_bit(word, bit))
#define test_and_clear_wake_up_bit(bit, word) \
	({ bool was_ = test_and_clear_bit(bit, word); if (was_) wake_up_bit(word, bit); was_; })

#endif
