#include "runtime/images/build/workers.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <climits>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>

namespace flashfit {
namespace {

// A line is written whole only up to PIPE_BUF bytes; what a compiler says past that is more of the same.
constexpr std::size_t kLongestLine = PIPE_BUF;
constexpr char kNewline = '\v';  // for the newlines inside a message

// A child writes "index\n" for a finished item, or "!message\n" and ends for an error.
void child(int count, std::atomic<int>& next, const std::function<Result<void>(int)>& work, int pipe) {
  for (int i = next++; i < count; i = next++) {
    const Result<void> result = work(i);
    std::string line = result ? fmt::format("{}", i) : fmt::format("!{:.{}}", result.error().message, kLongestLine - 2);
    std::replace(line.begin(), line.end(), '\n', kNewline);
    line += '\n';
    if (write(pipe, line.data(), line.size()) < 0 || !result) {
      next = count;  // the others stop after what they have in hand
      _exit(1);
    }
  }
  _exit(0);
}

}  // namespace

Result<void> run_in_processes(int count, int processes, const std::function<Result<void>(int)>& work,
                              const std::function<void(int)>& done) {
  if (count == 0) return {};
  using Counter = std::atomic<int>;
  void* page = mmap(nullptr, sizeof(Counter), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return fail(Code::kOutOfMemory, "no memory for the work counter");
  auto* next = new (page) Counter(0);
  // One pipe for all: lines of several children do not mix.
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) return fail(Code::kInternal, fmt::format("pipe: {}", std::strerror(errno)));
  for (int p = 0; p < std::clamp(processes, 1, count); ++p) {
    const pid_t pid = fork();
    if (pid < 0) return fail(Code::kInternal, fmt::format("fork: {}", std::strerror(errno)));
    if (pid == 0) child(count, *next, work, ends[1]);
  }
  close(ends[1]);
  std::string error;
  int finished = 0;
  std::FILE* stream = fdopen(ends[0], "r");
  std::array<char, kLongestLine + 1> line{};
  while (std::fgets(line.data(), line.size(), stream) != nullptr) {
    if (line[0] == '!') {  // the first one tells; others mostly say the same
      if (error.empty()) error.assign(line.data() + 1, std::strcspn(line.data() + 1, "\n"));
    } else {
      ++finished;
      done(std::atoi(line.data()));
    }
  }
  std::fclose(stream);
  while (wait(nullptr) > 0) {
  }
  munmap(page, sizeof(Counter));
  std::replace(error.begin(), error.end(), kNewline, '\n');
  if (!error.empty()) return fail(Code::kMisfit, error);
  if (finished != count)
    return fail(Code::kInternal, fmt::format("a worker died: {} of {} images were made", finished, count));
  return {};
}

}  // namespace flashfit
