// What the plan chooses on every GPU of the table for the problems that people bring.
// `plan_golden_test --update` writes the files anew.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "kernels/attention/forward/plan/catalogue.hpp"
#include "kernels/attention/forward/plan/explain.hpp"
#include "kernels/attention/forward/plan/problems.hpp"

namespace flashfit {
namespace {

using test::dense;
using test::ragged;

bool update = false;

struct Case {
  const char* name;
  ForwardProblem problem;
  CudaVersion driver = 0;
};

template <class Ask>
ForwardProblem with(ForwardProblem p, Ask ask) {
  ask(p);
  return p;
}

std::vector<Case> cases() {
  return {
      {"origin", dense({.batch = 2, .queries = 512})},
      {"origin_causal", dense({.batch = 2, .queries = 512, .causal = true})},
      {"origin_one_short", dense({.heads = 4, .queries = 128})},
      {"long_d64", dense({.batch = 8, .heads = 16})},
      {"long_d128", dense({.head_dim = 128, .batch = 8, .heads = 16})},
      {"long_d128_causal_driver535", dense({.head_dim = 128, .batch = 8, .heads = 16, .causal = true}), 12020},
      {"video_bf16", ragged({.dtype = DType::kBF16, .head_dim = 128, .batch = 36, .heads = 20, .queries = 106488})},
      {"image_bf16", ragged({.dtype = DType::kBF16, .head_dim = 128, .batch = 9, .heads = 20, .queries = 4122})},
      {"sentences_d32", ragged({.head_dim = 32, .batch = 64, .heads = 12, .queries = 1800})},
      {"one_query_gqa", dense({.dtype = DType::kBF16,
                               .head_dim = 128,
                               .batch = 4,
                               .heads = 32,
                               .heads_kv = 8,
                               .queries = 1,
                               .keys = 4096,
                               .causal = true})},
      {"few_queries_gqa", dense({.dtype = DType::kBF16,
                                 .head_dim = 128,
                                 .heads = 32,
                                 .heads_kv = 8,
                                 .queries = 8,
                                 .keys = 8192,
                                 .causal = true})},
      {"one_query_long", dense({.head_dim = 128, .heads = 8, .queries = 1, .keys = 65536})},
      {"window_d256", with(dense({.head_dim = 256, .heads = 16, .queries = 8192, .causal = true}),
                           [](ForwardProblem& p) { p.window_left = 1023; })},
      {"mla_d192v128", dense({.dtype = DType::kBF16, .head_dim = 192, .head_dim_v = 128, .heads = 32, .causal = true})},
      {"padded_d80", dense({.head_dim = 80, .batch = 4, .heads = 16})},
      {"softcap_d256",
       with(dense({.head_dim = 256, .heads = 16, .causal = true}), [](ForwardProblem& p) { p.softcap = true; })},
      {"general_d512", dense({.head_dim = 512})},
  };
}

std::string render(const Case& c) {
  const ForwardProblem& p = c.problem;
  std::string out =
      fmt::format("{} head_dim {} batch {} heads {}/{} queries {} keys {} {} {} driver {}\n", name_of(p.dtype),
                  p.head_dim, p.batch, p.heads_q, p.heads_kv, p.total_q, p.total_k, p.causal ? "causal" : "full",
                  p.variable_length ? "variable length" : "dense", c.driver);
  const std::vector<Image> images = test::full_catalogue();
  for (const Gpu& gpu : gpu_table()) {
    const auto plan = plan_forward(p, gpu, c.driver, images);
    out += fmt::format("{:<12} {:<4} ", gpu.name, gpu.cc.str());
    if (!plan) {
      out += "MISFIT " + plan.error().message + "\n";
      continue;
    }
    const ForwardModel& m = plan->model;
    out += fmt::format(
        "{:<40} {:<7} {:>6} of {:>6} B  {:>3} regs  {} per SM ({})  grid {:>5} x {:<2}  {:>3} waves {:>8.1f} us  {}\n",
        name_of(plan->variant->config), plan->image().target.str(), plan->kernel_variant().shared_bytes,
        gpu.shared_bytes_block, plan->registers, m.blocks_per_sm, m.limited_by, plan->grid(), plan->splits, m.waves,
        m.microseconds, m.bound);
  }
  return out;
}

class Golden : public testing::TestWithParam<Case> {};

TEST_P(Golden, IsAsReviewed) {
  const std::string path = fmt::format("{}/{}.txt", FLASHFIT_GOLDEN_DIR, GetParam().name), now = render(GetParam());
  if (update) {
    std::ofstream(path) << now;
    return;
  }
  std::stringstream reviewed;
  reviewed << std::ifstream(path).rdbuf();
  EXPECT_EQ(now, reviewed.str()) << "if the change is meant, run this test with --update and review the difference";
}

INSTANTIATE_TEST_SUITE_P(Problems, Golden, testing::ValuesIn(cases()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace flashfit

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  flashfit::update = argc == 2 && std::string(argv[1]) == "--update";
  return RUN_ALL_TESTS();
}
