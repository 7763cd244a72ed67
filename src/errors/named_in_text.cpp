#include "errors/named_in_text.hpp"

#include <algorithm>
#include <ranges>
#include <set>

#include "inspect/ascii.hpp"

namespace flashfit::errors {
namespace {

constexpr std::size_t kMostFolders = 4, kMostPackages = 8;

void add_once(std::vector<std::string>& list, std::string word, std::size_t most) {
  if (!word.empty() && list.size() < most && std::find(list.begin(), list.end(), word) == list.end())
    list.push_back(std::move(word));
}

/// The GPU that "NVIDIA GeForce RTX 5090 with CUDA ..." begins with: the longest row of words that is a GPU's name.
std::optional<inspect::NamedGpu> gpu_at(std::string_view text) {
  constexpr std::size_t kMostWords = 7;
  std::vector<std::size_t> ends;
  for (std::size_t at = 0; ends.size() < kMostWords && at < text.size();) {
    while (at < text.size() && text[at] != ' ' && text[at] != '|' && text[at] != ',' && text[at] != '(') ++at;
    ends.push_back(at);
    if (at < text.size() && text[at] != ' ') break;
    ++at;
  }
  for (const std::size_t end : ends | std::views::reverse) {
    const std::string_view words = inspect::trimmed(text.substr(0, end));
    if (words == "NVIDIA" || words == "Tesla" || words == "GeForce") continue;
    if (auto gpu = inspect::name_gpu(words)) return std::move(*gpu);
  }
  return std::nullopt;
}

/// Every GPU that lines name with its maker's word before it.
class Gpus {
 public:
  void look_at(std::string_view line) {
    if (names_.size() > 1 || tries_ == kMostTries) return;
    for (const std::string_view maker : {"NVIDIA ", "Tesla ", "GeForce "}) {
      const std::size_t at = line.find(maker);
      if (at == std::string_view::npos) continue;
      ++tries_;
      if (auto gpu = gpu_at(line.substr(at))) {
        if (names_.insert(gpu->name).second) gpu_ = std::move(*gpu);
        return;
      }
    }
  }
  std::optional<inspect::NamedGpu> only() const { return names_.size() == 1 ? gpu_ : std::nullopt; }

 private:
  static constexpr std::size_t kMostTries = 200;  // a name that is not known is compared with all that are
  std::size_t tries_ = 0;
  std::set<std::string> names_;
  std::optional<inspect::NamedGpu> gpu_;
};

/// "3.11" of ".../python3.11/site-packages" and of "x.cpython-311-x86_64-linux-gnu.so".
std::string python_of(std::string_view path) {
  static const Regex kPython(
      R"([/\\]python(?P<version>3\.\d{1,2})[/\\]|\.cpython-3(?P<minor>\d{1,2})-|[/\\]Python3(?P<folder>\d{1,2})[/\\])");
  Fields fields;
  if (!kPython.finds(path, fields)) return "";
  if (const auto version = fields.find("version"); version != fields.end()) return version->second;
  const auto minor = fields.find("minor");
  return "3." + (minor != fields.end() ? minor->second : fields["folder"]);
}

std::string one_of(const std::set<std::string>& words) { return words.size() == 1 ? *words.begin() : ""; }

}  // namespace

NamedInText named_in(const PastedText& text, const std::vector<Traceback>& tracebacks,
                     const std::vector<Finding>& findings) {
  // nvidia-smi and collect_env, and what programs print at their start.
  static const Regex kDriver(
      R"((?:Driver Version|Nvidia driver version|NVRM version|driver version): ?(?P<driver>\d{3}\.\d{1,3}(?:\.\d{1,3})?))");
  static const Regex kTorch(R"((?i)(?:py)?torch(?: version)?: ?(?P<torch>\d\.\d{1,2}\.\d{1,2}\+cu\d{2,3})\b)");
  // "/x/site-packages/torch/cuda/__init__.py:283: UserWarning: ..."
  static const Regex kWarning(R"(^(?P<path>\S+[/\\](?:site|dist)-packages[/\\]\S+\.py):\d+: )");
  NamedInText named;
  Gpus gpus;
  constexpr std::size_t kMostTries = 20'000;
  std::size_t tries = 0;
  std::set<std::string> pythons, drivers, torches;
  std::vector<std::string> warned;
  for (const Line& line : text.lines) {
    Fields fields;
    gpus.look_at(line.text);
    const bool likely =
        line.text.find("ersion: ") != std::string::npos || line.text.find("orch: ") != std::string::npos;
    if (likely && tries++ < kMostTries) {
      if (kDriver.finds(line.text, fields)) drivers.insert(fields["driver"]);
      if (kTorch.finds(line.text, fields)) torches.insert(fields["torch"]);
    }
    if (line.text.find("-packages") != std::string::npos && warned.size() < kMostFolders && tries++ < kMostTries &&
        kWarning.finds(line.text, fields))
      warned.push_back(fields["path"]);
  }
  const auto look_at_path = [&](const std::string& path) {
    if (std::string version = python_of(path); !version.empty()) pythons.insert(std::move(version));
    add_once(named.site_packages, site_packages_of(path), kMostFolders);
  };
  for (const Traceback& traceback : tracebacks)
    for (const Frame& frame : traceback.frames | std::views::reverse) {
      look_at_path(frame.file);
      add_once(named.packages, package_of(frame.file), kMostPackages);
    }
  for (const std::string& path : warned) look_at_path(path);
  for (const Finding& finding : findings) {
    for (const char* field : {"file", "library", "found_in"})
      if (const auto path = finding.fields.find(field); path != finding.fields.end()) {
        look_at_path(path->second);
        add_once(named.packages, package_of(path->second), kMostPackages);
      }
    if (const auto cuda = finding.fields.find("found_cuda"); cuda != finding.fields.end()) drivers.insert(cuda->second);
    if (const auto gpu = finding.fields.find("gpu"); gpu != finding.fields.end()) gpus.look_at("NVIDIA " + gpu->second);
  }
  named.gpu = gpus.only();
  named.driver = one_of(drivers);
  named.torch = one_of(torches);
  if (const std::string version = one_of(pythons); !version.empty())
    if (auto python = inspect::parse_python(version)) named.python = std::move(*python);
  return named;
}

}  // namespace flashfit::errors
