#include "doctor/requests/judge_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "core/base/ascii.hpp"
#include "core/base/printable.hpp"
#include "doctor/gpu_code/toolkit_versions.hpp"
#include "doctor/knowledge/data.hpp"
#include "doctor/packaging/marker.hpp"
#include "doctor/packaging/metadata.hpp"
#include "doctor/requests/at_hand.hpp"
#include "doctor/requests/by_base.hpp"
#include "doctor/requests/by_name.hpp"
#include "doctor/requests/companions.hpp"
#include "doctor/requests/sha256.hpp"
#include "doctor/requests/torch_bounds.hpp"

namespace flashfit::doctor::requests {
namespace {

constexpr std::size_t kMostProblems = 10'000;

/// The CUDA version of "12.4"; 0 for none.
CudaVersion cuda_version(const std::string& text) {
  const auto version = doctor::parse_version(text);
  if (!version || version->release.size() < 2 || version->release[0] > 99 || version->release[1] > 99) return 0;
  return static_cast<CudaVersion>(version->release[0] * 1000 + version->release[1] * 10);
}

/// Whether the image is one that brings no PyTorch of its own; of a list without an image nothing else is installed.
bool has_no_torch(const Base& base) {
  if (base.name.empty()) return true;
  std::string_view image = base.name;
  image = image.substr(0, image.find('@'));
  image = image.substr(image.find_last_of('/') + 1);
  image = image.substr(0, image.find(':'));
  constexpr std::string_view kBare[] = {"python", "cuda", "ubuntu", "debian", "alpine", "uv"};
  return std::find(std::begin(kBare), std::end(kBare), image) != std::end(kBare);
}

struct Placed {
  Problem problem;
  std::uint32_t line = 0;
};

class Judge {
 public:
  Judge(const RequestList& list, const doctor::Target& target, const Question& asked, const ListOptions& options)
      : list_(list),
        options_(options),
        at_hand_(std::filesystem::path(target.target).parent_path().string()),
        places_(requests_by_base(list)),
        torches_(list.bases.size()) {
    for (std::size_t i = 0; i < list.bases.size(); ++i)
      questions_.push_back(question_of(list, i, places_[i], asked, options.named));
  }

  std::vector<Placed> run() {
    for (const Trouble& trouble : list_.troubles)
      problems_.push_back({{"FF751", Severity::kUnknown, printable(trouble.message, 600), "", ""}, trouble.line});
    if (list_.requests.size() == kMostRequests)
      problems_.push_back(
          {{"FF751", Severity::kUnknown,
            fmt::format("{} requests or more: what is behind them was not read", kMostRequests), "", ""},
           list_.requests.back().line});
    // Stages that build on one another have one base.
    for (std::size_t i = 1; i < list_.bases.size(); ++i)
      if (std::none_of(list_.bases.begin(), list_.bases.begin() + static_cast<std::ptrdiff_t>(i),
                       [&](const Base& earlier) { return earlier.line == list_.bases[i].line; }))
        judge_base(list_.bases[i], questions_[i]);
    judge_python_of_lock();
    for (const Request& request : list_.requests) {
      judge_request(request, questions_[request.base]);
      if (problems_.size() > kMostProblems) break;
    }
    for (std::size_t base = 0; base < list_.bases.size(); ++base) judge_torch_that_is_brought(base);
    for (const Places& places : places_) judge_torches(places);
    judge_together();
    std::stable_sort(problems_.begin(), problems_.end(),
                     [](const Placed& a, const Placed& b) { return a.problem.severity > b.problem.severity; });
    problems_.resize(std::min(problems_.size(), kMostProblems));
    return std::move(problems_);
  }

  std::string basis() const {
    std::string text = fmt::format("{} judged by name", by_name_);
    if (by_name_ > 0) text += " (names say nothing of GPUs)";
    if (by_content_ > 0) text += fmt::format(", {} by the file", by_content_);
    if (left_out_ > 0) text += fmt::format(", {} left out by their markers", left_out_);
    return text;
  }

 private:
  /// The releases of PyTorch that the requests of a base leave; none where one is named already, or they are too many.
  const std::vector<doctor::Version>& torches_of(std::size_t base) {
    std::optional<std::vector<doctor::Version>>& torches = torches_[base];
    if (!torches) {
      const Places those = compared(list_, places_[base], questions_[base]);
      torches.emplace();
      if (!questions_[base].torch && those.size() <= kMostCompared)
        torches = torches_left(list_, those, questions_[base]);
    }
    return *torches;
  }

  static TorchBuild torch_build_of(const Indexes& indexes) { return {build_of(indexes), build_is_sole(indexes)}; }

  /// The PyTorch that installers bring because a package asks for it, where the list itself names none.
  void judge_torch_that_is_brought(std::size_t base) {
    const Question& question = questions_[base];
    if (question.torch || list_.part || !has_no_torch(list_.bases[base])) return;
    const Request* asks = nullptr;
    for (const std::size_t place : places_[base]) {
      const Request& request = list_.requests[place];
      if (!holds(request, question)) continue;
      if (request.package.name == "torch" || request.locked) return;
      // Of several the one that pins its release leaves the fewest of PyTorch's.
      if (has_companion(request) && (asks == nullptr || (!pinned(asks->package) && pinned(request.package))))
        asks = &request;
    }
    if (asks == nullptr) return;
    const std::vector<doctor::Version>& left = torches_of(base);
    const auto torch = doctor::parse_requirement("torch");
    if (left.empty() || !torch || left.size() == doctor::knowledge_data().torch_versions.size()) return;
    for (Problem& problem : torch_problems(*torch, torch_build_of(list_.indexes[asks->indexes]), question, left)) {
      problem.message = "brings PyTorch: " + problem.message;
      add(*asks, std::move(problem), asks->text);
    }
  }

  /// Requests for PyTorch that no release serves together. A later command installs another one and refuses nothing,
  /// so only those of one command are taken together, and only those that certainly hold.
  void judge_torches(const Places& places) {
    std::map<std::size_t, Places> of_command;
    for (const std::size_t place : places) {
      const Request& request = list_.requests[place];
      if (request.package.name != "torch" || !request.package.url.empty() || request.locked) continue;
      const Question& question = questions_[request.base];
      Places& those = of_command[request.indexes];
      if (torches_compared_ < kMostCompared && !bounds_problem(request.package) &&
          doctor::marker_holds(request.package.marker, {question.python, question.platform}) == true) {
        those.push_back(place);
        ++torches_compared_;
      }
    }
    for (const auto& [indexes, those] : of_command) {
      auto found = those.size() < 2 ? std::nullopt : out_of_bounds(list_, those);
      if (!found) continue;
      const Request& request = list_.requests[found->place];
      add(request, std::move(found->problem), request.text);
    }
  }

  /// What requests of one base ask of each other.
  void judge_together() {
    bool all_compared = true;
    std::size_t left = kMostCompared;
    for (std::size_t base = 0; base < list_.bases.size(); ++base) {
      auto conflicts = companion_conflicts(list_, places_[base], questions_[base], left);
      all_compared &= conflicts.has_value();
      if (!conflicts) continue;
      for (Conflict& conflict : *conflicts) {
        const Request& request = list_.requests[conflict.request];
        add(request, std::move(conflict.problem), request.text);
      }
    }
    if (!all_compared)
      problems_.push_back({{"FF751", Severity::kUnknown,
                            fmt::format("more than {} requests for packages that ask for releases of each other: not "
                                        "all were compared",
                                        kMostCompared),
                            "", ""},
                           1});
  }

  void add(const Request& request, Problem problem, const std::string& member) {
    problem.member = problem.member.empty() ? member : member + "!" + problem.member;
    problems_.push_back({std::move(problem), request.line});
  }
  void add_all(const Request& request, std::vector<Problem> problems, const std::string& member) {
    for (Problem& problem : problems) add(request, std::move(problem), member);
  }

  void judge_base(const Base& base, const Question& question) {
    const auto add_base = [&](Problem problem) {
      problem.member = base.name;
      problems_.push_back({std::move(problem), base.line});
    };
    if (!base.torch.empty()) {
      if (const auto package = doctor::parse_requirement("torch==" + base.torch)) {
        const std::size_t dot = base.cuda.find('.');
        const std::string build =
            dot == std::string::npos ? "" : "cu" + base.cuda.substr(0, dot) + base.cuda.substr(dot + 1);
        for (Problem& problem : torch_problems(*package, {build}, question))
          if (problem.code != "FF755") add_base(std::move(problem));
      }
    } else if (std::string why = doctor::toolkit_misfit(cuda_version(base.cuda), question.driver); !why.empty()) {
      add_base({"FF105", Severity::kMisfit, "named for CUDA " + base.cuda + ": " + why, "",
                "a newer driver, or an image of an older CUDA"});
    }
  }

  void judge_python_of_lock() {
    if (list_.requires_python.empty()) return;
    Request lock{.line = 1, .text = "requires-python", .requires_python = list_.requires_python};
    judge_python(lock, questions_[0]);
  }

  void judge_python(const Request& request, const Question& question) {
    if (request.requires_python.empty() || !question.python) return;
    doctor::Metadata metadata;
    metadata.requires_python = request.requires_python;
    if (auto versions = doctor::parse_specifiers(request.requires_python))
      metadata.python_versions = std::move(*versions);
    if (std::string why = doctor::python_misfit(metadata, *question.python); !why.empty())
      add(request, {"FF203", Severity::kMisfit, std::move(why), "", "Python " + printable(request.requires_python)},
          request.text);
  }

  void judge_request(const Request& request, const Question& question) {
    if (const auto holds = doctor::marker_holds(request.package.marker, {question.python, question.platform});
        holds && !*holds) {
      ++left_out_;
      return;
    }
    judge_python(request, question);
    const Indexes& indexes = list_.indexes[request.indexes];
    const WheelLink* wheel = chosen_wheel(request, question);
    if (request.locked && wheel == nullptr && !request.wheels.empty()) {
      no_wheel_fits(request, question);
      return;
    }
    std::string file = wheel != nullptr ? at_hand_.file_of(*wheel, indexes) : "";
    if (file.empty() && wheel == nullptr && !request.sources)
      file = at_hand_.wheel_for(request.package, indexes, question);
    if (!file.empty()) judge_hash(request, wheel, file);
    // What pip fetches it holds against the hashes itself.
    if (file.empty() && options_.fetch && !request.sources) file = options_.fetch(request, indexes, question);
    if (!file.empty()) return judge_file(request, file, question);
    ++by_name_;
    if (wheel != nullptr) {
      std::vector<Problem> problems = inspect_name(*wheel, question);
      if (problems.empty() && is_missing(request, *wheel))
        problems.push_back({"FF903", Severity::kUnknown, "no such file; nothing in its name stands against it", "",
                            "the file itself"});
      add_all(request, std::move(problems), wheel->file_name);
    } else if (request.sources) {
      add(request, {"FF754", Severity::kNote, "sources: what is compiled from them is not known before"}, request.text);
    } else {
      std::vector<Problem> problems = label_problems(request.package, question);
      // What it asks of PyTorch is judged together with the other requests.
      if (has_companion(request)) std::erase_if(problems, [](const Problem& p) { return p.code == "FF406"; });
      add_all(request, std::move(problems), request.text);
    }
    if (request.package.name == "torch" && request.package.url.empty())
      add_all(request, torch_problems(request.package, torch_build_of(indexes), question, torches_of(request.base)),
              request.text);
  }

  /// Of a wheel that is not at hand: whether a requirements file says that it is here. A Dockerfile's paths are those
  /// of its image, and what a lock names by a path may come from its index.
  bool is_missing(const Request& request, const WheelLink& wheel) const {
    return !request.locked && wheel.url.empty() && list_.bases[request.base].name.empty();
  }

  static std::vector<Problem> inspect_name(const WheelLink& wheel, const Question& question) {
    return wheel_problems(wheel.file_name, question);
  }

  /// The wheel that a request names; of a lock the first whose tags fit.
  static const WheelLink* chosen_wheel(const Request& request, const Question& question) {
    if (!request.locked) return request.wheels.empty() ? nullptr : &request.wheels.front();
    const auto fits = std::find_if(request.wheels.begin(), request.wheels.end(),
                                   [&](const WheelLink& wheel) { return installs(wheel.file_name, question); });
    return fits == request.wheels.end() ? nullptr : &*fits;
  }

  void no_wheel_fits(const Request& request, const Question& question) {
    ++by_name_;
    const auto why = inspect_name(request.wheels.front(), question);
    const std::size_t count = request.wheels.size();
    std::string message = fmt::format("none of its {} wheel{} installs there{}{}", count, count == 1 ? "" : "s",
                                      why.empty() ? "" : "; the first: ", why.empty() ? "" : why.front().message);
    if (request.sources) {
      add(request, {"FF754", Severity::kDegrades, message + ": it would be compiled from its sources", "", ""},
          request.text);
    } else {
      add(request, {"FF753", Severity::kMisfit, std::move(message), "", "a lock made for this Python and platform"},
          request.text);
    }
  }

  /// A lock names one hash for each wheel, a requirements file all that are allowed.
  void judge_hash(const Request& request, const WheelLink* wheel, const std::string& file) {
    std::vector<std::string> allowed = request.hashes;
    if (request.locked) allowed = {"sha256:" + (wheel == nullptr ? "" : wheel->sha256)};
    constexpr std::string_view kAlgorithm = "sha256:";
    const auto other = [&](const std::string& hash) {
      return !hash.starts_with(kAlgorithm) || hash.size() == kAlgorithm.size();
    };
    // One of another kind may be the file's.
    if (allowed.empty() || std::any_of(allowed.begin(), allowed.end(), other)) return;
    const auto found = sha256_of_file(file);
    if (!found) return;  // what cannot be read is the file's own finding
    for (const std::string& hash : allowed)
      if (lower(hash.substr(kAlgorithm.size())) == *found) return;
    add(request,
        {"FF757", Severity::kMisfit,
         fmt::format("the file's sha256 is {}, and the list asks for {}: installers refuse it", *found,
                     allowed.size() == 1 ? printable(allowed[0].substr(kAlgorithm.size()), 64)
                                         : fmt::format("one of {} others", allowed.size())),
         "", "the file that the list was made with, or a list made anew"},
        std::filesystem::path(file).filename().string());
  }

  void judge_file(const Request& request, const std::string& file, const Question& question) {
    ++by_content_;
    for (doctor::TargetReport& report : doctor::examine({file}, question, options_.how))
      add_all(request, std::move(report.problems), report.target.file_name);
  }

  const RequestList& list_;
  const ListOptions& options_;
  AtHand at_hand_;
  const std::vector<Places> places_;
  std::vector<std::optional<std::vector<doctor::Version>>> torches_;  ///< of each base, once asked for
  std::vector<Question> questions_;
  std::vector<Placed> problems_;
  std::size_t torches_compared_ = 0;
  std::size_t by_name_ = 0, by_content_ = 0, left_out_ = 0;
};

}  // namespace

ListReport judge_list(const RequestList& list, doctor::Target target, const Question& asked,
                      const ListOptions& options) {
  Judge judge(list, target, asked, options);
  ListReport out;
  for (Placed& placed : judge.run()) {
    out.report.problems.push_back(std::move(placed.problem));
    out.lines.push_back(placed.line);
  }
  out.report.verdict = doctor::verdict_of(out.report.problems);
  out.basis = judge.basis();
  out.report.target = std::move(target);
  return out;
}

}  // namespace flashfit::doctor::requests
