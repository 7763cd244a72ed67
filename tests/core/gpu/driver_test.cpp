// The driver's opening and the live GPUs, against the fake libcuda.so.1. A process keeps the driver that it opened, so
// each case that needs another one runs in a process of its own and reports a line by which it is judged.
#include "core/gpu/driver.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "core/gpu/device.hpp"
#include "fake_cuda/fake_cuda.hpp"
#include "fake_cuda/fresh_process.hpp"

namespace flashfit {
namespace {

using fake_cuda::expect_fresh;
using fake_cuda::fake;

template <class T>
std::string line(const Result<T>& r) {
  return r ? "worked" : std::to_string(static_cast<int>(r.error().code)) + ": " + r.error().message;
}
const std::string kIsNoGpu = std::to_string(static_cast<int>(Code::kNoGpu)) + ": ";
const std::string kIsMisfit = std::to_string(static_cast<int>(Code::kMisfit)) + ": ";
const std::string kIsCuda = std::to_string(static_cast<int>(Code::kCuda)) + ": ";

TEST(DriverDeathTest, LibraryThatCannotBeOpenedIsReportedInTheLoadersWords) {
  expect_fresh(
      "damaged", [] { return line(driver()); },
      "^" + kIsNoGpu + "no NVIDIA driver: dlopen: .*libcuda.so.1: (file too short|invalid ELF header)");
}

TEST(DriverDeathTest, WithoutADriverEverythingAnswers) {
  expect_fresh(
      "",
      [] {
        const bool has_driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) != nullptr;
        const Machine machine = this_machine();
        if (has_driver)
          return std::string(machine.gpus.empty() == !machine.no_gpu_reason.empty() ? "consistent"
                                                                                    : "contradicts itself");
        if (!machine.gpus.empty() || machine.cuda != 0 || driver_cuda_version() || loading_driver())
          return std::string("a GPU from nowhere");
        return line(live_gpu(0)) + (machine.no_gpu_reason == driver().error().message ? "" : " differs");
      },
      "^(consistent|" + kIsNoGpu +
          "no NVIDIA driver: dlopen: libcuda.so.1: cannot open shared object file: No such file or directory)\n$");
}

std::string init_failing_with(int code) {
  fake().fail("cuInit", code);
  const std::string first = line(driver());
  const std::string second = line(driver());
  return first + " | then " + second + ", cuInit calls " + std::to_string(fake().calls("cuInit"));
}

TEST(DriverDeathTest, EveryFailureOfInitSaysItsCauseAndTheNextCallTriesAgain) {
  const std::string then = ".*\\| then worked, cuInit calls 2\n$";
  expect_fresh(
      "whole", [] { return init_failing_with(34); },
      "^" + kIsNoGpu +
          "/.*/libcuda.so.999.88.77 is the CUDA toolkit's link-time stub, not a driver: take its folder out of "
          "LD_LIBRARY_PATH" +
          then);
  expect_fresh(
      "whole", [] { return init_failing_with(100); },
      "^" + kIsNoGpu +
          "cuInit: CUDA_ERROR_NO_DEVICE .no CUDA-capable device is detected.; the driver is there, but shows this "
          "process no GPU" +
          then);
  expect_fresh(
      "whole", [] { return init_failing_with(802); },
      "^" + kIsNoGpu + "cuInit: CUDA_ERROR_SYSTEM_NOT_READY .*nvidia-fabricmanager" + then);
  expect_fresh(
      "whole", [] { return init_failing_with(803); },
      "^" + kIsNoGpu +
          "cuInit: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH .*different drivers: reboot.*libcuda is /.*999.88.77" + then);
  expect_fresh(
      "whole", [] { return init_failing_with(804); },
      "^" + kIsNoGpu +
          "cuInit: CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE .*cuda-compat.*remove it; libcuda is /.*999.88.77" + then);
  expect_fresh(
      "whole", [] { return init_failing_with(3); },
      "^" + kIsCuda + "cuInit: CUDA_ERROR_NOT_INITIALIZED .*forked from one that had used CUDA" + then);
  expect_fresh("whole", [] { return init_failing_with(12345); }, "^" + kIsNoGpu + "cuInit: error 12345 " + then);
}

TEST(DriverDeathTest, NoDeviceShowsWhatHidesThem) {
  setenv("CUDA_VISIBLE_DEVICES", "-1", 1);
  expect_fresh("whole", [] { return init_failing_with(100); }, "CUDA_VISIBLE_DEVICES is '-1' \\| then worked");
  unsetenv("CUDA_VISIBLE_DEVICES");
}

TEST(DriverDeathTest, MachineWithoutGpusIsAnAnswer) {
  expect_fresh(
      "whole",
      [] {
        fake().gpus.clear();
        return this_machine().no_gpu_reason;
      },
      "^cuInit: CUDA_ERROR_NO_DEVICE ");
}

TEST(DriverDeathTest, VersionThatCannotBeReadIsNamed) {
  expect_fresh(
      "whole",
      [] {
        fake().fail("cuDriverGetVersion", 1);
        const std::string first = line(driver());
        return first + " | then " + line(driver());
      },
      "^" + kIsCuda + "cuDriverGetVersion: CUDA_ERROR_INVALID_VALUE .invalid argument. \\| then worked");
}

TEST(DriverDeathTest, OldDriverShowsItsGpusButLoadsNothing) {
  expect_fresh(
      "old",
      [] {
        fake().version = 11080;
        return line(loading_driver()) + " | GPU: " + this_machine().gpus.at(0).name + ", " +
               std::to_string(*driver_cuda_version());
      },
      "^" + kIsMisfit +
          "the NVIDIA driver is for CUDA 11.8: flashfit needs 12.0 or later .Linux driver 525 or later. \\| GPU: "
          "NVIDIA L4, 11080");
}

TEST(DriverDeathTest, MissingFunctionIsNamed) {
  expect_fresh(
      "lacking", [] { return line(loading_driver()); },
      "^" + kIsMisfit +
          "/.*/libcuda.so.999.88.77 has no cuLibraryGetKernel, although it says that it is for CUDA 12.9");
}

/// What `body` says in a fork of this process.
std::string in_fork(const std::function<std::string()>& body) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    const std::string text = body();
    const ssize_t written = write(ends[1], text.data(), text.size());
    _exit(written == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  close(ends[1]);
  std::string text(4096, '\0');
  const ssize_t got = read(ends[0], text.data(), text.size());
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  text.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? text : "the fork died: " + text;
}

TEST(DriverDeathTest, ForkOfAProcessThatUsedCudaIsTold) {
  const std::string told = "^" + kIsCuda + ".*this process was forked from one that had used CUDA.*spawn";
  expect_fresh(
      "whole",
      [] {
        if (!live_gpu(0)) return std::string("no GPU before the fork");
        const std::string text =
            in_fork([] { return line(driver()) + line(live_gpu(0)) + this_machine().no_gpu_reason; });
        return driver() ? text : "the parent broke: " + text;
      },
      told);
  // CUDA was used by somebody else in the process, PyTorch for one.
  expect_fresh(
      "whole",
      [] {
        fake();
        void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
        reinterpret_cast<int (*)(unsigned)>(dlsym(library, "cuInit"))(0);
        return in_fork([] { return line(driver()); });
      },
      told);
}

TEST(DriverDeathTest, ThreadsOpenItOnce) {
  expect_fresh(
      "whole",
      [] {
        std::vector<std::thread> threads;
        std::atomic<int> worked{0};
        for (int i = 0; i < 8; ++i)
          threads.emplace_back([&] {
            for (int n = 0; n < 100; ++n) worked += driver().has_value() && live_gpu(0).has_value();
          });
        for (std::thread& t : threads) t.join();
        return std::to_string(worked) + " worked, cuInit calls " + std::to_string(fake().calls("cuInit"));
      },
      "^800 worked, cuInit calls 1\n");
}

TEST(DeviceDeathTest, GpusAreDescribedByTheDriver) {
  expect_fresh(
      "whole",
      [] {
        fake().gpus = {fake_cuda::make_gpu("NVIDIA L4", 89), fake_cuda::make_gpu("NVIDIA H100 80GB HBM3", 90)};
        const Machine m = this_machine();
        std::string text = m.driver_version + " " + std::to_string(m.cuda) + m.no_gpu_reason;
        for (const Gpu& g : m.gpus)
          text += fmt::format(
              " | {} {} sms {} shared {} {} threads {} blocks {} registers {} clock {:.2f} mma {} dram {:.1f}", g.name,
              g.cc.str(), g.sms, g.shared_bytes_sm, g.shared_bytes_block, g.threads_sm, g.blocks_sm, g.registers_sm,
              g.clock_ghz, g.mma_flops_clk_sm == find_gpu(g.cc.str())->mma_flops_clk_sm, g.dram_gb_s);
        return text;
      },
      "[0-9]+\\.[0-9.]+ 12090 \\| NVIDIA L4 8.9 sms 58 shared 102400 101376 threads 1536 blocks 24 registers 65536 "
      "clock 2.04 mma true dram 300.0"
      " \\| NVIDIA H100 80GB HBM3 9.0 sms 58 shared 233472 232448 threads 2048 blocks 32 registers 65536 clock 2.04 "
      "mma true dram 300.0\n");
}

TEST(DeviceDeathTest, WhatTheDriverDoesNotTellComesFromTheTable) {
  expect_fresh(
      "whole",
      [] {
        fake_cuda::Gpu orin = fake_cuda::make_gpu("Orin", 87), future = fake_cuda::make_gpu("NVIDIA Future 1", 130),
                       renamed = fake_cuda::make_gpu("L40S", 90);
        orin.attributes[36] = orin.attributes[13] = 0;
        fake().gpus = {orin, future, renamed};
        const Gpu row = *find_gpu("8.7"), newest = gpu_table().back();
        const Gpu a = *live_gpu(0), b = *live_gpu(1), c = *live_gpu(2);
        const bool right = a.dram_gb_s == row.dram_gb_s && a.clock_ghz == row.clock_ghz && a.dram_gb_s > 0 &&
                           a.clock_ghz > 0 && b.mma_flops_clk_sm == newest.mma_flops_clk_sm &&
                           c.mma_flops_clk_sm == find_gpu("9.0")->mma_flops_clk_sm;
        return std::string(right ? "right" : "wrong");
      },
      "^right");
}

TEST(DeviceDeathTest, AGpuThatCannotBeReadTakesNoOthersIndex) {
  expect_fresh(
      "whole",
      [] {
        fake().gpus = {fake_cuda::make_gpu("NVIDIA L4", 89), fake_cuda::make_gpu("NVIDIA H200", 90)};
        fake().fail("cuDeviceGetName", 700, 1);
        const Machine m = this_machine();
        return fmt::format("{} GPU, {} {}, on {}", m.gpus.size(), m.indices.at(0), m.gpus.at(0).name,
                           pci_bus_id(m.indices.at(0)));
      },
      "^1 GPU, 1 NVIDIA H200, on 0000:02:00.0\n");
}

TEST(DeviceDeathTest, IndexOutOfRangeNamesWhatThereIs) {
  expect_fresh(
      "whole", [] { return line(live_gpu(1)) + line(live_gpu(-1)); },
      "GPU 1: this process has GPU 0 only.*GPU -1: this process has GPU 0 only");
  expect_fresh(
      "whole",
      [] {
        fake().gpus.push_back(fake().gpus[0]);
        return line(live_gpu(2));
      },
      "GPU 2: this process has GPUs 0 to 1");
}

TEST(DeviceDeathTest, EveryFailureIsNamedAndNotRemembered) {
  for (const char* call : {"cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetName", "cuDeviceGetAttribute"})
    expect_fresh(
        "whole",
        [call] {
          std::string text;
          for (int n = 1; n < 100; ++n) {
            fake().fail(call, 700, n);
            const Result<Gpu> gpu = live_gpu(0);
            if (gpu) return n > 1 ? "all named, then worked" : text + "no failure of " + call + " was seen";
            if (gpu.error().code != Code::kCuda ||
                gpu.error().message !=
                    std::string(call) + ": CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)")
              return gpu.error().message;
            fake().fail(call, 0, 0);
          }
          return std::string("never worked");
        },
        "^all named, then worked");
  expect_fresh(
      "whole",
      [] {
        fake().fail("cuDeviceGetName", 700);
        return this_machine().no_gpu_reason;
      },
      "^cuDeviceGetName: CUDA_ERROR_ILLEGAL_ADDRESS");
}

TEST(DeviceDeathTest, AskedOnce) {
  expect_fresh(
      "whole",
      [] {
        if (!live_gpu(0)) return std::string("no GPU");
        const int before =
            fake().calls("cuDeviceGetAttribute") + fake().calls("cuDeviceGetName") + fake().calls("cuDeviceGetCount");
        live_gpu(0).value();
        return std::to_string(fake().calls("cuDeviceGetAttribute") + fake().calls("cuDeviceGetName") +
                              fake().calls("cuDeviceGetCount") - before) +
               " more calls";
      },
      "^0 more calls");
}

TEST(DriverVersion, IsFoundInBothSources) {
  EXPECT_EQ(parse_driver_version("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12 19:39:15 UTC "
                                 "2024\nGCC version:  gcc version 12.2.0\n"),
            "535.183.01");
  EXPECT_EQ(parse_driver_version("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build"),
            "580.95.05");
  EXPECT_EQ(parse_driver_version("libcuda.so.570.86.10"), "570.86.10");
  EXPECT_EQ(parse_driver_version("libcuda.so.1"), "");
  EXPECT_EQ(parse_driver_version("libcuda.so.1.1"), "");
  EXPECT_EQ(parse_driver_version("gcc version 12.2.0"), "");
  EXPECT_EQ(parse_driver_version("580."), "");
  EXPECT_EQ(parse_driver_version(""), "");
}

}  // namespace
}  // namespace flashfit
