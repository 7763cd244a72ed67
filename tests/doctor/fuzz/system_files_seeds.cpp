// Sound files for system_files_fuzz, a line of hexadecimal digits each, to standard output.
#include <fmt/format.h>

#include <cstdio>

#include "doctor/dynamic_loader/made_cache.hpp"

namespace flashfit::doctor::dynamic_loader::test {
namespace {

void write(std::uint8_t kind, const std::vector<std::byte>& seed) {
  fmt::print("{:02x}", kind);
  for (const std::byte byte : seed) fmt::print("{:02x}", static_cast<unsigned>(byte));
  fmt::print("\n");
}

void write(std::uint8_t kind, std::string_view text) { write(kind, doctor::test::MadeBytes().add(text).bytes()); }

void write_all() {
  MadeCache cache{.entries = {{"libc.so.6", "/lib/v2", 0x0303, 1},
                              {"libc.so.6", "/lib/v3", 0x0303, 0},
                              {"libc.so.6", "/lib/libc.so.6"},
                              {"libm.so.6", "/lib/libm.so.6", 0x0a03}},
                  .hwcaps = {"x86-64-v3", "x86-64-v2"}};
  write(0, cache.bytes());
  cache.behind_old = true;
  write(3, cache.bytes());
  write(1, "include /etc/ld.so.conf.d/*.conf\n/usr/local/lib # ours\n/opt/x/=libc6\nhwcap 0 nosegneg\ninclude a b?\n");
  write(2, "$ORIGIN/../lib:${LIB}/x;/usr/lib//::$PLATFORM:relative");
}

}  // namespace
}  // namespace flashfit::doctor::dynamic_loader::test

int main() {
  flashfit::doctor::dynamic_loader::test::write_all();
  return 0;
}
