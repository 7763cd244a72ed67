#include "doctor/facts/torch_facts.hpp"

#include <algorithm>
#include <filesystem>

#include "core/base/printable.hpp"
#include "doctor/binaries/elf_dynamic.hpp"
#include "doctor/binaries/elf_symbols.hpp"
#include "doctor/bytes/content.hpp"
#include "doctor/bytes/kept_source.hpp"
#include "doctor/bytes/zip_member.hpp"
#include "doctor/knowledge/torch_releases.hpp"
#include "doctor/packaging/build_label.hpp"
#include "doctor/packaging/wheel_name.hpp"

namespace flashfit::doctor {
namespace {

namespace fs = std::filesystem;

// The tables of PyTorch's largest library end at 8.1 MB and fill the last 7.1 MB.
constexpr std::uint64_t kKeptHead = std::uint64_t{10} << 20, kKeptTail = std::uint64_t{8} << 20;
constexpr int kMostPasses = 4;
constexpr std::uint64_t kMostVersionFile = 1 << 16;
constexpr std::size_t kMostExports = 4'000'000, kMostFiles = 10'000;
/// torchCheckFail, which every extension calls, with std::string of either ABI: libraries of the old one have a few
/// names of the new, too.
constexpr std::string_view kOldFail = "_ZN3c106detail14torchCheckFailEPKcS2_jRKSs";
constexpr std::string_view kNewFail =
    "_ZN3c106detail14torchCheckFailEPKcS2_jRKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE";

/// "libc10.so", "libtorch_cuda.so", but no library of a tool or a test.
bool is_torch_library(std::string_view name) {
  return name.ends_with(".so") &&
         (name.starts_with("libc10") || name.starts_with("libtorch") || name.starts_with("libcaffe2"));
}

Result<void> add_exports(const Source& source, TorchFacts& torch,
                         const std::unordered_set<std::string>* wanted = nullptr) {
  const auto elf = read_elf(source);
  if (!elf) return tl::unexpected(elf.error());
  const auto symbols = read_elf_symbols(source, *elf, kSectionDynamicSymbols);
  if (!symbols) return tl::unexpected(symbols.error());
  for (const ElfSymbol& symbol : symbols->list) {
    if (!symbol.defined() || symbol.name.empty()) continue;
    if (wanted != nullptr && !wanted->contains(std::string(symbol.name))) continue;
    if (torch.exports.size() == kMostExports) return beyond("number of PyTorch's symbols", kMostExports, 0);
    torch.exports.emplace(symbol.name);
  }
  return {};
}

/// A member comes in order alone: what the readers ask for is kept in one pass more.
Result<void> add_member(const Source& zip, const ZipMember& member, TorchFacts& torch) {
  const MemberContent content(zip, member);
  KeptSource kept(content.size());
  kept.want(0, kKeptHead);
  kept.want(content.size() - std::min(content.size(), kKeptTail), kKeptTail);
  for (int pass = 1;; ++pass) {
    auto passed = content.read_through([&](std::uint64_t at, Bytes chunk) -> Result<std::uint64_t> {
      kept.feed(at, chunk);
      return at + chunk.size() >= kept.end() ? content.size() : at + chunk.size();
    });
    if (!passed) return passed;
    auto added = add_exports(kept, torch);
    if (added || !kept.missed() || pass == kMostPasses) return added;
    if (auto wanted = kept.want_missed(); !wanted) return wanted;
  }
}

/// The text between the quotes of __version__ = '2.6.0+cu124'.
void read_version(std::string_view text, TorchFacts& torch) {
  constexpr std::string_view kAssigned = "__version__ = '";
  const std::size_t begin = text.find(kAssigned);
  if (begin == std::string_view::npos) return;
  const std::string_view rest = text.substr(begin + kAssigned.size());
  if (auto version = parse_version(rest.substr(0, rest.find('\'')))) torch.version = std::move(*version);
}

Result<void> read_wheel_of_torch(const std::string& path, TorchFacts& torch) {
  const auto named = [&](const Error& error) { return fail(error.code, printable(path) + ": " + error.message); };
  const auto file = FileSource::open(path);
  if (!file) return named(file.error());
  const auto members = read_zip_directory(*file);
  if (!members) return named(members.error());
  for (const ZipMember& member : *members) {
    const std::string_view name = member.name;
    const std::size_t slash = name.rfind('/');
    if (name == "torch/version.py") {
      const auto text = read_member(*file, member, kMostVersionFile);
      if (text) read_version(as_text(*text), torch);
    }
    if (slash == std::string_view::npos || name.substr(0, slash) != "torch/lib") continue;
    if (name.find(".so") != std::string_view::npos) torch.libraries.emplace(name.substr(slash + 1));
    if (!is_torch_library(name.substr(slash + 1))) continue;
    if (auto added = add_member(*file, member, torch); !added) return named(added.error());
  }
  return {};
}

/// The folder of libraries within what people name: site-packages, torch, torch/lib, a folder of .so files, or a
/// virtual environment.
std::optional<fs::path> library_folder(const fs::path& given) {
  std::error_code none;
  const auto has_torch = [&](const fs::path& folder) { return fs::exists(folder / "libc10.so", none); };
  for (fs::path folder : {given / "torch/lib", given / "lib", given})
    if (has_torch(folder)) return folder;
  std::error_code error;
  std::size_t files = 0;
  for (fs::directory_iterator it(given / "lib", error), end; !error && it != end && files < kMostFiles;
       it.increment(error), ++files) {
    fs::path folder = it->path() / "site-packages/torch/lib";
    if (it->path().filename().string().starts_with("python3") && has_torch(folder)) return folder;
  }
  return std::nullopt;
}

Result<void> read_folder_of_torch(const std::string& path, TorchFacts& torch) {
  const auto folder = library_folder(path);
  if (!folder)
    return fail(
        Code::kInvalidArgument,
        printable(path) + ": no libc10.so in it, in lib/, in torch/lib/ or in lib/python3.*/site-packages/torch/lib/");
  std::error_code error;
  std::size_t files = 0;
  for (fs::directory_iterator it(*folder, error), end; !error && it != end && files < kMostFiles;
       it.increment(error), ++files) {
    const std::string name = it->path().filename().string();
    if (name.find(".so") != std::string::npos) torch.libraries.insert(name);
    if (!is_torch_library(name)) continue;
    const auto file = FileSource::open(it->path().string());
    if (!file) return tl::unexpected(file.error());
    if (auto added = add_exports(*file, torch); !added)
      return fail(Code::kInvalidArgument, printable(it->path().string()) + ": " + added.error().message);
  }
  const auto text = FileSource::open((*folder / "../version.py").string());
  if (text) {
    const auto bytes = read_part(*text, 0, text->size(), kMostVersionFile, "version.py");
    if (bytes) read_version(as_text(*bytes), torch);
  }
  return {};
}

/// What PyTorch's own wheels for x86-64 Linux have: the new ABI from 2.7 on, and in 2.6 those of CUDA 12.6
/// (pytorch/pytorch#142064).
bool cxx11_of_release(const Version& version) {
  const std::uint64_t major = version.release[0], minor = version.release.size() > 1 ? version.release[1] : 0;
  if (major != 2) return major > 2;
  return minor > 6 || (minor == 6 && version.local.find("cu126") != std::string::npos);
}

BuildLabel label_of_torch(const TorchFacts& torch) {
  if (!torch.version) return {};
  const auto name = parse_wheel_name("torch-" + torch.version->text + "-py3-none-any.whl");
  return name ? label_of(*name) : BuildLabel{};
}

Result<void> find_abi(TorchFacts& torch) {
  if (torch.exports.empty())
    return fail(Code::kInvalidArgument, printable(torch.given) +
                                            ": no symbols of PyTorch in it; a folder or wheel of PyTorch for Linux is "
                                            "needed");
  torch.cxx11_abi = torch.exports.contains(std::string(kNewFail));
  if (!*torch.cxx11_abi && !torch.exports.contains(std::string(kOldFail))) torch.cxx11_abi.reset();
  return {};
}

}  // namespace

int cuda_major(const TorchFacts& torch) {
  const auto cuda = label_of_torch(torch).cuda;
  return cuda ? cuda->major : 0;
}

CudaVersion cuda_of(const TorchFacts& torch) {
  if (!torch.version) return 0;
  if (const auto cuda = label_of_torch(torch).cuda) return cuda->minor < 0 ? 0 : cuda->major * 1000 + cuda->minor * 10;
  const TorchRelease* const release = torch.version->local.empty() ? torch_release_of(*torch.version) : nullptr;
  return release == nullptr ? 0 : release->cuda[0];
}

std::optional<bool> cxx11_abi_of_releases(int major, int minor) {
  const auto any = read_torch_release(std::to_string(major) + "." + std::to_string(minor));
  const auto other = read_torch_release(std::to_string(major) + "." + std::to_string(minor) + "+cu126");
  if (!any || !other || (*any)->cxx11_abi != (*other)->cxx11_abi) return std::nullopt;
  return (*any)->cxx11_abi;
}

Result<std::shared_ptr<const TorchFacts>> read_torch_release(const std::string& given) {
  auto version = parse_version(given);
  if (!version)
    return fail(
        Code::kInvalidArgument,
        printable(given) + ": neither a version of PyTorch (2.6.0+cu124) nor its wheel nor a folder that has it");
  if (std::string why = no_torch_release(*version); !why.empty())
    return fail(Code::kInvalidArgument, printable(given) + ": " + why);
  TorchFacts torch{.given = given};
  torch.cxx11_abi = cxx11_of_release(*version);
  torch.version = std::move(*version);
  return std::make_shared<const TorchFacts>(std::move(torch));
}

Result<std::shared_ptr<const TorchFacts>> read_installed_torch(const InstalledTorch& installed) {
  TorchFacts torch{.given = installed.given};
  std::unordered_set<std::string> wanted = installed.wanted;
  wanted.emplace(kOldFail);
  wanted.emplace(kNewFail);
  for (const std::string& name : installed.libraries) {
    if (name.find(".so") != std::string::npos) torch.libraries.insert(name);
    if (!is_torch_library(name)) continue;
    const auto library = installed.open(name);
    if (!library) return tl::unexpected(library.error());
    if (auto added = add_exports(**library, torch, &wanted); !added)
      return fail(Code::kInvalidArgument, printable(name) + ": " + added.error().message);
  }
  read_version(installed.version_file, torch);
  if (auto found = find_abi(torch); !found) return tl::unexpected(found.error());
  return std::make_shared<const TorchFacts>(std::move(torch));
}

Result<std::shared_ptr<const TorchFacts>> read_torch(const std::string& given) {
  TorchFacts torch{.given = given};
  std::error_code none;
  const bool folder = fs::is_directory(given, none);
  if (folder || fs::is_regular_file(given, none)) {
    const auto read = folder ? read_folder_of_torch(given, torch) : read_wheel_of_torch(given, torch);
    if (!read) return tl::unexpected(read.error());
    if (auto found = find_abi(torch); !found) return tl::unexpected(found.error());
    return std::make_shared<const TorchFacts>(std::move(torch));
  }
  return read_torch_release(given);
}

}  // namespace flashfit::doctor
