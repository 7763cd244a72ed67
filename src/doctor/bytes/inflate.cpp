#include "doctor/bytes/inflate.hpp"

#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>

#include <algorithm>

namespace flashfit::doctor {
namespace {

// ISA-L 2.30 overruns when fed gigabytes at once (mended in 2.31); callers' buffers are far smaller anyway.
constexpr std::size_t kMostAtOnce = std::size_t{1} << 20;

std::uint8_t* writable(const std::byte* bytes) {
  // ISA-L takes its input as uint8_t* and does not write to it.
  return const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(bytes));
}

}  // namespace

struct Inflater::State {
  inflate_state isal;
};

// Its tables and its window, 85 KB, are left as they are: setting them to zero for each of ten thousand members takes
// longer than the look at their first bytes.
Inflater::Inflater() : state_(std::make_unique_for_overwrite<State>()) { isal_inflate_init(&state_->isal); }
Inflater::Inflater(Inflater&&) noexcept = default;
Inflater& Inflater::operator=(Inflater&&) noexcept = default;
Inflater::~Inflater() = default;

Result<Inflater::Step> Inflater::step(Bytes input, std::span<std::byte> output) {
  inflate_state& isal = state_->isal;
  const auto given = static_cast<std::uint32_t>(std::min(input.size(), kMostAtOnce));
  const auto room = static_cast<std::uint32_t>(std::min(output.size(), kMostAtOnce));
  isal.next_in = writable(input.data());
  isal.avail_in = given;
  isal.next_out = reinterpret_cast<std::uint8_t*>(output.data());
  isal.avail_out = room;
  if (isal_inflate(&isal) < ISAL_DECOMP_OK) return fail(Code::kInvalidArgument, "no deflate stream");
  return Step{given - isal.avail_in, room - isal.avail_out, isal.block_state == ISAL_BLOCK_FINISH};
}

std::uint32_t crc32(std::uint32_t crc, Bytes bytes) {
  return crc32_gzip_refl(crc, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

}  // namespace flashfit::doctor
