// PTX that Triton made of kernels of our own (triton/kernels.py): run under three schedules, against fp64.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/base/half.hpp"
#include "proof/emu/schedule.hpp"
#include "proof/ptx/launch.hpp"
#include "proof/ptx/parser.hpp"
#include "proof/reference/attention.hpp"

namespace flashfit::testing {
namespace {

constexpr emu::Schedule kSchedules[] = {emu::Schedule::kRoundRobin, emu::Schedule::kReversed, emu::Schedule::kRandom};

/// The arguments of an entry, each aligned to its size; Triton adds two pointers that these kernels do not use.
class Arguments {
 public:
  template <class T>
  Arguments& add(T value) {
    constexpr std::size_t kSize = sizeof(T);
    bytes_.resize((bytes_.size() + kSize - 1) / kSize * kSize + kSize);
    std::memcpy(bytes_.data() + bytes_.size() - kSize, &value, kSize);
    return *this;
  }
  std::vector<std::byte> finished() { return add(std::uint64_t{0}).add(std::uint64_t{0}).bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

/// Where an element of a matrix lies.
std::size_t place(int row, int columns, int column) {
  return static_cast<std::size_t>(row) * static_cast<std::size_t>(columns) + static_cast<std::size_t>(column);
}

/// Numbers aligned to 16 bytes, as the kernels were told.
template <class T>
class Tensor {
 public:
  explicit Tensor(std::size_t size, T value = T{}) : storage_(size + 16 / sizeof(T), value), size_(size) {}
  T* data() {
    const auto at = reinterpret_cast<std::uintptr_t>(storage_.data());
    return reinterpret_cast<T*>((at + 15) / 16 * 16);
  }
  std::size_t bytes() const { return size_ * sizeof(T); }
  T& operator[](std::size_t i) { return data()[i]; }
  Tensor& fill(std::uint32_t seed) {
    emu::Xorshift random(seed);
    for (std::size_t i = 0; i < size_; ++i)
      data()[i] = from_float<T>(static_cast<float>(random.below(2001) - 1000) / 500.f);
    return *this;
  }

 private:
  std::vector<T> storage_;
  std::size_t size_;
};

Result<emu::Stats> run(const std::string& name, emu::Index3 grid, const std::vector<std::byte>& arguments,
                       const emu::Memory& memory, emu::Schedule schedule) {
  std::ifstream in(std::filesystem::path(TRITON_DIR) / (name + ".ptx"));
  std::ostringstream all;
  all << in.rdbuf();
  const std::string text = all.str();
  std::size_t shared = 0;
  std::sscanf(text.c_str(), "// %zu bytes", &shared);
  const Result<ptx::Module> module = ptx::parse(name, text);
  if (!module) return tl::unexpected(module.error());
  const auto program = ptx::decode(*module, "");
  if (!program) return tl::unexpected(program.error());
  return ptx::launch(**program, {.grid = grid, .threads = {128, 1, 1}, .dynamic_shared = shared}, arguments, memory,
                     {.kernel = name, .schedule = schedule, .seed = 3});
}

TEST(Triton, Softmax) {
  constexpr std::size_t kRows = 3, kColumns = 208;
  Tensor<f16> x(kRows * kColumns);
  x.fill(1);
  for (const emu::Schedule schedule : kSchedules) {
    Tensor<float> out(kRows * kColumns, NAN);
    emu::Memory memory;
    memory.read_only("x", x.data(), x.bytes()).writable("out", out.data(), out.bytes());
    const auto ran = run("softmax_80", {kRows, 1, 1}, Arguments{}.add(x.data()).add(out.data()).add(208).finished(),
                         memory, schedule);
    ASSERT_TRUE(ran) << ran.error().message;
    for (std::size_t r = 0; r < kRows; ++r) {
      double sum = 0;
      for (std::size_t c = 0; c < kColumns; ++c) sum += std::exp(static_cast<double>(to_float(x[r * kColumns + c])));
      for (std::size_t c = 0; c < kColumns; ++c) {
        const double right = std::exp(static_cast<double>(to_float(x[r * kColumns + c]))) / sum;
        ASSERT_NEAR(out[r * kColumns + c], right, 1e-6 * right + 1e-9) << r << ", " << c;
      }
    }
  }
}

TEST(Triton, AtomicsFromSeveralBlocks) {
  constexpr int kCount = 1008;
  Tensor<std::int32_t> x(kCount);
  std::int32_t right[16] = {}, greatest = 0;
  for (int i = 0; i < kCount; ++i) {
    const std::int32_t value = i * 37 % 1001;
    x[static_cast<std::size_t>(i)] = value;
    ++right[value % 16];
    greatest = std::max(greatest, value);
  }
  for (const emu::Schedule schedule : kSchedules) {
    Tensor<std::int32_t> counts(16, 0), most(256, 0);
    emu::Memory memory;
    memory.read_only("x", x.data(), x.bytes())
        .writable("counts", counts.data(), counts.bytes())
        .writable("most", most.data(), most.bytes());
    const auto ran =
        run("histogram_80", {4, 1, 1},
            Arguments{}.add(x.data()).add(counts.data()).add(most.data()).add(kCount).finished(), memory, schedule);
    ASSERT_TRUE(ran) << ran.error().message;
    for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(counts[i], right[i]) << i;
    EXPECT_EQ(most[0], greatest);
  }
}

class TritonProducts : public ::testing::TestWithParam<int> {};

TEST_P(TritonProducts, Matmul) {
  constexpr int kM = 80, kN = 96, kK = 64;
  Tensor<f16> a(kM * kK), b(kK * kN);
  a.fill(1);
  b.fill(2);
  for (const emu::Schedule schedule : kSchedules) {
    Tensor<f16> c(kM * kN, f16{0xffff});
    emu::Memory memory;
    memory.read_only("a", a.data(), a.bytes()).read_only("b", b.data(), b.bytes()).writable("c", c.data(), c.bytes());
    const auto ran =
        run(fmt::format("matmul_{}", GetParam()), {2, 2, 1},
            Arguments{}.add(a.data()).add(b.data()).add(c.data()).add(kM).add(kN).add(kK).finished(), memory, schedule);
    ASSERT_TRUE(ran) << ran.error().message;
    EXPECT_GT(GetParam() >= 90 ? ran->wgmma : ran->mma, 0u);
    for (int m = 0; m < kM; ++m)
      for (int n = 0; n < kN; ++n) {
        double right = 0;
        for (int k = 0; k < kK; ++k)
          right +=
              static_cast<double>(to_float(a[place(m, kK, k)])) * static_cast<double>(to_float(b[place(k, kN, n)]));
        ASSERT_NEAR(to_float(c[place(m, kN, n)]), right, 0.002 * std::fabs(right) + 0.002) << m << ", " << n;
      }
  }
}

TEST_P(TritonProducts, FusedAttention) {
  constexpr int kHeads = 2, kRows = 80, kKeys = 96, kDim = 64;
  constexpr float kScale = 0.125f;
  Tensor<f16> q(kHeads * kRows * kDim), k(kHeads * kKeys * kDim), v(kHeads * kKeys * kDim);
  q.fill(1);
  k.fill(2);
  v.fill(3);
  const reference::Problem problem{.dtype = DType::kF16,
                                   .heads_q = kHeads,
                                   .heads_kv = kHeads,
                                   .head_dim = kDim,
                                   .causal = true,
                                   .softmax_scale = kScale,
                                   .sequences = {{0, 0, kRows, kKeys}}};
  const auto view = [](Tensor<f16>& t, int rows) {
    return reference::View{t.data(), 0, kDim, std::int64_t{rows} * kDim, 1};
  };
  const std::vector<double> right = reference::attention(problem, view(q, kRows), view(k, kKeys), view(v, kKeys)).out;
  for (const emu::Schedule schedule : kSchedules) {
    Tensor<f16> out(kHeads * kRows * kDim, f16{0xffff});
    emu::Memory memory;
    memory.read_only("q", q.data(), q.bytes())
        .read_only("k", k.data(), k.bytes())
        .read_only("v", v.data(), v.bytes())
        .writable("out", out.data(), out.bytes());
    const auto arguments = Arguments{}
                               .add(q.data())
                               .add(k.data())
                               .add(v.data())
                               .add(out.data())
                               .add(kRows)
                               .add(kKeys)
                               .add(kScale)
                               .finished();
    const auto ran = run(fmt::format("attention_{}", GetParam()), {2, kHeads, 1}, arguments, memory, schedule);
    ASSERT_TRUE(ran) << ran.error().message;
    for (int h = 0; h < kHeads; ++h)
      for (int row = 0; row < kRows; ++row)
        for (int d = 0; d < kDim; ++d)
          ASSERT_NEAR(to_float(out[place(h * kRows + row, kDim, d)]), right[place(row * kHeads + h, kDim, d)], 0.004)
              << h << ", " << row << ", " << d;
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, TritonProducts, ::testing::Values(80, 90));

// A memory that is one row too small, as of a kernel that was given a wrong size.
TEST(Triton, AnAccessPastATensorIsFound) {
  Tensor<f16> x(3 * 208);
  Tensor<float> out(3 * 208);
  x.fill(1);
  emu::Memory memory;
  memory.read_only("x", x.data(), x.bytes() - 416).writable("out", out.data(), out.bytes());
  const auto ran = run("softmax_80", {3, 1, 1}, Arguments{}.add(x.data()).add(out.data()).add(208).finished(), memory,
                       emu::Schedule::kRoundRobin);
  ASSERT_FALSE(ran);
  EXPECT_THAT(ran.error().message, ::testing::HasSubstr("past the end of x (read-only, 832 bytes)"));
}

// cp.async writes as threads do, and wgmma reads as engines do: Triton 3.5.1 puts no fence.proxy.async between the two.
// Later releases do (github.com/triton-lang/triton/pull/10537).
TEST(Triton, TheMissingFenceOfPipelinedProductsIsFound) {
  constexpr int kM = 80, kN = 96, kK = 64;
  Tensor<f16> a(kM * kK), b(kK * kN), c(kM * kN);
  emu::Memory memory;
  memory.read_only("a", a.data(), a.bytes()).read_only("b", b.data(), b.bytes()).writable("c", c.data(), c.bytes());
  for (const emu::Schedule schedule : kSchedules) {
    const auto ran =
        run("matmul_90_pipelined", {2, 2, 1},
            Arguments{}.add(a.data()).add(b.data()).add(c.data()).add(kM).add(kN).add(kK).finished(), memory, schedule);
    ASSERT_FALSE(ran);
    EXPECT_THAT(ran.error().message,
                ::testing::ContainsRegex("wgmma reads bytes .* which cp_async_16 of warp .* wrote: no "
                                         "fence.proxy.async between them"));
  }
}

// Every text is refused, or run and ended by a finding, a limit or its end.
TEST(Triton, DamagedTextsAreRefusedOrRun) {
  std::ifstream in(std::filesystem::path(TRITON_DIR) / "softmax_80.ptx");
  std::ostringstream all;
  all << in.rdbuf();
  const std::string text = all.str();
  ASSERT_GT(text.size(), 1000u);
  Tensor<f16> x(256);
  Tensor<float> out(256);
  x.fill(1);
  emu::Memory memory;
  memory.read_only("x", x.data(), x.bytes()).writable("out", out.data(), out.bytes());
  const auto arguments = Arguments{}.add(x.data()).add(out.data()).add(208).finished();
  emu::Xorshift random(11);
  int ran = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = text;
    for (int changes = random.below(3); changes >= 0; --changes) {
      const auto at = static_cast<std::size_t>(random.below(static_cast<int>(text.size())));
      const auto from = static_cast<std::size_t>(random.below(static_cast<int>(text.size())));
      if (random.below(2) == 0)  // numbers and letters change into others, or a piece goes elsewhere
        damaged[at] = "0123456789abcrdpsfux,;%$-"[random.below(25)];
      else
        damaged.replace(at, 4, text.substr(from, 4));
    }
    const Result<ptx::Module> module = ptx::parse("damaged", damaged);
    if (!module) continue;
    const auto program = ptx::decode(*module, "");
    if (!program) continue;
    ++ran;
    const auto result =
        ptx::launch(**program, {.grid = {1, 1, 1}, .threads = {128, 1, 1}, .dynamic_shared = 16, .most_steps = 20000},
                    arguments, memory, {.schedule = kSchedules[round % 3]});
    if (!result) {
      EXPECT_EQ(result.error().message.find('\n'), std::string::npos) << result.error().message;
    }
  }
  EXPECT_GT(ran, 100);  // else nothing was tried
}

}  // namespace
}  // namespace flashfit::testing
