// Runs the product under the emulator; with the argument `ptx` what NVRTC made of it, on the CPU too; with `gpu` on
// this machine's GPU. docs/writing-a-kernel.md.
#include <cstdio>
#include <string_view>

#include "trial.hpp"

namespace flashfit::lab {
std::span<const std::byte> example_kernels();  // the images of kernels.txt
}

using namespace flashfit;

namespace {

constexpr int kM = 100, kN = 130, kK = 192;

int verdict(const char* where, lab::Trial<example::Gemm>& trial, const Result<void>& ran) {
  const std::string wrong = ran ? example::mistake(trial, kM, kN, kK) : ran.error().message;
  std::printf("%s: %s\n", where, wrong.empty() ? "right" : wrong.c_str());
  return wrong.empty() ? 0 : 1;
}

int on_gpu() {
  Result<lab::Device> device = lab::Device::open();
  if (!device) {
    std::fprintf(stderr, "%s\n", device.error().message.c_str());
    return 2;
  }
  auto trial = example::gemm_trial(kM, kN, kK);
  return verdict(device->gpu().name.c_str(), trial, lab::launch(trial, *device, lab::example_kernels()));
}

constexpr emu::Schedule kSchedules[] = {emu::Schedule::kRoundRobin, emu::Schedule::kReversed, emu::Schedule::kRandom};

int executed() {
  int status = 0;
  for (const emu::Schedule schedule : kSchedules) {
    auto trial = example::gemm_trial(kM, kN, kK);
    const Result<emu::Stats> ran = lab::execute(trial, lab::example_kernels(), {.schedule = schedule, .seed = 7});
    status |= verdict(name_of(schedule), trial, ran.map([](const emu::Stats&) {}));
  }
  return status;
}

int emulated() {
  int status = 0;
  for (const emu::Schedule schedule : kSchedules) {
    auto trial = example::gemm_trial(kM, kN, kK);
    const Result<emu::Stats> ran = lab::emulate(trial, {.schedule = schedule, .seed = 7});
    status |= verdict(name_of(schedule), trial, ran.map([](const emu::Stats&) {}));
    if (ran && schedule == emu::Schedule::kRandom)
      for (const emu::Counter& c : emu::kCounters)
        if ((*ran).*c.value != 0 && std::string_view(c.name) != "switches")
          std::printf("%10llu %s\n", static_cast<unsigned long long>((*ran).*c.value), c.name);
  }
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view where = argc > 1 ? argv[1] : "";
  return where == "gpu" ? on_gpu() : where == "ptx" ? executed() : emulated();
}
