// The unwinder that is linked in from g++ 12 on asks the C library for _dl_find_object, which came with glibc 2.35 and
// would be the newest thing that flashfit needs. This one answers by dl_iterate_phdr, as older unwinders did; only a
// thrown exception asks.
#include <dlfcn.h>
#include <link.h>

#include <cstdint>

#if __GLIBC_PREREQ(2, 35)  // on what is older, no unwinder asks

namespace {

struct Search {
  std::uintptr_t address;
  dl_find_object* found;
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
    search->found->dlfo_map_start = reinterpret_cast<void*>(start);
    search->found->dlfo_map_end = reinterpret_cast<void*>(start + segment.p_memsz);
  }
  search->found->dlfo_eh_frame = eh_frame_header;
  return holds_address;
}

}  // namespace

// 0 and the object that holds the address, or -1. Hidden like all that is not declared as shown: it serves us alone.
// NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): glibc's are names reserved to it.
int _dl_find_object(void* address, dl_find_object* found) noexcept {
  Search search{reinterpret_cast<std::uintptr_t>(address), found};
  return dl_iterate_phdr(look, &search) != 0 && found->dlfo_eh_frame != nullptr ? 0 : -1;
}

#endif
