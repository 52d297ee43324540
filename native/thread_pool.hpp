// One pool of threads for the whole process, and loops that run on it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <thread>

namespace fwsvm {

// Thrown out of a loop whose caller was asked to stop. The reason lies with whoever asked.
struct Interrupted {};

// How one call runs: on how many threads, and how it learns that it should stop.
class Execution {
  public:
    // `interrupted` is called on the calling thread only, about every 50 ms.
    Execution(int threads, std::function<bool()> interrupted);

    // body(i) for every i in [0, count), in any order, on up to `threads` threads. The first
    // exception of a body ends the loop and is thrown here.
    void parallel_for(int64_t count, const std::function<void(int64_t)>& body);

    // Long bodies call this now and then; it throws Interrupted when the call should end.
    void check();

  private:
    int threads_;
    std::function<bool()> interrupted_;
    std::thread::id caller_;
    std::chrono::steady_clock::time_point next_check_;
    std::atomic<bool> stop_{false};
};

}  // namespace fwsvm
