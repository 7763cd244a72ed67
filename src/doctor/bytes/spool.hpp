#pragma once
// A member that its format wants at random and that is no file: in memory if it is small, else in a file without a name
// in the folder for temporary files.
#include <memory>
#include <vector>

#include "doctor/bytes/content.hpp"

namespace flashfit::doctor {

class Spool {
 public:
  /// Errors: the content's own; no such file can be made; more than 4 GB.
  static Result<Spool> make(const Content& content);
  const Source& source() const { return *source_; }

 private:
  std::vector<std::byte> bytes_;
  std::unique_ptr<Source> source_;
};

}  // namespace flashfit::doctor
