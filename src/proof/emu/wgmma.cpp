#include "proof/emu/wgmma.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "kernels/layout/fragment.hpp"
#include "proof/emu/product.hpp"
#include "proof/emu/shared_memory.hpp"

namespace flashfit::emu {
namespace {

constexpr int kM = 16, kK = 16;  // a warp computes 16 rows of an instruction

std::string in_words(const Site& site) {
  const std::string_view path = site.file;
  return fmt::format("{}:{}", path.substr(path.rfind('/') + 1), site.line);
}

/// Where a lane's accumulator i lies in the warp's 16 rows.
std::size_t element(int lane, int i, int n) {
  const int at = WgmmaAccumulatorMap::row(lane, i) * n + WgmmaAccumulatorMap::col(lane, i);
  return static_cast<std::size_t>(at);
}

/// The array that begins there in lane 0, or nullptr.
template <class Tiles>
auto* find(Tiles& tiles, const void* base) {
  const auto found = std::find_if(tiles.begin(), tiles.end(), [&](const auto& t) { return t.lanes[0] == base; });
  return found == tiles.end() ? nullptr : &*found;
}

}  // namespace

std::string Warpgroup::fence(int warp, const WgmmaRegisters* const* lanes) {
  Warp& w = warps_[warp];
  w.fenced = true;
  for (std::size_t i = 0; i < lanes[0]->count; ++i) {
    RegisterTile* tile = find(w.tiles, lanes[0]->arrays[i].base);
    if (tile != nullptr && tile->in_flight != 0)
      return fmt::format("wgmma_fence names registers (array {}) that a product in flight writes", i + 1);
    if (tile == nullptr) tile = &w.tiles.emplace_back();
    tile->bytes = lanes[0]->arrays[i].bytes;
    for (int l = 0; l < kLanes; ++l) tile->lanes[l] = static_cast<std::byte*>(lanes[l]->arrays[i].base);
    tile->keep_contents();
  }
  return {};
}

std::string Warpgroup::issue(int warp, const WgmmaOperands* const* lanes, Site site) {
  Warp& w = warps_[warp];
  const WgmmaOperands& own = *lanes[0];
  for (int l = 1; l < kLanes; ++l)
    if (lanes[l]->a_descriptor != own.a_descriptor || lanes[l]->b_descriptor != own.b_descriptor ||
        lanes[l]->scale_d != own.scale_d)
      return fmt::format("descriptors or scale_d of lane {} are not those of lane 0", l);
  if (!w.fenced) return "no wgmma_fence before the first wgmma";
  if (w.issued == first_ + products_.size())
    if (std::string wrong = begin(own, site); !wrong.empty()) return wrong;
  Product& p = product(w.issued);
  if (!(p.shape == own.shape) || p.a_descriptor != own.a_descriptor || p.b_descriptor != own.b_descriptor ||
      p.scale_d != own.scale_d || !(p.site == site))
    return fmt::format("another warp of the warpgroup issued that of {} instead, or with other operands",
                       in_words(p.site));
  if (std::string wrong = take_a(warp, p, lanes); !wrong.empty()) return wrong;
  if (std::string wrong = take_accumulators(w, p.shape.n, lanes); !wrong.empty()) return wrong;
  p.d[warp] = own.d;
  ++w.issued;
  return {};
}

std::string Warpgroup::begin(const WgmmaOperands& operands, Site site) {
  Product p{.shape = operands.shape,
            .a_descriptor = operands.a_descriptor,
            .b_descriptor = operands.b_descriptor,
            .scale_d = operands.scale_d,
            .site = site,
            .b = {}};
  if (const std::string fault = b_of(p).fault(shared_); !fault.empty()) return "B: " + fault;
  if (!p.shape.a_in_registers)
    if (const std::string fault = a_of(p).fault(shared_); !fault.empty()) return "A: " + fault;
  p.b = b_of(p).read(shared_, 0, p.shape.n, true);
  products_.push_back(std::move(p));
  return {};
}

std::string Warpgroup::take_a(int warp, Product& p, const WgmmaOperands* const* lanes) {
  if (!p.shape.a_in_registers) {
    p.a[warp] = a_of(p).read(shared_, warp * kM, kM, false);
    return {};
  }
  const RegisterTile* tile = find(warps_[warp].tiles, lanes[0]->a);
  if (tile == nullptr || tile->in_flight != 0) return "no wgmma_fence names the registers of A";
  if (!tile->holds_its_contents()) return "registers of A were written after the last wgmma_fence that names them";
  p.a[warp].resize(kM * kK);
  for (int l = 0; l < kLanes; ++l) {
    p.registers[warp][l] = lanes[l]->a;
    for (int i = 0; i < 4; ++i)
      std::memcpy(&p.a[warp][WgmmaAMap::row(l, i) * kK + WgmmaAMap::col(l, i, 0)], &lanes[l]->a[i], 4);
  }
  return {};
}

std::string Warpgroup::take_accumulators(Warp& warp, int n, const WgmmaOperands* const* lanes) {
  RegisterTile* tile = find(warp.tiles, lanes[0]->d);
  if (tile == nullptr) return "no wgmma_fence names the accumulators";
  const std::size_t elements = static_cast<std::size_t>(n) * kM;
  if (tile->in_flight != 0) {
    if (tile->sums.size() != elements)
      return "the accumulators are in flight with another shape: those products must be waited for";
    if (!tile->holds_its_contents()) return "accumulators were touched while a product in flight writes them";
    ++tile->in_flight;
    return {};
  }
  if (!tile->holds_its_contents()) return "accumulators were written after the last wgmma_fence that names them";
  tile->sums.resize(elements);
  for (int l = 0; l < kLanes; ++l) {
    for (int i = 0; i < n / 2; ++i) tile->sums[element(l, i, n)] = lanes[l]->d[i];
    SharedMemory::poison(tile->lanes[l], tile->bytes);
  }
  tile->keep_contents();
  tile->in_flight = 1;
  return {};
}

unsigned Warpgroup::missing(int warp, int pending) const {
  const std::vector<std::size_t>& groups = warps_[warp].groups;
  if (groups.size() <= static_cast<std::size_t>(pending)) return 0;
  const std::size_t end = groups[groups.size() - 1 - static_cast<std::size_t>(pending)];
  unsigned warps = 0;
  for (int w = 0; w < kWarps; ++w) warps |= (warps_[w].issued < end ? 1u : 0u) << w;
  return warps;
}

std::string Warpgroup::wait(int warp, int pending, const WgmmaRegisters* const* lanes, const TensorCore* core) {
  Warp& w = warps_[warp];
  if (w.groups.size() > static_cast<std::size_t>(pending)) {
    const std::size_t groups = w.groups.size() - static_cast<std::size_t>(pending), end = w.groups[groups - 1];
    w.groups.erase(w.groups.begin(), w.groups.begin() + static_cast<std::ptrdiff_t>(groups));
    for (; w.retired < end; ++w.retired) {
      Product& p = product(w.retired);
      if (std::string wrong = read_operands(p); !wrong.empty()) return wrong;
      if (std::string wrong = multiply(warp, p, core); !wrong.empty()) return wrong;
      RegisterTile& tile = *find(w.tiles, p.d[warp]);
      if (--tile.in_flight == 0)
        if (std::string wrong = deliver(tile, p, lanes); !wrong.empty()) return wrong;
      ++p.retired;
    }
    for (; !products_.empty() && products_.front().retired == kWarps; ++first_) products_.pop_front();
  }
  for (const RegisterTile& tile : w.tiles)
    if (tile.in_flight != 0 && lanes[0]->name(tile.lanes[0]))
      return "wgmma_wait names accumulators that a group still in flight writes";
  return {};
}

/// The first warp's wait orders the product as a whole.
std::string Warpgroup::read_operands(Product& p) {
  if (p.read) return {};
  p.read = true;
  const auto changed = [&](const char* operand) {
    return fmt::format("{} of the wgmma at {} changed in shared memory between its issue and this wait", operand,
                       in_words(p.site));
  };
  if (b_of(p).read(shared_, 0, p.shape.n, true) != p.b) return changed("B");
  if (p.shape.a_in_registers) return {};
  for (int warp = 0; warp < kWarps; ++warp)
    if (!p.a[warp].empty() && a_of(p).read(shared_, warp * kM, kM, false) != p.a[warp]) return changed("A");
  return {};
}

std::string Warpgroup::multiply(int warp, Product& p, const TensorCore* core) {
  if (p.shape.a_in_registers)
    for (int l = 0; l < kLanes; ++l)
      for (int i = 0; i < 4; ++i)
        if (std::memcmp(&p.a[warp][WgmmaAMap::row(l, i) * kK + WgmmaAMap::col(l, i, 0)], &p.registers[warp][l][i], 4) !=
            0)
          return fmt::format(
              "registers of A of the wgmma at {} changed, or left their scope, before the wait that orders it",
              in_words(p.site));
  RegisterTile& tile = *find(warps_[warp].tiles, p.d[warp]);
  if (!p.scale_d) std::fill(tile.sums.begin(), tile.sums.end(), 0.f);
  accumulate(p.shape.dtype, {p.a[warp].data(), p.b.data(), tile.sums.data(), kM, p.shape.n}, core);
  return {};
}

std::string Warpgroup::deliver(RegisterTile& tile, const Product& p, const WgmmaRegisters* const* lanes) {
  if (!tile.holds_its_contents())
    return fmt::format(
        "accumulators of the wgmma at {} were touched, or left their scope, before the wait that orders it",
        in_words(p.site));
  if (!lanes[0]->name(tile.lanes[0]))
    return fmt::format("wgmma_wait does not name the accumulators of the wgmma at {}, which it orders",
                       in_words(p.site));
  for (int l = 0; l < kLanes; ++l)
    for (int i = 0; i < p.shape.n / 2; ++i)
      std::memcpy(tile.lanes[l] + sizeof(float) * static_cast<std::size_t>(i), &tile.sums[element(l, i, p.shape.n)],
                  sizeof(float));
  tile.keep_contents();
  return {};
}

std::string Warpgroup::unfinished() const {
  for (int warp = 0; warp < kWarps; ++warp) {
    const Warp& w = warps_[warp];
    if (w.retired == first_ + products_.size()) continue;
    const Product& p = products_[w.retired - first_];
    const std::string product = fmt::format("the wgmma at {}", in_words(p.site));
    if (w.issued == w.retired) return fmt::format("warp {} of a warpgroup never issued {}", warp, product);
    if (w.groups.empty() || w.groups.back() <= w.retired) return product + " was never committed";
    return product + " was never waited for";
  }
  return {};
}

}  // namespace flashfit::emu
