#pragma once
// wgmma: products that a warpgroup, four warps from a multiple of four on, issues together and that run beside it.
//
// An operand in shared memory is read at the wait that orders the product, as late as it may be, and must hold then
// what it held at issue. Accumulators are poison from issue to wait and stay untouched. Registers that normal code
// wrote are named by a wgmma_fence after the last write: their contents then and at issue are compared.
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "core/base/types.hpp"
#include "proof/emu/matrix_operand.hpp"
#include "proof/emu/register_tile.hpp"
#include "proof/emu/site.hpp"
#include "proof/emu/tensor_core.hpp"

namespace flashfit::emu {

/// m64nNk16, fp32 accumulators.
struct WgmmaShape {
  DType dtype;
  int n;
  Major a_major, b_major;  ///< of A in registers: kK
  bool a_in_registers;
  bool operator==(const WgmmaShape&) const = default;
};

/// One lane's operands.
struct WgmmaOperands {
  WgmmaShape shape;
  float* d;         ///< n / 2 accumulators
  const uint32* a;  ///< 4 registers, if A is in registers
  uint64 a_descriptor, b_descriptor;
  bool scale_d;  ///< false: d = a b
};

/// The products of one warpgroup. A function is called once a warp (0 .. 3) with what its 32 lanes hand in, and returns
/// what is wrong or "".
class Warpgroup {
 public:
  static constexpr int kWarps = 4, kLanes = 32;

  explicit Warpgroup(SharedWindow shared) : shared_(shared) {}

  std::string fence(int warp, const WgmmaRegisters* const* lanes);
  std::string issue(int warp, const WgmmaOperands* const* lanes, Site site);
  void commit(int warp) { warps_[warp].groups.push_back(warps_[warp].issued); }
  /// Until at most `pending` of the warp's groups run; `core` as in accumulate().
  std::string wait(int warp, int pending, const WgmmaRegisters* const* lanes, const TensorCore* core);
  /// After the block's last thread.
  std::string unfinished() const;

  /// How many products the warp has issued, and how many of them its waits have ordered.
  std::size_t issued(int warp) const { return warps_[warp].issued; }
  std::size_t retired(int warp) const { return warps_[warp].retired; }
  /// Which warps have yet to issue a product that a wait of `warp` for all but `pending` groups orders, a bit each. The
  /// product is the warpgroup's: it ends for none of its warps before the last one has issued it.
  unsigned missing(int warp, int pending) const;

 private:
  struct Product {
    WgmmaShape shape;
    uint64 a_descriptor, b_descriptor;
    bool scale_d;
    Site site;
    std::vector<unsigned short> b;                           ///< [16, n], at the first warp's issue
    std::array<std::vector<unsigned short>, kWarps> a = {};  ///< [16, 16] of each warp, at its issue
    std::array<std::array<const uint32*, kLanes>, kWarps> registers = {};
    std::array<float*, kWarps> d = {};  ///< of lane 0
    bool read = false;                  ///< a wait has found the operands to be those of the issue
    int retired = 0;                    ///< warps
  };
  struct Warp {
    std::vector<RegisterTile> tiles;
    std::size_t issued = 0, retired = 0;
    std::vector<std::size_t> groups;  ///< where each committed group ends, from the oldest in flight on
    bool fenced = false;
  };

  std::string begin(const WgmmaOperands& operands, Site site);
  std::string take_a(int warp, Product& product, const WgmmaOperands* const* lanes);
  std::string take_accumulators(Warp& warp, int n, const WgmmaOperands* const* lanes);
  std::string read_operands(Product& product);
  std::string multiply(int warp, Product& product, const TensorCore* core);
  std::string deliver(RegisterTile& tile, const Product& product, const WgmmaRegisters* const* lanes);

  MatrixOperand a_of(const Product& p) const { return {p.a_descriptor, p.shape.a_major, kWarps * 16}; }
  MatrixOperand b_of(const Product& p) const { return {p.b_descriptor, p.shape.b_major, p.shape.n}; }
  Product& product(std::size_t number) { return products_[number - first_]; }

  SharedWindow shared_;
  std::array<Warp, kWarps> warps_;
  std::deque<Product> products_;  ///< those that a warp has not retired yet
  std::size_t first_ = 0;         ///< number of the oldest
};

}  // namespace flashfit::emu
