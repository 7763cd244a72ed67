#pragma once
// Which compiled modules of a package its own Python files name: builds leave modules in wheels that nothing imports
// (sgl-kernel's _mscclpp, for one Python in a wheel for all).
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "doctor/bytes/zip.hpp"
#include "doctor/facts/facts.hpp"

namespace flashfit::doctor {

inline constexpr std::uint64_t kLargestPythonFile = std::uint64_t{4} << 20;

/// Modules for one Python of a package whose wheel's name promises others, until a Python file has the module's name as
/// a word.
class UnnamedModules {
 public:
  explicit UnnamedModules(std::string_view wheel_name);
  /// The binary must outlive this; what is no such module is left out.
  void add(Binary& binary);
  /// Whether there are modules that no Python file has named so far.
  bool any() const { return !modules_.empty(); }
  /// Whether look_at() reads such a file.
  bool wants(std::string_view path) const { return any() && (path.ends_with(".py") || path.ends_with(".pyi")); }
  /// A file of the package, of any kind. `read` gives its text; nothing, or a file beyond the limits, may name them
  /// all.
  void look_at(std::string_view path, std::uint64_t size, const std::function<std::optional<std::string>()>& read);
  /// Sets ExtensionFacts::unnamed of those that are left.
  void mark() const;

 private:
  struct Module {
    Binary* binary;
    std::string name;  ///< "_mscclpp"
  };
  bool promises_other_pythons_;
  std::vector<Module> modules_;
  std::uint64_t left_;
};

/// All that for a wheel.
void find_unnamed_modules(const Source& zip, const std::vector<ZipMember>& members, Target& target);

}  // namespace flashfit::doctor
