#include "proof/emu/thread_sanitizer.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

// ThreadSanitizer's interface (compiler-rt, sanitizer/tsan_interface.h, and tsan_debugging.cpp for what a report
// holds). Weak: a program without it has none of these. NOLINTBEGIN(bugprone-reserved-identifier): the names are given.
extern "C" {
[[gnu::weak]] void* __tsan_get_current_fiber();
[[gnu::weak]] void __tsan_switch_to_fiber(void* fiber, unsigned flags);
[[gnu::weak]] void __tsan_set_fiber_name(void* fiber, const char* name);
[[gnu::weak]] void __tsan_acquire(void* key);
[[gnu::weak]] void __tsan_release(void* key);
[[gnu::weak]] void __tsan_read_range_pc(void* address, unsigned long bytes, void* pc);
[[gnu::weak]] void __tsan_write_range_pc(void* address, unsigned long bytes, void* pc);
[[gnu::weak]] void __tsan_read16_pc(void* address, void* pc);
[[gnu::weak]] void __tsan_write16_pc(void* address, void* pc);
[[gnu::weak]] int __tsan_get_report_data(void* report, const char** description, int* count, int* stacks, int* accesses,
                                         int* locations, int* mutexes, int* threads, int* unique_threads,
                                         void** sleep_trace, unsigned long trace_size);
[[gnu::weak]] int __tsan_get_report_mop(void* report, unsigned long i, int* thread, void** address, int* bytes,
                                        int* write, int* atomic, void** trace, unsigned long trace_size);
[[gnu::weak]] int __tsan_get_report_thread(void* report, unsigned long i, int* thread, unsigned long long* os_id,
                                           int* running, const char** name, int* parent, void** trace,
                                           unsigned long trace_size);
[[gnu::weak]] void __sanitizer_symbolize_pc(void* pc, const char* format, char* text, unsigned long size);
}

namespace flashfit::emu::tsan {
namespace {

constexpr unsigned kNoSynchronisation = 1;  // of a switch of fibres

/// Lines of instructions stand for the program counters of their accesses: each is an address in `marks`.
class Sites {
 public:
  void* mark(const Site& site) {
    std::size_t at = (reinterpret_cast<std::uintptr_t>(site.file) ^ site.line * 0x9e3779b9u) % kMost;
    for (; sites_[at].line != 0; at = (at + 1) % kMost)
      if (sites_[at].line == site.line && sites_[at].file == site.file) return marks_ + at * kStep + kStep / 2;
    if (++used_ == kMost) std::abort();
    sites_[at] = site;
    return marks_ + at * kStep + kStep / 2;
  }
  /// The site that a reported program counter stands for, or nullptr.
  const Site* find(const void* pc) const {
    const std::uintptr_t at = reinterpret_cast<std::uintptr_t>(pc) - reinterpret_cast<std::uintptr_t>(marks_);
    return at < sizeof marks_ ? &sites_[at / kStep] : nullptr;
  }

 private:
  static constexpr std::size_t kMost = 4096, kStep = 16;
  static char marks_[kMost * kStep];
  std::array<Site, kMost> sites_ = [] {
    std::array<Site, kMost> none;
    none.fill(Site(nullptr, 0));
    return none;
  }();
  std::size_t used_ = 0;
};
char Sites::marks_[];

/// What a host thread has of its own: fibres are never shared between them.
struct Host {
  void *self = nullptr, *engine = nullptr;
  std::vector<void*> fibres;  ///< kept: making one takes half a millisecond
  Sites sites;
  std::optional<Race> race;
};

Host& host() {
  static thread_local Host* const mine = new Host;  // never freed: ThreadSanitizer keeps the fibres to the end too
  return *mine;
}

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

/// Access i of a report.
Access access_of(void* report, unsigned long i, int threads) {
  int thread = 0, bytes = 0, write = 0, atomic = 0;
  void *address = nullptr, *trace[1] = {};
  __tsan_get_report_mop(report, i, &thread, &address, &bytes, &write, &atomic, trace, 1);
  Access access{.fibre = -1,
                .write = write != 0,
                .bytes = bytes,
                .address = reinterpret_cast<std::uintptr_t>(address),
                .place = {}};
  for (int t = 0; t < threads; ++t) {
    int id = 0, running = 0, parent = 0;
    unsigned long long os_id = 0;
    const char* name = nullptr;
    void* stack[1];
    __tsan_get_report_thread(report, static_cast<unsigned long>(t), &id, &os_id, &running, &name, &parent, stack, 1);
    if (id == thread && name != nullptr && name[0] == 'f') access.fibre = std::atoi(name + 1);
  }
  if (const Site* const site = host().sites.find(trace[0])) {
    access.place = std::string(file_name(site->file)) + ":" + std::to_string(site->line);
  } else {
    char text[512] = "";
    __sanitizer_symbolize_pc(trace[0], "%s:%l", text, sizeof text);
    access.place = file_name(text);
  }
  return access;
}

}  // namespace

/// Called by ThreadSanitizer for each report, in the thread that found it.
void on_report(void* report) {
  const char* description = nullptr;
  int count = 0, stacks = 0, accesses = 0, locations = 0, mutexes = 0, threads = 0, unique = 0;
  void* sleep_trace[1];
  __tsan_get_report_data(report, &description, &count, &stacks, &accesses, &locations, &mutexes, &threads, &unique,
                         sleep_trace, 1);
  if (accesses < 2 || host().race) return;
  host().race = Race{access_of(report, 0, threads), access_of(report, 1, threads)};
}

void enter(int i) {
  if (!on()) return;
  Host& h = host();
  if (h.self == nullptr) h.self = __tsan_get_current_fiber();
  while (h.fibres.size() <= static_cast<std::size_t>(i)) {
    h.fibres.push_back(__tsan_create_fiber(0));
    char name[16];
    std::snprintf(name, sizeof name, "f%zu", h.fibres.size() - 1);
    __tsan_set_fiber_name(h.fibres.back(), name);
  }
  __tsan_switch_to_fiber(h.fibres[static_cast<std::size_t>(i)], kNoSynchronisation);
}

AsEngine::AsEngine(const void* start) {
  if (!on()) return;
  back_ = __tsan_get_current_fiber();
  Host& h = host();
  if (h.engine == nullptr) h.engine = __tsan_create_fiber(0);
  __tsan_switch_to_fiber(h.engine, kNoSynchronisation);
  acquire(start);
}

AsEngine::~AsEngine() {
  if (!on()) return;
  release(&host().engine);
  __tsan_switch_to_fiber(back_, kNoSynchronisation);
}

void enter_host() {
  if (!on() || host().self == nullptr) return;
  __tsan_switch_to_fiber(host().self, kNoSynchronisation);
  acquire(&host().engine);  // what engines wrote is the host's to read
}

// Most accesses have 16 bytes, for which the functions of that size take half the time.
void read(std::uintptr_t address, std::size_t bytes, const Site& site) {
  if (!on()) return;
  void *const at = reinterpret_cast<void*>(address), *const mark = host().sites.mark(site);
  bytes == 16 ? __tsan_read16_pc(at, mark) : __tsan_read_range_pc(at, bytes, mark);
}

void write(std::uintptr_t address, std::size_t bytes, const Site& site) {
  if (!on()) return;
  void *const at = reinterpret_cast<void*>(address), *const mark = host().sites.mark(site);
  bytes == 16 ? __tsan_write16_pc(at, mark) : __tsan_write_range_pc(at, bytes, mark);
}

void release(const void* key) {
  if (on()) __tsan_release(const_cast<void*>(key));
}

void acquire(const void* key) {
  if (on()) __tsan_acquire(const_cast<void*>(key));
}

std::optional<Race> take() {
  if (!on() || !host().race) return std::nullopt;  // asked after every access
  return std::exchange(host().race, std::nullopt);
}

}  // namespace flashfit::emu::tsan

// ThreadSanitizer calls these in place of its own: reports go to on_report() and are not printed; a race is found as
// often as it happens, in any kernel that the program runs.
namespace __tsan {
class ReportDesc;
[[gnu::visibility("default")]] bool OnReport(const ReportDesc* report, bool /*suppressed*/) {
  flashfit::emu::tsan::on_report(const_cast<ReportDesc*>(report));
  return true;
}
}  // namespace __tsan
extern "C" [[gnu::visibility("default")]] const char* __tsan_default_options() {
  return "report_thread_leaks=0:detect_deadlocks=0:atexit_sleep_ms=0:suppress_equal_stacks=0:suppress_equal_addresses="
         "0";
}
// NOLINTEND(bugprone-reserved-identifier)
