#pragma once
// A pool of threads that lives until the process ends: made at the first use,
// made anew in a forked child, shared by all callers.
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <list>
#include <mutex>
#include <thread>

namespace flashfit::cpu {

/// Threads that a call uses by default: FLASHFIT_NUM_THREADS if it is 1 to 1024,
/// else the CPUs that this process may run on. Read once.
inline int default_threads() {
  static const int threads = [] {
    if (const char* const text = std::getenv("FLASHFIT_NUM_THREADS")) {
      char* end;
      const long value = std::strtol(text, &end, 10);
      if (end != text && *end == '\0' && value >= 1 && value <= 1024) return static_cast<int>(value);
    }
    cpu_set_t cpus;
    if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0) return std::max(CPU_COUNT(&cpus), 1);
    return std::max(static_cast<int>(std::thread::hardware_concurrency()), 1);
  }();
  return threads;
}

class Pool {
 public:
  /// Calls body(context, task, slot) once for every task in [0, tasks), on the calling thread and at most threads - 1
  /// others. `slot` is below `threads` and no two calls that run at once have the same. `body` must not throw. Runs on
  /// fewer threads if the system gives no more.
  static void run(std::int64_t tasks, int threads, void (*body)(void* context, std::int64_t task, int slot),
                  void* context) {
    Job job{body, context, tasks, threads};
    if (threads <= 1 || tasks <= 1) return job.work(0);
    instance().share(job);
  }

 private:
  struct Job {
    void (*body)(void*, std::int64_t, int);
    void* context;
    std::int64_t tasks;
    int threads;
    std::atomic<std::int64_t> next{0};
    int joined = 1, working = 0;  // guarded by the pool's mutex; the caller is slot 0

    void work(int slot) {
      for (std::int64_t task; (task = next.fetch_add(1, std::memory_order_relaxed)) < tasks;) body(context, task, slot);
    }
    bool wants_more() const { return joined < threads && next.load(std::memory_order_relaxed) < tasks; }
  };

  // A forked child has none of its parent's threads, and the parent's mutex may be locked for ever:
  // it leaves the old pool and starts one.
  static Pool& instance() {
    static std::atomic<Pool*> current{nullptr};
    Pool* pool = current.load(std::memory_order_acquire);
    while (pool == nullptr || pool->process_ != getpid()) {
      Pool* const fresh = new Pool;
      if (current.compare_exchange_strong(pool, fresh, std::memory_order_acq_rel)) return *fresh;
      delete fresh;
    }
    return *pool;
  }

  void share(Job& job) {
    {
      const std::lock_guard lock(mutex_);
      start_threads(job.threads - 1);
      jobs_.push_back(&job);
    }
    wake_.notify_all();
    job.work(0);
    std::unique_lock lock(mutex_);
    jobs_.remove(&job);
    done_.wait(lock, [&job] { return job.working == 0; });
  }

  void start_threads(int wanted) {
    sigset_t all, before;  // the host's signal handlers run on the host's threads
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (; threads_ < wanted; ++threads_) {
      try {
        std::thread([this] { serve(); }).detach();
      } catch (const std::exception&) {
        break;  // no more threads, or no memory for one: those there are do the work
      }
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      Job* job = nullptr;
      wake_.wait(lock, [this, &job] {
        const auto found = std::find_if(jobs_.begin(), jobs_.end(), [](const Job* j) { return j->wants_more(); });
        return found != jobs_.end() && (job = *found) != nullptr;
      });
      const int slot = job->joined++;
      ++job->working;
      lock.unlock();
      job->work(slot);
      lock.lock();
      if (--job->working == 0) done_.notify_all();
    }
  }

  const pid_t process_ = getpid();
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::list<Job*> jobs_;
  int threads_ = 0;
};

}  // namespace flashfit::cpu
