#include "hardware/worker.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstring>
#include <exception>
#include <optional>

namespace flashfit::hardware {
namespace {

using Clock = std::chrono::steady_clock;

void say(int pipe, const Json& message) {
  // Whatever is no UTF-8 comes from a broken driver's text: replaced, not thrown at.
  const std::string line = message.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  for (std::size_t at = 0; at < line.size();) {
    const ssize_t n = write(pipe, line.data() + at, line.size() - at);
    if (n <= 0) _exit(1);
    at += static_cast<std::size_t>(n);
  }
}

/// What the child does: the checks from `first` on. It ends after one that failed, as the context may be broken.
[[noreturn]] void work(std::span<const Check> checks, std::size_t first, int device, ComputeCapability rehearsal,
                       int pipe) {
  std::optional<lab::Device> gpu;
  Place place{.cc = rehearsal};
  if (rehearsal.major != 0) {
    say(pipe,
        {{"gpu", {{"name", "the emulator"}, {"compute_capability", rehearsal.str()}, {"driver_cuda_version", 0}}}});
  } else {
    Result<lab::Device> opened = lab::Device::open(device);
    if (!opened) {
      say(pipe, {{"no_gpu", opened.error().message}});
      _exit(0);
    }
    gpu = std::move(*opened);
    place = {.device = &*gpu, .cc = gpu->gpu().cc};
    say(pipe, {{"gpu",
                {{"name", gpu->gpu().name},
                 {"compute_capability", gpu->gpu().cc.str()},
                 {"sms", gpu->gpu().sms},
                 {"clock_ghz", gpu->gpu().clock_ghz},
                 {"driver_cuda_version", gpu->driver_version()}}}});
  }
  for (std::size_t i = first; i < checks.size(); ++i) {
    Outcome outcome;
    try {
      outcome = checks[i].run(place);
    } catch (const std::exception& error) {
      outcome.fail(std::string("threw: ") + error.what());
    }
    say(pipe, {{"passed", outcome.passed}, {"message", outcome.message}, {"kept", outcome.kept}});
    if (!outcome.passed) _exit(0);
  }
  _exit(0);
}

/// Lines from a pipe, each waited for until a deadline.
class Lines {
 public:
  explicit Lines(int pipe) : pipe_(pipe) {}

  enum class End : unsigned char { kNone, kClosed, kLate };
  End end = End::kNone;

  std::optional<std::string> next(Clock::time_point deadline) {
    for (;;) {
      if (const auto at = text_.find('\n'); at != std::string::npos) {
        std::string line = text_.substr(0, at);
        text_.erase(0, at + 1);
        return line;
      }
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
      pollfd ready{pipe_, POLLIN, 0};
      if (left <= 0 || poll(&ready, 1, static_cast<int>(left)) <= 0) {
        end = End::kLate;
        return std::nullopt;
      }
      std::array<char, 65536> buffer;
      const ssize_t n = read(pipe_, buffer.data(), buffer.size());
      if (n <= 0) {
        end = End::kClosed;
        return std::nullopt;
      }
      text_.append(buffer.data(), static_cast<std::size_t>(n));
    }
  }

 private:
  int pipe_;
  std::string text_;
};

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status)) return fmt::format("its process died of signal {}", strsignal(WTERMSIG(status)));
  return fmt::format("its process ended with status {}", WEXITSTATUS(status));
}

}  // namespace

Result<void> run_checks(std::span<const Check> checks, int device, ComputeCapability rehearsal, double seconds,
                        const std::function<void(const Json& gpu)>& describe,
                        const std::function<void(const Finished&)>& done) {
  constexpr double kSecondsToOpen = 60;
  bool described = false;
  for (std::size_t i = 0; i < checks.size();) {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) return fail(Code::kInternal, fmt::format("pipe: {}", std::strerror(errno)));
    const pid_t child = fork();
    if (child < 0) return fail(Code::kInternal, fmt::format("fork: {}", std::strerror(errno)));
    if (child == 0) work(checks, i, device, rehearsal, ends[1]);
    close(ends[1]);
    Lines lines(ends[0]);
    const auto in = [](double s) { return Clock::now() + std::chrono::milliseconds(static_cast<long>(s * 1000)); };
    const auto hello = lines.next(in(kSecondsToOpen));
    const Json opened = hello ? Json::parse(*hello) : Json{{"no_gpu", "the process that opens it ended or hangs"}};
    if (opened.contains("gpu") && !described) describe(opened["gpu"]);
    described |= opened.contains("gpu");
    bool more = opened.contains("gpu");
    while (more && i < checks.size()) {
      const auto start = Clock::now();
      const auto line = lines.next(in(seconds));
      Outcome outcome;
      if (line) {
        Json result = Json::parse(*line);
        outcome = {result["passed"], result["message"], std::move(result["kept"])};
      }
      int status = 0;
      if (!line && lines.end == Lines::End::kLate) {
        kill(child, SIGKILL);
        outcome.fail(fmt::format("not done after {} s", seconds));
      } else if (!line) {
        waitpid(child, &status, 0);
        outcome.fail(how_it_ended(status));
      }
      more = outcome.passed;
      done({checks[i++], std::move(outcome), std::chrono::duration<double>(Clock::now() - start).count()});
    }
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    close(ends[0]);
    if (!opened.contains("gpu")) {
      const std::string why = opened["no_gpu"];
      if (!described) return fail(Code::kNoGpu, why);
      Outcome outcome;  // it was there before: that check's turn is lost
      outcome.fail("the GPU could not be opened again: " + why);
      done({checks[i++], std::move(outcome), 0});
    }
  }
  return {};
}

}  // namespace flashfit::hardware
