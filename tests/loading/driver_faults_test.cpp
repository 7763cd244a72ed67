// The C API above a driver that fails: each function that a call passes through, at its first, second and every later
// occurrence in a row of calls, with several codes. The failing call says it in one line, loses nothing, and the next
// works.
#include <gmock/gmock.h>

#include "fake_cuda/fake_cuda.hpp"
#include "in_fork.hpp"
#include "kernels/attention/forward/config.hpp"
#include "kernels/attention/forward/variants.hpp"
#include "runtime/api/tensors.hpp"

namespace flashfit::test {
namespace {

using fake_cuda::fake;

struct Fault {
  const char* function;
  int code;
};
void PrintTo(const Fault& fault, std::ostream* to) { *to << fault.function << " fails with " << fault.code; }

/// By a kernel that needs more shared memory than is allowed without asking.
Call on_gpu(int device) {
  const auto rows = forward_variants();
  const auto row = std::find_if(rows.begin(), rows.end(),
                                [](const ForwardVariant& v) { return shared_bytes_of(v.config) > 48 * 1024; });
  EXPECT_NE(row, rows.end());
  static const std::string variant = name_of(row->config);
  Call c = Call::dense(row->config.dtype, 1, 64, 64, 2, 2, row->config.head_dim);
  c.args.variant = variant.c_str();
  c.pretend_gpu(device);
  return c;
}

/// What is wrong with the status and message of a call that failed by `fault`; "" if nothing.
std::string wrong_with(const Fault& fault, flashfit_status status) {
  const std::string message = flashfit_last_error(), function = fault.function;
  const bool init = function == "cuInit" && fault.code != 3;
  const flashfit_status expected = init ? FLASHFIT_NO_GPU : FLASHFIT_CUDA;
  if (status != expected) return "status " + std::to_string(status) + ": " + message;
  if (message.rfind(function.substr(0, function.rfind("_v2")) + ": ", 0) != 0)
    return "another call is named: " + message;
  if (message.find_first_of("\n\r\t") != std::string::npos) return "more than one line: " + message;
  const std::string word = fault.code == 12345 ? "error 12345" : "CUDA_ERROR_";
  return message.find(word) == std::string::npos ? "the code is not named: " + message : "";
}

/// Two calls on one GPU, one that prepares another, one there: the n-th occurrence of the function among all fails.
/// "passed", "unused" if there are fewer occurrences, or what is wrong.
std::string row_of_calls(const Fault& fault, int n) {
  fake().gpus = {fake_cuda::make_gpu("NVIDIA L4", 89), fake_cuda::make_gpu("NVIDIA L4", 89)};
  fake().fail(fault.function, fault.code, n);
  Call first = on_gpu(0), second = on_gpu(1);
  const std::function<flashfit_status()> calls[] = {[&] { return first.run(); }, [&] { return first.run(); },
                                                    [&] { return flashfit_attention_prepare(&second.args); },
                                                    [&] { return second.run(); }};
  int failures = 0;
  std::size_t launches = 0;
  for (const auto& call : calls) {
    const bool pending = fake()[fault.function].fail_in > 0;
    const std::size_t before = fake().launches.size();
    const flashfit_status status = call();
    const bool failed = pending && fake()[fault.function].fail_in == 0;
    if (failed) {
      ++failures;
      if (const std::string wrong = wrong_with(fault, status); !wrong.empty()) return wrong;
      if (fake().launches.size() > before && std::string(fault.function) != "cuCtxPopCurrent_v2")
        return "launched and failed";
      launches = fake().launches.size();
      if (call() != FLASHFIT_OK) return std::string("the next call fails: ") + flashfit_last_error();
    } else if (status != FLASHFIT_OK) {
      return std::string("failed without a fault: ") + flashfit_last_error();
    }
    launches += &call != &calls[2];
    if (fake().launches.size() != launches) return "launches: " + std::to_string(fake().launches.size());
  }
  if (fake().libraries.size() != 1 || fake().kernels.size() != 1) return "images loaded and lost";
  if (fake().pushed != 0) return "a context stays current";
  if (fake().retained[fake_cuda::kFirstDeviceHandle] > 1) return "a primary context is retained twice";
  if (!fake().complaints.empty()) return fake().complaints[0];
  return failures ? "passed" : "unused";
}

class DriverFault : public testing::TestWithParam<Fault> {};

TEST_P(DriverFault, IsSaidLosesNothingAndPasses) {
  int n = 1;
  for (std::string said; (said = in_fork([&] { return row_of_calls(GetParam(), n); })) != "unused"; ++n)
    ASSERT_EQ(said, "passed") << "occurrence " << n;
  EXPECT_GT(n, 1) << "no call passes through it";
}

std::vector<Fault> faults() {
  std::vector<Fault> list;
  for (const char* function : {"cuInit", "cuDriverGetVersion", "cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetName",
                               "cuDeviceGetAttribute", "cuDevicePrimaryCtxRetain", "cuCtxGetCurrent", "cuCtxGetDevice",
                               "cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2", "cuThreadExchangeStreamCaptureMode",
                               "cuLibraryLoadData", "cuLibraryGetKernel", "cuKernelSetAttribute", "cuLaunchKernelEx"})
    for (const int code : {2, 3, 700, 12345}) list.push_back({function, code});
  return list;
}

INSTANTIATE_TEST_SUITE_P(Calls, DriverFault, testing::ValuesIn(faults()), [](const auto& info) {
  return std::string(info.param.function) + "_" + std::to_string(info.param.code);
});

TEST(DriverFaults, AreAFactInWhatTheMachineIs) {
  for (const char* function : {"cuInit", "cuDriverGetVersion", "cuDeviceGetCount", "cuDeviceGetName"})
    EXPECT_THAT(in_fork([&] {
                  fake().fail(function, 700);
                  char* json = nullptr;
                  if (flashfit_gpus_json(&json) != FLASHFIT_OK) return std::string(flashfit_last_error());
                  std::string text = json;
                  flashfit_free(json);
                  return text;
                }),
                testing::ContainsRegex(std::string("no_gpu_reason\":\"") + function + ": CUDA_ERROR_ILLEGAL_ADDRESS"));
}

}  // namespace
}  // namespace flashfit::test
