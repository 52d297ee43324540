#include "thread_pool.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <utility>

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#define FWSVM_HAS_FORK 1
#endif

namespace fwsvm {
namespace {

struct Loop {
    Loop(int64_t n, const std::function<void(int64_t)>& each) : count(n), body(each) {}

    void run() {
        try {
            for (int64_t i; (i = next.fetch_add(1)) < count;) body(i);
        } catch (...) {
            next = count;
            std::lock_guard<std::mutex> lock(error_mutex);
            if (!error) error = std::current_exception();
        }
    }

    const int64_t count;
    const std::function<void(int64_t)>& body;
    std::atomic<int64_t> next{0};
    int open_places = 0;  // helpers that may still join; guarded by the pool's mutex, as is `helpers`
    int helpers = 0;      // helpers at work
    std::mutex error_mutex;
    std::exception_ptr error;
};

class Pool {
  public:
    void run(Loop& loop, int helpers) {
        {
            std::lock_guard<std::mutex> lock(mutex_);
            while (workers_ < helpers && start_worker()) ++workers_;
            loop.open_places = helpers;
            waiting_.push_back(&loop);
        }
        work_.notify_all();
        loop.run();
        std::unique_lock<std::mutex> lock(mutex_);
        remove(&loop);
        done_.wait(lock, [&] { return loop.helpers == 0; });
    }

  private:
    bool start_worker() {
        try {
            std::thread([this] { work(); }).detach();
            return true;
        } catch (const std::system_error&) {
            return false;  // no more threads to be had: the caller works with those there are
        }
    }

    void work() {
        std::unique_lock<std::mutex> lock(mutex_);
        for (;;) {
            work_.wait(lock, [&] { return !waiting_.empty(); });
            Loop* loop = waiting_.front();
            ++loop->helpers;
            if (--loop->open_places == 0) remove(loop);
            lock.unlock();
            loop->run();
            lock.lock();
            remove(loop);  // nothing is left of it to do
            if (--loop->helpers == 0) done_.notify_all();
        }
    }

    void remove(Loop* loop) {
        for (auto it = waiting_.begin(); it != waiting_.end(); ++it)
            if (*it == loop) {
                waiting_.erase(it);
                return;
            }
    }

    std::mutex mutex_;
    std::condition_variable work_, done_;
    std::deque<Loop*> waiting_;
    int workers_ = 0;
};

// Never destroyed: its threads sleep until the process ends. After a fork the child has none of
// them, and its mutex may be locked for ever, so the child starts with a new pool.
Pool* pool = new Pool;
#if defined(FWSVM_HAS_FORK)
[[maybe_unused]] const int on_fork = pthread_atfork(nullptr, nullptr, [] { pool = new Pool; });
#endif

constexpr auto check_interval = std::chrono::milliseconds(50);

}  // namespace

Execution::Execution(int threads, std::function<bool()> interrupted)
    : threads_(threads < 1 ? 1 : threads),
      interrupted_(std::move(interrupted)),
      caller_(std::this_thread::get_id()),
      next_check_(std::chrono::steady_clock::now() + check_interval) {}

void Execution::check() {
    if (!stop_.load(std::memory_order_relaxed) && std::this_thread::get_id() == caller_) {
        const auto now = std::chrono::steady_clock::now();
        if (now >= next_check_) {
            next_check_ = now + check_interval;
            if (interrupted_()) stop_ = true;
        }
    }
    if (stop_.load(std::memory_order_relaxed)) throw Interrupted{};
}

void Execution::parallel_for(int64_t count, const std::function<void(int64_t)>& body) {
    const std::function<void(int64_t)> checked = [&](int64_t i) {
        check();
        body(i);
    };
    Loop loop(count, checked);
    const int64_t helpers = std::min<int64_t>(threads_, count) - 1;
    if (helpers > 0)
        pool->run(loop, int(helpers));
    else
        loop.run();
    if (loop.error) std::rethrow_exception(loop.error);
}

}  // namespace fwsvm
