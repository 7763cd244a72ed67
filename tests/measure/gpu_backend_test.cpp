// `flashfit bench` on a GPU, from memory to a result, on the fake driver: its kernels are the host's own code, its
// clock runs by launches.
#include "measure/gpu_backend.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>

#include "core/gpu/device.hpp"
#include "fake_cuda/fake_cuda.hpp"
#include "kernels/attention/forward/combine/params.hpp"
#include "kernels/attention/forward/config.hpp"
#include "kernels/attention/forward/wgmma/params.hpp"
#include "measure/call.hpp"
#include "measure/filling.hpp"
#include "measure/kernel_params.hpp"
#include "measure/measure.hpp"
#include "measure/values.hpp"

namespace flashfit::measure {
namespace {

using fake_cuda::fake;
using testing::HasSubstr;

constexpr double kLaunchUs = 7;

/// What the kernels of a case's run do. The fake's functions have no other way to it.
struct Machine {
  Case c;
  Placement p;
  int forwards = 0, launches_a_call = 1;
  bool wrong = false, silent = false;  ///< the forward's results: off, or not there
} machine;

void fill(const FillParams& p) {
  for (int64 i = 0; i < 2 * p.pairs; ++i) {
    const int64 d = i % p.dim, head = i / p.dim % p.heads, row = i / p.dim / p.heads % p.rows,
                b = i / p.dim / p.heads / p.rows;
    const int64 at = b * p.batch_stride + row * p.row_stride + head * p.head_stride + d;
    store(static_cast<std::byte*>(p.data) + 2 * at, machine.c.dtype, bell(p.key, static_cast<uint64>(i)) * p.scale);
  }
}

/// The CPU's forward, on the set of tensors whose results these are.
void make_results(void* o, const float* lse) {
  ++machine.forwards;
  if (machine.silent) return;
  auto* const out = static_cast<std::byte*>(o);
  Call call(machine.c, machine.p, out - machine.p.out.offset, DLDevice{kDLCPU, 0});
  ASSERT_TRUE(call.run(lse != nullptr));
  if (machine.wrong) out[1] ^= std::byte{0x40};
}
void forward(const ForwardParams& p) {
  if (p.splits > 1)  // parts, of which a second launch makes the result
    machine.launches_a_call = 2;
  else
    make_results(p.o, p.lse);
}
void combine(const CombineParams& p) { make_results(p.o, p.lse); }

/// What a kernel does, with its argument copied as a launch copies it.
std::function<void()> work_of(const std::string& entry, const void* params) {
  const auto with = [params]<class P>(void (*does)(const P&)) {
    P copy;
    std::memcpy(&copy, params, sizeof(copy));
    return std::function<void()>([copy, does] { does(copy); });
  };
  // As fake_cuda/carried.cpp names them.
  if (entry.starts_with("kernel_fwd_wgmma")) return with(+[](const WgmmaForwardParams& p) { forward(p.forward); });
  if (entry.starts_with("kernel_fwd")) return with(forward);
  if (entry.starts_with("kernel_combine")) return with(combine);
  if (entry.find("Fill") != std::string::npos) return with(fill);
  if (entry.find("Clock") != std::string::npos)
    return with(+[](const ClockParams& p) {
      p.out[0] = 15000;
      p.out[1] = 10000;
    });
  return {};
}

class GpuBackend : public testing::Test {
 protected:
  GpuBackend() {
    fake().gpus = {fake_cuda::make_gpu("NVIDIA H200", 90)};
    fake().gpus[0].attributes[38] = 64 * 1024;  // a small L2: few sets of inputs
    fake().launch_us = kLaunchUs;
    fake().work_of = work_of;
    machine = {};
    Result<std::unique_ptr<GpuBed>> opened = GpuBed::open();
    if (!opened) throw std::runtime_error(opened.error().message);
    bed_ = std::move(*opened);
    nvml_ = std::make_shared<Nvml>(pci_bus_id(0));
  }
  ~GpuBackend() override {
    EXPECT_THAT(fake().complaints, testing::IsEmpty());
    bed_.reset();
    fake().work_of = nullptr;
    fake().complaints.clear();
  }

  static Case case_of(const std::string& keys) {
    const auto cases =
        expand_cases(R"({"groups": [{"name": "g", "stands_for": "s", "cases": [{"heads": 2, )" + keys + "}]}]}");
    EXPECT_TRUE(cases) << cases.error().message;
    machine.c = cases->at(0);
    machine.p = place(machine.c);
    return machine.c;
  }
  Measured measured(const Case& c, int repeats = 6) {
    Backend backend = gpu_backend(bed_, nvml_);
    const auto found = measure(c, backend, {.warmup = 1, .repeats = repeats, .seconds = 20});
    return found.value_or(Measured{.message = "interrupted"});
  }

  std::shared_ptr<GpuBed> bed_;
  std::shared_ptr<Nvml> nvml_;
};

constexpr char kSmall[] = R"("seqlen_q": 100, "head_dim": 64, "dtype": "fp16", "causal": true)";

TEST_F(GpuBackend, ACaseIsFilledCalledCheckedAndTimedByReplaysAndByLaunches) {
  const Measured m = measured(case_of(kSmall));
  ASSERT_TRUE(m.correct) << m.message;
  EXPECT_GT(m.bound, 0);
  EXPECT_LE(m.error, m.bound);
  ASSERT_TRUE(m.variant);
  EXPECT_THAT(*m.variant, HasSubstr("fp16_d64"));
  // Of a call in a graph of many, and of one launched alone.
  const double us = kLaunchUs * machine.launches_a_call;
  EXPECT_THAT(m.times.us, testing::SizeIs(6));
  EXPECT_THAT(m.times.us, testing::Each(testing::DoubleNear(us, 1e-3)));
  ASSERT_TRUE(m.plain);
  EXPECT_THAT(m.plain->us, testing::Each(testing::DoubleNear(us, 1e-3)));
  EXPECT_THAT(m.plain->host_us, testing::Each(testing::Gt(0)));
  EXPECT_THAT(m.times.clock_mhz, testing::Each(1500));
  EXPECT_GT(machine.forwards, 6 * 4) << "a sample is a graph of calls on several sets of inputs";
}

TEST_F(GpuBackend, WhatTheHostFillsIsFilledAlike) {
  const Measured m = measured(case_of(R"("batch": 2, "seqlen_q": 30, "head_dim": 33, "dtype": "bf16",
    "memory": "packed_qkv")"));
  // Whether or not a kernel of this build takes it, what was put into memory is what the check expects.
  EXPECT_TRUE(m.correct || m.message.starts_with("misfit: ")) << m.message;
}

TEST_F(GpuBackend, AWrongResultHasNoTimes) {
  const Case c = case_of(kSmall);
  machine.wrong = true;
  const Measured m = measured(c);
  EXPECT_FALSE(m.correct);
  EXPECT_THAT(m.message, HasSubstr("out of sequence 0, row 0, head 0, dim 0 is"));
  EXPECT_THAT(m.times.us, testing::IsEmpty());
}

TEST_F(GpuBackend, AnOutputThatNobodyWroteIsSeen) {
  const Case c = case_of(kSmall);
  machine.silent = true;
  EXPECT_THAT(measured(c).message, HasSubstr("was not written"));
}

TEST_F(GpuBackend, WhatTheDriverRefusesIsTheCasesMessage) {
  const Case c = case_of(kSmall);
  fake().fail("cuLaunchKernelEx", 700, 4);  // q, k, v, then the forward
  const Measured m = measured(c);
  EXPECT_FALSE(m.correct);
  EXPECT_THAT(m.message, HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS"));
}

TEST_F(GpuBackend, AProblemThatNothingFitsIsAMisfit) {
  const Case c = case_of(kSmall);
  Backend backend = gpu_backend(bed_, nvml_);
  backend.variant = []() -> Result<std::string> { return fail(Code::kMisfit, "no kernel takes it"); };
  const auto m = measure(c, backend, {.warmup = 1, .repeats = 6});
  ASSERT_TRUE(m);
  EXPECT_FALSE(m->correct);
  EXPECT_EQ(m->message, "misfit: no kernel takes it");
  EXPECT_EQ(machine.forwards, 0);
}

TEST_F(GpuBackend, CeilingsAreOfEachUnit) {
  const Result<Ceilings> found = measure_ceilings(*bed_);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_THAT(found->tensor_tflops, testing::SizeIs(2));
  for (const auto& [dtype, ceiling] : found->tensor_tflops) {
    EXPECT_GT(ceiling.value(), 0) << dtype;
    EXPECT_GT(ceiling.model, 0) << dtype;
  }
  // Launches take the same time here, and a step of the loop over wgmma multiplies more.
  EXPECT_THAT(found->mma_sync_tflops, testing::SizeIs(2));
  for (const auto& [dtype, ceiling] : found->mma_sync_tflops) {
    EXPECT_GT(ceiling.value(), 0) << dtype;
    EXPECT_LT(ceiling.value(), found->tensor_tflops.at(dtype).value()) << dtype;
  }
  const nlohmann::ordered_json json = json_of(*found);
  EXPECT_EQ(json.at("mma_sync_tflops").at("bf16").at("value"), found->mma_sync_tflops.at("bf16").value());
  EXPECT_GT(found->exp_g_per_s.value(), 0);
  EXPECT_GT(found->memory_gb_per_s.value(), 0);
}

TEST_F(GpuBackend, LimitsAndThrottlingAreNvmls) {
  const nlohmann::ordered_json gpu = gpu_json(*bed_, *nvml_);
  EXPECT_EQ(gpu.at("name"), "NVIDIA H200");
  EXPECT_EQ(gpu.at("compute_capability"), "9.0");
  EXPECT_EQ(gpu.at("l2_bytes"), 64 * 1024);
  EXPECT_EQ(gpu.at("clock_max_mhz"), 1980);
  EXPECT_EQ(gpu.at("memory_clock_max_mhz"), 2619);
  EXPECT_EQ(gpu.at("power_limit_w"), 700);
  EXPECT_THAT(gpu_backend(bed_, nvml_).throttled(), testing::ElementsAre("power cap", "hardware thermal slowdown"));
}

TEST_F(GpuBackend, OfAGpuThatNvmlDoesNotKnowLimitsAndThrottlingStayUnknown) {
  const Nvml nvml("ffff:3b:00.0");
  EXPECT_FALSE(nvml.there());
  const nlohmann::ordered_json gpu = gpu_json(*bed_, nvml);
  for (const char* key : {"clock_max_mhz", "memory_clock_max_mhz", "power_limit_w"}) EXPECT_TRUE(gpu.at(key).is_null());
  EXPECT_THAT(nvml.throttled(), testing::IsEmpty());
}

}  // namespace
}  // namespace flashfit::measure
