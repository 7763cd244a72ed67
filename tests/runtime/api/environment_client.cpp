// Prints what three calls (forward, workspace, prepare) answer: `environment_client cpu|gpu|wrong|many`.
#include <cstdio>
#include <string_view>
#include <thread>

#include "tensors.hpp"

namespace flashfit::test {
namespace {

void print(flashfit_status status, const char* end) {
  const char* name = flashfit_status_name(status);
  status ? std::printf("%s %s%s", name, flashfit_last_error(), end) : std::printf("%s%s", name, end);
}

int run(std::string_view what) {
  Call c = Call::dense(DType::kF16, 1, 3, 3, 2, 2, 64);
  if (what == "gpu") c.pretend_gpu();
  if (what == "wrong") c.args.softmax_scale = -1;
  for (int rows = 1; what == "many" && rows < 1200; ++rows) {
    c = Call::dense(DType::kF16, 1, 1, rows, 1, 1, 8);
    c.run();
  }
  std::thread([&] { c.run(), c.run(); }).join();
  std::uint64_t bytes = 0;
  print(c.run(), "|");
  print(flashfit_attention_workspace(&c.args, &bytes), "|");
  print(flashfit_attention_prepare(&c.args), "\n");
  return 0;
}

}  // namespace
}  // namespace flashfit::test

int main(int argc, char** argv) { return argc == 2 ? flashfit::test::run(argv[1]) : 1; }
