// FF609: thread-local variables that must lie in the block that every thread has from the start, of libraries that come
// later.
#include <algorithm>

#include "doctor/bytes/listing.hpp"
#include "doctor/dynamic_loader/all_problems.hpp"

namespace flashfit::doctor::dynamic_loader {
namespace {

// glibc's default since 2.0, kept as the sum of its parts since 2.32 (elf/dl-tls.c, tests of "elf/tst-tls-surplus").
constexpr std::uint64_t kSurplus = 1664;
/// The part of it that libraries with another model may take for speed.
constexpr std::uint64_t kOptional = 512;
/// A block larger than a page table is nobody's; keeps sums of hostile sizes from overflowing.
constexpr std::uint64_t kMost = std::uint64_t{1} << 40;

}  // namespace

void check_static_tls(const LoadPlan& plan, PlanMark since, std::vector<doctor::Problem>& problems) {
  std::uint64_t sum = 0;
  std::vector<std::string> names;
  const LoadedObject* largest = nullptr;
  std::size_t last = 0;  // that has any
  for (std::size_t i = 0; i < plan.objects.size(); ++i) {
    const Object& object = *plan.objects[i].found.object;
    if (!plan.objects[i].late || plan.objects[i].dropped || !object.dynamic.static_tls || object.tls_size == 0)
      continue;
    const std::uint64_t alignment = std::clamp<std::uint64_t>(object.tls_alignment, 1, 4096);
    const std::uint64_t size = (std::min(object.tls_size, kMost) + alignment - 1) / alignment * alignment;
    sum += size;
    last = i;
    names.push_back(fmt::format("{} {}", plan.short_name(static_cast<int>(i)), size));
    if (largest == nullptr || object.tls_size > largest->found.object->tls_size) largest = &plan.objects[i];
  }
  if (sum <= kSurplus || last < since.objects) return;
  problems.push_back(
      {"FF609", doctor::Severity::kUnknown,
       fmt::format("libraries that are opened late may need {} bytes of static TLS ({}); glibc keeps {}: \"cannot "
                   "allocate memory in static TLS block\"",
                   sum, doctor::listed(names), kSurplus),
       largest->found.path,
       fmt::format("import that library first, LD_PRELOAD it, or GLIBC_TUNABLES=glibc.rtld.optional_static_tls={}",
                   sum - kSurplus + kOptional)});
}

}  // namespace flashfit::doctor::dynamic_loader
