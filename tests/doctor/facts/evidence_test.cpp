#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doctor/binaries/demangle.hpp"
#include "doctor/binaries/elf_dynamic_entries.hpp"
#include "doctor/binaries/elf_symbols.hpp"
#include "doctor/facts/all_collectors.hpp"
#include "doctor/facts/read_binary.hpp"
#include "doctor/facts/string_tag.hpp"
#include "doctor/made/library.hpp"
#include "doctor/made/pe.hpp"
#include "doctor/rules/all_checks.hpp"
#include "doctor/rules/judged.hpp"

namespace flashfit::doctor {
namespace {

using test::MadeLibrary;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kOldError = "_ZN3c105ErrorC2ENS_14SourceLocationESs";
constexpr const char* kNewError =
    "_ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE";
constexpr const char* kNoString = "_ZN3c104cuda20getCurrentCUDAStreamEa";

Binary collected(const MadeLibrary& library, const std::string& path = "a/_C.so") {
  const auto bytes = library.bytes();
  const MemorySource source(bytes);
  const auto elf = read_elf(source);
  Binary binary{.path = path};
  EXPECT_TRUE(elf.has_value() && collect_elf_needs(source, *elf, binary) &&
              collect_elf_extension(source, *elf, binary));
  return binary;
}

TEST(Evidence, NamesForPythonAndPyTorch) {
  const Binary binary = collected({.imports = {{.name = "PyModule_Create2"},
                                               {.name = "_Py_NoneStruct"},
                                               {.name = kNewError},
                                               {.name = kNoString, .weak = true},
                                               {.name = "torch_call_dispatcher"},
                                               {.name = "memcpy"}},
                                   .exports = {"PyInit__C", "_ZN5torch5audio4loadEv", "torch_list_own"}});
  EXPECT_THAT(binary.extension.python, ElementsAre("PyModule_Create2", "_Py_NoneStruct"));
  EXPECT_THAT(binary.extension.torch, ElementsAre(kNewError, "torch_call_dispatcher")) << "a weak one may stay missing";
  EXPECT_THAT(binary.extension.torch_defined, ElementsAre("_ZN5torch5audio4loadEv", "torch_list_own"));
}

/// What read_binaries says of a library with one byte changed, under a name that modules alone have or another.
Binary changed(std::size_t at, std::uint8_t value, const std::string& path = "a/_C.abi3.so") {
  auto bytes = MadeLibrary{.needed = {"libc.so.6"}}.bytes();
  bytes.at(at) = static_cast<std::byte>(value);
  const MemorySource source(bytes);
  FactsBudget budget;
  return read_binaries(SourceContent(source), path, budget).value().at(0);
}

TEST(Evidence, ModulesThatTheLoaderRefuses) {
  EXPECT_EQ(changed(7, 3).error, "") << "GNU's";
  EXPECT_EQ(changed(7, 9).error, "malformed: system of an ELF file, which is not Linux, at 7") << "FreeBSD's";
  EXPECT_EQ(changed(7, 9, "a/lib.so").error, "") << "code of other machines has other systems";
  EXPECT_EQ(changed(16, 1).error,
            "malformed: type of an ELF file that is no library, though named as a module of Python, at 16");
  EXPECT_EQ(changed(16, 1, "a/part.o").error, "");
  EXPECT_EQ(changed(4, 1).machine, "x86_64 (32-bit)") << "x32, which no Python of x86_64 loads";
  EXPECT_EQ(changed(5, 2).machine, "machine 15872 (big-endian)");
  Binary alien = changed(4, 1);
  EXPECT_THAT(test::judged(check_machine, test::wheel_target("a-1-cp39-abi3-linux_x86_64.whl", {alien}),
                           test::on_platform("linux_x86_64")),
              ElementsAre("FF310 misfit made for Linux x86_64 (32-bit), not your Linux x86_64 with glibc"));
}

TEST(Evidence, AModuleWhoseSegmentsAreCutShort) {
  auto bytes = MadeLibrary{.needed = {"libc.so.6"}}.bytes();
  constexpr std::size_t kFirstSegment = 64, kItsFileSize = 32;
  bytes.at(kFirstSegment + kItsFileSize + 5) = std::byte{1};  // a terabyte more
  const MemorySource source(bytes);
  FactsBudget budget;
  const auto error = [&](const char* path) {
    return read_binaries(SourceContent(source), path, budget).value().at(0).error;
  };
  EXPECT_THAT(error("a/_C.abi3.so"), HasSubstr("segment of an ELF file that is cut short"));
  EXPECT_EQ(error("a/c.so.debug"), "");
}

TEST(Evidence, AbiOfPyTorch) {
  const auto abi = [](std::vector<std::string> names) {
    MadeLibrary library;
    for (std::string& name : names) library.imports.push_back({.name = std::move(name)});
    return name_of(collected(library).extension.torch_abi);
  };
  EXPECT_STREQ(abi({kOldError, kNoString}), "pre-cxx11");
  EXPECT_STREQ(abi({kNewError, kNoString}), "cxx11");
  EXPECT_STREQ(abi({kNoString}), "either");
  EXPECT_STREQ(abi({"aoti_torch_empty_strided"}), "stable");
  EXPECT_STREQ(abi({"memcpy"}), "none");
  EXPECT_STREQ(abi({kNewError, "aoti_torch_empty_strided"}), "cxx11");
  EXPECT_STREQ(abi({kNoString, "aoti_torch_empty_strided"}), "either");
}

TEST(Evidence, OfPyTorchItselfIsNotKept) {
  const Binary binary =
      collected({.soname = "libtorch_cuda.so", .imports = {{.name = kNewError}}, .exports = {kNoString}});
  EXPECT_THAT(binary.extension.torch, IsEmpty());
  EXPECT_THAT(binary.extension.torch_defined, IsEmpty());
}

TEST(Evidence, CompanionsOfPyTorchAreExtensions) {
  for (const char* const name : {"libtorchaudio.so", "libtorchcodec_core7.so", "libtorchtext.so", "libtorch_npu.so"})
    EXPECT_THAT(collected({.soname = name, .imports = {{.name = kNoString}}}).extension.torch, ElementsAre(kNoString))
        << name;
  for (const char* const name : {"libtorch.so", "libtorch_cpu.so", "libc10_cuda.so", "libcaffe2_nvrtc.so",
                                 "libtorch_global_deps.so", "libtorch_cuda_linalg.so"})
    EXPECT_THAT(collected({.soname = name, .imports = {{.name = kNoString}}}).extension.torch, IsEmpty()) << name;
}

TEST(Evidence, LibrariesInPyTorchsOwnFolderAreIts) {
  const MadeLibrary library{.soname = "libtorch_of_tomorrow.so", .imports = {{.name = kNoString}}};
  EXPECT_THAT(collected(library, "torch/lib/libtorch_of_tomorrow.so").extension.torch, IsEmpty());
  EXPECT_THAT(collected(library, "a/torch/lib/libtorch_of_tomorrow.so").extension.torch, IsEmpty());
  EXPECT_THAT(collected(library, "mytorch/lib/libtorch_of_tomorrow.so").extension.torch, ElementsAre(kNoString));
}

TEST(Evidence, StableFunctionsOfEveryFamily) {
  // What torchaudio 2.10.0 and torchao 0.18.0 ask for.
  const std::vector<std::string> names = {
      "aoti_torch_abi_version",      "torch_c10_cuda_check_msg",   "torch_call_dispatcher",
      "torch_delete_list",           "torch_dtype_float8_e8m0fnu", "torch_from_blob",
      "torch_new_list_reserve_size", "torch_parallel_for",         "torch_string_c_str"};
  MadeLibrary library;
  for (const std::string& name : names) library.imports.push_back({.name = name});
  EXPECT_EQ(collected(library).extension.torch, names);
  EXPECT_STREQ(name_of(collected(library).extension.torch_abi), "stable");
  // One of tomorrow is PyTorch's where its libraries are asked for.
  EXPECT_THAT(collected({.imports = {{.name = "torch_tomorrow"}}}).extension.torch, IsEmpty());
  EXPECT_THAT(collected({.needed = {"libtorch.so"}, .imports = {{.name = "torch_tomorrow"}}}).extension.torch,
              ElementsAre("torch_tomorrow"));
}

TEST(Evidence, FunctionsThatReturnAStringHaveItInTheirNamesInTheNewAbiAlone) {
  constexpr const char* kOld = "_ZNK5torch8autograd4Node4nameEv";
  constexpr const char* kNew = "_ZNK5torch8autograd4Node4nameB5cxx11Ev";
  EXPECT_EQ(string_abi_of(kOld), TorchAbi::kPreCxx11);
  EXPECT_EQ(string_abi_of(kNew), TorchAbi::kCxx11);
  EXPECT_EQ(other_tag_of(kOld), kNew);
  EXPECT_EQ(other_tag_of(kNew), kOld);
  EXPECT_EQ(other_tag_of("_Z3fooi"), "_Z3fooB5cxx11i");
  for (const char* const other : {"", "_Z", "_ZN", "_ZN3c10", "_ZN3c105ErrorC2ENS_14SourceLocationESs", "memcpy",
                                  "_ZN99999999999999999999c10E", "_ZNSt6vectorE"})
    EXPECT_EQ(other_tag_of(other), "") << other;
}

TEST(Evidence, LevelOfTheProcessor) {
  for (const auto& [bits, level] : {std::pair{0U, 0}, {1U, 1}, {3U, 2}, {7U, 3}, {15U, 4}, {8U, 4}})
    EXPECT_EQ(collected({.isa_needed = bits}).extension.x86_level, level) << bits;
  EXPECT_EQ(collected({.machine = kMachineAarch64, .isa_needed = 7}).extension.x86_level, 0)
      << "other bits mean it there";
}

TEST(Evidence, OfADllIsItsImports) {
  const test::MadeDll dll{
      .imports = {{"python311.dll", {"PyModule_Create2", "_Py_NoneStruct"}}, {"c10.dll", {"PyLike"}}}};
  const auto bytes = dll.bytes();
  const auto pe = read_pe(MemorySource(bytes));
  ASSERT_TRUE(pe.has_value()) << pe.error().message;
  Binary binary;
  ASSERT_TRUE(collect_pe_extension(MemorySource(bytes), *pe, binary).has_value());
  EXPECT_THAT(binary.extension.python, ElementsAre("PyModule_Create2", "_Py_NoneStruct"));
}

/// Symbols and versions are the same, whether the section table or the dynamic segment leads to them.
TEST(Evidence, NeedsNoSectionTable) {
  MadeLibrary library{.soname = "liba.so", .needed = {"libc.so.6"}, .exports = {"own", "_ZN5torch5audio4loadEv"}};
  library.imports = {{"memcpy", "libc.so.6", "GLIBC_2.14"}, {"exp", "libm.so.6", "GLIBC_2.29"}, {.name = kOldError}};
  const Binary whole = collected(library);
  library.section_table = false;
  for (const bool gnu_hash : {false, true}) {
    library.gnu_hash = gnu_hash;
    const Binary bare = collected(library);
    EXPECT_EQ(bare.needed, whole.needed);
    EXPECT_EQ(bare.extension.torch, whole.extension.torch);
    EXPECT_EQ(bare.extension.torch_defined, whole.extension.torch_defined);
    ASSERT_EQ(bare.versions.size(), 2U);
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(bare.versions[i].version, whole.versions[i].version);
      EXPECT_EQ(bare.versions[i].symbols, whole.versions[i].symbols);
    }
  }
}

TEST(Evidence, HashTablesThatLieAreNamed) {
  MadeLibrary library{.exports = {"own"}, .section_table = false, .gnu_hash = true};
  const auto error_with = [&](std::size_t field, std::uint32_t value) {
    const auto made = library.elf();
    auto bytes = test::MadeBytes().add(made.bytes()).put<std::uint32_t>(made.offset(5) + field, value).bytes();
    const MemorySource source(bytes);
    const auto elf = read_elf(source);
    const auto symbols = read_elf_symbols(source, *elf, kSectionDynamicSymbols);
    return symbols ? "no error" : symbols.error().message;
  };
  EXPECT_THAT(error_with(0, 1U << 30), HasSubstr("malformed: number of hash buckets beyond the limit of 4194304"));
  EXPECT_THAT(error_with(0, 1U << 20), HasSubstr("malformed: hash buckets outside the file"));
  EXPECT_THAT(error_with(24, 1U << 20), HasSubstr("malformed: hash chain without an end"));
  library.gnu_hash = false;
  EXPECT_THAT(error_with(4, 1U << 20), HasSubstr("malformed: symbols outside the file"));
  EXPECT_THAT(error_with(4, 1U << 30), HasSubstr("malformed: symbols outside the file"));
}

/// A thousand versions that are one long text: what is kept is bounded by what a sound file needs.
TEST(Evidence, TextsThatManyShareAreNotCopiedWithoutEnd) {
  MadeLibrary library;
  const std::string longest(10'000, 'V');
  for (int i = 0; i < 1000; ++i)
    library.imports.push_back({"f", fmt::format("l{}", i), longest, true});  // weak symbols: none is named
  const auto bytes = library.bytes();
  const MemorySource source(bytes);
  Binary binary;
  const auto collected = collect_elf_needs(source, *read_elf(source), binary);
  ASSERT_FALSE(collected.has_value());
  EXPECT_EQ(collected.error().message, "malformed: length of all needed versions beyond the limit of 750304 at 43576");
}

TEST(TorchSymbols, StringsOfEitherAbi) {
  const auto abi = [](const char* name) { return name_of(string_abi_of(name)); };
  EXPECT_STREQ(abi(kOldError), "pre-cxx11");
  EXPECT_STREQ(abi(kNewError), "cxx11");
  EXPECT_STREQ(abi("_ZN3c106detail14torchCheckFailEPKcS2_jRKSs"), "pre-cxx11");
  EXPECT_STREQ(abi("_ZNK3c104Type3strB5cxx11Ev"), "cxx11");
  EXPECT_STREQ(abi(kNoString), "either");
  EXPECT_STREQ(abi("_ZN3c105isSsaEv"), "either") << "an identifier may spell it";
  EXPECT_STREQ(abi("_ZN3c101fILi4EEEvSs"), "pre-cxx11") << "4 is a value, not a length";
  EXPECT_STREQ(abi("_ZN3c101fILNS_1EE6EEEvSs"), "pre-cxx11") << "so is 6, of an enumeration";
  EXPECT_STREQ(abi("_ZN3c101fESoSs"), "pre-cxx11");
  EXPECT_STREQ(abi("memcpySs"), "either");
}

TEST(TorchSymbols, AreThoseOfItsNamespaces) {
  for (const char* name : {kOldError, "_ZNK2at6Tensor3dimEv", "_ZTIN3c105ErrorE", "_ZTVN5torch8autograd4NodeE",
                           "_ZNKR3c104IValueE", "_ZN6caffe28TypeMetaE", "_ZGVN3c101aE"})
    EXPECT_TRUE(is_torch_symbol(name)) << name;
  for (const char* name : {"_ZN4c1051aE", "_ZNSt6vectorIN2at6TensorEE9push_backEv", "at", "_Z2at", "_ZN3c11aE"})
    EXPECT_EQ(is_torch_symbol(name), std::string_view(name) == "_Z2at") << name;
}

TEST(TorchSymbols, OfPyTorchsPythonModuleAreInNoNamespace) {
  for (const char* name : {"THPVariableClass", "_Z16THPVariable_WrapRKN2at10TensorBaseE"}) {
    EXPECT_TRUE(is_torch_python_symbol(name)) << name;
    EXPECT_EQ(collected({.needed = {"libc10.so"}, .imports = {{.name = name}}}).extension.torch,
              std::vector<std::string>{name});
    EXPECT_THAT(collected({.imports = {{.name = name}}}).extension.torch, IsEmpty()) << "anybody's";
  }
  EXPECT_EQ(collected({.needed = {"libc10.so"}, .imports = {{.name = "THPVariableClass"}}}).extension.torch_abi,
            TorchAbi::kEither);
  for (const char* name : {"_ZTHP", "_ZN3THP1aE", "_Z", "_Z16", "THCState_alloc", ""})
    EXPECT_FALSE(is_torch_python_symbol(name)) << name;
}

TEST(Demangled, NamesAreReadable) {
  EXPECT_EQ(demangled("_ZN3c104cuda20getCurrentCUDAStreamEa"), "c10::cuda::getCurrentCUDAStream(signed char)");
  EXPECT_EQ(demangled(kNewError), "c10::Error::Error(c10::SourceLocation, std::__cxx11::string)");
  EXPECT_EQ(demangled(kOldError), "c10::Error::Error(c10::SourceLocation, std::string)");
  EXPECT_EQ(demangled("memcpy"), "memcpy");
  EXPECT_EQ(demangled("_Znothing"), "_Znothing");
  EXPECT_EQ(demangled("_ZN3c104cuda20getCurrentCUDAStreamEa", 10), "c10::cuda:...");
}

TEST(Demangled, NamesThatUnfoldWithoutEndStayAsTheyAre) {
  // Each parameter is a pair of the one before: 2^n of the first.
  std::string name = "_Z1f1aSt4pairIS_S_E";
  for (int i = 0; i < 30; ++i) {
    const std::string id = fmt::format("S{}_", "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i + 1]);
    name += fmt::format("St4pairI{}{}E", id, id);
  }
  EXPECT_EQ(demangled(name, 4000), name);
}

}  // namespace
}  // namespace flashfit::doctor
