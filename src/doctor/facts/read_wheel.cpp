#include "doctor/facts/read_wheel.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>

#include "core/base/printable.hpp"
#include "doctor/bytes/limits.hpp"
#include "doctor/bytes/side_by_side.hpp"
#include "doctor/bytes/zip_member.hpp"
#include "doctor/facts/read_binary.hpp"
#include "doctor/facts/sdist.hpp"
#include "doctor/packaging/headers.hpp"

namespace flashfit::doctor {
namespace {

constexpr std::size_t kMostErrors = 20;

/// Whether `name` is FILE of the wheel's own .dist-info.
bool is_own(std::string_view name, std::string_view file) {
  return name.ends_with(file) && name.find('/') == name.rfind('/') &&
         name.substr(0, name.size() - file.size()).ends_with(".dist-info/");
}

/// What comes before the first empty line: a description may follow.
std::string headers_in(std::string_view text) {
  const std::size_t unix_end = text.find("\n\n"), dos_end = text.find("\n\r\n");
  const std::size_t end = std::min(unix_end, dos_end);
  return std::string(text.substr(0, end == std::string_view::npos ? end : end + 1));
}

struct Slot {
  std::vector<Binary> binaries;
  std::string error;
};

/// Bytes of all members read so far, against what the archive may come to, and what is kept of them.
struct Budget {
  Limit limit;
  std::atomic<std::uint64_t> spent{0};
  FactsBudget kept = {};
};

Slot read_slot(const Source& zip, const ZipMember& member, Budget& budget) {
  Slot slot;
  if (budget.kept.exhausted()) return slot;
  const MemberContent content(zip, member);
  const auto head = content.head(std::min<std::uint64_t>(kHeadSize, member.size));
  if (!head) {
    slot.error = head.error().message;
  } else if (may_be_binary(*head)) {
    // What is nearly all zeros: no library has so little in it, and reading it takes long.
    const std::uint64_t stored = std::min(member.compressed, zip.stored());
    if (member.size > limits::kUnsuspected && member.size / limits::kMemberRatio.most > stored) {
      slot.error = beyond(limits::kMemberRatio, member.header).value().message;
      return slot;
    }
    if (budget.spent.fetch_add(member.size) + member.size > budget.limit.most) {
      slot.error = beyond(budget.limit, member.header).value().message;
      return slot;
    }
    auto binaries = read_binaries(content, member.name, budget.kept);
    if (binaries) {
      slot.binaries = std::move(*binaries);
    } else {
      slot.error = binaries.error().message;
    }
  }
  return slot;
}

void read_texts(const Source& zip, const std::vector<ZipMember>& members, Target& target) {
  for (const ZipMember& member : members) {
    std::string* into = is_own(member.name, "METADATA") ? &target.metadata
                        : is_own(member.name, "WHEEL")  ? &target.wheel_file
                                                        : nullptr;
    if (into == nullptr) continue;
    const auto text = MemberContent(zip, member).head(kLargestHeaders);
    if (text) {
      *into = headers_in(as_text(*text));
    } else {
      target.errors.push_back(text.error().message + " in " + printable(member.name));
    }
  }
}

}  // namespace

void read_wheel(const Source& zip, Target& target, const Progress& progress) {
  const auto members = read_zip_directory(zip);
  if (!members) {
    target.errors.push_back(members.error().message);
    return;
  }
  const auto is_file = [](const ZipMember& m) { return !m.name.ends_with('/') && m.size > 0; };
  target.files = static_cast<std::uint64_t>(std::count_if(members->begin(), members->end(), is_file));
  const auto is_cuda = [](const ZipMember& m) { return m.name.ends_with(".cu"); };
  read_texts(zip, *members, target);
  if (!target.wheel_file.empty() || target.file_name.ends_with(".whl")) {
    target.kind = TargetKind::kWheel;
    target.cuda_sources = static_cast<std::uint64_t>(std::count_if(members->begin(), members->end(), is_cuda));
  } else if (is_sdist(*members)) {
    target.kind = TargetKind::kSdist;
    read_zip_sdist(zip, *members, target);
    return;
  }

  std::vector<std::size_t> order;
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < members->size(); ++i)
    if (is_file((*members)[i])) {
      order.push_back(i);
      all += (*members)[i].compressed;
    }
  // The largest first: it alone decides how long the whole takes.
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return (*members)[a].compressed > (*members)[b].compressed; });
  std::vector<Slot> slots(members->size());
  Budget budget{limits::content_of(zip.stored())};
  std::atomic<std::uint64_t> done{0};
  side_by_side(order.size(), worker_count(), [&](std::size_t i) {
    const ZipMember& member = (*members)[order[i]];
    slots[order[i]] = read_slot(zip, member, budget);
    const std::uint64_t now = done += member.compressed;
    if (progress) progress(now, all);
  });
  for (std::size_t i = 0; i < slots.size(); ++i) {
    std::move(slots[i].binaries.begin(), slots[i].binaries.end(), std::back_inserter(target.binaries));
    if (!slots[i].error.empty() && target.errors.size() < kMostErrors)
      target.errors.push_back(slots[i].error + " in " + printable((*members)[i].name));
  }
}

}  // namespace flashfit::doctor
