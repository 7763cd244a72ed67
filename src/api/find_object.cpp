// The unwinder that is linked in from g++ 12 on asks the C library for _dl_find_object, which came with glibc 2.35 and
// would be the newest thing that flashfit needs. This one answers by dl_iterate_phdr, as older unwinders did; only a
// thrown exception asks.
#include <link.h>

#include <cstdint>

namespace {

// glibc's dl_find_object, which older headers lack, as it is on x86-64.
struct FoundObject {
  unsigned long long flags;
  void* map_start;
  void* map_end;
  link_map* map;
  void* eh_frame_header;
};

struct Search {
  std::uintptr_t address;
  FoundObject* found;
};

int look(dl_phdr_info* object, std::size_t, void* data) {
  auto* search = static_cast<Search*>(data);
  bool holds_address = false;
  void* eh_frame_header = nullptr;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& segment = object->dlpi_phdr[i];
    const std::uintptr_t start = object->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_GNU_EH_FRAME) eh_frame_header = reinterpret_cast<void*>(start);
    if (segment.p_type != PT_LOAD || search->address < start || search->address - start >= segment.p_memsz) continue;
    holds_address = true;
    search->found->map_start = reinterpret_cast<void*>(start);
    search->found->map_end = reinterpret_cast<void*>(start + segment.p_memsz);
  }
  search->found->eh_frame_header = eh_frame_header;
  return holds_address;
}

}  // namespace

// 0 and the object that holds the address, or -1. Under the symbol's name, as the name itself may be declared; hidden,
// so that it serves us alone.
extern "C" __attribute__((visibility("hidden"))) int flashfit_find_object(void* address, FoundObject* found) __asm__(
    "_dl_find_object");

int flashfit_find_object(void* address, FoundObject* found) {
  Search search{reinterpret_cast<std::uintptr_t>(address), found};
  return dl_iterate_phdr(look, &search) != 0 && found->eh_frame_header != nullptr ? 0 : -1;
}
