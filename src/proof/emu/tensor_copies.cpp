#include "proof/emu/tensor_copies.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "proof/emu/engines.hpp"
#include "proof/emu/machine.hpp"
#include "proof/emu/tensor_map.hpp"

namespace flashfit::emu {
namespace {

TensorMapSpec decoded(Machine& machine, const char* what, const TensorMap& map, const Site& site) {
  if (!machine.in_params_or_global(reinterpret_cast<std::uintptr_t>(&map), sizeof map))
    machine.stop(
        fmt::format("{} by a tensor map that lies neither in Params nor in a tensor: a copy of it, on the stack "
                    "or in shared memory, is not what engines read",
                    what),
        &site);
  const auto spec = decode_tensor_map(map);
  if (!spec) machine.stop(fmt::format("{} by bytes that are no tensor map: it was never encoded", what), &site);
  return *spec;
}

/// A box, and what of it lies in global memory that is watched.
struct CheckedBox {
  BoxCopy box;
  std::vector<Memory::Range> watched;
};

/// The copy's box, once all that can be checked at issue is right.
CheckedBox checked(Machine& machine, const TensorCopy& copy, const TensorMapSpec& spec, Access access) {
  if (reinterpret_cast<std::uintptr_t>(copy.map) % alignof(TensorMap) != 0)
    machine.stop(fmt::format("{} by a tensor map that is not aligned to {}", copy.what, alignof(TensorMap)),
                 &copy.site);
  if (static_cast<std::size_t>(spec.rank) != copy.at.size())
    machine.stop(fmt::format("{} with {} coordinates by a tensor map of rank {}", copy.what, copy.at.size(), spec.rank),
                 &copy.site);
  if (static_cast<std::size_t>(size_of(spec.dtype)) != copy.element_bytes)
    machine.stop(fmt::format("{} of elements of {} bytes by a tensor map of {}", copy.what, copy.element_bytes,
                             name_of(spec.dtype)),
                 &copy.site);
  // A box may start at any 128 bytes, but its pattern follows the address and would not start with it.
  const std::size_t alignment = std::max(128, pattern_bytes(spec.swizzle));
  machine.check_shared(copy.shared, spec.box_bytes(), alignment, copy.site);
  BoxCopy::Coordinates at{};
  std::copy(copy.at.begin(), copy.at.end(), at.begin());
  CheckedBox checked{BoxCopy(spec, at), {}};
  for (std::uint32_t i = 0; i < checked.box.rows(); ++i)
    if (const BoxCopy::Row row = checked.box.row(i); row.bytes != 0) {
      machine.check_global(row.address, row.bytes, 1, access, copy.site);
      const auto watched = machine.watched(row.address, row.bytes);
      checked.watched.insert(checked.watched.end(), watched.begin(), watched.end());
    }
  return checked;
}

}  // namespace

void load_box(const TensorCopy& copy, std::uintptr_t barrier, std::uint32_t blocks) {
  Machine& machine = Machine::current();
  machine.count(&Stats::tensor_copies);
  const TensorMapSpec spec = decoded(machine, copy.what, *copy.map, copy.site);
  const auto [box, watched] = checked(machine, copy, spec, Access::kRead);
  BulkCopies::load(machine,
                   {copy.what, copy.shared, spec.box_bytes(), barrier, blocks,
                    [box = box](std::byte* shared) { box.load(shared); }, watched},
                   copy.site);
}

void store_box(const TensorCopy& copy, bool add) {
  Machine& machine = Machine::current();
  machine.count(&Stats::tensor_copies);
  const TensorMapSpec spec = decoded(machine, copy.what, *copy.map, copy.site);
  // Measured on an H200: an illegal instruction, whatever the rank, the swizzle and the dimension. Past the end is
  // fine.
  if (std::ranges::any_of(copy.at, [](int at) { return at < 0; }))
    machine.stop(fmt::format("{} at ({}): a box that is stored starts at 0 or later in each dimension", copy.what,
                             fmt::join(copy.at, ", ")),
                 &copy.site);
  const auto [box, watched] = checked(machine, copy, spec, Access::kWrite);
  if (!add)
    for (std::uint32_t i = 0; i < box.rows(); ++i)
      if (const BoxCopy::Row row = box.row(i); row.bytes != 0)
        SharedMemory::poison(reinterpret_cast<std::byte*>(row.address), row.bytes);
  machine.engines().bulk.store(machine,
                               {copy.what, copy.shared, spec.box_bytes(),
                                [box = box, add](const std::byte* shared) {
                                  if (add)
                                    box.reduce_add(shared);
                                  else
                                    box.store(shared);
                                },
                                watched, add ? GlobalAccess::kAdd : GlobalAccess::kWrite},
                               copy.site);
}

void prefetch_map(const TensorMap& map, Site site) { decoded(Machine::current(), "prefetch_tensor_map", map, site); }

}  // namespace flashfit::emu
