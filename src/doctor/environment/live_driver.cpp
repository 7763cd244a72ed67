#include "doctor/environment/live_driver.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

#include "core/base/printable.hpp"
#include "core/gpu/device.hpp"
#include "core/gpu/driver.hpp"
#include "doctor/environment/empty_launch.hpp"

namespace flashfit::doctor::environment {
namespace {

using Clock = std::chrono::steady_clock;
using State = DriverAnswer::State;

constexpr std::size_t kMostText = 1 << 16, kMostGpus = 256;

/// One line a fact. The parent, which reads it, makes printable what the driver's words may hold.
void write_line(int out, std::string line) {
  std::replace(line.begin(), line.end(), '\n', ' ');
  line += '\n';
  for (std::size_t done = 0; done < line.size();) {
    const ssize_t n = write(out, line.data() + done, line.size() - done);
    if (n <= 0) return;
    done += static_cast<std::size_t>(n);
  }
}

void write_gpus(int out, const Driver& d) {
  int count = 0;
  if (d.cuDeviceGetCount(&count) != 0) return;
  for (int i = 0; i < count && i < static_cast<int>(kMostGpus); ++i) {
    cu::Device device = 0;
    char name[256] = "";
    int major = 0, minor = 0, mode = 0;
    if (d.cuDeviceGet(&device, i) != 0 || d.cuDeviceGetName(name, sizeof name, device) != 0) continue;
    d.cuDeviceGetAttribute(&major, cu::Attribute::kMajor, device);
    d.cuDeviceGetAttribute(&minor, cu::Attribute::kMinor, device);
    if (d.cuDeviceGetAttribute(&mode, cu::Attribute::kComputeMode, device) != 0) mode = 0;
    write_line(out, "gpu " + std::to_string(major) + " " + std::to_string(minor) + " " + std::to_string(mode) + " " +
                        std::string(name, strnlen(name, sizeof name)));
  }
}

/// The child's whole life: it never returns to what the parent was doing.
[[noreturn]] void answer_in_child(int out, bool launch) {
  const int null = open("/dev/null", O_RDWR);
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(null, standard);
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  const InitAnswer init = ask_init();
  if (!init.no_library.empty()) write_line(out, "lacks " + init.no_library);
  write_line(out, "path " + init.path);
  write_line(out, "cuda " + std::to_string(init.version));
  write_line(out, "status " + std::to_string(init.status));
  if (!init.words.empty()) write_line(out, "words " + init.words);
  const Result<const Driver*> d = init.no_library.empty() && init.status == 0 ? driver() : fail(Code::kNoGpu, "");
  if (d) write_gpus(out, **d);
  if (d && launch) {
    const std::string error = launch_on_every_gpu();
    write_line(out, error.empty() ? "launched" : "unlaunched " + error);
  }
  write_line(out, "end");
  _exit(0);
}

/// What the child wrote until it closed its end, or until the time was up.
std::string read_until(int in, Clock::time_point deadline, bool& timed_out) {
  std::string text;
  char chunk[4096];
  while (text.size() < kMostText) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd ready{in, POLLIN, 0};
    const int n = left > 0 ? poll(&ready, 1, static_cast<int>(left)) : 0;
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      timed_out = true;
      break;
    }
    const ssize_t got = read(in, chunk, sizeof chunk);
    if (got <= 0) break;
    text.append(chunk, static_cast<std::size_t>(got));
  }
  return text;
}

/// A child in the kernel's hands may outlive SIGKILL: it is then left behind.
int wait_for(pid_t child) {
  int status = 0;
  for (int tries = 0; tries < 100; ++tries) {
    if (waitpid(child, &status, WNOHANG) == child) return status;
    usleep(10'000);
  }
  return 0;
}

/// By name what a broken driver ends a process with. glibc has names for all from 2.32 on, and older ones are served.
std::string signal_name(int signal) {
  switch (signal) {
    case SIGABRT:
      return "SIGABRT";
    case SIGBUS:
      return "SIGBUS";
    case SIGFPE:
      return "SIGFPE";
    case SIGILL:
      return "SIGILL";
    case SIGKILL:
      return "SIGKILL";
    case SIGSEGV:
      return "SIGSEGV";
    case SIGTRAP:
      return "SIGTRAP";
    default:
      return "signal " + std::to_string(signal);
  }
}

void take_line(const std::string& line, DriverAnswer& answer) {
  const std::size_t space = std::min(line.find(' '), line.size());
  const std::string word = line.substr(0, space), rest = line.substr(std::min(space + 1, line.size()));
  const std::string shown = printable(rest, 400);
  if (word == "lacks") {
    answer.state = State::kNoLibrary;
    answer.why = shown;
  } else if (word == "path") {
    answer.path = shown;
  } else if (word == "words") {
    answer.why = shown;
  } else if (word == "launched") {
    answer.launched = true;
  } else if (word == "unlaunched") {
    answer.launch_error = shown;
  } else if (word == "gpu" && answer.gpus.size() < kMostGpus) {
    std::istringstream in(rest);
    LiveGpu gpu;
    in >> gpu.cc.major >> gpu.cc.minor >> gpu.compute_mode;
    std::getline(in >> std::ws, gpu.name);
    gpu.name = printable(gpu.name);
    answer.gpus.push_back(std::move(gpu));
  } else if (word == "status" || word == "cuda") {
    int value = 0;
    std::istringstream(rest) >> value;
    (word == "status" ? answer.status : answer.cuda) = value;
  }
}

std::string version_of_driver(const std::string& path) {
  std::ifstream module("/proc/driver/nvidia/version");
  const std::string version = parse_driver_version(std::string(std::istreambuf_iterator<char>(module), {}));
  return version.empty() ? parse_driver_version(path.substr(path.rfind('/') + 1)) : version;
}

}  // namespace

DriverAnswer ask_live_driver(bool launch, int seconds) {
  DriverAnswer answer;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return answer;
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    answer_in_child(ends[1], launch);
  }
  close(ends[1]);
  if (child < 0) {
    close(ends[0]);
    return answer;
  }
  bool timed_out = false;
  const std::string text = read_until(ends[0], Clock::now() + std::chrono::seconds(seconds), timed_out);
  close(ends[0]);
  if (timed_out) kill(child, SIGKILL);
  const int ended = wait_for(child);
  answer.state = State::kAnswered;
  std::istringstream lines(text);
  bool whole = false;
  for (std::string line; std::getline(lines, line);) {
    take_line(line, answer);
    whole = line == "end";
  }
  if (timed_out) {
    answer.state = State::kTimedOut;
    answer.why = "no answer within " + std::to_string(seconds) + " seconds";
  } else if (!whole) {
    answer.state = State::kCrashed;
    answer.why =
        WIFSIGNALED(ended) ? "asking it ended in " + signal_name(WTERMSIG(ended)) : "asking it ended without an answer";
  }
  answer.version = version_of_driver(answer.path);
  return answer;
}

}  // namespace flashfit::doctor::environment
