#include "doctor/environment/made_root.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace flashfit::doctor::environment::test {

void MadeRoot::make_system(const std::string& glibc) const {
  using namespace std::string_literals;
  const std::string banner = "stable release version " + glibc + ".\n\0"s;
  write("lib64/ld-linux-x86-64.so.2",
        MadeLibrary{.soname = "ld-linux-x86-64.so.2", .data = text_bytes("x\0/lib64/\0/usr/lib64/\0y\0"s + banner)}
            .bytes());
  write("lib64/libc.so.6", MadeLibrary{.soname = "libc.so.6",
                                       .needed = {"ld-linux-x86-64.so.2"},
                                       .exports = {"puts"},
                                       .defines = {"GLIBC_2.2.5", "GLIBC_2.34"},
                                       .data = text_bytes("GNU C Library (made) " + banner)}
                               .bytes());
  write("usr/bin/python3.11",
        MadeLibrary{.needed = {"libc.so.6"}, .interpreter = "/lib64/ld-linux-x86-64.so.2"}.bytes());
}

namespace {

std::string platform_of(const MadePackage& package) {
  if (!package.platform.empty()) return package.platform;
  const bool windows = std::any_of(package.files.begin(), package.files.end(), [](const auto& file) {
    return file.first.ends_with(".pyd") || file.first.ends_with(".dll") || file.first.ends_with(".DLL");
  });
  return windows ? "win_amd64" : "linux_x86_64";
}

}  // namespace

void MadeRoot::install(const MadePackage& package) const {
  std::string record;
  for (const auto& [path, content] : package.files) {
    write(site_ + "/" + path, content);
    record += fmt::format("{},,{}\n", path, content.size());
  }
  if (!package.recorded) return;
  const std::string info = site_ + "/" + package.name + "-" + package.version + ".dist-info/";
  std::string metadata = "Metadata-Version: 2.1\nName: " + package.name + "\nVersion: " + package.version + "\n";
  for (const std::string& requirement : package.requirements) metadata += "Requires-Dist: " + requirement + "\n";
  write(info + "METADATA", metadata + "\nA description.\n");
  const std::string tag = "cp3" + site_.substr(site_.find("python3.") + 8, 2);
  write(info + "WHEEL",
        fmt::format("Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: {0}-{0}-{1}\n", tag, platform_of(package)));
  write(info + "RECORD", record);
}

std::vector<std::byte> make_module(const std::vector<std::vector<std::string>>& containers, MadeLibrary library,
                                   int toolkit) {
  std::vector<MadeCode> code;
  for (const auto& targets : containers) code.push_back({.targets = targets, .toolkit = toolkit});
  library.gpu_code = doctor::test::make_containers(code);
  library.imports.push_back({.name = "PyModule_Create2"});
  return library.bytes();
}

MadePackage make_torch(const std::string& version, const std::vector<std::string>& targets, int toolkit) {
  const MadeLibrary c10{.soname = "libc10.so", .exports = {kTorchSymbol}};
  MadeLibrary cuda{.soname = "libtorch_cuda.so", .exports = {"_ZN2at4cuda3addEv"}};
  cuda.gpu_code = doctor::test::make_containers({{.targets = targets, .toolkit = toolkit}});
  // One of its own that asks for symbols of its own.
  const MadeLibrary shm{.soname = "libshm.so", .imports = {{.name = "_ZN2at12MapAllocatorD1Ev"}}};
  return {.name = "torch",
          .version = version,
          .files = {{"torch/lib/libc10.so", c10.bytes()},
                    {"torch/lib/libshm.so", shm.bytes()},
                    {"torch/lib/libtorch_cuda.so", cuda.bytes()}}};
}

std::vector<std::byte> text_bytes(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::vector<std::byte> make_shared_library(const std::string& soname) { return MadeLibrary{.soname = soname}.bytes(); }

std::vector<std::byte> make_compiler(const std::string& release) {
  const std::string zero(1, '\0'), text = "Cuda compilation tools, release %d.%d, V%s" + zero +
                                          "Cuda compilation tools, release " + release + ", V" + release + ".93" + zero;
  return MadeLibrary{.data = text_bytes(text)}.bytes();
}

}  // namespace flashfit::doctor::environment::test
