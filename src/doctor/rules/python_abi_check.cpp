#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "core/base/ascii.hpp"
#include "core/base/printable.hpp"
#include "doctor/bytes/listing.hpp"
#include "doctor/knowledge/stable_abi.hpp"
#include "doctor/packaging/python_module.hpp"
#include "doctor/packaging/wheel_name.hpp"
#include "doctor/rules/all_checks.hpp"
#include "doctor/rules/loads_on.hpp"

namespace flashfit::doctor {
namespace {

constexpr int kFirstStable = 2;  // PEP 384: Python 3.2

/// The Python that an abi3 tag starts from: 9 of "cp39-abi3"; nothing if there is no such tag.
std::optional<int> stable_from(const Target& target) {
  const auto name = parse_wheel_name(target.file_name);
  if (!name) return std::nullopt;
  std::optional<int> least;
  for (const WheelTag& tag : name->tags) {
    if (tag.abi != "abi3" || !tag.python.starts_with("cp3")) continue;
    int minor = kFirstStable;
    std::from_chars(tag.python.data() + 3, tag.python.data() + tag.python.size(), minor);
    least = std::min(least.value_or(minor), minor);
  }
  return least;
}

bool is_cpython(const Question& question) {
  return question.python && question.python->implementation == Python::Implementation::kCPython;
}

void judge_stable(const Binary& binary, std::optional<int> from, const Question& question,
                  std::vector<Problem>& problems) {
  std::vector<std::string> unstable, later;
  int newest = 0;
  const int floor = from.value_or(is_cpython(question) ? question.python->minor : -1);
  for (const std::string& name : binary.extension.python) {
    const auto since = stable_abi_since(name);
    if (!since) {
      unstable.push_back(printable(name, 60));
    } else if (floor >= 0 && *since > floor) {
      later.push_back(printable(name, 60));
      newest = std::max(newest, *since);
    }
  }
  const std::string claim = from ? fmt::format("tagged abi3 from 3.{} on", *from) : std::string("named abi3");
  if (!unstable.empty())
    problems.push_back(
        {"FF221", Severity::kNote,
         fmt::format("{}, but uses {}, which the stable ABI of no Python has: a later Python may lack it", claim,
                     listed(unstable)),
         binary.path, ""});
  if (later.empty()) return;
  const bool here = is_cpython(question) && question.python->minor >= newest;
  problems.push_back({"FF221", here || !is_cpython(question) ? Severity::kNote : Severity::kUnknown,
                      fmt::format("{}, but uses {}, promised from 3.{} on alone", claim, listed(later), newest),
                      binary.path, here ? "" : fmt::format("Python 3.{} or later", newest)});
}

/// Modules of one name: which Pythons they are for.
struct Family {
  bool named = false;  ///< a Python file of the wheel may import them
  std::vector<const Binary*> binaries;
  std::vector<PythonModule> modules;

  bool is_for(const Python& python) const {
    return std::any_of(modules.begin(), modules.end(), [&](const PythonModule& m) { return imports(python, m); });
  }
  bool is_for_any_cpython() const {
    return std::any_of(modules.begin(), modules.end(), [](const PythonModule& m) { return m.minor < 0; });
  }
  /// By their names; others may be libraries, for all that their names tell.
  bool are_modules() const {
    return std::any_of(modules.begin(), modules.end(), [](const PythonModule& m) { return m.stable || m.minor >= 0; });
  }
  bool ask_for_python() const {
    return std::any_of(binaries.begin(), binaries.end(), [](const Binary* b) { return !b->extension.python.empty(); });
  }
};

std::string versions(std::vector<PythonModule> modules) {
  std::sort(modules.begin(), modules.end(), [](const PythonModule& a, const PythonModule& b) {
    return std::pair(a.minor, a.free_threaded) < std::pair(b.minor, b.free_threaded);
  });
  std::vector<std::string> texts;
  for (const PythonModule& module : modules)
    texts.push_back(module.stable ? "with the GIL (abi3)"
                                  : fmt::format("3.{}{}", module.minor, module.free_threaded ? "t" : ""));
  return listed(texts, texts.size());
}

}  // namespace

void check_python_abi(const Target& target, const Question& question, std::vector<Problem>& problems) {
  const auto from = stable_from(target);
  for (const Binary& binary : target.binaries) {
    const auto module = parse_python_module(binary.path.empty() ? target.file_name : binary.path);
    if (binary.extension.python.empty() || !module || module->minor >= 0) continue;
    if (is_alien(binary, question.platform)) continue;
    if (module->stable || from) judge_stable(binary, from, question, problems);
  }
}

namespace {

/// Whether a folder on the way to a package's module has a name that no import can have, as those that builds leave in
/// ("build/lib.linux-x86_64-3.10"): it is not imported from there, under any Python.
bool is_in_no_package(const Target& target, std::string_view path) {
  if (target.kind != TargetKind::kWheel && target.kind != TargetKind::kDistribution) return false;
  auto folders = split(path, '/');
  folders.pop_back();
  return std::any_of(folders.begin(), folders.end(), [&](std::string_view folder) {
    // Eggs are in the search path, and x-1.0.data/platlib is installed elsewhere.
    const bool passed = folder.ends_with(".egg") || (folder == folders.front() && folder.ends_with(".data"));
    return !passed && folder.find_first_of(".-") != std::string_view::npos;
  });
}

/// PyTorch loads a library of operators itself (torch.ops.load_library), under any Python: its ending is what
/// setuptools gives to all. A module that Python imports asks for some name of the interpreter's.
bool is_operator_library(const Binary& binary) {
  return binary.extension.torch_abi != TorchAbi::kNone && binary.extension.python.empty();
}

}  // namespace

void check_python_modules(const Target& target, const Question& question, std::vector<Problem>& problems) {
  std::map<std::string, Family> families;
  bool has_operators = false;
  for (const Binary& binary : target.binaries) {
    const auto module = parse_python_module(binary.path.empty() ? target.file_name : binary.path);
    if (!module || (binary.kind != BinaryKind::kElf && binary.kind != BinaryKind::kPe)) continue;
    if (is_alien(binary, question.platform) || is_in_no_package(target, binary.path)) continue;
    has_operators |= is_operator_library(binary);
    if (is_operator_library(binary)) continue;
    Family& family = families[module->stem];
    family.named |= !binary.extension.unnamed;
    family.binaries.push_back(&binary);
    family.modules.push_back(*module);
  }
  const auto from = stable_from(target);
  const bool cpython = is_cpython(question);
  const auto some = [&](const auto& of_family) {
    return std::any_of(families.begin(), families.end(), [&](const auto& f) { return of_family(f.second); });
  };
  // A module among others may be one that its package can do without.
  const bool some_fit = cpython && some([&](const Family& f) { return f.are_modules() && f.is_for(*question.python); });
  // What no Python file names is what a build has left only where the package has something else to import.
  const bool has_more = has_operators || some([&](const Family& f) {
                          return (f.are_modules() || f.ask_for_python()) &&
                                 (cpython ? f.is_for(*question.python) : f.is_for_any_cpython());
                        });
  for (const auto& [stem, family] : families) {
    const std::string& member = family.binaries.front()->path;
    const bool named = family.named || !has_more;
    if (cpython) {
      if (family.is_for(*question.python)) continue;
      const std::string only = versions(family.modules);
      if (!named) {
        problems.push_back({"FF222", Severity::kNote,
                            fmt::format("is a module for CPython {} alone, which no Python file of its package names: "
                                        "a build has left it there",
                                        only),
                            member, ""});
        continue;
      }
      problems.push_back({"FF222", some_fit ? Severity::kDegrades : Severity::kMisfit,
                          fmt::format("is a module for CPython {} alone; yours is {}", only, question.python->str()),
                          member, fmt::format("a build for {}", question.python->str())});
    } else if (from && named && !family.is_for_any_cpython()) {
      problems.push_back({"FF222", Severity::kDegrades,
                          fmt::format("tagged abi3 from 3.{} on, but is a module for CPython {} alone", *from,
                                      versions(family.modules)),
                          member, ""});
    }
  }
}

}  // namespace flashfit::doctor
