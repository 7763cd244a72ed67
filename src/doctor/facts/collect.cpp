#include "doctor/facts/collect.hpp"

#include "doctor/facts/all_collectors.hpp"

namespace flashfit::doctor {
namespace {

constexpr ElfCollector kElf[] = {collect_elf_needs, collect_elf_extension, collect_image_note};
constexpr PeCollector kPe[] = {collect_pe_needs, collect_pe_extension};

}  // namespace

std::span<const ElfCollector> elf_collectors() { return kElf; }
std::span<const PeCollector> pe_collectors() { return kPe; }

}  // namespace flashfit::doctor
