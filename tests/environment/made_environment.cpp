#include "environment/made_environment.hpp"

#include <algorithm>

#include "gpu/driver_versions.hpp"

namespace flashfit::environment::test {
namespace {

const PackageReport* find(const Environment& found, const std::string& name) {
  const auto at =
      std::find_if(found.packages.begin(), found.packages.end(), [&](const auto& r) { return r.name == name; });
  return at == found.packages.end() ? nullptr : &*at;
}

std::vector<std::string> problems_of(const Environment& found, const std::string& name, bool notes) {
  const PackageReport* const package = find(found, name);
  if (package == nullptr) return {"not reported"};
  std::vector<std::string> lines;
  for (const inspect::Problem& p : package->report.problems)
    if ((p.severity == inspect::Severity::kNote) == notes)
      lines.push_back(p.code + " " + (notes ? "" : std::string(inspect::name_of(verdict_of(p.severity))) + " ") +
                      p.message);
  return lines;
}

}  // namespace

void MadeEnvironment::make_system(const std::string& glibc) const {
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

void MadeEnvironment::install(const MadePackage& package) const {
  std::string record;
  for (const auto& [path, content] : package.files) {
    write(site_ + "/" + path, content);
    record += path + ",,\n";
  }
  if (!package.recorded) return;
  const std::string info = site_ + "/" + package.name + "-" + package.version + ".dist-info/";
  std::string metadata = "Metadata-Version: 2.1\nName: " + package.name + "\nVersion: " + package.version + "\n";
  for (const std::string& requirement : package.requirements) metadata += "Requires-Dist: " + requirement + "\n";
  write(info + "METADATA", metadata + "\nA description.\n");
  write(info + "WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: cp311-cp311-linux_x86_64\n");
  write(info + "RECORD", record);
}

EnvironmentQuestion MadeEnvironment::question(const std::vector<std::string>& gpus, const std::string& driver) const {
  EnvironmentQuestion asked{.path = "/venv"};
  for (const std::string& gpu : gpus) asked.asked.gpus.push_back({gpu, inspect::name_gpu(gpu).value()});
  if (!driver.empty()) {
    asked.asked.driver = parse_driver(driver).value();
    asked.asked.driver_text = driver;
  }
  return asked;
}

std::vector<std::byte> make_module(const std::vector<std::vector<std::string>>& containers, MadeLibrary library,
                                   int toolkit) {
  std::vector<MadeCode> code;
  for (const auto& targets : containers) code.push_back({.targets = targets, .toolkit = toolkit});
  library.gpu_code = inspect::test::make_containers(code);
  library.imports.push_back({.name = "PyModule_Create2"});
  return library.bytes();
}

MadePackage make_torch(const std::string& version, const std::vector<std::string>& targets, int toolkit) {
  const MadeLibrary c10{.soname = "libc10.so", .exports = {kTorchSymbol}};
  MadeLibrary cuda{.soname = "libtorch_cuda.so", .exports = {"_ZN2at4cuda3addEv"}};
  cuda.gpu_code = inspect::test::make_containers({{.targets = targets, .toolkit = toolkit}});
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

std::vector<std::string> lines_of(const Environment& found, const std::string& name) {
  return problems_of(found, name, false);
}

std::vector<std::string> notes_of(const Environment& found, const std::string& name) {
  return problems_of(found, name, true);
}

std::vector<std::string> culprits_of(const Environment& found) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < found.culprits(); ++i) names.push_back(found.packages[i].name);
  return names;
}

std::vector<std::string> cleared_by(const Environment& found) {
  std::vector<std::string> names;
  for (std::size_t i = found.culprits(); i < found.packages.size(); ++i)
    if (found.packages[i].concerned()) names.push_back(found.packages[i].name);
  return names;
}

std::string mend_of(const Environment& found, const std::string& name) {
  const PackageReport* const package = find(found, name);
  return package == nullptr ? "not reported" : package->report.mend;
}

}  // namespace flashfit::environment::test
