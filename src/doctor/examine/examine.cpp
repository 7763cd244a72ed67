#include "doctor/examine/examine.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "doctor/facts/add_kernel_names.hpp"
#include "doctor/facts/facts_cache.hpp"
#include "doctor/mends/mend.hpp"
#include "doctor/packaging/wheel_name.hpp"
#include "doctor/rules/coverage.hpp"

namespace flashfit::doctor {
namespace {

using Numbers = std::vector<std::size_t>;

// Where kernels are looked for in cubins: of a library.
constexpr std::size_t kMostCompared = 1024;
constexpr std::uint64_t kMostComparedBytes = std::uint64_t{64} << 20;

/// Containers of one library whose kernels are not known and are asked for, by binary.
class Unnamed {
 public:
  Unnamed(const Target& target, std::size_t most) : target_(target), most_(most) {}

  void add(std::size_t binary, std::size_t container) {
    const Container& c = target_.binaries[binary].containers[container];
    if (count_ == most_ || !c.kernels.empty() || !seen_.emplace(binary, container).second) return;
    if (bytes_ + c.image_size > kMostComparedBytes) return;
    bytes_ += c.image_size;
    ++count_;
    which_[binary].push_back(container);
  }
  const std::map<std::size_t, Numbers>& which() const { return which_; }

 private:
  const Target& target_;
  std::size_t most_, count_ = 0;
  std::uint64_t bytes_ = 0;
  std::set<std::pair<std::size_t, std::size_t>> seen_;
  std::map<std::size_t, Numbers> which_;
};

/// Of a partly served library those that lack an image for some GPU, to be named. Where cubins of the package run on
/// such a GPU they may hold the same kernels, so that all are asked for, and the library's own bare cubins.
std::map<std::size_t, Numbers> unnamed(const Target& target, const Library& library, std::vector<GpuJudge>& judges,
                                       std::size_t most) {
  const bool compared = std::any_of(judges.begin(), judges.end(), [](GpuJudge& judge) { return judge.has_cubins(); });
  Unnamed unnamed(target, compared ? kMostCompared : most);
  for (GpuJudge& judge : judges) {
    const LibraryCoverage c = judge.cover(target, library);
    if (c.covered == 0 && !judge.has_cubins()) continue;
    for (const auto& [binary, lack] : c.lacks) unnamed.add(binary, lack.container);
  }
  return unnamed.which();
}

/// The bare cubins of a library that run, if the package has containers that lack an image.
std::map<std::size_t, Numbers> unnamed_bare(const Target& target, const Library& library,
                                            std::vector<GpuJudge>& judges) {
  Unnamed unnamed(target, kMostCompared);
  for (const std::size_t b : library)
    for (std::size_t i = 0; i < target.binaries[b].containers.size(); ++i) {
      const Container& c = target.binaries[b].containers[i];
      if (is_bare(c) && std::any_of(judges.begin(), judges.end(), [&](GpuJudge& judge) { return judge.runs(c); }))
        unnamed.add(b, i);
    }
  return unnamed.which();
}

/// Whether some container lacks an image for a GPU on which a cubin of the package runs.
bool compares(const Target& target, const std::vector<Library>& libraries, std::vector<GpuJudge>& judges) {
  return std::any_of(judges.begin(), judges.end(), [&](GpuJudge& judge) {
    return judge.has_cubins() && std::any_of(libraries.begin(), libraries.end(), [&](const Library& library) {
             const auto kind = target.binaries[library.front()].kind;
             return (kind == BinaryKind::kElf || kind == BinaryKind::kPe) &&
                    !judge.cover(target, library).lacks.empty();
           });
  });
}

/// Whether names were read.
bool add_names(Target& target, const Question& question, const DoctorOptions& options) {
  // A survey is about GPUs, not about kernels.
  if (question.survey) return false;
  bool added = false;
  std::vector<GpuJudge> judges;
  for (const AskedGpu& gpu : question.gpus) judges.emplace_back(gpu, question.driver, &target);
  const auto libraries = libraries_of(target);
  const bool bare = compares(target, libraries, judges);
  for (const Library& library : libraries) {
    auto wanted = unnamed(target, library, judges, options.kernels);
    if (bare)
      for (auto& [binary, which] : unnamed_bare(target, library, judges))
        wanted[binary].insert(wanted[binary].end(), which.begin(), which.end());
    for (const auto& [binary, which] : wanted) {
      add_kernel_names(target.target, target, binary, which);
      added = true;
    }
  }
  return added;
}

TargetReport examine_one(Target target, const Question& question, const DoctorOptions& options, const FactsCache& cache,
                         bool fresh) {
  const bool file = target.kind != TargetKind::kDirectory;
  const bool sound = target.errors.empty();
  const bool named = add_names(target, question, options);
  if (file && sound && (fresh || named)) cache.keep(target.target, target);
  return judge(std::move(target), question);
}

}  // namespace

std::vector<TargetReport> examine(const std::vector<std::string>& targets, const Question& question,
                                  const DoctorOptions& options) {
  const FactsCache cache(options.cache);
  std::vector<TargetReport> reports;
  std::vector<std::string> left(targets.rbegin(), targets.rend());
  while (!left.empty()) {
    const std::string path = std::move(left.back());
    left.pop_back();
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) {
      std::vector<std::string> packages;
      Target target = read_directory(path, packages, options.progress);
      left.insert(left.end(), packages.rbegin(), packages.rend());
      // A folder of wheels is its wheels.
      if (packages.empty() || !target.binaries.empty() || !target.errors.empty())
        reports.push_back(examine_one(std::move(target), question, options, cache, false));
      continue;
    }
    auto known = cache.find(path);
    const bool fresh = !known;
    reports.push_back(
        examine_one(known ? std::move(*known) : read_file(path, options.progress), question, options, cache, fresh));
  }
  add_mends(reports, question);
  return reports;
}

std::vector<TargetReport> examine_names(const std::vector<std::string>& names, const Question& question) {
  std::vector<TargetReport> reports;
  for (const std::string& given : names) {
    const std::string name = with_plus(given);
    Target target{
        .target = name, .file_name = std::filesystem::path(name).filename().string(), .kind = TargetKind::kName};
    reports.push_back(judge(std::move(target), question));
  }
  return reports;
}

}  // namespace flashfit::doctor
