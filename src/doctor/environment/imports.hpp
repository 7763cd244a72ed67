#pragma once
// What the imports of an environment's packages would load: processes of its Python, filled as the loader would fill
// them (doctor/dynamic_loader/process.hpp), with PyTorch imported first for what is built on it.
#include <memory>
#include <string>
#include <vector>

#include "doctor/dynamic_loader/loader_view.hpp"
#include "doctor/dynamic_loader/process.hpp"
#include "doctor/dynamic_loader/tree_memo.hpp"
#include "doctor/rules/report.hpp"

namespace flashfit::doctor::environment {

/// How the environment's processes start. Paths are in the tree.
struct ImportSetting {
  dynamic_loader::LoaderView view;
  std::string python;              ///< the interpreter; "": none is there, and what it brings is not known
  std::string torch;               ///< PyTorch's own folder: ".../site-packages/torch"; "" if there is none
  std::string torch_module;        ///< its module, "torch/_C.cpython-311-x86_64-linux-gnu.so"; "" if there is none
  std::vector<std::string> sites;  ///< folders of packages, in the order of sys.path
  bool packages_alone = false;     ///< the system is another's: what it has tells nothing of the question's
};

/// A library that an import asked for and did not get.
struct MissingLibrary {
  std::string name, asked_by;  ///< "libcudart.so.12", and the path of the file that needs it
};

struct Opened {
  std::vector<doctor::Problem> problems;  ///< FF602 and on, as loader_problems() has them
  std::vector<MissingLibrary> missing;    ///< instead of FF601: whether it harms, who knows the packages knows
  std::size_t loaded = 0;                 ///< files that load
};

/// A change of the process's variables, as commands of a shell.
struct Change {
  std::string command, why;
};

class Imports {
 public:
  /// `memo` may know files already; the tree must outlive all of it.
  Imports(std::shared_ptr<dynamic_loader::TreeMemo> memo, ImportSetting setting);

  /// Whether the interpreter starts: else what the system brings is not certain.
  bool starts() const { return starts_; }
  /// Whether libraries get the executable stacks that they ask for, whatever glibc would do by itself.
  bool gives_stacks() const { return setting_.view.execstack_tunable; }
  /// What PyTorch's import comes upon.
  const Opened& torch() const { return torch_; }
  /// Opens the files in their order in a process of their own, behind PyTorch's import if `after_torch`.
  Opened open(const std::vector<std::string>& files, bool after_torch) const;

  /// A change under which PyTorch's import and the files have no problem that `harms` says harms; tried one by one with
  /// the same model. Nothing: none is known.
  std::optional<Change> mend(const std::vector<std::string>& files, bool after_torch,
                             bool (*harms)(const doctor::Problem&)) const;

 private:
  /// The process with the files, and where those begin in its plan.
  dynamic_loader::Process filled(const std::vector<std::string>& files, bool after_torch, std::size_t& loaded) const;
  Opened opened(const dynamic_loader::Process& process, dynamic_loader::PlanMark since, std::size_t loaded) const;
  void look_for_parts(dynamic_loader::Process& process, std::size_t first) const;

  std::shared_ptr<dynamic_loader::TreeMemo> memo_;
  ImportSetting setting_;
  dynamic_loader::Process python_, with_torch_;
  bool starts_ = false;
  Opened torch_;
};

}  // namespace flashfit::doctor::environment
