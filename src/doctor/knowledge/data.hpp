#pragma once
// What others published and what ages, as data with a date: data/knowledge.json, built in, or a file of the user's
// (docs/knowledge.md).
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "doctor/knowledge/torch_releases.hpp"
#include "doctor/packaging/specifier.hpp"

namespace flashfit::doctor {

/// Code in the builds of PyTorch 2.`from_minor` and later for one CUDA.
struct TorchTargets {
  CudaVersion cuda = 0;
  std::uint64_t from_minor = 0;
  std::string list;  ///< machine code, with '+' PTX, too: "7.5 8.0 12.0+"
};

/// Releases of a package that ask for certain releases of another one.
struct CompanionRelease {
  std::string release;     ///< the newest of them: "0.24.1"
  Specifiers versions;     ///< which they are: ">=0.24.1,<=0.24.1"
  std::string other_text;  ///< "==2.9.1"
  Specifiers other;        ///< the releases of the other package that they ask for, as installers compare
  Specifiers loads;  ///< those that their code loads under: of "==2.9.1" all of 2.9, whose names of C++ are the same

  bool asks_for(const Version& theirs) const { return refusing(other, theirs) == nullptr; }
  bool loads_under(const Version& theirs) const { return refusing(loads, theirs) == nullptr; }
};
/// Releases whose wheels in the package index need the runtime of one CUDA, as PyTorch's build beside them must.
struct CompanionCuda {
  Specifiers versions;
  int major = 0;
};
/// A package, and another one that goes with some of its releases alone: PyTorch for what is compiled against it.
struct Companion {
  std::string package;                     ///< normalised: "torchvision"
  std::string other = "torch";             ///< normalised
  std::vector<CompanionRelease> releases;  ///< newest first
  std::vector<CompanionCuda> cuda;         ///< where that is known
  std::string source;
  bool on_linux_alone = false;  ///< there are wheels for Linux alone; what is compiled elsewhere asks for others
  std::string installed;        ///< what comes of another release that is installed beside it; "": not known
  /// Beside another release it runs all the same: how, and the code of that finding. Empty: it does not.
  std::string runs, code;
};

/// A package that has code for some GPUs in some containers on purpose, and does not call what it lacks; or one that
/// does without some of its libraries.
struct ChoosesItself {
  std::string package;        ///< normalised; a '*' at its end stands for any ending
  bool does_without = false;  ///< the latter
  std::string source;
};

/// What is known of a package beside its bytes (package_rows.hpp), as texts by their keys.
using PackageRow = std::map<std::string, std::string>;
/// The values of its key "kind", in the order of Knowledge::Kind.
inline constexpr std::array<std::string_view, 13> kPackageKinds = {
    "picks_by_cuda",      "picks_near_cuda", "picks_by_gpu", "only_on", "compiles_with_ptxas",
    "compiles_with_nvcc", "refuses",         "falls_back",   "renamed", "clashes",
    "only_beside",        "refused_beside",  "opens"};

/// A C function of PyTorch's stable interface, and the release that it came with.
struct StableFunction {
  std::string name;  ///< "torch_list_size"
  Version since;
};

/// A C++ name of PyTorch's that some of its releases have and others lack.
struct CxxFunction {
  std::string name;                     ///< mangled
  std::optional<Version> since, until;  ///< the first and the last minor version that has it; unset: the first, the
                                        ///< last known
};

struct KnowledgeData {
  std::string date;                          ///< when it was gathered: "2026-11-23"
  std::string origin;                        ///< the file that it was read from; "" for the one built in
  std::vector<TorchRelease> torch_releases;  ///< oldest first; at least one
  std::vector<TorchTargets> torch_targets;   ///< of one CUDA the oldest first
  std::vector<Companion> companions;
  std::vector<std::string> without_sources;  ///< packages of which the index has wheels alone: pip cannot compile them
  std::vector<ChoosesItself> choosers;
  std::vector<PackageRow> packages;
  std::vector<StableFunction> stable_functions;  ///< by name
  std::vector<CxxFunction> cxx_functions;        ///< by name

  // What follows from these, made once.
  std::vector<Version> torch_versions;         ///< every patch of PyTorch's releases, the newest first
  std::set<std::string, std::less<>> related;  ///< packages that ask for releases of others, and those others
  /// Of each such other: versions at the ends of what is asked for (add_ends()), the newest first.
  std::map<std::string, std::vector<Version>, std::less<>> ends;

  /// What is known of its PyTorch, without which it does not run; null: nothing.
  const Companion* companion(std::string_view package) const;
  bool lacks_sources(std::string_view package) const;
  /// Whether it picks its kernels by the GPU.
  bool chooses_itself(std::string_view package) const;
  bool does_without(std::string_view package) const;
  /// Null: it is older than the list, or unknown.
  const Version* stable_function_since(std::string_view name) const;
  /// Null: every release has it, or it is unknown.
  const CxxFunction* cxx_function(std::string_view name) const;
};

/// Adds versions at the ends of what the clauses take, some of which may not exist: where sets of clauses have a
/// version in common, one of their ends, or 0, is in all of them.
void add_ends(const Specifiers& clauses, std::vector<Version>& ends);
/// Each once.
void sort_newest_first(std::vector<Version>& versions);

/// "known on 2026-11-23", with the user's file if it is one: for messages about what is newer.
std::string words_of_date(const KnowledgeData& data);

inline constexpr std::size_t kLargestKnowledge = std::size_t{4} << 20;  ///< bytes

/// Error: one line that names the place in the text, its value and what is accepted.
Result<KnowledgeData> parse_knowledge(std::string_view text);

/// What is in use: the data built in, unless use_knowledge() said another.
const KnowledgeData& knowledge_data();

/// Takes a user's file from now on. To be called before anything is judged, by one thread. Error: the file and why.
Result<void> use_knowledge(const std::string& path);

}  // namespace flashfit::doctor
