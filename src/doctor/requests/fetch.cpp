#include "doctor/requests/fetch.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "core/base/ascii.hpp"
#include "core/base/printable.hpp"

namespace flashfit::doctor::requests {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::minutes kLongest{15};
constexpr std::size_t kMostFetched = 200;

/// What pip is asked for, as a line of a requirements file; "" where only an address of the network will do and there
/// is none. Built of what was parsed, so that nothing of the list reaches pip as an option.
std::string line_of(const Request& request) {
  std::string line;
  if (!request.wheels.empty()) {
    const std::string& url = request.wheels.front().url;
    const bool plain = std::all_of(url.begin(), url.end(), [](char c) { return c > ' ' && c < 0x7f; });
    if ((!url.starts_with("https://") && !url.starts_with("http://")) || !plain) return "";
    line =
        request.package.name.empty() || url.find('#') != std::string::npos ? url : request.package.name + " @ " + url;
  } else {
    if (request.package.name.empty()) return "";
    line = request.package.name;
    for (const doctor::Specifier& clause : request.package.versions)
      line += (line.size() == request.package.name.size() ? " " : ",") + clause.text;
  }
  for (const std::string& hash : request.hashes)
    if (hash.starts_with("sha") && hash.size() < 200 &&
        hash.find_first_not_of("shaABCDEFabcdef0123456789:") == std::string::npos)
      line += " --hash=" + hash;
  return line;
}

/// Runs a program with its words, its output to a file. The exit status; nothing if it was stopped or cannot be run.
std::optional<int> run(const std::vector<std::string>& words, const std::string& output) {
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, argv[0], &files, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (failed != 0) return std::nullopt;
  const auto until = std::chrono::steady_clock::now() + kLongest;
  for (int status = 0;;) {
    const pid_t done = waitpid(child, &status, WNOHANG);
    if (done == child) return WIFEXITED(status) ? std::optional(WEXITSTATUS(status)) : std::nullopt;
    if (done < 0) return std::nullopt;
    if (std::chrono::steady_clock::now() > until) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return std::nullopt;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

/// The line that says why: pip's last with "ERROR", else its last.
std::string reason_in(const std::string& path) {
  std::ifstream in(path);
  std::string reason, last;
  for (std::string line; std::getline(in, line);) {
    if (line.find("ERROR") != std::string::npos) reason = line;
    if (!trimmed(line).empty()) last = line;
  }
  return printable(reason.empty() ? last : reason, 300);
}

}  // namespace

std::vector<std::string> pip_download(const std::string& list, const std::string& into, const Indexes& indexes,
                                      const doctor::Question& question) {
  std::vector<std::string> words{"python3",
                                 "-I",
                                 "-m",
                                 "pip",
                                 "download",
                                 "--no-deps",
                                 "--only-binary=:all:",
                                 "--no-input",
                                 "--disable-pip-version-check",
                                 "--progress-bar=off",
                                 "--quiet",
                                 "--dest=" + into,
                                 "--requirement=" + list};
  if (question.python) {
    words.push_back(fmt::format("--python-version={}.{}", question.python->major, question.python->minor));
    const bool cpython = question.python->implementation == doctor::Python::Implementation::kCPython;
    words.emplace_back(cpython ? "--implementation=cp" : "--implementation=pp");
    for (const std::string& abi : {question.python->abi_tag(), std::string("abi3"), std::string("none")})
      if (!abi.empty()) words.push_back("--abi=" + abi);
  }
  if (question.platform && question.platform->system == doctor::Platform::System::kGlibc) {
    constexpr int kNewest = 45, kOldest = 5;
    const int glibc = question.platform->known_version() ? question.platform->minor : kNewest;
    for (int minor = std::min(glibc, kNewest); minor >= kOldest; --minor)
      words.push_back(fmt::format("--platform=manylinux_2_{}_{}", minor, question.platform->arch));
    for (const char* old : {"manylinux2014_", "manylinux2010_", "manylinux1_", "linux_"})
      words.push_back("--platform=" + (old + question.platform->arch));
  }
  if (indexes.none) words.emplace_back("--no-index");
  bool first = true;
  for (const std::string& address : indexes.addresses) {
    if (!address.starts_with("https://") && !address.starts_with("http://")) continue;
    words.push_back((first ? "--index-url=" : "--extra-index-url=") + address);
    first = false;
  }
  return words;
}

Result<std::unique_ptr<Fetcher>> Fetcher::make() {
  std::error_code error;
  std::string name = (fs::temp_directory_path(error) / "flashfit-XXXXXX").string();
  if (error || mkdtemp(name.data()) == nullptr) return fail(Code::kInternal, "no temporary folder can be made");
  return std::unique_ptr<Fetcher>(new Fetcher(std::move(name)));
}

Fetcher::~Fetcher() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

std::string Fetcher::fetch(const Request& request, const Indexes& indexes, const doctor::Question& question) {
  const std::string line = line_of(request);
  if (line.empty()) return "";
  if (count_ == kMostFetched) {
    if (errors_.empty() || !errors_.back().starts_with("more than"))
      errors_.push_back(fmt::format("more than {} requests: the rest is judged by name", kMostFetched));
    return "";
  }
  const fs::path own = fs::path(folder_) / std::to_string(count_++), list = own / "list.txt", wheels = own / "wheels";
  std::error_code error;
  fs::create_directories(wheels, error);
  std::ofstream(list) << line << "\n";
  const auto status = run(pip_download(list.string(), wheels.string(), indexes, question), (own / "said.txt").string());
  for (fs::directory_iterator at(wheels, error), end; !error && at != end; at.increment(error))
    if (at->path().extension() == ".whl") return at->path().string();
  const std::string why =
      !status ? "pip cannot be run, or took longer than 15 minutes" : reason_in((own / "said.txt").string());
  errors_.push_back(fmt::format("{}: {}", printable(request.text), why.empty() ? "pip brought no wheel" : why));
  return "";
}

}  // namespace flashfit::doctor::requests
