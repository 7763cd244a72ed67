#include "measure/machine.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/utsname.h>

#include <ctime>
#include <fstream>

#include "measure/revision.hpp"

namespace flashfit::measure {
namespace {

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  utsname name{};
  uname(&name);
  return name.machine;
}

int cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 0;
}

}  // namespace

std::string revision() { return kRevision; }

nlohmann::ordered_json machine_json(nlohmann::ordered_json gpu) {
  utsname name{};
  uname(&name);
  return {{"system", fmt::format("{} {} {}", name.sysname, name.release, name.machine)},
          {"cpu", cpu_name()},
          {"cores", cores()},
          {"gpu", std::move(gpu)}};
}

std::string timestamp() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

}  // namespace flashfit::measure
