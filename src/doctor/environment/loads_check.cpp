// FF601 to FF610: what the loader would make of a package's import, read for what is installed.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "core/base/printable.hpp"
#include "doctor/bytes/listing.hpp"
#include "doctor/environment/absences.hpp"
#include "doctor/environment/site.hpp"
#include "doctor/knowledge/torch_libraries.hpp"
#include "doctor/mends/mends.hpp"
#include "doctor/rules/loads_on.hpp"

namespace flashfit::doctor::environment {
namespace {

/// What the model finds of a library goes before what part one guesses of its file.
constexpr std::string_view kReplaced[] = {"FF320", "FF322", "FF323"};

/// What a package opens: modules by import; libraries with GPU code or on PyTorch by their own loading.
struct Files {
  std::vector<std::string> modules, others;
  bool on_torch = false, concerned = false;
};

Files files_of(const Site& site, const Package& package, const doctor::Target& target) {
  Files files;
  for (const Binary& binary : target.binaries) {
    if (binary.kind != doctor::BinaryKind::kElf || !binary.archive.empty()) continue;
    if (site.question.platform && !doctor::loads_on(binary, *site.question.platform)) continue;  // FF310 says it
    const bool on_torch = binary.extension.torch_abi != doctor::TorchAbi::kNone ||
                          std::any_of(binary.needed.begin(), binary.needed.end(),
                                      [](const std::string& l) { return doctor::is_torch_library(l); });
    files.on_torch |= on_torch;
    files.concerned |= on_torch || !binary.containers.empty();
    const std::string path =
        binary.path.starts_with('/') ? binary.path : package.distribution.folder + "/" + binary.path;
    if (is_module(binary)) {
      if (is_of_this_python(binary, site.question)) files.modules.push_back(path);
    } else if (on_torch || !binary.containers.empty()) {
      files.others.push_back(path);
    }
  }
  return files;
}

/// Where some package has the library; "" if the system does, in a folder that is not searched, or nobody.
std::string place_of(const Site& site, const std::string& library) {
  for (const Package& package : site.packages)
    for (const FileFacts& file : package.files)
      if (file.path.ends_with("/" + library)) return file.path.substr(0, file.path.rfind('/'));
  return "";
}

/// What stands against an import, without what only may.
bool harms(const Problem& p) {
  for (const std::string_view code : {"FF602", "FF603", "FF604", "FF606", "FF608"})
    if (p.code == code) return p.severity != Severity::kUnknown && p.severity != Severity::kNote;
  return false;
}

/// Problems of one package's import, added to its report.
struct Reading {
  const Site& site;
  const Package& package;
  const Files& files;
  doctor::TargetReport& report;
  bool harmed = false;
  std::vector<Absence> absent = {};
  std::vector<std::pair<std::string, std::string>> lacking_of_torch = {};  ///< the library, the file that needs it

  /// `imported`: Python's import fails by it. `nothing_loads`: none of the package's modules does without.
  void add(const Opened& opened, bool imported, bool nothing_loads) {
    for (const Problem& p : opened.problems) add_problem(p, imported);
    for (const MissingLibrary& missing : opened.missing) add_missing(missing, imported && nothing_loads);
  }

  void add_problem(Problem p, bool imported) {
    // "torch/lib/../../nvidia/x.so", as DT_RUNPATH writes it, is a file that other checks know by its plain path.
    p.member = package.relative(std::filesystem::path(p.member).lexically_normal().string());
    if (p.code == "FF602" && p.severity == Severity::kUnknown) return add_unread(std::move(p), imported);
    if (!harms(p)) p.severity = Severity::kNote;
    if (!imported) p.severity = std::min(p.severity, Severity::kDegrades);
    harmed |= p.severity != Severity::kNote;
    if (p.code == "FF603" || p.code == "FF608")
      std::erase_if(report.problems, [&](const Problem& other) {
        return other.member == p.member &&
               std::find(std::begin(kReplaced), std::end(kReplaced), other.code) != std::end(kReplaced);
      });
    push(std::move(p));
  }

  /// What a module needs may lie in another package, or in the system: its own FF901 then says nothing of it.
  void add_unread(Problem p, bool imported) {
    const bool said = std::any_of(report.problems.begin(), report.problems.end(), [&](const Problem& other) {
      return other.code == "FF901" && other.severity == Severity::kUnknown && other.member == p.member;
    });
    if (said) return;
    if (!imported) p.severity = Severity::kNote;
    report.unsettled = true;
    push(std::move(p));
  }

  void add_missing(const MissingLibrary& missing, bool decides) {
    const std::string name = printable(missing.name), member = package.relative(missing.asked_by);
    if (site.libraries.contains(missing.name)) {
      const std::string place = printable(place_of(site, missing.name), 300);
      // PyTorch's own are loaded by its import, which comes before that of its extensions.
      report.unsettled |= decides && !doctor::is_torch_library(missing.name);
      push({"FF601", Severity::kNote,
            fmt::format("needs {}, which lies in {}, where the loader does not look by itself: found only if what "
                        "imports it loads it before",
                        name, place.empty() ? "a folder of the system" : place),
            member, place.empty() ? "" : fmt::format("put {} on LD_LIBRARY_PATH", place)});
      return;
    }
    // What CUDA's packages bring is named by other checks, with the command; that it decides is news.
    for (Problem& p : report.problems)
      if (decides && p.code == "FF330" && p.message.find(name) != std::string::npos) p.severity = Severity::kMisfit;
    if (doctor::find_cuda_library(missing.name, 0) != nullptr) return;
    if (doctor::is_torch_library(missing.name)) {
      if (decides) lacking_of_torch.emplace_back(name, member);
      return;
    }
    report.unsettled |= decides && !site.imports->starts();
    absent.push_back({missing.name, member,
                      !decides || !site.imports->starts() ? Severity::kNote
                      : files.concerned                   ? Severity::kMisfit
                                                          : Severity::kDegrades});
  }

  /// When all is added.
  void end() {
    for (Problem& p : absences(std::move(absent))) push(std::move(p));
    add_lacking_of_torch();
  }

  /// Libraries of PyTorch that are not here: there is no PyTorch, or not in that build.
  void add_lacking_of_torch() {
    // A PyTorch that an option names would be installed yet. FF405 says that one is for the CPU.
    const Package* const torch = site.find("torch");
    if (lacking_of_torch.empty() || (torch == nullptr && site.question.torch)) return;
    if (doctor::has_problem(report, {"FF405"})) return;
    std::vector<std::string> names;
    for (const auto& [name, member] : lacking_of_torch)
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    const std::string needed = doctor::listed(names, 3);
    push({"FF601", Severity::kMisfit,
          torch == nullptr ? fmt::format("needs {} of PyTorch, which is not installed here", needed)
                           : fmt::format("needs {}, which torch {} does not have", needed, torch->distribution.version),
          lacking_of_torch.front().second,
          torch == nullptr ? fmt::format("the PyTorch that {} was built for", package.distribution.name)
                           : fmt::format("a build for torch {}", torch->distribution.version)});
  }

  void push(Problem p) {
    const bool said = std::any_of(report.problems.begin(), report.problems.end(), [&](const Problem& other) {
      return other.code == p.code && other.member == p.member && other.message == p.message;
    });
    if (!said) report.problems.push_back(std::move(p));
  }
};

}  // namespace

void check_loads(const Site& site, const Package& package, doctor::TargetReport& report) {
  const std::string& name = package.distribution.name;
  // NVIDIA's libraries are loaded by those that need them.
  if (site.imports == nullptr || name.starts_with("nvidia-")) return;
  const bool is_torch = name == "torch";
  const Files files = is_torch ? Files{.on_torch = true, .concerned = true} : files_of(site, package, report.target);
  if (site.imports->gives_stacks()) std::erase_if(report.problems, [](const Problem& p) { return p.code == "FF323"; });
  Reading reading{site, package, files, report};
  if (is_torch) reading.add(site.imports->torch(), true, true);
  if (!files.modules.empty()) {
    const Opened opened = site.imports->open(files.modules, files.on_torch);
    reading.add(opened, true, opened.loaded == 0);
  }
  if (!files.others.empty()) reading.add(site.imports->open(files.others, files.on_torch), false, false);
  reading.end();
  if (!reading.harmed || !report.mend.empty()) return;
  const auto& opened = files.modules.empty() ? files.others : files.modules;
  if (auto change = site.imports->mend(opened, files.on_torch, harms)) {
    report.mend = std::move(change->command);
    report.mend_why = std::move(change->why);
  }
}

}  // namespace flashfit::doctor::environment
