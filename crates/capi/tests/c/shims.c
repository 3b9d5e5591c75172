/* The small headers that have data structures, sums and ways of waiting: against plain models. */
#include <linux/atomic.h>
#include <linux/idr.h>
#include <linux/string_helpers.h>
#include <linux/average.h>
#include <linux/bcd.h>
#include <linux/bitrev.h>
#include <linux/bsearch.h>
#include <linux/circ_buf.h>
#include <linux/crc-ccitt.h>
#include <linux/crc-itu-t.h>
#include <linux/crc16.h>
#include <linux/crc32.h>
#include <linux/delay.h>
#include <linux/devm-helpers.h>
#include <linux/jhash.h>
#include <linux/jump_label.h>
#include <linux/kernel.h>
#include <linux/kthread.h>
#include <linux/lcm.h>
#include <linux/list_sort.h>
#include <linux/mempool.h>
#include <linux/nospec.h>
#include <linux/percpu-refcount.h>
#include <linux/percpu-rwsem.h>
#include <linux/percpu_counter.h>
#include <linux/poll.h>
#include <linux/random.h>
#include <linux/sizes.h>
#include <linux/string_choices.h>
#include <linux/swait.h>
#include <linux/timerqueue.h>
#include <linux/units.h>
#include <linux/uuid.h>
#include <linux/wait_bit.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#define CHECK(holds)                                                                 \
	do {                                                                         \
		if (!(holds)) {                                                      \
			pr_err("%s:%d: not so: %s\n", __FILE__, __LINE__, #holds);   \
			end_now(1);                                                  \
		}                                                                    \
	} while (0)
extern void end_now(int status) __asm__("_exit");

static u32 seed = 1;
static u32 chance(u32 n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % n;
}

struct leaf {
	struct rb_node node;
	int key;
	struct list_head entry;
	int place;
};

static bool less(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct leaf, node)->key < rb_entry(b, struct leaf, node)->key;
}

static int by_key(const void *key, const struct rb_node *n)
{
	return *(const int *)key - rb_entry(n, struct leaf, node)->key;
}

/* Black nodes on the way down: the same on all ways, and no red node below a red one. */
static int black(const struct rb_node *n, const struct rb_node *parent)
{
	int left, right;

	if (!n)
		return 1;
	CHECK(n->parent == parent && !(n->red && parent && parent->red));
	left = black(n->rb_left, n);
	right = black(n->rb_right, n);
	CHECK(left == right);
	return left + !n->red;
}

static void test_trees(void)
{
	enum { LEAVES = 200 };
	static struct leaf leaves[LEAVES];
	static bool in[LEAVES];
	struct rb_root_cached root = RB_ROOT_CACHED;
	struct leaf *at, *next;
	int turn, n;

	for (n = 0; n < LEAVES; n++)
		leaves[n].key = n;
	for (turn = 0; turn < 4000; turn++) {
		struct rb_node *node;
		int count = 0, lowest = -1;

		n = (int)chance(LEAVES);
		if (in[n])
			rb_erase_cached(&leaves[n].node, &root);
		else
			rb_add_cached(&leaves[n].node, &root, less);
		in[n] = !in[n];
		if (turn % 16)
			continue;
		black(root.rb_root.rb_node, NULL);
		node = rb_first(&root.rb_root);
		for (n = 0; n < LEAVES; n++) {
			CHECK((rb_find(&n, &root.rb_root, by_key) == &leaves[n].node) == in[n]);
			if (!in[n])
				continue;
			if (lowest < 0)
				lowest = n;
			count++;
			CHECK(node == &leaves[n].node);
			node = rb_next(node);
		}
		CHECK(!node && (lowest < 0 || rb_first_cached(&root) == &leaves[lowest].node));
		for (node = rb_last(&root.rb_root); node; node = rb_prev(node))
			count--;
		CHECK(!count);
	}
	n = 0;
	rbtree_postorder_for_each_entry_safe(at, next, &root.rb_root, node) {
		CHECK(in[at->key]);
		in[at->key] = false;
		__builtin_memset(at, 0x5a, sizeof(*at));
		n++;
	}
	for (turn = 0; turn < LEAVES; turn++)
		CHECK(!in[turn]);
}

static void test_xarray(void)
{
	enum { ENTRIES = 100 };
	static void *model[ENTRIES];
	DEFINE_XARRAY(xa);
	DEFINE_XARRAY_ALLOC1(ids);
	unsigned long at;
	u32 id, next = 0;
	void *entry;
	int turn, n;

	for (turn = 0; turn < 3000; turn++) {
		n = (int)chance(ENTRIES);
		entry = xa_mk_value(chance(1000) + 1);
		switch (chance(4)) {
		case 0:
			CHECK(xa_store(&xa, (unsigned long)n, entry, GFP_KERNEL) == model[n]);
			model[n] = entry;
			break;
		case 1:
			CHECK(xa_erase(&xa, (unsigned long)n) == model[n]);
			model[n] = NULL;
			break;
		case 2:
			CHECK(xa_insert(&xa, (unsigned long)n, entry, GFP_KERNEL) ==
			      (model[n] ? -EBUSY : 0));
			model[n] = model[n] ? model[n] : entry;
			break;
		default:
			CHECK(xa_cmpxchg(&xa, (unsigned long)n, NULL, entry, GFP_KERNEL) ==
			      model[n]);
			model[n] = model[n] ? model[n] : entry;
		}
		CHECK(xa_load(&xa, (unsigned long)n) == model[n]);
	}
	n = 0;
	xa_for_each(&xa, at, entry) {
		while (n < (int)at)
			CHECK(!model[n++]);
		CHECK(model[n++] == entry);
	}
	xa_destroy(&xa);
	CHECK(xa_empty(&xa));
	for (n = 1; n < 10; n++)
		CHECK(!xa_alloc(&ids, &id, &xa, xa_limit_32b, GFP_KERNEL) && id == (u32)n);
	xa_erase(&ids, 4);
	CHECK(!xa_alloc(&ids, &id, NULL, xa_limit_32b, GFP_KERNEL) && id == 4 && !xa_load(&ids, 4));
	CHECK(xa_alloc(&ids, &id, &xa, XA_LIMIT(1, 9), GFP_KERNEL) == -EBUSY);
	xa_set_mark(&ids, 7, XA_MARK_1);
	xa_for_each_marked(&ids, at, entry, XA_MARK_1)
		CHECK(at == 7 && xa_get_mark(&ids, at, XA_MARK_1));
	CHECK(xa_marked(&ids, XA_MARK_1) && !xa_marked(&ids, XA_MARK_0));
	xa_destroy(&ids);
	CHECK(!xa_alloc_cyclic(&ids, &id, &xa, XA_LIMIT(1, 2), &next, GFP_KERNEL) && id == 1);
	CHECK(!xa_alloc_cyclic(&ids, &id, &xa, XA_LIMIT(1, 2), &next, GFP_KERNEL) && id == 2);
	xa_erase(&ids, 1);
	CHECK(xa_alloc_cyclic(&ids, &id, &xa, XA_LIMIT(1, 2), &next, GFP_KERNEL) == 1 && id == 1);
	CHECK(xa_err(xa_mk_err(-ENOMEM)) == -ENOMEM && !xa_err(NULL) && !xa_is_err(&ids));
	xa_destroy(&ids);
}

static int compare(void *priv, const struct list_head *a, const struct list_head *b)
{
	(void)priv;
	return list_entry(a, struct leaf, entry)->key - list_entry(b, struct leaf, entry)->key;
}

static void test_lists(void)
{
	enum { MOST = 70 };
	static struct leaf leaves[MOST];
	struct timerqueue_head timers;
	struct timerqueue_node one = { .expires = 20 }, two = { .expires = 10 };
	int size, n;

	for (size = 0; size <= MOST; size++) {
		LIST_HEAD(list);
		struct leaf *at, *before = NULL;

		for (n = 0; n < size; n++) {
			leaves[n].key = (int)chance(20);
			leaves[n].place = n;
			list_add_tail(&leaves[n].entry, &list);
		}
		list_sort(NULL, &list, compare);
		n = 0;
		list_for_each_entry(at, &list, entry) {
			CHECK(!before || before->key < at->key ||
			      (before->key == at->key && before->place < at->place));
			CHECK(at->entry.prev == (before ? &before->entry : &list));
			before = at;
			n++;
		}
		CHECK(n == size);
	}
	timerqueue_init_head(&timers);
	timerqueue_init(&one);
	CHECK(!timerqueue_node_queued(&one) && timerqueue_add(&timers, &one));
	CHECK(timerqueue_add(&timers, &two) && timerqueue_getnext(&timers) == &two);
	CHECK(timerqueue_del(&timers, &two) && timerqueue_getnext(&timers) == &one);
	CHECK(!timerqueue_del(&timers, &one) && !timerqueue_getnext(&timers));
}

static int by_int(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

DECLARE_EWMA(load, 4, 2)

/* The sums of "123456789" are in every catalogue of them. */
static void test_numbers(void)
{
	static const u8 nine[] = "123456789";
	static const int sorted[] = { 1, 4, 9 };
	struct ewma_load load;
	int key = 4;
	uuid_t uuid;
	guid_t guid;

	CHECK(~crc32_le(~0u, nine, 9) == 0xcbf43926u && ~crc32c(~0u, nine, 9) == 0xe3069283u);
	CHECK(~crc32_be(~0u, nine, 9) == 0xfc891918u);
	CHECK(crc16(0, nine, 9) == 0xbb3d && crc_itu_t(0xffff, nine, 9) == 0x29b1);
	CHECK(crc_ccitt(0, nine, 9) == 0x2189);
	CHECK(bitrev8(0x12) == 0x48 && bitrev16(1) == 0x8000 && bitrev32(2) == 0x40000000u);
	CHECK(bcd2bin(0x47) == 47 && bin2bcd(47) == 0x47 && bcd_is_valid(0x99) && !bcd_is_valid(0x1a));
	CHECK(gcd(12, 18) == 6 && lcm(4, 6) == 12 && lcm_not_zero(0, 5) == 5);
	CHECK(SZ_1K == 1024 && SZ_64M == 67108864 && MICRO == 1000000 && HZ_PER_MHZ == MEGA);
	CHECK(kelvin_to_celsius(300) == 27 && array_index_nospec(3, 4) == 3);
	CHECK(array_index_nospec(4, 4) == 0 && str_on_off(true)[1] == 'n' && *str_plural(2) == 's');
	CHECK(bsearch(&key, sorted, 3, sizeof(int), by_int) == &sorted[1]);
	CHECK(jhash("ab", 2, 0) == jhash("ab", 2, 0) && jhash("ab", 2, 0) != jhash("ba", 2, 0));
	CHECK(CIRC_CNT(2, 7, 8) == 3 && CIRC_SPACE(2, 7, 8) == 4);
	CHECK(CIRC_CNT_TO_END(2, 7, 8) == 1 && CIRC_SPACE_TO_END(6, 2, 8) == 2);
	ewma_load_init(&load);
	ewma_load_add(&load, 100);
	ewma_load_add(&load, 50);
	CHECK(ewma_load_read(&load) == 75);
	CHECK(!uuid_parse("00112233-4455-6677-8899-aabbccddeeff", &uuid) && uuid.b[3] == 0x33);
	CHECK(!guid_parse("00112233-4455-6677-8899-aabbccddeeff", &guid) && guid.b[0] == 0x33);
	CHECK(uuid_equal(&uuid, &UUID_INIT(0x00112233, 0x4455, 0x6677, 0x88, 0x99, 0xaa, 0xbb, 0xcc,
					   0xdd, 0xee, 0xff)));
	CHECK(guid_equal(&guid, &GUID_INIT(0x00112233, 0x4455, 0x6677, 0x88, 0x99, 0xaa, 0xbb, 0xcc,
					   0xdd, 0xee, 0xff)));
	CHECK(uuid_parse("00112233-4455-6677-8899-aabbccddeefg", &uuid) == -EINVAL);
	uuid_gen(&uuid);
	CHECK((uuid.b[6] & 0xf0) == 0x40 && (uuid.b[8] & 0xc0) == 0x80 && !uuid_is_null(&uuid));
}

static DECLARE_WAIT_QUEUE_HEAD(queue);
static DECLARE_SWAIT_QUEUE_HEAD(simple);
static int ready, asleep, woken;
static unsigned long bits;

/* The kernel's loop by hand: nobody is in it for ever, and nobody misses the wake-up. */
static int sleeps(void *data)
{
	DEFINE_WAIT(wait);

	for (;;) {
		if (data)
			prepare_to_wait_exclusive(&queue, &wait, TASK_UNINTERRUPTIBLE);
		else
			prepare_to_wait(&queue, &wait, TASK_INTERRUPTIBLE);
		if (__atomic_load_n(&ready, __ATOMIC_SEQ_CST))
			break;
		__atomic_fetch_add(&asleep, 1, __ATOMIC_SEQ_CST);
		schedule();
	}
	finish_wait(&queue, &wait);
	__atomic_fetch_add(&woken, 1, __ATOMIC_SEQ_CST);
	return 0;
}

static int waits_woken(void *data)
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);

	(void)data;
	add_wait_queue(&queue, &wait);
	__atomic_fetch_add(&asleep, 1, __ATOMIC_SEQ_CST);
	while (!__atomic_load_n(&ready, __ATOMIC_SEQ_CST))
		wait_woken(&wait, TASK_INTERRUPTIBLE, MAX_SCHEDULE_TIMEOUT);
	remove_wait_queue(&queue, &wait);
	__atomic_fetch_add(&woken, 1, __ATOMIC_SEQ_CST);
	return 0;
}

static int waits_bit(void *data)
{
	(void)data;
	__atomic_fetch_add(&asleep, 1, __ATOMIC_SEQ_CST);
	wait_on_bit(&bits, 3, TASK_UNINTERRUPTIBLE);
	wait_var_event(&ready, READ_ONCE(ready));
	swait_event_exclusive(simple, READ_ONCE(ready) == 2);
	__atomic_fetch_add(&woken, 1, __ATOMIC_SEQ_CST);
	return 0;
}

static int told;
static int tells(struct wait_queue_entry *entry, unsigned int mode, int flags, void *key)
{
	(void)entry, (void)mode, (void)flags;
	told += (int)(unsigned long)key;
	return 0;
}

static struct wait_queue_entry polled;
static void polls(struct file *file, wait_queue_head_t *q, poll_table *table)
{
	(void)file, (void)table;
	init_waitqueue_func_entry(&polled, tells);
	add_wait_queue(q, &polled);
}

static void test_waits(void)
{
	struct task_struct *tasks[8];
	poll_table table;
	int n;

	for (n = 0; n < 6; n++)
		tasks[n] = kthread_run(n < 4 ? sleeps : waits_woken, n < 2 ? &ready : NULL, "s%d", n);
	while (__atomic_load_n(&asleep, __ATOMIC_SEQ_CST) < 6)
		msleep(1);
	/* Nothing is ready: whoever wakes up sleeps again. */
	wake_up_all(&queue);
	WRITE_ONCE(ready, 1);
	wake_up_all(&queue);
	for (n = 0; n < 6; n++)
		kthread_stop(tasks[n]);
	CHECK(woken == 6 && !waitqueue_active(&queue));

	asleep = woken = ready = 0;
	set_bit(3, &bits);
	for (n = 0; n < 2; n++)
		tasks[n] = kthread_run(waits_bit, NULL, "b%d", n);
	while (__atomic_load_n(&asleep, __ATOMIC_SEQ_CST) < 2)
		msleep(1);
	clear_and_wake_up_bit(3, &bits);
	WRITE_ONCE(ready, 1);
	wake_up_var(&ready);
	WRITE_ONCE(ready, 2);
	wake_up_var(&ready);
	swake_up_all(&simple);
	for (n = 0; n < 2; n++)
		kthread_stop(tasks[n]);
	CHECK(woken == 2);

	init_poll_funcptr(&table, polls);
	poll_wait(NULL, &queue, &table);
	wake_up_poll(&queue, 5);
	CHECK(told == 5);
	remove_wait_queue(&queue, &polled);
	wake_up_poll(&queue, 5);
	CHECK(told == 5);

	/* As in the kernel: a running thread does not sleep in schedule(). */
	schedule();
	CHECK(schedule_timeout_uninterruptible(2) == 0);
	set_current_state(TASK_INTERRUPTIBLE);
	wake_up_process(current);
	CHECK(schedule_timeout(HZ * 60) > 0);
}

static int alive, released;
static void *makes(gfp_t gfp, void *data)
{
	(void)gfp;
	if (alive >= (int)(long)data)
		return NULL;
	alive++;
	return kmalloc(8, GFP_KERNEL);
}

static void unmakes(void *element, void *data)
{
	(void)data;
	alive--;
	kfree(element);
}

static void release(struct percpu_ref *ref)
{
	(void)ref;
	released++;
}

static void nothing(struct work_struct *work)
{
	(void)work;
}

static DEFINE_STATIC_KEY_FALSE(branch);

static void test_counts(void)
{
	mempool_t *pool = mempool_create(2, makes, unmakes, (void *)2L);
	struct percpu_counter counter;
	struct percpu_ref ref;
	struct percpu_rw_semaphore sem;
	struct device dev = { .init_name = "dev" };
	struct work_struct work;
	struct delayed_work later;
	void *one, *two;

	CHECK(pool && alive == 2);
	one = mempool_alloc(pool, GFP_NOWAIT);
	two = mempool_alloc(pool, GFP_KERNEL);
	CHECK(one && two && one != two && !mempool_alloc(pool, GFP_NOWAIT));
	mempool_free(one, pool);
	CHECK(mempool_alloc(pool, GFP_KERNEL) == one);
	mempool_free(one, pool);
	mempool_free(two, pool);
	mempool_destroy(pool);
	CHECK(alive == 0);

	percpu_counter_init(&counter, 5, GFP_KERNEL);
	percpu_counter_sub(&counter, 7);
	CHECK(percpu_counter_sum(&counter) == -2 && !percpu_counter_sum_positive(&counter));
	CHECK(percpu_counter_compare(&counter, 0) == -1);

	CHECK(!percpu_ref_init(&ref, release, 0, GFP_KERNEL) && percpu_ref_tryget_live(&ref));
	percpu_ref_kill(&ref);
	CHECK(!percpu_ref_tryget_live(&ref) && percpu_ref_tryget(&ref) && !released);
	percpu_ref_put_many(&ref, 2);
	CHECK(released == 1 && !percpu_ref_tryget(&ref) && percpu_ref_is_zero(&ref));
	percpu_ref_resurrect(&ref);
	CHECK(percpu_ref_tryget_live(&ref));

	percpu_init_rwsem(&sem);
	percpu_down_read(&sem);
	CHECK(percpu_down_read_trylock(&sem));
	percpu_up_read(&sem);
	percpu_up_read(&sem);
	percpu_down_write(&sem);
	CHECK(!percpu_down_read_trylock(&sem));
	percpu_up_write(&sem);

	CHECK(!static_branch_unlikely(&branch));
	static_branch_enable(&branch);
	CHECK(static_branch_unlikely(&branch));

	CHECK(!devm_work_autocancel(&dev, &work, nothing));
	CHECK(!devm_delayed_work_autocancel(&dev, &later, nothing));
	CHECK(schedule_delayed_work(&later, HZ * 3600));
	cmwq_shim_devres_release(&dev);
	CHECK(!delayed_work_pending(&later));
}

static void test_ids_and_atomics(void)
{
	struct idr idr_of_a_test;
	struct ida numbers;
	atomic_t word = ATOMIC_INIT(5);
	int at, old = 5;

	ida_init(&numbers);
	CHECK(ida_is_empty(&numbers));
	for (at = 0; at < 2 * IDA_BITMAP_BITS; at++)
		CHECK(ida_alloc(&numbers, GFP_KERNEL) == at);
	ida_free(&numbers, 7);
	CHECK(ida_alloc(&numbers, GFP_KERNEL) == 7 && !ida_is_empty(&numbers));
	ida_destroy(&numbers);
	idr_init_base(&idr_of_a_test, 3);
	CHECK(idr_alloc(&idr_of_a_test, &at, 3, 0, GFP_KERNEL) == 3);
	idr_destroy(&idr_of_a_test);
	atomic_xor(3, &word);
	CHECK(atomic_fetch_add_relaxed(1, &word) == 6 && atomic_read(&word) == 7);
	CHECK(!atomic_try_cmpxchg_release(&word, &old, 1) && old == 7);
	CHECK(atomic_cmpxchg_acquire(&word, 7, 2) == 7 && atomic_inc_return_release(&word) == 3);
}

static void test_sizes(void)
{
	char text[32];

	CHECK(string_get_size(512, 1, STRING_UNITS_10, text, sizeof(text)) == 5);
	CHECK(!strcmp(text, "512 B"));
	string_get_size(8192, 512, STRING_UNITS_2, text, sizeof(text));
	CHECK(!strcmp(text, "4.00 MiB"));
	string_get_size(1, 15900, STRING_UNITS_10, text, sizeof(text));
	CHECK(!strcmp(text, "15.9 kB"));
	string_get_size(~0ull, 1 << 20, STRING_UNITS_10, text, sizeof(text));
	CHECK(!strcmp(text, "19.3 YB"));
	string_upper(text, "aB1");
	CHECK(!strcmp(text, "AB1"));
}

int main(void)
{
	test_ids_and_atomics();
	test_sizes();
	test_trees();
	test_xarray();
	test_lists();
	test_numbers();
	test_waits();
	test_counts();
	return 0;
}
