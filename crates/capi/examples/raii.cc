// C++17: a queue and an item that clean up after themselves.
//
//     c++ -std=c++17 raii.cc $(pkg-config --cflags --libs cmwq)
#include <cmwq.h>

#include <atomic>
#include <cstdio>
#include <functional>
#include <memory>
#include <system_error>
#include <utility>

class Queue {
public:
	explicit Queue(const char *name)
	{
		cmwq_queue *made = nullptr;
		if (const int error = cmwq_queue_create(name, nullptr, &made); error < 0)
			throw std::system_error(-error, std::generic_category(), name);
		queue.reset(made);
	}
	cmwq_queue *get() const noexcept { return queue.get(); }

private:
	struct Destroy {
		void operator()(cmwq_queue *queue) const noexcept { cmwq_queue_destroy(queue); }
	};
	std::unique_ptr<cmwq_queue, Destroy> queue;
};

// Never moved: its address is the item's. Its end waits for an execution.
class Work {
public:
	explicit Work(std::function<void()> call) : item{}, call(std::move(call))
	{
		cmwq_work_init(&item.work, run);
		item.self = this;
	}
	Work(const Work &) = delete;
	Work &operator=(const Work &) = delete;
	~Work() { cmwq_work_cancel_sync(&item.work); }

	bool queue(const Queue &queue) noexcept
	{
		return cmwq_queue_work(queue.get(), &item.work) > 0;
	}
	void flush() noexcept { cmwq_work_flush(&item.work); }

private:
	struct Item {
		cmwq_work work;
		Work *self;
	};
	// noexcept: what is thrown must not leave an item.
	static void run(cmwq_work *work) noexcept
	{
		cmwq_container_of(work, Item, work)->self->call();
	}
	Item item;
	std::function<void()> call;
};

int main()
{
	std::atomic<int> calls{0};
	{
		Queue queue("raii");
		Work work([&] { ++calls; });
		for (int n = 0; n < 10; n++) {
			work.queue(queue);
			work.flush();
		}
	}
	std::printf("%d calls\n", calls.load());
	return calls == 10 ? 0 : 1;
}
