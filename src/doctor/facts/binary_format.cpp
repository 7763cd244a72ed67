#include "doctor/facts/binary_format.hpp"

#include "doctor/binaries/elf.hpp"
#include "doctor/binaries/mach_o.hpp"
#include "doctor/binaries/pe.hpp"
#include "doctor/bytes/static_library.hpp"
#include "doctor/gpu_code/fatbin.hpp"
#include "doctor/gpu_code/gpu_compiler.hpp"
#include "doctor/gpu_code/ptx.hpp"
#include "doctor/packaging/python_module.hpp"

namespace flashfit::doctor {
namespace {

/// "MZ" opens many things; a program of Windows has its second header where the first says.
bool is_windows_program(Bytes head) {
  if (!is_pe(head)) return false;
  const std::uint32_t at = Reader(head, 60).u32();
  return !within(at, 4, head.size()) || Reader(head, at).u32() == 0x4550;
}

bool is_named_as_gpu_code(std::string_view path) { return path.ends_with(".cubin") || path.ends_with(".fatbin"); }

}  // namespace

bool may_have_format(Bytes start) {
  return is_elf(start) || is_archive(start) || is_fatbin(start) || is_pe(start) || may_be_ptx(start) ||
         mach_o_machine(start);
}

std::string_view broken_by_name(std::string_view path, Bytes start) {
  if (is_named_as_module(path) && !is_elf(start) && !is_pe(start) && !is_mach_o(start))
    return "malformed: no library, though named as a module of Python, at 0";
  if (start.empty() && (is_named_as_gpu_code(path) || compiler_named(path)))
    return "malformed: empty, though named as GPU code or its compiler, at 0";
  return "";
}

bool is_named_as_code(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.ends_with(".so") || name.find(".so.") != std::string_view::npos || is_named_as_module(path) ||
         is_named_as_gpu_code(path) || compiler_named(path);
}

BinaryFormat binary_format_of(Bytes head) {
  if (is_elf(head)) return BinaryFormat::kElf;
  if (is_archive(head)) return BinaryFormat::kArchive;
  if (is_fatbin(head)) return BinaryFormat::kFatbin;
  if (is_windows_program(head)) return BinaryFormat::kPe;
  if (mach_o_machine(head)) return BinaryFormat::kMachO;
  return is_ptx(head) ? BinaryFormat::kPtx : BinaryFormat::kNone;
}

}  // namespace flashfit::doctor
