#include "doctor/pasted/named_in_text.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <ranges>
#include <set>

#include "core/base/ascii.hpp"

namespace flashfit::doctor::pasted {
namespace {

constexpr std::size_t kMostFolders = 4, kMostPackages = 8;

void add_once(std::vector<std::string>& list, std::string word, std::size_t most) {
  if (!word.empty() && list.size() < most && std::find(list.begin(), list.end(), word) == list.end())
    list.push_back(std::move(word));
}

/// The GPU that "NVIDIA GeForce RTX 5090 with CUDA ..." begins with: the longest row of words that is a GPU's name.
std::optional<NamedGpu> gpu_at(std::string_view text) {
  constexpr std::size_t kMostWords = 7;
  std::vector<std::size_t> ends;
  for (std::size_t at = 0; ends.size() < kMostWords && at < text.size();) {
    while (at < text.size() && text[at] != ' ' && text[at] != '|' && text[at] != ',' && text[at] != '(') ++at;
    ends.push_back(at);
    if (at < text.size() && text[at] != ' ') break;
    ++at;
  }
  for (const std::size_t end : ends | std::views::reverse) {
    const std::string_view words = trimmed(text.substr(0, end));
    if (words == "NVIDIA" || words == "Tesla" || words == "GeForce") continue;
    if (auto gpu = name_gpu(words)) return std::move(*gpu);
  }
  return std::nullopt;
}

/// Every GPU that lines name with its maker's word before it.
class Gpus {
 public:
  void look_at(std::string_view line) {
    if (names_.size() > 1 || tries_ >= kMostTries) return;
    for (const std::string_view maker : {"NVIDIA ", "Tesla ", "GeForce ", "GTX ", "RTX ", "Quadro "}) {
      const std::size_t at = line.find(maker);
      if (at == std::string_view::npos) continue;
      ++tries_;
      if (auto gpu = gpu_at(line.substr(at))) {
        if (names_.insert(gpu->name).second) gpu_ = std::move(*gpu);
        return;
      }
    }
  }
  std::optional<NamedGpu> only() const { return names_.size() == 1 ? gpu_ : std::nullopt; }

 private:
  static constexpr std::size_t kMostTries = 200;  // a name that is not known is compared with all that are
  std::size_t tries_ = 0;
  std::set<std::string> names_;
  std::optional<NamedGpu> gpu_;
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

/// Versions of PyTorch and of the packages that are built for one.
class Versions {
 public:
  void look_at(std::string_view line) {
    // What a package was built for, wants or compares is not what is there.
    for (const std::string_view other : {"uilt for", "you have", "equire", "ompatible", "ompiled with", "expect"})
      if (line.find(other) != std::string_view::npos) return;
    static const Regex kVersion(
        R"re((?i)\b(?P<package>(?:py)?torch|torchvision|torchaudio|torchcodec|xformers)(?:[ _]version)?(?:==|[ \t]*[:=][ \t]*'?|[ \t]+v?|-)(?P<version>\d{1,2}\.\d{1,3}(?:\.\d{1,3})?(?:\.post\d)?(?:\+[a-z0-9.]{1,20})?)(?:[^\w.+]|\.?$))re");
    // A line may name several: "torch 2.9.1 torchvision 0.23.0".
    constexpr int kMostOfLine = 8;
    constexpr std::size_t kLongest = 400;
    line = line.substr(0, kLongest);
    for (int i = 0; i < kMostOfLine; ++i) {
      Fields fields;
      if (!kVersion.finds(line, fields)) return;
      const std::string& version = fields["version"];
      std::string package = lower(fields["package"]);
      if (package == "pytorch") package = "torch";
      if (found_[package].size() < kMostOf) found_[package].insert(version);
      line.remove_prefix(line.find(version) + version.size());
    }
  }
  /// "" if there is none, or several. "2.9.1" and "2.9.1+cu128" are one.
  std::string of(const std::string& package) const {
    const auto found = found_.find(package);
    if (found == found_.end()) return "";
    std::set<std::string> versions = found->second;
    for (const std::string& version : found->second)
      if (const std::size_t plus = version.find('+'); plus != std::string::npos)
        versions.erase(version.substr(0, plus));
    return versions.size() == 1 ? *versions.begin() : "";
  }
  std::map<std::string, std::string> companions() const {
    std::map<std::string, std::string> all;
    for (const auto& [package, versions] : found_)
      if (std::string version = of(package); package != "torch" && !version.empty()) all[package] = std::move(version);
    return all;
  }

 private:
  static constexpr std::size_t kMostOf = 16;
  std::map<std::string, std::set<std::string>> found_;
};

/// {75, 120} of "CUDA : ARCHS = 750,1200 |".
std::vector<int> llama_capabilities_of(const std::string& line) {
  static const Regex kArchitectures(R"(\bCUDA : ARCHS = (?P<list>[\d,]{2,200}))");
  Fields fields;
  std::vector<int> all;
  if (line.find("ARCHS = ") == std::string::npos || !kArchitectures.finds(line, fields)) return all;
  constexpr int kLeast = 300, kMost = 2000, kTen = 10;
  for (const std::string_view word : split(fields["list"], ',')) {
    int number = 0;
    const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error == std::errc{} && number >= kLeast && number <= kMost) all.push_back(number / kTen);
  }
  return all;
}

/// Whose paths a text has.
class Paths {
 public:
  /// A frame's, or the file's that an error names.
  void look_at(std::string_view path) {
    if (path.starts_with('/')) unix_ = true;
    if (is_drive(path)) windows_ = true;
  }
  /// "PS C:\> pip install ...", "Error loading \"C:\venv\...": no other system writes so.
  void look_at_line(const std::string& line) {
    if (windows_ || line.find(":\\") == std::string::npos || tries_++ >= kMostTries) return;
    static const Regex kDrive(R"re((?:^|[\s"'(=])[A-Za-z]:\\[\w .$@~-])re");
    Fields none;
    windows_ = kDrive.finds(line, none);
  }
  bool of_windows() const { return windows_ && !unix_; }

 private:
  static bool is_drive(std::string_view path) {
    return path.size() > 2 && is_letter(path[0]) && path[1] == ':' && (path[2] == '\\' || path[2] == '/');
  }
  static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

  static constexpr std::size_t kMostTries = 10'000;
  std::size_t tries_ = 0;
  bool unix_ = false, windows_ = false;
};

std::string one_of(const std::set<std::string>& words) { return words.size() == 1 ? *words.begin() : ""; }

}  // namespace

NamedInText named_in(const PastedText& text, const std::vector<Traceback>& tracebacks,
                     const std::vector<Finding>& findings) {
  // nvidia-smi and collect_env, and what programs print at their start.
  static const Regex kDriver(
      R"((?:Driver Version|Nvidia driver version|NVRM version|driver version): ?(?P<driver>\d{3}\.\d{1,3}(?:\.\d{1,3})?))");
  // "/x/site-packages/torch/cuda/__init__.py:283: UserWarning: ..."
  static const Regex kWarning(R"(^(?P<path>\S+[/\\](?:site|dist)-packages[/\\]\S+\.py):\d+: )");
  NamedInText named;
  Gpus gpus;
  Versions versions;
  Paths paths;
  constexpr std::size_t kMostTries = 20'000, kMostVersionTries = 10'000;
  std::size_t tries = 0, version_tries = 0;
  std::set<std::string> pythons, drivers;
  std::vector<std::string> warned;
  for (const Line& line : text.lines) {
    Fields fields;
    gpus.look_at(line.text);
    paths.look_at_line(line.text);
    if (named.llama_capabilities.empty()) named.llama_capabilities = llama_capabilities_of(line.text);
    if (line.text.find("ersion: ") != std::string::npos && tries++ < kMostTries && kDriver.finds(line.text, fields))
      drivers.insert(fields["driver"]);
    const bool names_package =
        line.text.find("orch") != std::string::npos || line.text.find("formers") != std::string::npos;
    if (names_package && version_tries++ < kMostVersionTries) versions.look_at(line.text);
    if (line.text.find("-packages") != std::string::npos && warned.size() < kMostFolders && tries++ < kMostTries &&
        kWarning.finds(line.text, fields))
      warned.push_back(fields["path"]);
  }
  const auto look_at_path = [&](const std::string& path) {
    paths.look_at(path);
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
  named.windows = paths.of_windows();
  named.driver = one_of(drivers);
  named.torch = versions.of("torch");
  named.versions = versions.companions();
  if (const std::string version = one_of(pythons); !version.empty())
    if (auto python = doctor::parse_python(version)) named.python = std::move(*python);
  return named;
}

}  // namespace flashfit::doctor::pasted
