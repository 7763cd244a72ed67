// Defects that only PTX has: the fibres' kernels, which g++ makes with a contract of its own, are right with each of
// them. Planted in a copy of one header, compiled by NVRTC, and found.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "compiled.hpp"
#include "kernels/attention/forward/emulated.hpp"
#include "proof/ptx/launch.hpp"

namespace flashfit::testing {
namespace {

namespace fs = std::filesystem;

struct Change {
  std::string_view from, to;
};

/// A folder with a changed copy of a header, for as long as it lives.
class ChangedHeader {
 public:
  /// `name` is how `root`, a folder of src/, is left out where the header is included.
  ChangedHeader(const fs::path& root, const fs::path& name, const std::vector<Change>& changes)
      : folder_(fs::temp_directory_path() / fmt::format("flashfit_defect_{}", getpid())) {
    std::ifstream in(fs::path(SOURCE_DIR) / root / name);
    std::ostringstream all;
    all << in.rdbuf();
    std::string text = all.str();
    for (const auto& [from, to] : changes) {
      EXPECT_NE(text.find(from), std::string::npos) << "nothing to change: " << from;
      for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
        text.replace(at, from.size(), to);
    }
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
  }
  ~ChangedHeader() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  ChangedHeader(const ChangedHeader&) = delete;
  ChangedHeader& operator=(const ChangedHeader&) = delete;

  const fs::path& folder() const { return folder_; }

 private:
  fs::path folder_;
};

/// What is wrong with the variant's PTX on a case of several tiles, or "".
std::string defect_of(const EmulatedKernel& kernel, const Build& build) {
  const auto program = program_of(kernel.variant, build);
  if (!program) return "not compiled: " + program.error().message;
  ForwardCase spec;
  spec.name = "three tiles";
  spec.dtype = forward_variant_of(kernel.variant).config.dtype;
  spec.head_dim = forward_variant_of(kernel.variant).config.head_dim;
  spec.head_dim_v = forward_variant_of(kernel.variant).config.head_dim_v;
  spec.seqlens_q = spec.seqlens_k = {150};
  spec.planted.shift = -20;  // a base that was forgotten is 0, which only such logits are far from
  ForwardData data = make_data(spec);
  const Expected expected = expect(data);
  if (const auto ran = run(kernel_of(kernel.variant, **program), data, schedules()[0]); !ran)
    return ran.error().message;
  const Verdict verdict = check(data, expected);
  return verdict.ok ? "" : verdict.message;
}

/// An fp16 variant whose warps have more than one tile of 16 rows.
const EmulatedKernel& variant_of_two_tiles() {
  for (const EmulatedKernel& kernel : emulated_forwards()) {
    const ForwardConfig& c = forward_variant_of(kernel.variant).config;
    if (c.dtype == DType::kF16 && c.head_dim == 64 && c.block_m == 32 * c.warps && c.column_warps == 1) return kernel;
  }
  throw std::logic_error("the table has no such variant");
}

TEST(PtxDefects, TheUnchangedKernelIsRight) {
  EXPECT_EQ(defect_of(variant_of_two_tiles(), {.target = 80, .comparable = false}), "");
}

// mma's accumulators are written only, says the constraint, so the compiler need not hand in what they held.
TEST(PtxDefects, AWrongAsmConstraintIsFound) {
  const ChangedHeader changed(
      "kernels/arch/cuda", "flashfit_arch.hpp",
      {{R"("+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]))", R"("=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3]))"}});
  EXPECT_NE(defect_of(variant_of_two_tiles(), {.target = 80, .comparable = false, .before = {changed.folder()}}), "");
}

// NVRTC runs the default member initialisers of the first row alone (docs/nvrtc-array-initialisers.md).
TEST(PtxDefects, ForgottenMemberInitialisersAreFound) {
  const ChangedHeader changed(
      "", "kernels/attention/softmax.cuh",
      {{"  float base, sum;", "  float base = kNoBase, sum = 0.f;"}, {"rows[m][h] = kEmptyRow;", "(void)rows[m][h];"}});
  EXPECT_NE(defect_of(variant_of_two_tiles(), {.target = 80, .comparable = false, .before = {changed.folder()}}), "");
}

// Without "volatile" and a memory clobber NVRTC takes an instruction that reads memory for one that computes, and moves
// it out of loops. With "volatile" alone NVRTC 12.9 moved nothing in the three kernels tried.
constexpr const char* kReads = R"(
#include "kernels/arch/arch.hpp"
namespace flashfit {
struct Reads {
  struct Params { int* g_out; int rounds; };
  struct Shared { f16 rows[256]; };
  static constexpr int kThreads = 32, kMinBlocks = 1;
  static void run(const Params& p) {
    f16* s_rows = arch::shared<Shared>().rows;
    const int t = arch::thread();
    int sum = 0;
#pragma unroll 1
    for (int round = 1; round <= p.rounds; ++round) {
      for (int i = 0; i < 8; ++i) s_rows[t * 8 + i].bits = static_cast<unsigned short>(round);
      arch::sync_block();
      uint32 r[4];
      arch::ldmatrix_x4(r, s_rows, t * 8);
      arch::sync_block();
      sum += r[0] & 0xffff;
    }
    p.g_out[t] = sum;
  }
};
}  // namespace flashfit
)";

std::string defect_of_reads(const Build& build) {
  const auto program = program_of_source(kReads, "flashfit::arch::entry<flashfit::Reads>", build);
  if (!program) return "not compiled: " + program.error().message;
  int out[32] = {};
  const struct {
    int* g_out;
    int rounds, padding;
  } params = {out, 3, 0};
  emu::Memory memory;
  memory.writable("out", out, sizeof out);
  const auto ran = ptx::launch(**program, {.grid = {1, 1, 1}, .threads = {32, 1, 1}, .dynamic_shared = 512},
                               std::as_bytes(std::span(&params, 1)), memory, {.kernel = "reads"});
  if (!ran) return ran.error().message;
  for (int t = 0; t < 32; ++t)
    if (out[t] != 1 + 2 + 3) return fmt::format("out[{}] is {}", t, out[t]);
  return "";
}

TEST(PtxDefects, AMissingMemoryClobberIsFound) {
  EXPECT_EQ(defect_of_reads({.target = 80}), "");
  const ChangedHeader changed(
      "kernels/arch/cuda", "flashfit_arch.hpp",
      {{R"(asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared)", R"(asm("ldmatrix.sync.aligned.m8n8.x4.shared)"},
       {"               : \"r\"(shared_address(s_base, s_offset))\n               : \"memory\");",
        "               : \"r\"(shared_address(s_base, s_offset)));"}});
  const std::string found = defect_of_reads({.target = 80, .before = {changed.folder()}});
  EXPECT_NE(found.find("some of which nothing has written"), std::string::npos) << found;
}

}  // namespace
}  // namespace flashfit::testing
