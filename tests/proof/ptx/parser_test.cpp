// Texts that are no PTX, or hostile: refused in one line that names the place and the word, whatever they hold.
#include "proof/ptx/parser.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proof/ptx/program.hpp"

namespace flashfit::ptx {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kHead = ".version 8.8\n.target sm_80\n.address_size 64\n";

std::string entry(std::string_view body) {
  return fmt::format(
      "{}.visible .entry k(.param .u64 p)\n{{\n.reg .b32 %r<9>;\n.reg .pred %p<3>;\n.reg .b64 %rd<5>;\n{}\n}}\n", kHead,
      body);
}

/// What is said of a text, by the parser or the decoder; "": it is taken.
std::string refusal_of(const std::string& text) {
  const Result<Module> module = parse("t.ptx", text);
  if (!module) return module.error().message;
  const auto program = decode(*module, "k");
  return program ? "" : program.error().message;
}

TEST(PtxParser, TakesAnEntry) {
  const std::string text = entry("mov.u32 %r1, %tid.x; // tid\n$L: /* a\nb */ @%p1 bra $L;\nret;");
  const Result<Module> module = parse("t.ptx", text);
  ASSERT_TRUE(module) << module.error().message;
  ASSERT_EQ(module->entries.size(), 1u);
  EXPECT_EQ(module->target, 80);
  EXPECT_EQ(module->entries[0].param_bytes, 8u);
  EXPECT_EQ(module->entries[0].statements.size(), 3u);
  EXPECT_EQ(module->entries[0].statements[2].line, 12u);
  const auto program = decode(*module, "");
  ASSERT_TRUE(program) << program.error().message;
}

struct Refused {
  const char *body, *what;
};

TEST(PtxParser, NamesWhatItDoesNotTake) {
  const Refused all[] = {
      {"frob.u32 %r1, %r2;", "t.ptx:9: frob.u32: this instruction is not known"},
      {"add.u33 %r1, %r2, %r3;", "t.ptx:9: add.u33: '.u33' is not known here"},
      {"add.sat.s32 %r1, %r2, %r3;", "not known for this type"},
      {"cvt.s32.f32 %r1, %r2;", "this conversion is not known"},
      {"cvt.rn.s32.f32 %r1, %r2;", "'.rni', '.rzi', '.rmi' or '.rpi' is needed"},
      {"setp.gt.and.f16x2 %p1, %r1, %r2, %p1;", "not known for this type with a third operand"},
      {"set.gt.f64.f32 %rd1, %r1, %r2;", "not known for these types"},
      {"bar.red.popc.pred %p1, 0, %p1;", "not known for this type"},
      {"match.any.sync.b32 %r1|%p1, %r2, -1;", "has no predicate"},
      {"add.f32.s32 %r1, %r2, %r3;", "not known here"},
      {"add.s32 %r1, %r2;", "2 operands, takes 3"},
      {"add.s32 %r1, %r2, %r9;", "t.ptx:9: add.s32: register '%r9' is not known"},
      {"add.s32 %r1, %r2, %rd1;", "a register of 64 bits where one of 32 bits is needed"},
      {"add.s64 %rd1, %rd1, %p1;", "a register of a predicate where one of 64 bits is needed"},
      {"add.s32 1, %r2, %r3;", "the result needs a register"},
      {"mov.u32 %r1, %pm0;", "register '%pm0' is not known"},
      {"mov.u16 %r1, %clock;", "not known for this type"},
      {"mov.u64 %rd1, nowhere;", "'nowhere' is not declared"},
      {"bra nowhere;", "label 'nowhere' is not there"},
      {"bra %r1;", "is not there"},
      {"ld.global.v4.b64 {%rd1, %rd2, %rd3, %rd4}, [%rd1];", "moves more than 16 bytes"},
      {"ld.global.v2.b32 %r1, [%rd1];", "takes 2 registers"},
      {"ld.global.b32 %r1, %rd1;", "an address in brackets is needed"},
      {"st.param.u64 [p], %rd1;", "this space is not written"},
      {"ld.shared.u64 %rd1, [p];", "'p' is in another space"},
      {"call foo;", "this instruction is not known"},
      {"@%r1 bra $L; $L: ret;", "a register of 32 bits where one of a predicate is needed"},
      {"$L: ret; $L: ret;", "label '$L' is there twice"},
      {".reg .b8 %x;", "registers of type '.b8' are not known"},
      {".reg .b32 %y<99999999>;", "99999999 registers: at most 65536"},
      {".branchtargets x;", "directive '.branchtargets' is not known"},
      {".shared .b8 big[99999999999];", "at most 2147483647"},
      {".local .b8 a[2147483647];", "a variable of more than 64 MiB"},
      {".local .b8 a[600000];", "600000 bytes of local memory: at most 524288"},
      {".shared .align 3 .b8 a[4];", "an alignment of 3"},
      {"mov.u32 %r1, 99999999999999999999999;", "is no integer of 64 bits"},
      {"mov.u32 %r1, 0x;", "is no integer of 64 bits"},
      {"add.s32 %r1, {%r1, %r2}, %r3;", "an operand of another form is needed"},
      {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r1}, {%r1}, {%r1}, {%r1};", "a vector has another length"},
      {"add.s32 %r1, %r2, %r3", "'}' where ';' was expected"},
      {"\x01", "'\\x01' where an instruction was expected"},
  };
  for (const Refused& r : all) EXPECT_THAT(refusal_of(entry(r.body)), HasSubstr(r.what)) << r.body;
}

TEST(PtxParser, EveryPrefixOfATextIsRefusedOrTaken) {
  const std::string text = entry("{ .reg .pred q; setp.eq.s32 q|%p1, %r1, -0x10; @!q bra L; }\n.loc 1 2 3\nL: ret;");
  for (std::size_t n = 0; n <= text.size(); ++n) {
    const std::string said = refusal_of(text.substr(0, n));
    EXPECT_EQ(said.find('\n'), std::string::npos) << said;
  }
  EXPECT_EQ(refusal_of(text), "");
}

TEST(PtxParser, EveryByteInEveryPlaceIsRefusedOrTaken) {
  const std::string text = entry("ld.param.u64 %rd1, [p];\n@%p1 st.global.v2.u32 [%rd1+-8], {%r1, 0f3F800000};");
  for (std::size_t at = 0; at < text.size(); ++at)
    for (const char c : {'\0', '\n', '"', '{', '}', '[', '<', ';', '9', '-', '\xff', '%', '.'}) {
      std::string changed = text;
      changed[at] = c;
      EXPECT_EQ(refusal_of(changed).find('\n'), std::string::npos);
    }
}

TEST(PtxParser, NothingIsHidden) {
  const std::string text = entry("ret;");
  EXPECT_THAT(refusal_of(text + "/* .visible .entry other() {"), HasSubstr("'/' where a directive"));
  EXPECT_THAT(refusal_of(text + std::string("\0.visible", 9)), HasSubstr("'\\x00' where a directive"));
  EXPECT_THAT(refusal_of(text + ".visible .entry k() { ret; }"), HasSubstr("entry 'k' is there twice"));
}

TEST(PtxParser, VariablesThatBeginWithAddresses) {
  const auto with = [](const char* variables) { return refusal_of(std::string(entry("ret;")) + variables); };
  EXPECT_EQ(with(".global .u32 a[2]; .global .u64 b[2] = {generic(a)+4, a};"), "");
  EXPECT_THAT(with(".global .u64 b = generic(nowhere);"), HasSubstr("'nowhere' is not declared"));
  EXPECT_THAT(with(".global .u32 a; .global .u32 b = a;"), HasSubstr("an address has 64 bits"));
  EXPECT_THAT(with(".shared .u32 a; .global .u64 b = generic(a);"), HasSubstr("'a' has no address that a variable"));
  EXPECT_THAT(with(".global .u32 a; .global .u64 b[1] = {a, a};"), HasSubstr("b has fewer elements than values"));
}

TEST(PtxParser, DepthHasALimit) {
  EXPECT_THAT(refusal_of(entry(std::string(100000, '{'))), HasSubstr("more than 64 blocks in one another"));
}

TEST(PtxParser, SaysWhichEntriesThereAre) {
  const std::string text = entry("ret;");
  const Result<Module> module = parse("t.ptx", text);
  ASSERT_TRUE(module);
  EXPECT_EQ(decode(*module, "other").error().message, "t.ptx: no entry 'other': it has k");
}

}  // namespace
}  // namespace flashfit::ptx
