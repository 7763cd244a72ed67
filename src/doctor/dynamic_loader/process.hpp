#pragma once
// One process as glibc's loader would fill it: its program, what that needs, and what is opened later. Follows
// elf/dl-load.c and elf/dl-deps.c of glibc; docs/dynamic-loader.md says what is modelled and what not. Nothing is run.
//
//   Process process(tree, view);
//   process.start("/opt/venv/bin/python3");                     // or nothing: a program that has no folders of its own
//   process.open("/opt/venv/.../torch/lib/libtorch_global_deps.so");  // what PyTorch loads at import
//   Process trial = process;                                    // a copy goes its own way
//   trial.open("/opt/venv/.../flash_attn_2_cuda.so");
//   for (const auto& problem : loader_problems(trial.plan())) ...     // problems.hpp
#include <memory>

#include "doctor/dynamic_loader/ld_so_cache.hpp"
#include "doctor/dynamic_loader/load_plan.hpp"
#include "doctor/dynamic_loader/loader_view.hpp"
#include "doctor/dynamic_loader/search_path.hpp"
#include "doctor/dynamic_loader/tree_memo.hpp"

namespace flashfit::doctor::dynamic_loader {

/// Not for several threads at once, nor are its copies: they share what was read.
class Process {
 public:
  /// The tree must outlive it and all copies, and not be changed.
  Process(const FileTree& tree, const LoaderView& view);
  /// Another process of the same tree and machine, with what others read of it.
  Process(std::shared_ptr<TreeMemo> memo, LoaderView view);

  /// The program, LD_PRELOAD and all that these need; before any open(). False: it cannot be loaded; requests say why.
  bool start(const std::string& program);
  /// dlopen(name) by an object (its index; kNobody: the program), with all that it needs. What is there already stays.
  /// Gives the object's index; kNobody: not loadable, and LoadPlan::requests says why.
  int open(const std::string& name, int by = kNobody);
  /// For each library that an object names in its data (named_libraries.hpp), what its dlopen of that would come upon.
  /// Requests with by_string; nothing is loaded by it.
  void look_for_named(int object);

  const LoadPlan& plan() const { return plan_; }

  static constexpr std::size_t kMostObjects = 4096, kMostRequests = 1 << 16;

 private:
  void use_interpreter(const std::string& interpreter);
  int program_or(int by) const { return by == kNobody && started_ ? 0 : by; }
  int request(LoadRequest asked);
  void answer(LoadRequest& asked);
  void load_needs(std::size_t first);
  void preload();
  std::vector<Candidate> search(const std::string& name, int by) const;
  std::vector<Candidate> search_path(const std::string& name, int by) const;
  void search_in(const std::string& folder, const std::string& name, FoundBy how, int owner,
                 std::vector<Candidate>& found) const;
  void add_candidate(const std::string& path, const Resolved& file, FoundBy how, int owner,
                     std::vector<Candidate>& found) const;
  std::vector<std::string> folders_of(const std::string& list, int object) const;
  PathTokens tokens_of(int object) const;

  LoaderView view_;
  std::shared_ptr<TreeMemo> memo_;
  std::shared_ptr<const LdSoCache> cache_;  ///< null: none
  std::vector<std::string> hwcaps_, library_path_, configured_;
  bool started_ = false;
  LoadPlan plan_;
};

}  // namespace flashfit::doctor::dynamic_loader
