#pragma once
// NVRTC, opened at run time: it needs no CUDA installation, and another version is one path away.
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/base/error.hpp"

namespace flashfit {

struct Compiled {
  std::vector<std::byte> bytes;  ///< cubin, or zero-terminated PTX
  std::string entry;             ///< lowered name of the name expression
  std::string log;               ///< warnings and ptxas's resource report
};

class Nvrtc {
 public:
  static Result<Nvrtc> open(const std::filesystem::path& library);

  /// "12.9"
  std::string version() const;
  /// Compiles `source` for one kernel, named by a C++ expression. Error: the compiler's own log.
  Result<Compiled> compile(const std::string& source, const std::string& expression,
                           const std::vector<std::string>& options, bool ptx) const;

 private:
  explicit Nvrtc(std::shared_ptr<void> library) : library_(std::move(library)) {}
  template <class F>
  F function(const char* name) const;

  std::shared_ptr<void> library_;
};

}  // namespace flashfit
