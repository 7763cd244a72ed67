#pragma once
// The forward kernels of the variant table, on the CPU, and what tests and mutants ask of each.
#include <string>
#include <vector>

#include "proof/emu/schedules.hpp"
#include "proof/emulated/forward.hpp"
#include "proof/reference/cases.hpp"
#include "proof/reference/listed.hpp"

namespace flashfit::testing {

using emulated::EmulatedKernel, emulated::emulated_forwards, emulated::run;

/// The kernels of the table whose configuration `is` so.
template <class Is>
std::vector<EmulatedKernel> kernels_where(Is is) {
  std::vector<EmulatedKernel> kernels = emulated_forwards();
  std::erase_if(kernels, [&](const EmulatedKernel& each) { return !is(forward_variant_of(each.variant).config); });
  return kernels;
}

/// A dense case whose q, k, v and out have strides of their own each, which none of the case's layouts gives.
ForwardData make_data_of_mixed_layouts(const ForwardCase& spec);

/// Runs a case under each kind of mask that the kernel serves, its keys in `splits` parts, with NaN and infinities
/// among its values: the first output element that is not as it must be, or "". Rows that do not see a value's key are
/// as without it; the others get it in that column alone. bf16 kernels get a query, too, whose product with a key
/// passes fp32: its row is NaN, and no other.
std::string containment_defect(const EmulatedKernel& kernel, const emu::Options& options, int splits = 1);

/// Runs a case whose rows lie so far apart that their offsets pass 2^31 elements, in memory that is mapped but never
/// touched between them: what is wrong with it, or "".
std::string far_rows_defect(const EmulatedKernel& kernel, const emu::Options& options);

/// Runs cases with ALiBi whose rows have several tiles of keys, with slopes of both signs: what is wrong with one, or
/// "".
std::string alibi_defect(const EmulatedKernel& kernel, const emu::Options& options);

/// Runs cases with a bias whose rows have several tiles of keys, each of another kind, the first of kind `shift`: what
/// is wrong with one, or "".
std::string bias_defect(const EmulatedKernel& kernel, const emu::Options& options, std::size_t shift);

/// Of a variant that takes biases: runs cases, their keys in `splits` parts, of biases of which some rows have the
/// lowest number of fp32, or of q's bf16, alone, or beside NaN, -inf or a late key of bias 0: what is wrong with one,
/// or "".
std::string low_bias_defect(const EmulatedKernel& kernel, const emu::Options& options, int splits = 1);

/// Runs a case in which some rows' scores rise by hundreds from one key to the next and others' do not: what is wrong
/// with it, or "". Those others are the same, to the last bit, as where no row's scores rise.
std::string neighbours_defect(const EmulatedKernel& kernel, const emu::Options& options, int splits = 1);

/// Of a kernel whose blocks take whole heads: runs heads whose keys do not all fit in the ring, and heads whose keys
/// do, several in a block, whose rows follow late bases: what is wrong, or "".
std::string whole_heads_defect(const EmulatedKernel& kernel, const emu::Options& options);

/// Of a kernel that copies heads from the start of a sector of memory on: runs heads of which every second one begins
/// between two, with late bases: what is wrong, or "".
std::string head_starts_defect(const EmulatedKernel& kernel, const emu::Options& options);

/// Combines parts that no kernel made, of up to kMostParts: what is wrong with the output, or "".
std::string combine_defect(const emu::Options& options);

/// The cases that a variant of the table serves: of its own head_dims, some of narrower ones, of every option, and the
/// list's hard ones.
std::vector<ForwardCase> served_cases(const ForwardConfig& config);

/// In how many parts case i of a list has its keys split.
inline int splits_of(std::size_t i) { return 1 + static_cast<int>(i % 4); }

}  // namespace flashfit::testing
