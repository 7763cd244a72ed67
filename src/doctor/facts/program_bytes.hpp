#pragma once
// The bytes of one library, object or cubin while it is read: at random, though a deflated member comes only in order.
#include <mutex>

#include "doctor/bytes/content.hpp"
#include "doctor/bytes/kept_source.hpp"
#include "doctor/gpu_code/code_search.hpp"

namespace flashfit::doctor {

class ProgramBytes {
 public:
  explicit ProgramBytes(const Content& content) : content_(content), kept_(content.size()) {}

  /// Reads all of it once: searches it for GPU code, unless it is a cubin itself, and keeps what its readers mostly
  /// want.
  Result<void> first_pass();
  /// What a reader gets. Where missed() says so, some of it was not kept and must be read again after next_pass().
  const Source& source() const { return content_.source() != nullptr ? *content_.source() : kept_; }
  bool missed() const { return kept_.missed(); }
  Result<void> next_pass();

  const Content& content() const { return content_; }
  CodeSearch::Found& found() { return found_; }
  const CodeSearch::Found& found() const { return found_; }

 private:
  const Content& content_;
  std::unique_lock<std::mutex> alone_;  ///< held while large tables are kept
  KeptSource kept_;
  CodeSearch::Found found_;
};

}  // namespace flashfit::doctor
