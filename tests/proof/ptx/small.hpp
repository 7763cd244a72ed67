#pragma once
// An entry of a few lines of PTX, run by one block.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <string>
#include <vector>

#include "proof/ptx/launch.hpp"
#include "proof/ptx/parser.hpp"

namespace flashfit::testing {

struct SmallPtx {
  std::string body;  ///< %rd0: the address of `words`; %r0: tid.x; after it: st.global of what it likes
  int threads = 32, blocks = 1;
  std::string module = {};  ///< declarations before the entry
  emu::Options options = {};
};

/// Runs it on words that it may read and write.
inline Result<emu::Stats> run_ptx(const SmallPtx& p, std::vector<std::uint32_t>& words) {
  const std::string text = fmt::format(
      ".version 8.8\n.target sm_80\n.address_size 64\n{}\n.visible .entry k(.param .u64 p)\n{{\n"
      ".reg .b16 %h<9>; .reg .b32 %r<40>; .reg .f32 %f<40>; .reg .b64 %rd<20>; .reg .pred %p<9>;\n"
      "ld.param.u64 %rd0, [p]; mov.u32 %r0, %tid.x; mul.wide.u32 %rd1, %r0, 4; add.s64 %rd1, %rd0, "
      "%rd1;\n{}\nret;\n}}\n",
      p.module, p.body);
  const Result<ptx::Module> module = ptx::parse("k.ptx", text);
  if (!module) return tl::unexpected(module.error());
  const auto program = ptx::decode(*module, "k");
  if (!program) return tl::unexpected(program.error());
  const std::uint32_t* const argument = words.data();
  emu::Memory memory;
  memory.writable("words", words.data(), words.size() * sizeof words[0]);
  return ptx::launch(**program, {.grid = {p.blocks, 1, 1}, .threads = {p.threads, 1, 1}},
                     std::as_bytes(std::span(&argument, 1)), memory, p.options);
}

/// What 32 lanes leave in a word each, %r1, after `body`.
inline std::vector<std::uint32_t> results_of(const std::string& body) {
  std::vector<std::uint32_t> words(32);
  const auto ran = run_ptx({body + "\nst.global.u32 [%rd1], %r1;"}, words);
  EXPECT_TRUE(ran) << ran.error().message;
  return words;
}

}  // namespace flashfit::testing
