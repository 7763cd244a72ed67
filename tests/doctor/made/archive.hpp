#pragma once
// Static archives with names of every kind.
#include <fmt/format.h>

#include "doctor/made/bytes.hpp"

namespace flashfit::doctor::test {

inline void add_archive_member(MadeBytes& out, std::string_view name, Bytes content) {
  out.add(fmt::format("{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", name, 0, 0, 0, 644, content.size()))
      .add(content)
      .align(2);
}

/// "short.o", by GNU's table "a_name_longer_than_sixteen.o", by BSD's way "bsd.o"; each with "in " and its own name as
/// content.
inline std::vector<std::byte> make_archive() {
  MadeBytes out;
  const auto text = [](std::string_view t) { return std::as_bytes(std::span(t)); };
  out.add("!<arch>\n");
  add_archive_member(out, "/", text("symbols"));
  add_archive_member(out, "//", text("a_name_longer_than_sixteen.o/\n"));
  add_archive_member(out, "short.o/", text("in short.o"));
  add_archive_member(out, "/0", text("in a_name_longer_than_sixteen.o"));
  add_archive_member(out, "#1/8", text(std::string_view("bsd.o\0\0\0in bsd.o", 16)));
  return out.bytes();
}

}  // namespace flashfit::doctor::test
