#include "oci/examine_image.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "inspect/ascii.hpp"
#include "inspect/printable.hpp"
#include "inspect/read_binary.hpp"
#include "inspect/torch_facts.hpp"
#include "oci/image_archive.hpp"

namespace flashfit::oci {
namespace {

using inspect::Question;
using inspect::Target;
using loader::FileKind;

constexpr std::size_t kMostFolders = 500'000, kMostErrors = 20;
constexpr std::uint64_t kMostText = std::uint64_t{64} << 10;

/// Calls see(path, entry) for what lies under `folder`, folders before what lies in them; it says whether to go into a
/// folder.
template <class See>
void walk(const loader::FileTree& tree, const std::string& folder, const See& see) {
  std::vector<std::string> left{folder};
  for (std::size_t seen = 0; !left.empty() && seen < kMostFolders; ++seen) {
    const std::string here = std::move(left.back());
    left.pop_back();
    const auto entries = tree.list_here(here);
    if (!entries) continue;
    std::vector<std::string> folders;
    for (const loader::Entry& entry : *entries) {
      std::string path = loader::join(here, entry.name);
      if (see(path, entry) && entry.kind == FileKind::kFolder) folders.push_back(std::move(path));
    }
    left.insert(left.end(), folders.rbegin(), folders.rend());
  }
}

bool is_site(std::string_view name) { return name == "site-packages" || name == "dist-packages"; }

/// "3.11" of ".../python3.11/site-packages"; "" where the path does not say it.
std::string python_of(const std::string& site) {
  constexpr std::string_view kPython = "/python";
  const std::size_t at = site.rfind(kPython);
  if (at == std::string::npos) return "";
  const std::size_t begin = at + kPython.size();
  const std::string version = site.substr(begin, site.find('/', begin) - begin);
  return version.find('.') == std::string::npos ? "" : version;
}

/// What the image's own files say of its system.
void take_system(const loader::FileTree& tree, const std::string& platform_said, bool keeps_glibc, Question& question) {
  const std::string arch = platform_said.ends_with("/arm64")   ? "aarch64"
                           : platform_said.ends_with("/amd64") ? "x86_64"
                           : question.platform                 ? question.platform->arch
                                                               : "x86_64";
  auto platform = inspect::parse_platform("linux_" + arch);
  if (!platform) return;
  const auto musl = tree.list("/lib");
  for (const loader::Entry& entry : musl ? *musl : std::vector<loader::Entry>{})
    if (entry.name.starts_with("ld-musl-")) platform->system = inspect::Platform::System::kMusl;
  const bool glibc = keeps_glibc && question.platform && platform->system == inspect::Platform::System::kGlibc;
  if (glibc) {
    platform->major = question.platform->major;
    platform->minor = question.platform->minor;
  }
  question.platform = std::move(*platform);
}

void take_torch(const loader::FileTree& tree, const std::vector<std::string>& sites, Question& question) {
  for (const std::string& site : sites) {
    const auto text = loader::read_text(tree, site + "/torch/version.py", kMostText);
    if (!text) continue;
    constexpr std::string_view kAssigned = "__version__ = '";
    const std::size_t begin = text->find(kAssigned);
    if (begin == std::string::npos) continue;
    const std::string_view rest = std::string_view(*text).substr(begin + kAssigned.size());
    if (auto torch = inspect::read_torch_release(std::string(rest.substr(0, rest.find('\'')))))
      question.torch = std::move(*torch);
    return;
  }
}

void read_site(const loader::FileTree& tree, const std::string& site, Target& target) {
  walk(tree, site, [&](const std::string& path, const loader::Entry& entry) {
    if (entry.kind != FileKind::kFile) return true;
    ++target.files;
    const auto source = tree.open_here(path);
    const auto trouble = [&](const std::string& why) {
      if (target.errors.size() < kMostErrors) target.errors.push_back(why + " in " + inspect::printable(path));
    };
    if (!source) {
      trouble(source.error().message);
      return true;
    }
    const inspect::SourceContent content(**source);
    const auto head = content.head(inspect::kHeadSize);
    if (!head || !inspect::may_be_binary(*head)) return true;
    auto binaries = inspect::read_binaries(content, path.substr(1));
    if (!binaries) {
      trouble(binaries.error().message);
      return true;
    }
    std::move(binaries->begin(), binaries->end(), std::back_inserter(target.binaries));
    return true;
  });
}

inspect::TargetReport examine_one(const Image& image, const std::string& path, const Question& asked, Named named) {
  Target target{.target = fmt::format("{} ({})", path, inspect::printable(image.name)),
                .file_name = std::filesystem::path(path).filename().string(),
                .kind = inspect::TargetKind::kDirectory};
  if (!image.error.empty()) target.errors.push_back(image.error);
  Question question = asked;
  if (image.tree) {
    const auto sites = find_sites(*image.tree);
    std::optional<inspect::Python> own;
    for (const std::string& site : sites)
      if (auto python = inspect::parse_python(python_of(site)); python && !own) own = std::move(*python);
    if (own || !named.python) question.python = own;
    if (!named.platform) take_system(*image.tree, image.platform, named.glibc, question);
    if (!named.torch) take_torch(*image.tree, sites, question);
    for (const std::string& site : sites) read_site(*image.tree, site, target);
  }
  return judge(std::move(target), question);
}

}  // namespace

std::vector<std::string> find_sites(const loader::FileTree& tree) {
  std::vector<std::string> sites;
  walk(tree, "/", [&](const std::string& path, const loader::Entry& entry) {
    const bool site = entry.kind == FileKind::kFolder && is_site(entry.name);
    if (site && sites.size() < kMostSites) sites.push_back(path);
    return !site;
  });
  return sites;
}

std::vector<inspect::TargetReport> examine_images(const std::string& path, const Question& asked, Named named) {
  std::vector<inspect::TargetReport> reports;
  const auto archive = open_image_archive(path);
  if (!archive) {
    Target target{.target = path, .file_name = std::filesystem::path(path).filename().string()};
    target.errors.push_back(archive.error().message);
    reports.push_back(judge(std::move(target), asked));
    return reports;
  }
  for (const Image& image : archive->images) reports.push_back(examine_one(image, path, asked, named));
  return reports;
}

}  // namespace flashfit::oci
