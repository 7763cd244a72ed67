#pragma once
// The bytes of one library, object or cubin while it is read: at random, though a deflated member comes only in order.
#include <mutex>

#include "doctor/bytes/content.hpp"
#include "doctor/bytes/kept_source.hpp"
#include "doctor/gpu_code/code_search.hpp"
#include "doctor/gpu_code/gpu_compiler.hpp"

namespace flashfit::doctor {

class ProgramBytes {
 public:
  /// `is_compiler`: by its name, it may tell a CompilerRelease.
  explicit ProgramBytes(const Content& content, bool is_compiler = false)
      : content_(content), is_compiler_(is_compiler), kept_(content.size()) {}

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
  CudaVersion compiler() const { return release_.version(); }

 private:
  const Content& content_;
  bool is_compiler_;
  std::unique_lock<std::mutex> alone_;  ///< held while large tables are kept
  KeptSource kept_;
  CodeSearch::Found found_;
  CompilerRelease release_;
};

}  // namespace flashfit::doctor
