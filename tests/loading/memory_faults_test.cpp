// Host memory that runs out at the first, second and every later allocation of a call: FLASHFIT_OUT_OF_MEMORY or a
// result without that memory, nothing lost, and the next call works. Replaces operator new, and malloc by
// --wrap=malloc.
#include <gmock/gmock.h>
#include <pthread.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): sigset_t is not in <csignal>

#include "failing_memory.hpp"
#include "fake_cuda/fake_cuda.hpp"
#include "in_fork.hpp"
#include "runtime/api/tensors.hpp"
#include "runtime/images/blob.hpp"

namespace flashfit::test {
namespace {

using fake_cuda::fake;

struct Way {
  const char* name;
  int least;  ///< allocations that a first call makes, so that a count of none is noticed
  std::function<flashfit_status()> (*make)();
};
void PrintTo(const Way& way, std::ostream* to) { *to << way.name; }

/// A call kept for the process: its result is read after it.
std::function<flashfit_status()> attention(Call made, flashfit_status (*function)(const flashfit_attention_args*)) {
  Call* const kept = new Call(std::move(made));
  return [kept, function] { return function(&kept->args); };
}
Call on_gpu() {
  Call c = Call::dense(DType::kF16, 1, 64, 64, 2, 2, 64);
  c.pretend_gpu();
  return c;
}
const flashfit_explain_args& question() {
  static flashfit_explain_args a{};
  a.struct_size = sizeof a;
  a.gpu = "L4", a.dtype = "fp16";
  a.batch = a.heads_q = a.heads_kv = 1, a.seqlen_q = a.seqlen_k = 512, a.head_dim = 64;
  return a;
}

/// A call that gives a document.
std::function<flashfit_status()> document(std::function<flashfit_status(char**)> function) {
  return [function = std::move(function)] {
    char* json = nullptr;
    const flashfit_status status = function(&json);
    flashfit_free(json);
    return status;
  };
}

constexpr Way kWays[] = {
    {"cpu", 2, [] { return attention(Call::dense(), flashfit_attention_forward); }},
    {"cpu_threads", 6,
     [] { return attention(Call::dense(DType::kF32, 4, 256, 256, 4, 4, 64), flashfit_attention_forward); }},
    {"cpu_ragged", 2, [] { return attention(Call::ragged({0, 1, 3}, {0, 2, 5}), flashfit_attention_forward); }},
    {"cpu_options", 2,
     [] {
       Call c = Call::dense();
       c.with_options();
       return attention(std::move(c), flashfit_attention_forward);
     }},
    {"gpu", 5, [] { return attention(on_gpu(), flashfit_attention_forward); }},
    {"prepare", 5, [] { return attention(on_gpu(), flashfit_attention_prepare); }},
    {"explain", 2,
     []() -> std::function<flashfit_status()> {
       return [] {
         flashfit_plan plan{};
         plan.struct_size = sizeof plan;
         std::size_t count = 0;
         return flashfit_explain(&question(), &plan, 1, &count);
       };
     }},
    {"explain_json", 5, [] { return document([](char** json) { return flashfit_explain_json(&question(), json); }); }},
    {"explain_json_of_every_gpu", 5,
     [] {
       return document([](char** json) {
         flashfit_explain_args all = question();
         all.gpu = "all", all.block_m = 128, all.block_n = 64;
         return flashfit_explain_json(&all, json);
       });
     }},
    {"explain_json_of_this_machine", 5,
     [] {
       return document([](char** json) {
         flashfit_explain_args here = question();
         here.gpu = nullptr;
         return flashfit_explain_json(&here, json);
       });
     }},
    {"images_json", 5, [] { return document(flashfit_images_json); }},
    {"gpus_json", 5, [] { return document(flashfit_gpus_json); }},
};

/// "passed", "unused" if the call makes fewer allocations, or what is wrong.
std::string without_memory(const Way& way, int n) {
  setenv("FLASHFIT_NUM_THREADS", "4", 1);
  // The driver's own memory does not run out.
  fake().on_lock = [](bool taken) {
    static thread_local int meanwhile = 0;
    std::swap(meanwhile, fails_in);
    if (taken) fails_in = 0;
  };
  const auto call = way.make();
  sigset_t before, after;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  fails_in = n;
  const flashfit_status status = call();
  const bool happened = fails_in == 0;
  fails_in = 0;
  if (!happened) return status == FLASHFIT_OK ? "unused" : flashfit_last_error();
  const std::string message = flashfit_last_error();
  if (status != FLASHFIT_OK && (status != FLASHFIT_OUT_OF_MEMORY || message.find("memory") == std::string::npos))
    return "status " + std::to_string(status) + ": " + message;
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  for (int signal = 1; signal < 32; ++signal)
    if (sigismember(&before, signal) != sigismember(&after, signal))
      return "signal " + std::to_string(signal) + " stays blocked";
  if (fake().pushed != 0) return "a context stays current";
  if (fake().relaxed != 0) return "the capture mode stays relaxed";
  if (fake().libraries.size() != fake().kernels.size()) return "an image was loaded and lost";
  if (const flashfit_status next = call())
    return "the next call fails: " + std::to_string(next) + flashfit_last_error();
  return status == FLASHFIT_OK ? "passed without it" : "passed";
}

class MemoryFault : public testing::TestWithParam<Way> {};

TEST_P(MemoryFault, IsSaidLosesNothingAndPasses) {
  int n = 1, said_so = 0;
  for (std::string said; (said = in_fork([&] { return without_memory(GetParam(), n); })) != "unused"; ++n) {
    ASSERT_THAT(said, testing::AnyOf("passed", "passed without it")) << "allocation " << n;
    said_so += said == "passed";
  }
  EXPECT_GE(n - 1, GetParam().least);
  EXPECT_GE(said_so, 1);
}

INSTANTIATE_TEST_SUITE_P(Calls, MemoryFault, testing::ValuesIn(kWays),
                         [](const auto& info) { return info.param.name; });

TEST(MemoryFault, TheIndexOfTheImagesIsReadOrItsLackOfMemoryIsThrown) {
  const std::vector<std::byte> blob =
      pack_blob(std::vector<BlobEntry>(5, {.kernel = "a name that needs memory of its own",
                                           .target = {.cc = 90},
                                           .entry = "another that needs memory of its own"}),
                std::vector<std::vector<std::byte>>(5, std::vector<std::byte>(100)));
  int n = 1;
  for (std::string said; (said = in_fork([&]() -> std::string {
                            fails_in = n;
                            try {
                              const bool read = read_blob(blob).has_value();
                              return fails_in > 0 && read ? "read" : "not read";
                            } catch (const std::bad_alloc&) {
                              return "thrown";
                            }
                          })) != "read";
       ++n)
    ASSERT_EQ(said, "thrown") << "allocation " << n;
  EXPECT_GE(n - 1, 2 * 5);
}

TEST(MemoryFault, ARefusalWithoutMemoryForItsWordsIsStillRefused) {
  for (int n = 1; n < 3; ++n)
    EXPECT_EQ(in_fork([n] {
                Call c = Call::dense();
                c.args.reserved = 7;
                fails_in = n;
                const flashfit_status status = c.run();
                const bool happened = fails_in == 0;
                fails_in = 0;
                if (!c.out->untouched()) return std::string("written");
                return std::string(status == (happened ? FLASHFIT_OUT_OF_MEMORY : FLASHFIT_INVALID_ARGUMENT)
                                       ? "refused"
                                       : "not refused");
              }),
              "refused");
}

}  // namespace
}  // namespace flashfit::test
