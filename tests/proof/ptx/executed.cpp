#include "executed.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <ctime>

namespace flashfit::testing {
namespace {

double seconds_between(std::clock_t start, std::clock_t end) {
  return static_cast<double>(end - start) / CLOCKS_PER_SEC;
}

}  // namespace

std::string bits_defect(const ExecutedRun& r, ExecutedSeconds* seconds) {
  ForwardData fibres = make_data(r.spec), data = make_data(r.spec);
  const std::clock_t start = std::clock();
  const auto expected = run(r.kernel, fibres, r.options, {}, r.splits);
  if (!expected) return "fibres: " + expected.error().message;
  const std::clock_t between = std::clock();
  const auto ran = run(kernel_of(r.kernel.variant, r.program), data, r.options, {}, r.splits);
  if (!ran) return fmt::format("{}: {}", r.spec.name, ran.error().message);
  if (seconds != nullptr) {
    seconds->fibres += seconds_between(start, between);
    seconds->ptx += seconds_between(between, std::clock());
  }
  const auto& got = data.out.storage->bytes;
  const auto& wanted = fibres.out.storage->bytes;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (got[i] != wanted[i])
      return fmt::format("{} in {} parts: byte {} of out is {:#x}, the fibres' is {:#x}", r.spec.name, r.splits, i,
                         got[i], wanted[i]);
  for (std::size_t i = 0; i < fibres.lse.size(); ++i)
    if (std::bit_cast<std::uint32_t>(data.lse[i]) != std::bit_cast<std::uint32_t>(fibres.lse[i]))
      return fmt::format("{} in {} parts: lse[{}] is {}, the fibres' is {}", r.spec.name, r.splits, i, data.lse[i],
                         fibres.lse[i]);
  // Turing's instruction has half the depth, so there are twice as many.
  if (ran->mma != expected->mma * (r.program.target < 80 ? 2 : 1))
    return fmt::format("{}: {} products, the fibres' {}", r.spec.name, ran->mma, expected->mma);
  return {};
}

std::string value_defect(const ExecutedRun& r) {
  ForwardData data = make_data(r.spec);
  const Expected expected = expect(data);
  const auto ran = run(kernel_of(r.kernel.variant, r.program), data, r.options, {}, r.splits);
  if (!ran) return fmt::format("{}: {}", r.spec.name, ran.error().message);
  const Verdict verdict = check(data, expected);
  return verdict.ok ? "" : fmt::format("{} in {} parts: {}", r.spec.name, r.splits, verdict.message);
}

}  // namespace flashfit::testing
