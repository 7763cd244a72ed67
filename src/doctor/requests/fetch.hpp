#pragma once
// `--fetch`: pip brings the wheels that a list asks for. What it brings is read, never installed or run.
#include <memory>

#include "doctor/requests/judge_list.hpp"

namespace flashfit::doctor::requests {

/// A folder for what is fetched, which ends with this object.
class Fetcher {
 public:
  /// Error: no folder can be made.
  static Result<std::unique_ptr<Fetcher>> make();
  ~Fetcher();
  Fetcher(const Fetcher&) = delete;
  Fetcher& operator=(const Fetcher&) = delete;

  /// The path of the wheel, "" where pip brings none; errors() says what pip said. pip runs as `python3 -I -m pip
  /// download --no-deps --only-binary=:all:` for the question's Python and platform: such a call runs nothing of what
  /// it brings. Hashes of the request are held against the wheel by pip itself.
  std::string fetch(const Request& request, const Indexes& indexes, const doctor::Question& question);
  /// "torch==2.6.0: ERROR: No matching distribution found", one printable line each.
  const std::vector<std::string>& errors() const { return errors_; }

 private:
  explicit Fetcher(std::string folder) : folder_(std::move(folder)) {}
  std::string folder_;
  std::size_t count_ = 0;
  std::vector<std::string> errors_;
};

/// The words of the call, for tests and for the user to read.
std::vector<std::string> pip_download(const std::string& list, const std::string& into, const Indexes& indexes,
                                      const doctor::Question& question);

}  // namespace flashfit::doctor::requests
