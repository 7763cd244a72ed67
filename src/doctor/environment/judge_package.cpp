// Part one's rules read for what is installed: there the file is all that is known, here Python, PyTorch and the
// libraries beside it are at hand, and what nobody loads harms nobody.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "core/base/ascii.hpp"
#include "core/base/printable.hpp"
#include "doctor/environment/site.hpp"
#include "doctor/facts/binary_format.hpp"
#include "doctor/knowledge/data.hpp"
#include "doctor/knowledge/package_rows.hpp"
#include "doctor/packaging/python_module.hpp"
#include "doctor/rules/on_purpose.hpp"
#include "doctor/rules/torch_requirement.hpp"

namespace flashfit::doctor::environment {
namespace {

constexpr PackageCheck kChecks[] = {check_missing_libraries,
                                    check_torch_build,
                                    check_torch_extension,
                                    check_picked_files,
                                    check_compilers,
                                    check_host_code,
                                    check_compiling,
                                    check_loads,
                                    check_dlls,
                                    check_companions,
                                    check_elsewhere,
                                    check_gone_modules,
                                    check_names};

const Binary* find(const Target& target, const std::string& member) {
  for (const Binary& binary : target.binaries)
    if (binary.path == member) return &binary;
  return nullptr;
}

bool is_one_of(const std::string& code, std::initializer_list<std::string_view> codes) {
  return std::find(codes.begin(), codes.end(), code) != codes.end();
}

/// "_qattn_sm89.so", "sm90/common_ops.so": a variant by its name.
bool names_an_architecture(const std::string& path) {
  const std::string text = lower(path);
  for (std::size_t at = text.find("sm"); at != std::string::npos; at = text.find("sm", at + 1)) {
    const std::size_t digit = at + 2 + (at + 2 < text.size() && text[at + 2] == '_' ? 1 : 0);
    const bool begins = at == 0 || !is_letter(text[at - 1]);
    if (begins && digit + 1 < text.size() && is_digit(text[digit]) && is_digit(text[digit + 1])) return true;
  }
  return false;
}

/// Whether every GPU has usable code in some other library of the target.
bool others_serve(const Target& target, const Binary& but, const doctor::Question& question) {
  return std::all_of(question.gpus.begin(), question.gpus.end(), [&](const doctor::AskedGpu& gpu) {
    return std::any_of(target.binaries.begin(), target.binaries.end(), [&](const Binary& binary) {
      return &binary != &but && !binary.containers.empty() &&
             doctor::GpuJudge(gpu, question.driver).cover(binary).summary.covered > 0;
    });
  });
}

/// What part one's problems count for here, under one question.
struct Reading {
  const doctor::Question& question;
  const Target& target;
  bool chooses;  ///< picks its kernels by the GPU

  /// Without code for any GPU of the question, and others of the package have it: nobody loads it there.
  bool is_for_others(const Binary& binary) const {
    if (binary.containers.empty() || question.gpus.empty() || !others_serve(target, binary, question)) return false;
    const bool none = std::all_of(question.gpus.begin(), question.gpus.end(), [&](const doctor::AskedGpu& gpu) {
      return doctor::GpuJudge(gpu, question.driver).cover(binary).summary.covered == 0;
    });
    return none && (chooses || names_an_architecture(binary.path) || doctor::lacks_on_purpose(binary, question));
  }

  Severity of_gpu_code(const Problem& p, const Binary* binary) const {
    if (p.code == "FF101") {
      if (binary == nullptr || !others_serve(target, *binary, question)) return p.severity;
      return is_for_others(*binary) ? Severity::kNote : Severity::kDegrades;
    }
    if ((chooses || (binary != nullptr && doctor::is_of_nvidia(*binary))) && p.code != "FF106") return Severity::kNote;
    if (p.code == "FF102" && binary != nullptr && doctor::lacks_on_purpose(*binary, question)) return Severity::kNote;
    return p.severity;
  }

  /// Installers have let it pass, and symbols decide. But a class that changed between two minor versions may have kept
  /// its names, and a library that was built against the other version then crashes without a message.
  Severity of_required_torch(const Problem& p) const {
    const auto refused = doctor::refused_torch(target, question);
    return refused && refused->other_build && doctor::uses_cxx_of_torch(target) ? p.severity : Severity::kNote;
  }

  Severity operator()(const Problem& p) const {
    const Binary* const binary = find(target, p.member);
    if (p.code.starts_with("FF10") || p.code.starts_with("FF5")) return of_gpu_code(p, binary);
    // What fails its import is a module; other libraries may be for what is not here.
    const bool imported = binary == nullptr || is_module(*binary);
    if (is_one_of(p.code, {"FF320", "FF323"}) && !imported) return std::min(p.severity, Severity::kDegrades);
    // Of what is opened by its name nothing is known then; other files may be anything: examples, tests' bad files.
    if (p.code == "FF901" && !imported && (!binary->archive.empty() || !doctor::is_named_as_code(binary->path)))
      return Severity::kNote;
    // Installers have let these pass, and what decides was judged: symbols, and the C++ library by the loader's model.
    if (is_one_of(p.code, {"FF221", "FF321", "FF322"})) return Severity::kNote;
    if (p.code == "FF406") return of_required_torch(p);
    return binary != nullptr && is_for_others(*binary) ? Severity::kNote : p.severity;
  }
};

/// Part one's problems, each by its worst reading: of several GPUs each alone, as what serves one may lack another.
std::vector<Problem> read_problems(const Target& target, const doctor::Question& question, bool chooses) {
  std::vector<Problem> all;
  std::unordered_map<std::string, std::size_t> known;
  const auto add = [&](const doctor::Question& one) {
    const Reading reading{one, target, chooses};
    for (Problem& p : doctor::problems_of(target, one)) {
      p.severity = reading(p);
      const auto [at, fresh] = known.emplace(p.code + '\n' + p.member + '\n' + p.message, all.size());
      if (fresh)
        all.push_back(std::move(p));
      else
        all[at->second].severity = std::max(all[at->second].severity, p.severity);
    }
  };
  if (question.survey || question.gpus.size() < 2) {
    add(question);
    return all;
  }
  for (const doctor::AskedGpu& gpu : question.gpus) {
    doctor::Question one = question;
    one.gpus = {gpu};
    add(one);
  }
  return all;
}

}  // namespace

void mend_by_reinstalling(const Distribution& d, const char* why, doctor::TargetReport& report) {
  if (!report.mend.empty() || d.version.empty()) return;
  report.mend = fmt::format("pip install --force-reinstall --no-deps {}=={}", d.name, printable(d.version, 60));
  report.mend_why = why;
}

doctor::TargetReport judge_package(const Site& site, const Package& package) {
  const Distribution& d = package.distribution;
  doctor::Question question = site.question;
  if (d.name == "torch") question.torch = nullptr;  // its own libraries are not built against another
  doctor::TargetReport report = doctor::judge(target_of(site, package), question);
  const bool chooses = doctor::knowledge_data().chooses_itself(d.name);
  report.problems = read_problems(report.target, question, chooses);
  // No GPU and nothing to judge are facts of the environment; a driver that does not know the GPU is the host's. Files
  // of other machines lie there for these, but not under a name for this one.
  std::erase_if(report.problems, [&](const Problem& p) {
    const bool ours = question.platform && doctor::is_named_for_linux_on(p.member, question.platform->arch);
    return is_one_of(p.code, {"FF106", "FF902", "FF904"}) || (p.code == "FF310" && !ours);
  });
  for (const PackageCheck check : kChecks) check(site, package, report);
  std::stable_sort(report.problems.begin(), report.problems.end(),
                   [](const Problem& a, const Problem& b) { return a.severity > b.severity; });
  report.verdict = doctor::verdict_of(report.problems);
  report.by_gpu.clear();  // of part one's reading
  return report;
}

}  // namespace flashfit::doctor::environment
