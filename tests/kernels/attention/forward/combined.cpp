// What makes one output of parts of keys, of up to as many as there may be, begun while a kernel still writes them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "core/base/half.hpp"
#include "emulated.hpp"
#include "kernels/arch/arch.hpp"
#include "kernels/attention/forward/combine/variants.hpp"
#include "proof/emu/launch.hpp"
#include "proof/emulated/forward.hpp"

namespace flashfit::testing {
namespace {

/// `used`: query rows that sequences have, of `queries` of each of the batch; fewer where the length varies.
struct Shape {
  int parts, batch, queries, heads, columns, head_dim_v, used;
  bool sinks = false, lse = true;
  bool ragged() const { return used != queries; }
  int rows() const { return batch * queries * heads; }
};

constexpr Shape kShapes[] = {
    {.parts = 2, .batch = 1, .queries = 1, .heads = 1, .columns = 32, .head_dim_v = 32, .used = 1},
    {.parts = 4, .batch = 2, .queries = 3, .heads = 3, .columns = 64, .head_dim_v = 40, .used = 3, .sinks = true},
    {.parts = 5, .batch = 1, .queries = 7, .heads = 3, .columns = 128, .head_dim_v = 121, .used = 5, .sinks = true},
    {.parts = 9, .batch = 1, .queries = 5, .heads = 1, .columns = 160, .head_dim_v = 160, .used = 5, .lse = false},
    {.parts = 17, .batch = 3, .queries = 1, .heads = 3, .columns = 96, .head_dim_v = 90, .used = 1},
    {.parts = 40, .batch = 1, .queries = 3, .heads = 1, .columns = 256, .head_dim_v = 256, .used = 2},
    {.parts = kMostParts, .batch = 2, .queries = 1, .heads = 2, .columns = 512, .head_dim_v = 500, .used = 1},
};

/// In place of the forward kernel: parts that are known, and so late that who does not wait for them finds none.
struct WritePartsKernel {
  static constexpr int kThreads = 32, kBlocks = 2;
  struct Params {
    const float *o, *lse;
    float *to_o, *to_lse;
    int o_count, lse_count;
  };
  struct Shared {};
  static void run(const Params& p) {
    arch::launch_dependents();
    const auto copy = [](const float* from, float* to, int count) {
      for (int i = arch::block().x * kThreads + arch::thread(); i < count; i += kBlocks * kThreads)
        arch::store_if(true, to, i, arch::load(from, i));
    };
    copy(p.o, p.to_o, p.o_count);
    copy(p.lse, p.to_lse, p.lse_count);
  }
};

/// Strides of the output that leave gaps.
struct Strides {
  std::int64_t head, row, batch;
  explicit Strides(const Shape& s)
      : head(s.head_dim_v + 3), row(head * s.heads + 5), batch(s.ragged() ? 0 : row * s.queries + 7) {}
};

constexpr std::uint16_t kUntouched = 0x3a5c;
constexpr double kNothing = -std::numeric_limits<double>::infinity();

struct Data {
  Shape shape;
  std::vector<float> partial_o, partial_lse, sinks, lse;
  std::vector<float> given_o, given_lse;  ///< what partial_o and partial_lse will hold
  std::vector<std::uint16_t> out;
  std::int32_t offsets[2];

  explicit Data(const Shape& s) : shape(s), offsets{0, s.used} {
    std::mt19937 random(static_cast<unsigned>(s.parts));
    std::normal_distribution<float> normal;
    const auto filled = [&](std::size_t count, float scale) {
      std::vector<float> v(count);
      std::ranges::generate(v, [&] { return scale * normal(random); });
      return v;
    };
    const auto rows = static_cast<std::size_t>(s.rows());
    given_o = filled(rows * s.parts * s.columns, 1);
    given_lse = filled(rows * s.parts, 9);
    partial_o.assign(given_o.size(), std::numeric_limits<float>::signaling_NaN());
    partial_lse.assign(given_lse.size(), std::numeric_limits<float>::signaling_NaN());
    sinks = filled(static_cast<std::size_t>(s.heads), 4);
    // Against no base but its own could a row far from 0 be weighed.
    for (std::size_t i = 0; i < given_lse.size(); ++i)
      given_lse[i] += i % rows % 3 == 0 ? -300.f : i % rows % 3 == 2 ? 300.f : 0;
    // Parts that see no key of a row, and rows that see none of any; what is nobody's is no number.
    for (int part = 0; part < s.parts; ++part)
      for (int row = 0; row < s.rows(); ++row) {
        const auto at = static_cast<std::size_t>(part) * rows + static_cast<std::size_t>(row);
        if (row == 1 || (part + row) % 5 == 3) {
          given_lse[at] = static_cast<float>(kNothing);
          std::fill_n(given_o.begin() + static_cast<std::ptrdiff_t>(at) * s.columns, s.columns, 0.f);
        }
        if (row < s.used * s.heads || !s.ragged()) continue;
        given_lse[at] = std::numeric_limits<float>::signaling_NaN();
      }
    const Strides strides(s);
    out.assign(static_cast<std::size_t>(s.batch * (strides.row * s.queries + 7)), kUntouched);
    lse.assign(rows, 77.f);
  }

  CombineParams params() {
    const Shape& s = shape;
    const Strides strides(s);
    return {.partial_o = partial_o.data(),
            .partial_lse = partial_lse.data(),
            .parts = s.parts,
            .warps_log2 = combining_warps_log2(s.parts),
            .rows = s.rows(),
            .columns = s.columns,
            .o = out.data(),
            .lse = s.lse ? lse.data() : nullptr,
            .o_batch = strides.batch,
            .o_row = strides.row,
            .o_head = strides.head,
            .lse_batch = s.heads * s.queries,
            .lse_head = s.queries,
            .head_dim_v = s.head_dim_v,
            .heads = Divisor(s.heads),
            .queries = Divisor(s.queries),
            .cu_seqlens_q = s.ragged() ? offsets : nullptr,
            .batch = s.batch,
            .sinks = s.sinks ? sinks.data() : nullptr};
  }

  WritePartsKernel::Params parts() {
    return {given_o.data(),     given_lse.data(),    partial_o.data(),
            partial_lse.data(), int(given_o.size()), int(given_lse.size())};
  }

  emu::Memory memory_of_parts() {
    emu::Memory m;
    m.read_only("given_o", given_o.data(), given_o.size() * sizeof(float));
    m.read_only("given_lse", given_lse.data(), given_lse.size() * sizeof(float));
    m.writable("partial_o", partial_o.data(), partial_o.size() * sizeof(float));
    m.writable("partial_lse", partial_lse.data(), partial_lse.size() * sizeof(float));
    return m;
  }
  emu::Memory memory() {
    emu::Memory m;
    m.read_only("partial_o", partial_o.data(), partial_o.size() * sizeof(float));
    m.read_only("partial_lse", partial_lse.data(), partial_lse.size() * sizeof(float));
    m.read_only("sinks", sinks.data(), shape.sinks ? sinks.size() * sizeof(float) : 0);
    m.read_only("cu_seqlens_q", offsets, shape.ragged() ? sizeof offsets : 0);
    m.writable("o", out.data(), out.size() * sizeof out[0]);
    m.writable("lse", lse.data(), shape.lse ? lse.size() * sizeof(float) : 0);
    return m;
  }
};

/// What of the row is not as it must be, in fp64; `given` are the output's numbers from its row on.
std::string defect_of_row(const Data& d, DType dtype, int row, const std::uint16_t* given, float lse) {
  const Shape& s = d.shape;
  const double ln2 = std::log(2.),
               sink = s.sinks ? double{d.sinks[static_cast<std::size_t>(row % s.heads)]} / ln2 : kNothing;
  const auto lse_of = [&](int part) {
    return double{d.given_lse[static_cast<std::size_t>(part) * static_cast<std::size_t>(s.rows()) +
                              static_cast<std::size_t>(row)]};
  };
  double top = sink, sum = 0;
  for (int part = 0; part < s.parts; ++part) top = std::max(top, lse_of(part));
  const auto weight = [&](double of) { return top == kNothing ? 0. : std::exp2(of - top); };
  for (int part = 0; part < s.parts; ++part) sum += weight(lse_of(part));
  sum += weight(sink);
  const double wanted_lse = sum == 0 ? kNothing : (top + std::log2(sum)) * ln2, is_lse = lse;
  const bool near = std::abs(is_lse - wanted_lse) <= 1e-5 * std::max(1., std::abs(wanted_lse));
  if (s.lse && is_lse != wanted_lse && !near) return fmt::format("row {}: LSE {}, must be {}", row, lse, wanted_lse);
  for (int column = 0; column < s.head_dim_v; ++column) {
    double wanted = 0;
    for (int part = 0; part < s.parts && sum != 0; ++part)
      wanted += weight(lse_of(part)) / sum *
                d.given_o[(static_cast<std::size_t>(part) * static_cast<std::size_t>(s.rows()) +
                           static_cast<std::size_t>(row)) *
                              static_cast<std::size_t>(s.columns) +
                          static_cast<std::size_t>(column)];
    const float is = dtype == DType::kF16 ? to_float(f16{given[column]}) : to_float(bf16{given[column]});
    const double bound = std::abs(wanted) * (dtype == DType::kF16 ? 0x1p-10 : 0x1p-7) + 1e-5;
    if (!(std::abs(is - wanted) <= bound))
      return fmt::format("row {} column {}: {}, must be {}", row, column, is, wanted);
  }
  return {};
}

std::string defect_on(const EmulatedKernel& kernel, const Shape& s, const emu::Options& options) {
  const DType dtype = static_cast<const CombineVariant*>(kernel.variant.form)->config.dtype;
  Data d(s);
  const CombineParams params = d.params();
  ForwardConfig parts{};
  parts.head_dim_v = s.columns;
  const Image image = image_of(kernel);
  const Grid grid = combine_step(image, parts, s.rows(), s.parts).grid;
  const WritePartsKernel::Params given = d.parts();
  const emu::Memory of_parts = d.memory_of_parts(), memory = d.memory();
  const emu::GridLaunch grids[] = {
      {emu::program_of<WritePartsKernel>(given), {WritePartsKernel::kBlocks, 1, 1}, of_parts, "parts"},
      {kernel.program(&params), {static_cast<int>(grid.x), grid.y, grid.z}, memory, kernel.variant.name}};
  const auto ran = emu::run_dependent_grids(grids, options);
  if (!ran) return ran.error().message;
  if (!ran->worst_bank_conflicts.empty()) return "bank conflicts: " + ran->worst_bank_conflicts;
  const Strides strides(s);
  std::vector<bool> written(d.out.size());
  for (int row = 0; row < s.rows(); ++row) {
    const int query = row / s.heads, head = row % s.heads, sequence = s.ragged() ? 0 : query / s.queries;
    const int of_sequence = query - sequence * s.queries;
    const int lse_of_row = (sequence * s.heads + head) * s.queries + of_sequence;
    const auto lse_at = static_cast<std::size_t>(lse_of_row);
    if (query >= s.used && s.ragged()) {
      if (d.lse[lse_at] != 77.f) return fmt::format("row {} is nobody's, and has an LSE", row);
      continue;
    }
    const std::int64_t at = sequence * strides.batch + of_sequence * strides.row + head * strides.head;
    std::fill_n(written.begin() + at, s.head_dim_v, true);
    if (std::string defect = defect_of_row(d, dtype, row, d.out.data() + at, d.lse[lse_at]); !defect.empty())
      return defect;
  }
  for (std::size_t i = 0; i < d.out.size(); ++i)
    if (!written[i] && d.out[i] != kUntouched) return fmt::format("element {} of the output's memory was written", i);
  if (!s.lse && std::ranges::any_of(d.lse, [](float x) { return x != 77.f; })) return "LSE was written";
  return {};
}

}  // namespace

std::string combine_defect(const emu::Options& options) {
  for (const EmulatedKernel& kernel : emulated::emulated_combines())
    for (const Shape& s : kShapes)
      if (std::string defect = defect_on(kernel, s, options); !defect.empty())
        return fmt::format("{} parts of {} columns: {}", s.parts, s.columns, defect);
  return {};
}

}  // namespace flashfit::testing
