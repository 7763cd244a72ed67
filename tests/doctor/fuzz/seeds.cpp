// Sound files from the tests' own generators, as seeds of the fuzz targets: seeds FOLDER writes FOLDER/TARGET.hex.
#include <fmt/format.h>
#include <lz4.h>

#include <fstream>

#include "doctor/bytes/content.hpp"
#include "doctor/facts/facts.hpp"
#include "doctor/facts/facts_codec.hpp"
#include "doctor/facts/read_binary.hpp"
#include "doctor/facts/read_wheel.hpp"
#include "doctor/made/archive.hpp"
#include "doctor/made/cases.hpp"
#include "doctor/made/code.hpp"
#include "doctor/made/elf.hpp"
#include "doctor/made/fatbin.hpp"
#include "doctor/made/library.hpp"
#include "doctor/made/pe.hpp"
#include "doctor/made/zip.hpp"

namespace flashfit::doctor::test {
namespace {

using Seeds = std::vector<std::vector<std::byte>>;

std::vector<std::byte> bytes_of(std::string_view text) { return MadeBytes().add(text).bytes(); }

void write(const std::string& folder, const std::string& target, const Seeds& seeds) {
  std::ofstream file(folder + "/" + target + ".hex");
  for (const auto& seed : seeds) {
    for (const std::byte byte : seed) file << fmt::format("{:02x}", static_cast<unsigned>(byte));
    file << "\n";
  }
}

std::vector<std::byte> fatbin() {
  const std::string ptx = ".version 8.8\n.target sm_90a\n.address_size 64\n" + std::string(200, ' ');
  std::string packed(400, '\0');
  packed.resize(
      static_cast<std::size_t>(LZ4_compress_default(ptx.data(), packed.data(), static_cast<int>(ptx.size()), 400)));
  return make_fatbin({{.payload = bytes_of("a cubin")},
                      {.kind = FatbinKind::kPtx,
                       .flags = 0x102011,
                       .major = 8,
                       .minor = 8,
                       .payload = bytes_of(packed),
                       .plain = ptx.size(),
                       .options = "-O3"}});
}

std::vector<std::byte> library(bool section_table, bool gnu_hash) {
  MadeLibrary library{.soname = "liba.so.1", .needed = {"libc.so.6"}, .exports = {"own"}, .defines = {"V_1", "V_2"}};
  library.imports = {{"memcpy", "libc.so.6", "GLIBC_2.14"}, {"_Zd", "libstdc++.so.6", "GLIBCXX_3.4"}};
  library.isa_needed = 7;
  library.section_table = section_table;
  library.gnu_hash = gnu_hash;
  return library.bytes();
}

/// Wheels and binaries of the cases, and the facts that the doctor finds in them.
void write_targets(const std::string& folder) {
  Seeds targets, facts;
  auto cases = origin_cases();
  for (MadeCase& one : single_cases()) cases.push_back(std::move(one));
  for (const MadeCase& one : cases) {
    if (one.content.empty()) continue;
    targets.push_back(one.content);
    const MemorySource source(one.content);
    Target target{.target = one.name, .file_name = one.name};
    FactsBudget budget;
    if (is_zip(one.content)) {
      read_wheel(source, target, {});
    } else if (auto binaries = read_binaries(SourceContent(source), one.name, budget)) {
      target.binaries = std::move(*binaries);
    }
    FactsWriter writer;
    visit(writer, target);
    facts.push_back(bytes_of(writer.take()));
  }
  write(folder, "target", targets);
  write(folder, "facts", facts);
}

void write_all(const std::string& folder) {
  const std::vector<MadeMember> members = {{.name = "a.py", .content = "print()\nprint()\nprint()\n"},
                                           {.name = "b", .content = "stored", .deflated = false}};
  auto late = members;
  late[0].sizes_follow = true;
  write_targets(folder);
  write(folder, "zip", {make_zip(members).bytes, make_zip(late).bytes, make_zip(members, true).bytes});
  write(folder, "elf",
        {make_library().bytes(), make_library(fatbin(), true).bytes(), library(true, false), library(false, false),
         library(false, true), make_cubin(8, 0x6006402, "-arch sm_100f").bytes()});
  write(folder, "archive", {make_archive()});
  write(folder, "pe", {make_dll(), make_dll(fatbin())});
  write(folder, "fatbin", {fatbin(), MadeBytes().zeros(8).add(fatbin()).zeros(8).add(fatbin()).bytes()});
  write(folder, "cubin",
        {make_cubin(7, 0x5a0d5a).bytes(), make_cubin(8, 0x6006402, "-arch sm_100f").bytes(),
         make_image("9.0", {{.name = "_Z1av", .shared = 2048}, {.name = "_Z1bv", .max_threads = 256}}),
         make_image("12.0f", {{.name = "_Z1av"}})});
  write(folder, "ptx",
        {bytes_of(".version 8.8\n.target sm_90a, debug\n.address_size 64\n"),
         bytes_of("// made\n/* by\nhand */ .version 7.8\n.target sm_52, texmode_independent\n.address_size 32\n"),
         bytes_of(make_ptx("10.0f+PTX", {{.name = "_Z1av"}}, 88))});
}

}  // namespace
}  // namespace flashfit::doctor::test

// NOLINTNEXTLINE(bugprone-exception-escape): no seeds, no build
int main(int argc, char** argv) {
  if (argc != 2) return 2;
  flashfit::doctor::test::write_all(argv[1]);
}
