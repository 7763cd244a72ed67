#include "doctor/environment/host_checks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/printable.hpp"
#include "doctor/gpu_code/what_runs_where.hpp"

namespace flashfit::doctor::environment {
namespace {

using State = DriverAnswer::State;

struct Meaning {
  int status;
  Severity severity;
  const char *says, *fix;
};
// CUresult of cuInit, cuda.h; what each comes from: docs/doctor/FF701.md.
constexpr Meaning kMeanings[] = {
    {34, Severity::kMisfit, "libcuda.so.1 is the toolkit's stub for linking, not a driver",
     "take the folder of stubs out of LD_LIBRARY_PATH"},
    {100, Severity::kNote, "there is a driver, but it shows this process no GPU",
     "give the container a GPU (docker run --gpus all), or look at CUDA_VISIBLE_DEVICES"},
    {802, Severity::kHost,
     "the GPUs are not ready: on machines with NVSwitch until nvidia-fabricmanager runs, in the driver's own version",
     "start nvidia-fabricmanager on the host; on a rented machine take another one: nothing in this environment helps"},
    {803, Severity::kHost, "libcuda and the kernel module are of different drivers",
     "reboot the host after its driver's update; or remove the copy of libcuda that is not the driver's"},
    {804, Severity::kHost, "libcuda comes from cuda-compat, which this GPU does not support",
     "take the compat folder out of LD_LIBRARY_PATH and /etc/ld.so.conf.d, or remove the package cuda-compat"},
    {999, Severity::kHost,
     "the driver failed for a reason that it does not name: often its kernel module after sleep, or a GPU that "
     "fell off the bus (dmesg shows an Xid)",
     "on the host: dmesg, then rmmod nvidia_uvm && modprobe nvidia_uvm, or a reboot"},
};

void judge_answer(const DriverAnswer& driver, std::vector<Problem>& problems) {
  const auto add = [&](Severity severity, std::string message, std::string fix) {
    problems.push_back({"FF701", severity, std::move(message), driver.path, std::move(fix)});
  };
  if (driver.state == State::kTimedOut || driver.state == State::kCrashed)
    add(Severity::kHost, "the driver did not answer: " + driver.why, "a reboot of the host; dmesg tells more");
  if (driver.state == State::kAnswered && driver.status != 0) {
    const auto* const known = std::find_if(std::begin(kMeanings), std::end(kMeanings),
                                           [&](const Meaning& m) { return m.status == driver.status; });
    if (known != std::end(kMeanings)) {
      add(known->severity, fmt::format("error {}: {}", driver.status, known->says), known->fix);
    } else {
      add(Severity::kHost, driver.why, "the driver's own words are all that is known");
    }
  }
  for (const LiveGpu& gpu : driver.gpus) {
    if (gpu.compute_mode == 2)
      add(Severity::kHost, gpu.name + ": its compute mode is \"prohibited\": no program may use it",
          "nvidia-smi -c 0 on the host");
    if (gpu.compute_mode == 3)
      add(Severity::kNote, gpu.name + ": its compute mode is \"exclusive process\": a second program is refused",
          "nvidia-smi -c 0 on the host");
  }
  if (!driver.launch_error.empty())
    add(Severity::kHost, "an empty kernel does not run: " + driver.launch_error,
        "another GPU or a reboot of the host: no package helps");
}

void judge_files(const System& system, std::vector<Problem>& problems) {
  const bool failed =
      system.driver.state == State::kAnswered && system.driver.status != 0 && system.driver.status != 100;
  for (const DriverFile& file : system.driver_files) {
    if (file.origin == DriverFile::Origin::kDriver) continue;
    const bool used = !system.driver.path.empty() && system.driver.path == file.path;
    const char* const what = file.origin == DriverFile::Origin::kCompat ? "of cuda-compat: for data-centre GPUs alone"
                             : file.origin == DriverFile::Origin::kStub
                                 ? "the toolkit's stub, for linking alone"
                                 : "a copy in a package: of the driver that it was copied from";
    problems.push_back({"FF702", used && failed ? Severity::kMisfit : Severity::kNote,
                        fmt::format("libcuda, {}{}", what, used ? ", and it is the one that programs here load" : ""),
                        file.path, "the driver's own libcuda first in the loader's order"});
  }
}

}  // namespace

std::vector<Problem> host_problems(const System& system, const doctor::Question& question) {
  std::vector<Problem> problems;
  judge_answer(system.driver, problems);
  judge_files(system, problems);
  if (!question.survey)
    for (const doctor::AskedGpu& gpu : question.gpus)
      if (std::string why = doctor::driver_misfit({gpu.gpu.name, gpu.gpu.cc, question.driver}); !why.empty())
        problems.push_back({"FF106", Severity::kHost, std::move(why), "", "another driver"});
  std::stable_sort(problems.begin(), problems.end(),
                   [](const Problem& a, const Problem& b) { return a.severity > b.severity; });
  return problems;
}

}  // namespace flashfit::doctor::environment
