#include "doctor/made/archive.hpp"
#include "doctor/made/cases.hpp"
#include "doctor/made/code.hpp"
#include "doctor/made/library.hpp"
#include "doctor/made/pe.hpp"
#include "doctor/made/wheel.hpp"

namespace flashfit::doctor::test {
namespace {

const char* const kLinux = "cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64";
const char* const kModule = "_C.cpython-311-x86_64-linux-gnu.so";

MadeLibrary module_library() {
  return {.needed = {"libc.so.6"},
          .imports = {{"memcpy", "libc.so.6", "GLIBC_2.14"}, {.name = "PyModule_Create2"}},
          .exports = {"PyInit__C"}};
}

/// A wheel "name-1.0-..." of one library.
MadeCase wheel_of(const std::string& name, const MadeLibrary& library, const std::string& version = "1.0",
                  const std::string& tag = kLinux, const std::string& member = kModule) {
  MadeWheel wheel{.name = name, .version = version, .tag = tag};
  wheel.add(name + "/" + member, library.bytes());
  return {wheel.file_name(), wheel.bytes()};
}

void add_code_cases(std::vector<MadeCase>& cases) {
  MadeLibrary partly = module_library();
  // As FlashAttention-3: most sources for 9.0a, some for 8.0.
  partly.gpu_code = make_containers({{.targets = {"9.0a"}, .kernels = {{.name = "_Z8hopper_ai"}}},
                                     {.targets = {"9.0a"}, .kernels = {{.name = "_Z8hopper_bi"}}},
                                     {.targets = {"8.0"}, .kernels = {{.name = "_Z6amperei"}}}});
  cases.push_back(wheel_of("partly", partly));
  MadeLibrary relocatable = module_library();
  relocatable.relocatable_gpu_code = make_containers({{.targets = {"8.0+PTX"}}});
  cases.push_back(wheel_of("relocatable", relocatable));
  MadeLibrary zstd = module_library();
  zstd.gpu_code = make_containers({{.targets = {"8.0", "9.0", "9.0+PTX"}, .toolkit = 129, .zstd = true}});
  cases.push_back(wheel_of("zstd", zstd));
  MadeLibrary hidden = module_library();
  hidden.data = MadeBytes().zeros(16).add(make_containers({{.targets = {"8.0"}}})).bytes();
  cases.push_back(wheel_of("hidden", hidden));
  MadeLibrary raw = module_library();
  raw.data = MadeBytes().zeros(16).add(make_image("8.0", {{.name = "_Z3rawi"}})).bytes();
  cases.push_back(wheel_of("rawcubin", raw));
  // Code for 9.0, and cubins for 8.0 beside it: of the same kernel, of another, and in a file of the wheel.
  const std::vector<MadeKernel> same = {{.name = "_Z4samei"}}, other = {{.name = "_Z5otheri"}};
  MadeLibrary packed = module_library();
  packed.gpu_code = make_containers({{.targets = {"9.0"}, .kernels = same}});
  MadeLibrary beside = packed;
  beside.data = MadeBytes().zeros(16).add(make_image("8.0", same)).bytes();
  cases.push_back(wheel_of("samecubin", beside));
  beside.data = MadeBytes().zeros(16).add(make_image("8.0", other)).bytes();
  cases.push_back(wheel_of("othercubin", beside));
  MadeWheel files{.name = "filecubin", .version = "1.0", .tag = kLinux};
  files.add(std::string("filecubin/") + kModule, packed.bytes());
  files.add("filecubin/same.sm80.cubin", make_image("8.0", same));
  files.add("filecubin/same.sm100.cubin", make_image("10.0a", same));
  cases.push_back({files.file_name(), files.bytes()});
  MadeLibrary ptx = module_library();
  ptx.gpu_code = make_containers({{.targets = {"9.0+PTX"}, .toolkit = 130}});
  cases.push_back(wheel_of("newptx", ptx));

  cases.push_back({"kernels.cubin", make_image("9.0", {{.name = "_Z3bigi", .registers = 255, .max_threads = 512},
                                                       {.name = "_Z6staticv", .shared = 0x28000},
                                                       {.name = "_Z5smallv", .shared = 2048, .max_threads = 256}})});
  cases.push_back({"family.cubin", make_image("10.0f", {{.name = "_Z3fami"}})});
  cases.push_back({"two.fatbin", make_container({.targets = {"8.0", "9.0a"}})});
  cases.push_back({"kernel.ptx", MadeBytes().add(make_ptx("9.0a+PTX", {{.name = "_Z3kerv"}}, 88)).bytes()});
}

void add_system_cases(std::vector<MadeCase>& cases) {
  MadeLibrary glibc = module_library();
  glibc.imports.push_back({"pthread_create", "libc.so.6", "GLIBC_2.34"});
  glibc.imports.push_back({"_ZSt28__throw_bad_array_new_lengthv", "libstdc++.so.6", "GLIBCXX_3.4.29"});
  cases.push_back(wheel_of("newglibc", glibc));
  // Of which nobody knows how it is compiled.
  MadeLibrary system = module_library();
  system.imports.push_back({"pthread_create", "libc.so.6", "GLIBC_2.34"});
  system.gpu_code = make_containers({{.targets = {"9.0"}}});
  cases.push_back(wheel_of("newsystem", system));
  MadeLibrary stack = module_library();
  stack.executable_stack = true;
  cases.push_back(wheel_of("execstack", stack));
  MadeLibrary avx = module_library();
  avx.isa_needed = 0xf;
  cases.push_back(wheel_of("avx512", avx));
  MadeLibrary runtime = module_library();
  runtime.needed = {"libcudart.so.13", "libcublas.so.13", "libunknown.so.3", "libc.so.6"};
  cases.push_back(wheel_of("runtime", runtime));
  MadeLibrary bare = module_library();
  bare.section_table = false;
  bare.gpu_code = make_containers({{.targets = {"8.0"}}});
  cases.push_back(wheel_of("nosections", bare));

  MadeWheel vendored{.name = "vendored", .version = "1.0", .tag = kLinux};
  vendored.add(std::string("vendored/") + kModule, module_library().bytes());
  vendored.add("vendored.libs/libcuda-1a2b3c4d.so.1",
               MadeLibrary{.soname = "libcuda.so.1", .exports = {"cuInit"}}.bytes());
  cases.push_back({vendored.file_name(), vendored.bytes()});
}

void add_label_cases(std::vector<MadeCase>& cases) {
  MadeLibrary code = module_library();
  code.gpu_code = make_containers({{.targets = {"9.0"}, .toolkit = 130}});
  cases.push_back(wheel_of("cudalabel", code, "1.0+cu124"));
  MadeLibrary arm = module_library();
  arm.machine = kMachineAarch64;
  cases.push_back(wheel_of("armlabel", arm));
  cases.push_back(
      wheel_of("armwheel", arm, "1.0", "cp311-cp311-manylinux_2_28_aarch64", "_C.cpython-311-aarch64-linux-gnu.so"));
  cases.push_back(wheel_of("purelabel", module_library(), "1.0", "py3-none-any", "libnative.so"));
  MadeLibrary unstable = module_library();
  unstable.imports.push_back({.name = "_PyObject_GetDictPtr"});
  unstable.imports.push_back({.name = "PyType_GetModuleByDef"});
  cases.push_back(wheel_of("abi3", unstable, "1.0", "cp39-abi3-manylinux_2_17_x86_64", "_C.abi3.so"));
  cases.push_back(wheel_of("abi3only310", module_library(), "1.0", "cp39-abi3-manylinux_2_17_x86_64",
                           "_C.cpython-310-x86_64-linux-gnu.so"));
  MadeWheel disagrees{.name = "disagrees",
                      .version = "1.0",
                      .tag = "cp311-cp311-manylinux_2_28_x86_64",
                      .tags = {"cp311-cp311-linux_x86_64"}};
  disagrees.add(kModule, module_library().bytes());
  cases.push_back({disagrees.file_name(), disagrees.bytes()});

  MadeDll dll{.imports = {{"python311.dll", {"PyModule_Create2"}}, {"cudart64_12.dll", {"cudaLaunchKernel"}}}};
  dll.gpu_code = make_containers({{.targets = {"8.6", "8.9"}}});
  MadeWheel windows{.name = "windows", .version = "1.0+cu124", .tag = "cp311-cp311-win_amd64"};
  windows.add("windows/_C.cp311-win_amd64.pyd", dll.bytes());
  cases.push_back({windows.file_name(), windows.bytes()});
}

/// An object of one compiled source.
std::vector<std::byte> object_of(const MadeCode& code) {
  MadeElf object{.type = 1, .sections = {{.name = ".text", .content = MadeBytes().zeros(16).bytes()}}, .segments = {}};
  object.sections.push_back({.name = ".nv_fatbin", .content = make_containers({code})});
  return object.bytes();
}

std::vector<std::byte> archive_of(const std::vector<std::pair<std::string, std::vector<std::byte>>>& members) {
  MadeBytes archive;
  archive.add("!<arch>\n");
  for (const auto& [name, content] : members) add_archive_member(archive, name, content);
  return archive.bytes();
}

void add_archive_cases(std::vector<MadeCase>& cases) {
  const auto object = object_of({.targets = {"7.5", "8.0+PTX"}});
  cases.push_back({"kernel.o", object});
  // An odd length before it: the object's containers then lie at 2 mod 8 of the file.
  cases.push_back({"libkernel.a", archive_of({{"note.txt/", {3, std::byte{'o'}}}, {"kernel.o/", object}})});

  // Two objects of one name, as archives may have, and one of them is for other GPUs.
  const auto partly =
      archive_of({{"kernel.o/", object_of({.targets = {"8.0"}, .kernels = {{.name = "_Z6amperei"}}})},
                  {"kernel.o/", object_of({.targets = {"9.0a"}, .kernels = {{.name = "_Z6hopperi"}}})}});
  cases.push_back({"libpartly.a", partly});
  MadeWheel wheel{.name = "static", .version = "1.0", .tag = kLinux};
  wheel.add("static/lib/libpartly.a", partly);
  cases.push_back({wheel.file_name(), wheel.bytes()});
}

void add_broken_cases(std::vector<MadeCase>& cases) {
  auto cut = module_library().bytes();
  cut.resize(cut.size() / 2);
  MadeWheel wheel{.name = "broken", .version = "1.0", .tag = kLinux};
  wheel.add(kModule, cut);
  cases.push_back({wheel.file_name(), wheel.bytes()});
  MadeWheel escaping{.name = "escaping", .version = "1.0", .tag = kLinux};
  escaping.members.push_back({.name = "../../escaped.so", .content = "x"});
  cases.push_back({escaping.file_name(), escaping.bytes()});
  cases.push_back({"empty.so", {}});
}

}  // namespace

std::vector<MadeCase> single_cases() {
  std::vector<MadeCase> cases;
  add_code_cases(cases);
  add_system_cases(cases);
  add_label_cases(cases);
  add_archive_cases(cases);
  add_broken_cases(cases);
  return cases;
}

}  // namespace flashfit::doctor::test
