/* What the test programs share. Exit status: 0 passed, 1 failed, 77 cannot run here. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CHECK(holds)                                                                   \
	do {                                                                           \
		if (!(holds)) {                                                        \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #holds); \
			exit(1);                                                       \
		}                                                                      \
	} while (0)

#define EQUAL(got, wanted)                                                             \
	do {                                                                           \
		long long got_ = (long long)(got), wanted_ = (long long)(wanted);      \
		if (got_ != wanted_) {                                                 \
			fprintf(stderr, "%s:%d: %s is %lld, not %lld\n", __FILE__,     \
				__LINE__, #got, got_, wanted_);                        \
			exit(1);                                                       \
		}                                                                      \
	} while (0)

static inline void sleep_ms(long ms)
{
	struct timespec time;

	time.tv_sec = ms / 1000;
	time.tv_nsec = ms % 1000 * 1000000;
	nanosleep(&time, NULL);
}

/* Waits until the condition holds, for a minute at most. */
#define AWAIT(holds)                                                                   \
	do {                                                                           \
		int tries_ = 60000;                                                    \
		while (!(holds) && tries_-- > 0)                                       \
			sleep_ms(1);                                                   \
		CHECK(holds);                                                          \
	} while (0)

#define LOAD(place) __atomic_load_n(&(place), __ATOMIC_SEQ_CST)
#define STORE(place, value) __atomic_store_n(&(place), (value), __ATOMIC_SEQ_CST)
#define ADD(place, value) __atomic_fetch_add(&(place), (value), __ATOMIC_SEQ_CST)

#endif
