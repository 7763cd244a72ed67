// Every case of the list, in every dtype, on every instruction set that this machine has.
#include "proof/reference/cases.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "proof/reference/far_rows.hpp"
#include "proof/reference/listed.hpp"
#include "runtime/cpu/attention.hpp"
#include "runtime/cpu/forward.hpp"
#include "runtime/cpu/kernel.hpp"

namespace flashfit::testing {
namespace {

using cpu::Kernel;

/// Under sanitizers, which look at where the kernels read and write, and which take ten times as long, every fifth
/// case.
constexpr std::size_t kEach = FLASHFIT_SANITIZED ? 5 : 1;

/// Runs a case on every instruction set.
void try_case(const ForwardCase& c) {
  ForwardData data = make_data(c);
  const Expected expected = expect(data);
  const Storage unwritten = *data.out.storage;
  const std::vector<unsigned char> inputs[] = {data.q.storage->bytes, data.k.storage->bytes, data.v.storage->bytes};
  for (const Kernel& kernel : cpu::kernels()) {
    *data.out.storage = unwritten;
    data.lse.assign(data.lse.size(), std::numeric_limits<float>::quiet_NaN());
    ASSERT_TRUE(cpu::attention_forward_on(data.call(), kernel, 2).has_value());
    const Verdict verdict = check(data, expected);
    EXPECT_TRUE(verdict.ok) << kernel.name << ": " << verdict.message;
    EXPECT_TRUE(inputs[0] == data.q.storage->bytes && inputs[1] == data.k.storage->bytes &&
                inputs[2] == data.v.storage->bytes)
        << c.name;
  }
}

void try_cases(const std::vector<ForwardCase>& cases) {
  for (std::size_t i = 0; i < cases.size(); i += kEach) try_case(cases[i]);
}

class CpuCases : public ::testing::TestWithParam<std::tuple<DType, int>> {};

TEST_P(CpuCases, AgreeWithTheReference) {
  const auto [dtype, head_dim] = GetParam();
  const Size size = dtype == DType::kF16 ? Size::kFull : Size::kSmall;  // the origin's shapes were fp16
  try_cases(forward_cases(dtype, head_dim, size));
}

TEST_P(CpuCases, AgreeWithTheReferenceWithOptions) {
  const auto [dtype, head_dim] = GetParam();
  try_cases(option_cases(dtype, head_dim));
}

TEST(CpuHardCases, AgreeWithTheReference) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    const std::vector<ForwardCase> cases = listed_cases("hard", dtype, 0, 1e7);
    for (std::size_t i = 0; i < cases.size(); i += 3 * kEach) try_case(cases[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(All, CpuCases,
                         ::testing::Combine(::testing::Values(DType::kF16, DType::kBF16, DType::kF32),
                                            ::testing::Values(1, 7, 33, 64, 80, 100, 128, 192, 256)),
                         [](const auto& p) {
                           return name_of(std::get<0>(p.param)) + std::string("_d") +
                                  std::to_string(std::get<1>(p.param));
                         });

TEST(CpuAttention, OffsetsMayPass2To31Elements) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    ForwardCase c;
    c.name = "rows far apart";
    c.dtype = dtype;
    c.seqlens_q = c.seqlens_k = {70};
    ForwardData data = make_data(c);
    const FarRows q(data.q), k(data.k), v(data.v), out(data.out);
    ASSERT_TRUE(q.mapped() && k.mapped() && v.mapped() && out.mapped());
    ForwardCall call = data.call();
    call.q = q.view(), call.k = k.view(), call.v = v.view(), call.o = out.view();
    ASSERT_TRUE(cpu::attention_forward(call).has_value());
    out.give(data.out);
    const Verdict verdict = check(data, expect(data));
    EXPECT_TRUE(verdict.ok) << verdict.message;
  }
}

TEST(CpuAttention, PublicEntryRunsACase) {
  ForwardCase c;
  c.name = "entry";
  c.seqlens_q = c.seqlens_k = {77};
  ForwardData data = make_data(c);
  ASSERT_TRUE(cpu::attention_forward(data.call()).has_value());
  const Verdict verdict = check(data, expect(data));
  EXPECT_TRUE(verdict.ok) << verdict.message;
}

TEST(CpuAttention, LseIsOptional) {
  ForwardCase c;
  c.name = "no_lse";
  c.seqlens_q = c.seqlens_k = {20};
  ForwardData with = make_data(c), without = make_data(c);
  ASSERT_TRUE(cpu::attention_forward(with.call()).has_value());
  ForwardCall call = without.call();
  call.lse = nullptr;
  ASSERT_TRUE(cpu::attention_forward(call).has_value());
  EXPECT_EQ(with.out.storage->bytes, without.out.storage->bytes);
}

}  // namespace
}  // namespace flashfit::testing
