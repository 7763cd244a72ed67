#include "doctor/pasted/requested_torch.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/ascii.hpp"
#include "core/base/printable.hpp"
#include "doctor/knowledge/torch_releases.hpp"
#include "doctor/mends/torch_install.hpp"

namespace flashfit::doctor::pasted {
namespace {

std::string field(const Diagnosis& diagnosis, const char* name) {
  const auto found = diagnosis.error.fields.find(name);
  return found == diagnosis.error.fields.end() ? "" : found->second;
}

/// Those that the installer could have taken, in its own order.
std::vector<Version> versions_in(const std::string& list) {
  std::vector<Version> versions;
  for (const std::string_view word : split(list, ','))
    if (auto version = parse_version(trimmed(word))) versions.push_back(std::move(*version));
  return versions;
}

/// "1.11.0" of "1.11.0+cu113".
std::string plain(const Version& version) { return version.text.substr(0, version.text.find('+')); }

bool same_release(const Version& a, const Version& b) { return a.release == b.release; }

std::string pythons_of(const Version& wanted, const TorchRelease* release, const doctor::Question& question) {
  if (release == nullptr || release->first_python == 0) {
    const bool old = !wanted.release.empty() && wanted.release.front() < 2;
    return old ? "wheels of torch 1 are for Python 3.11 and earlier, and most end before that" : "";
  }
  const std::string here = question.python && (static_cast<int>(question.python->minor) < release->first_python ||
                                               static_cast<int>(question.python->minor) > release->last_python)
                               ? fmt::format(", and not for {}", question.python->version)
                               : "";
  return fmt::format("torch {} has wheels for Python 3.{} to 3.{}{}, and {}", plain(wanted), release->first_python,
                     release->last_python, here, release->builds());
}

/// What the list of versions says of the one that was asked for.
std::string said_by(const std::vector<Version>& versions, const Version& wanted) {
  if (versions.empty()) return "";
  const Version &first = versions.front(), &last = versions.back();
  if (last.release.size() > 1 && last.release[0] == 0)
    return fmt::format(
        "{} is a placeholder without code: of torch itself this index has nothing for this Python, or the Python is of "
        "32 bits",
        last.text);
  const bool is_there =
      std::any_of(versions.begin(), versions.end(), [&](const Version& one) { return same_release(one, wanted); });
  if (is_there)
    return fmt::format("{} is in the list: the Python is not at fault, and this index has that release without {}",
                       plain(wanted), wanted.local.empty() ? "this build" : "+" + wanted.local);
  if (wanted.release < first.release)
    return fmt::format("the list begins with {}, as this Python is later than the wheels of {}", first.text,
                       plain(wanted));
  return "";
}

/// "2.6.0+cu126" of "2.6.0+cu128": the newest build that is not for a newer CUDA than the one asked for, which a driver
/// of that one serves; the oldest where all are newer.
std::string nearest_build(const Version& wanted, const TorchRelease& release) {
  const CudaVersion asked = cuda_of_label(wanted.local);
  CudaVersion best = 0;
  for (const CudaVersion one : release.cuda) {
    if (one == 0) continue;
    const bool newest_below = one <= asked && (best > asked || one > best);
    const bool oldest_above = one > asked && best > asked && one < best;
    if (best == 0 || newest_below || oldest_above) best = one;
  }
  return fmt::format("{}+{}", plain(wanted), label_of_cuda(best));
}

}  // namespace

Remarks requested_torch(const Diagnosis& diagnosis, const doctor::Question& question) {
  constexpr std::string_view kPackage = "torch==";
  const std::string requirement = field(diagnosis, "requirement");
  if (!requirement.starts_with(kPackage)) return {};
  std::string_view text = std::string_view(requirement).substr(kPackage.size());
  while (text.starts_with('=')) text.remove_prefix(1);  // "torch===1.4.0"
  const auto wanted = parse_version(text);
  if (!wanted) return {};
  constexpr std::size_t kLongest = 400;
  Remarks remarks;
  const TorchRelease* const release = torch_release_of(*wanted);
  const std::string no_release = no_torch_release(*wanted), no_build = no_torch_build(*wanted, wanted->local);
  for (const std::string& line : {no_release.empty() ? pythons_of(*wanted, release, question) : "",
                                  said_by(versions_in(field(diagnosis, "versions")), *wanted)})
    if (!line.empty()) remarks.lines.push_back(printable(line, kLongest));
  if (!wanted->local.empty())
    remarks.lines.push_back(fmt::format(
        "builds with a label, as +{}, are on PyTorch's own index, one for each label, and not on the package index",
        printable(wanted->local)));
  if (!no_release.empty() || !no_build.empty())
    remarks.lines.push_back(
        printable(fmt::format("torch {}: {}", wanted->text, no_release.empty() ? no_build : no_release), kLongest));
  if (release == nullptr) {
    if (!no_release.empty()) remarks.mend = "a release that PyTorch has";
    return remarks;
  }
  // What no index has, no Python finds either.
  const std::string there = !no_release.empty() ? release->str()
                            : !no_build.empty() ? nearest_build(*wanted, *release)
                                                : wanted->text;
  // Releases of which the table has no Pythons had wheels for 3.8, those from 1.4 on.
  const std::string python =
      release->first_python != 0 ? fmt::format("3.{} to 3.{}", release->first_python, release->last_python) : "3.8";
  remarks.mend = fmt::format("{} (with a Python of {})", torch_install(there), python);
  return remarks;
}

}  // namespace flashfit::doctor::pasted
