// What NVRTC makes of the kernels of tests/proof/emu/hopper for 9.0a, which use all that Hopper adds: the same bytes as
// their fibres give, and for kernels of matrices those that their cases say.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "compiled.hpp"
#include "hardware/hopper_kernels.cuh"
#include "matrix_cases.hpp"
#include "proof/lab/trial.hpp"

namespace flashfit::testing {
namespace {

constexpr emu::Schedule kAll[] = {emu::Schedule::kRoundRobin, emu::Schedule::kReversed, emu::Schedule::kRandom};

Result<std::unique_ptr<ptx::Program>> program_of_kernel(const std::string& kernel) {
  const std::filesystem::path tests = TESTS_DIR;
  return program_of_source("#include \"hardware/hopper_kernels.cuh\"\nusing namespace flashfit;\n",
                           fmt::format("flashfit::arch::entry<{}>", kernel),
                           {.target = 90, .own_features = true, .before = {tests, tests / "proof/emu/hopper"}});
}

/// Runs a trial as fibres and as PTX; the first difference, or "".
template <class Kernel>
std::string difference(const lab::Trial<Kernel>& trial, const std::string& kernel) {
  const auto program = program_of_kernel(kernel);
  if (!program) return "not compiled: " + program.error().message;
  for (const emu::Schedule schedule : kAll) {
    lab::Trial<Kernel> fibres = trial, executed = trial;
    if (const auto ran = lab::emulate(fibres, {.schedule = schedule, .seed = 5}); !ran)
      return "fibres: " + ran.error().message;
    if (const auto ran = lab::execute(executed, **program, {.schedule = schedule, .seed = 5}); !ran)
      return "PTX: " + ran.error().message;
    for (std::size_t b = 0; b < trial.buffers.size(); ++b) {
      const auto wanted = fibres.buffers[b].template as<std::byte>(),
                 got = executed.buffers[b].template as<std::byte>();
      for (std::size_t i = 0; i < wanted.size(); ++i)
        if (wanted[i] != got[i])
          return fmt::format("{} ({}): byte {} of {} is not the fibres'", trial.name, name_of(schedule), i,
                             trial.buffers[b].name());
    }
  }
  return {};
}

std::vector<float> small_numbers(int count) {
  std::vector<float> values;
  for (int i = 0; i < count; ++i) values.push_back(static_cast<float>(i * 7 % 23 - 11));
  return values;
}

/// A kernel with Params {x, y, more...}.
template <class Kernel, class... More>
std::string difference_of(const char* kernel, int blocks, int x_count, int y_count, More... more) {
  lab::Trial<Kernel> trial{kernel, {blocks}, {}, [=](const lab::Where& where) {
                             return typename Kernel::Params{where.as<const float>(0), where.as<float>(1), more...};
                           }};
  trial.buffers = {{"x", small_numbers(x_count)}, {"y", y_count * sizeof(float), true}};
  const std::vector<float> before = small_numbers(y_count);
  std::copy(before.begin(), before.end(), trial.buffers[1].template as<float>().begin());
  return difference(trial, std::string("flashfit::testing::") + kernel);
}

lab::Buffer zeros(const char* name, int count) {
  lab::Buffer buffer(name, static_cast<std::size_t>(count) * sizeof(int), true);
  std::ranges::fill(buffer.as<int>(), 0);
  return buffer;
}

/// A kernel with Params {x, y, integers, more...}, of which the integers are 0 before.
template <class Kernel, class... More>
std::string difference_with(const char* kernel, int blocks, int x_count, int y_count, int integers, More... more) {
  lab::Trial<Kernel> trial{kernel, {blocks}, {}, [=](const lab::Where& where) {
                             return typename Kernel::Params{where.as<const float>(0), where.as<float>(1),
                                                            where.as<int>(2), more...};
                           }};
  trial.buffers = {{"x", small_numbers(x_count)}, {"y", y_count * sizeof(float), true}, zeros("integers", integers)};
  return difference(trial, std::string("flashfit::testing::") + kernel);
}

constexpr int kTiles = 5;

TEST(HopperPtx, MbarriersAndBulkCopies) {
  EXPECT_EQ(difference_of<PipelineKernel>("PipelineKernel", 1, kTiles * PipelineKernel::kTile,
                                          kTiles * PipelineKernel::kTile, kTiles),
            "");
  EXPECT_EQ(difference_of<BulkStoreKernel>("BulkStoreKernel", 1, kTiles * BulkStoreKernel::kTile,
                                           kTiles * BulkStoreKernel::kTile, kTiles),
            "");
  EXPECT_EQ(
      difference_of<BulkReduceKernel>("BulkReduceKernel", 4, 4 * BulkReduceKernel::kTile, BulkReduceKernel::kTile), "");
  EXPECT_EQ(difference_of<RoundTripKernel>("RoundTripKernel", 1, RoundTripKernel::kTile, RoundTripKernel::kTile), "");
}

TEST(HopperPtx, NamedBarriersAndRoles) {
  EXPECT_EQ(difference_of<PingPongKernel>("PingPongKernel", 1, PingPongKernel::kGroup, PingPongKernel::kGroup, 6), "");
  EXPECT_EQ(difference_of<RolesKernel>("RolesKernel", 1, RolesKernel::kTile, RolesKernel::kTile), "");
}

TEST(HopperPtx, Clusters) {
  EXPECT_EQ(
      difference_of<MulticastKernel>("MulticastKernel", MulticastKernel::kCluster, kTiles * MulticastKernel::kTile,
                                     MulticastKernel::kCluster * kTiles * MulticastKernel::kTile, kTiles),
      "");
  EXPECT_EQ(
      difference_of<ExchangeKernel>("ExchangeKernel", ExchangeKernel::kCluster,
                                    ExchangeKernel::kCluster * ExchangeKernel::kCluster * ExchangeKernel::kThreads,
                                    ExchangeKernel::kCluster * ExchangeKernel::kThreads),
      "");
}

TEST(HopperPtx, CopiesThatArrive) {
  constexpr int kCount = kTiles * CopyArriveKernel<true>::kTile;
  EXPECT_EQ(difference_of<CopyArriveKernel<false>>("CopyArriveKernel<false>", 1, kCount, kCount, kTiles), "");
  EXPECT_EQ(difference_of<CopyArriveKernel<true>>("CopyArriveKernel<true>", 1, kCount, kCount, kTiles), "");
}

TEST(HopperPtx, CopiesToOtherBlocks) {
  constexpr int kCount = PassOnKernel::kCluster * PassOnKernel::kTile;
  EXPECT_EQ(difference_of<PassOnKernel>("PassOnKernel", PassOnKernel::kCluster, kCount, kCount), "");
}

TEST(HopperPtx, CachePolicies) {
  constexpr int kCount = 4 * CachedKernel::kQuarter;
  EXPECT_EQ(difference_of<CachedKernel>("CachedKernel", 1, kCount, kCount, 0.5f), "");
}

TEST(HopperPtx, CountersAndFlagsBetweenBlocks) {
  constexpr int kBlocks = 4;
  EXPECT_EQ(difference_with<TileCounterKernel>("TileCounterKernel", kBlocks, kTiles * TileCounterKernel::kTile,
                                               kTiles * TileCounterKernel::kTile, 2, kTiles),
            "");
  EXPECT_EQ(difference_with<ChainKernel>("ChainKernel", kBlocks, kBlocks * ChainKernel::kTile,
                                         kBlocks * ChainKernel::kTile, kBlocks),
            "");
  lab::Trial<LastBlockKernel> last{"LastBlockKernel", {kBlocks}, {}, [](const lab::Where& where) {
                                     return LastBlockKernel::Params{where.as<const float>(0), where.as<float>(1),
                                                                    where.as<float>(2), where.as<int>(3)};
                                   }};
  constexpr int kTile = LastBlockKernel::kTile;
  last.buffers = {{"x", small_numbers(kBlocks * kTile)},
                  {"y", kTile * sizeof(float), true},
                  {"parts", kBlocks * kTile * sizeof(float), true},
                  zeros("done", 1)};
  EXPECT_EQ(difference(last, "flashfit::testing::LastBlockKernel"), "");
}

TEST(HopperPtx, GridsThatDependOnOthers) {
  constexpr int kBlocks = 2, kCount = kBlocks * FirstKernel::kThreads;
  EXPECT_EQ(difference_of<FirstKernel>("FirstKernel", kBlocks, kCount, kCount), "");
  lab::Trial<SecondKernel> second{"SecondKernel", {kBlocks}, {}, [](const lab::Where& where) {
                                    return SecondKernel::Params{where.as<const float>(0), where.as<const float>(1),
                                                                where.as<float>(2)};
                                  }};
  second.buffers = {{"w", small_numbers(kCount)}, {"y", small_numbers(kCount)}, {"z", kCount * sizeof(float), true}};
  EXPECT_EQ(difference(second, "flashfit::testing::SecondKernel"), "");
}

lab::Buffer buffer_of(const char* name, const Bytes& values, bool writable) {
  lab::Buffer buffer(name, values.size(), writable);
  std::memcpy(buffer.data(), values.data(), buffer.size());
  return buffer;
}

/// A case's PTX, beside the bytes that the case says.
template <class Kernel>
std::string defect_of_case(const MatrixCase<Kernel>& c) {
  const std::size_t inputs = c.inputs.size();
  lab::Trial<Kernel> trial{c.what, {emu::cluster_of<Kernel>()}, {}, [&](const lab::Where& where) {
                             std::vector<const void*> in;
                             for (std::size_t i = 0; i < inputs; ++i) in.push_back(where.as<void>(i));
                             return c.params(in, where.as<void>(inputs),
                                             [&](const TensorMapSpec& spec) { return where.map(spec); });
                           }};
  for (const Bytes& input : c.inputs) trial.buffers.push_back(buffer_of("input", input, false));
  trial.buffers.push_back(buffer_of("output", c.output, true));
  const auto program = program_of_kernel(c.expression);
  if (!program) return "not compiled: " + program.error().message;
  for (const emu::Schedule schedule : kAll) {
    lab::Trial<Kernel> executed = trial;
    if (const auto ran = lab::execute(executed, **program, {.schedule = schedule, .seed = 5}); !ran)
      return "PTX: " + ran.error().message;
    const auto got = executed.buffers[inputs].template as<std::byte>();
    for (std::size_t i = 0; i < c.expected.size(); ++i)
      if (got[i] != c.expected[i])
        return fmt::format("{} ({}): byte {} of {}", c.what, name_of(schedule), i, c.expected.size());
  }
  return {};
}

// wgmma of every form, tensor copies with every swizzle, ldmatrix, stmatrix: every so many cases, as NVRTC takes most
// of a second for each.
TEST(HopperPtx, Matrices) {
  constexpr int kEach = 6;
  int number = 0;
  for_each_matrix_case([&](const auto& c) {
    if (number++ % kEach != 0) return;
    EXPECT_EQ(defect_of_case(c), "");
  });
  EXPECT_GT(number, kEach);
}

}  // namespace
}  // namespace flashfit::testing
