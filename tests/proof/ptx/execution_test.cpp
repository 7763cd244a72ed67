// What instructions give, each against numbers worked out by hand from the PTX ISA.
#include "small.hpp"

namespace flashfit::testing {
namespace {

using ::testing::Each;

struct Computed {
  const char* body;
  std::uint32_t result;  ///< of every lane
};

std::uint32_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }

TEST(PtxExecution, Arithmetic) {
  const Computed all[] = {
      {"mov.u32 %r2, -7; div.s32 %r1, %r2, 2;", static_cast<std::uint32_t>(-3)},
      {"mov.u32 %r2, -7; rem.s32 %r1, %r2, 4;", static_cast<std::uint32_t>(-3)},
      {"mov.u32 %r2, -7; div.u32 %r1, %r2, 2;", 0x7ffffffcu},
      {"mov.u32 %r2, 0x80000000; div.s32 %r1, %r2, -1;", 0x80000000u},
      {"mov.u32 %r2, 5; div.u32 %r1, %r2, 0;", 0xffffffffu},
      {"mov.u32 %r2, 0x80000000; shr.s32 %r1, %r2, 40;", 0xffffffffu},
      {"mov.u32 %r2, 0x80000000; shr.u32 %r1, %r2, 32;", 0},
      {"mov.u32 %r2, 1; shl.b32 %r1, %r2, 33;", 0},
      {"mov.u32 %r2, 0x12345678; bfi.b32 %r1, 0xff, %r2, 8, 4;", 0x12345f78u},
      {"mov.u32 %r2, 0x12345678; bfe.u32 %r1, %r2, 8, 8;", 0x56u},
      {"mov.u32 %r2, -2; mul.hi.s32 %r1, %r2, 3;", 0xffffffffu},
      {"mov.u32 %r2, -2; mul.hi.u32 %r1, %r2, 3;", 2},
      {"mov.u32 %r2, -2; mul.wide.s32 %rd2, %r2, 3; cvt.u32.u64 %r1, %rd2;", static_cast<std::uint32_t>(-6)},
      {"mov.u32 %r2, 7; mad.lo.s32 %r1, %r2, 3, -1;", 20},
      {"mov.u32 %r2, 0xf0; popc.b32 %r1, %r2;", 4},
      {"mov.u32 %r2, -5; abs.s32 %r1, %r2;", 5},
      {"mov.u32 %r2, -5; max.s32 %r1, %r2, 3;", 3},
      {"mov.u32 %r2, -5; max.u32 %r1, %r2, 3;", static_cast<std::uint32_t>(-5)},
      {"mov.u32 %r2, 0x12348765; cvt.s32.s16 %r1, %r2;", 0xffff8765u},
      {"mov.u32 %r2, 0x12345687; cvt.u32.u8 %r1, %r2;", 0x87},
      {"mov.b32 %r1, {1, 2};", 0x00020001u},
      {"mov.u32 %r2, 0x00050004; mov.b32 {%h1, %h2}, %r2; mov.b32 %r1, {%h2, %h1};", 0x00040005u},
      {"fma.rn.f32 %f1, 0f40000000, 0f40400000, 0f3F800000; mov.b32 %r1, %f1;", bits(7)},
      {"mov.f32 %f2, 0f7FC00000; max.f32 %f1, %f2, 0f3F800000; mov.b32 %r1, %f1;", bits(1)},
      {"mov.f32 %f2, 0f80000000; max.f32 %f1, %f2, 0f00000000; mov.b32 %r1, %f1;", 0},
      {"ex2.approx.ftz.f32 %f1, 0f40400000; mov.b32 %r1, %f1;", bits(8)},
      {"lg2.approx.ftz.f32 %f1, 0f41000000; mov.b32 %r1, %f1;", bits(3)},
      {"cvt.rn.f16x2.f32 %r1, 0f40000000, 0f3F800000;", 0x40003c00u},
      {"cvt.rn.bf16x2.f32 %r1, 0f40000000, 0f3F800000;", 0x40003f80u},
      {"cvt.rzi.s32.f32 %r1, 0fC0200000;", static_cast<std::uint32_t>(-2)},
      {"cvt.rni.s32.f32 %r1, 0f40200000;", 2},
      {"cvt.rzi.u32.f32 %r1, 0fBF800000;", 0},
      {"cvt.rzi.s32.f32 %r1, 0f7F800000;", 0x7fffffffu},
  };
  for (const Computed& c : all) EXPECT_THAT(results_of(c.body), Each(c.result)) << c.body;
}

TEST(PtxExecution, ComparisonsTakeNanAsTheyAreNamed) {
  const auto says = [](const char* comparison) {
    return results_of(fmt::format("mov.f32 %f1, 0f7FC00000; setp.{}.f32 %p1, %f1, 0f00000000; selp.u32 %r1, 1, 0, %p1;",
                                  comparison))[0];
  };
  EXPECT_EQ(says("lt"), 0u);
  EXPECT_EQ(says("ltu"), 1u);
  EXPECT_EQ(says("ne"), 0u);
  EXPECT_EQ(says("neu"), 1u);
  EXPECT_EQ(says("nan"), 1u);
}

TEST(PtxExecution, LanesPartAndMeet) {
  // Each lane goes round as often as its number; then all vote.
  const auto got = results_of(
      "mov.u32 %r2, 0; $L: setp.ge.u32 %p1, %r2, %r0; @%p1 bra $E; add.u32 %r2, %r2, 1; bra $L;\n"
      "$E: setp.gt.u32 %p2, %r2, 15; vote.sync.ballot.b32 %r3, %p2, -1; add.u32 %r1, %r2, %r3;");
  for (std::uint32_t l = 0; l < 32; ++l) EXPECT_EQ(got[l], l + 0xffff0000u);
}

TEST(PtxExecution, LanesMeetWhereOneSideLiesBehindTheOther) {
  // Odd lanes go through code that lies behind the meeting point, and come back to it.
  const auto got = results_of(
      "and.b32 %r2, %r0, 1; setp.eq.u32 %p1, %r2, 1; mov.u32 %r3, 10; @%p1 bra $FAR;\n"
      "$MEET: shfl.sync.bfly.b32 %r1|%p2, %r3, 1, 31, -1; bra $END;\n"
      "$FAR: mov.u32 %r3, 20; bra $MEET;\n$END:");
  for (std::uint32_t l = 0; l < 32; ++l) EXPECT_EQ(got[l], l % 2 == 0 ? 20u : 10u);
}

TEST(PtxExecution, ShufflesStayInTheirSegments) {
  const auto got = results_of("shfl.sync.down.b32 %r1|%p1, %r0, 3, 6175, -1;");  // segments of 8: 0x181f
  for (std::uint32_t l = 0; l < 32; ++l) EXPECT_EQ(got[l], l % 8 + 3 < 8 ? l + 3 : l);
}

TEST(PtxExecution, LocalAndConstantMemory) {
  std::vector<std::uint32_t> words(32);
  const auto ran =
      run_ptx({.body = ".local .align 8 .b8 depot[16]; mov.u64 %rd2, depot; cvta.local.u64 %rd3, %rd2;\n"
                       "mov.u64 %rd4, table; ld.const.v2.u16 {%h1, %h2}, [%rd4+4]; mov.b32 %r2, {%h1, %h2};\n"
                       "add.u32 %r2, %r2, %r0; st.local.u32 [%rd2+8], %r2; ld.u32 %r1, [%rd3+8];\n"
                       "st.global.u32 [%rd1], %r1;",
               .module = ".const .align 4 .u16 table[4] = {1, 2, 3, 4};"},
              words);
  ASSERT_TRUE(ran) << ran.error().message;
  for (std::uint32_t l = 0; l < 32; ++l) EXPECT_EQ(words[l], 0x00040003u + l);
}

TEST(PtxExecution, BarriersOrderWarpsUnderEverySchedule) {
  for (const emu::Schedule schedule : {emu::Schedule::kRoundRobin, emu::Schedule::kReversed, emu::Schedule::kRandom}) {
    std::vector<std::uint32_t> words(128);
    const auto ran =
        run_ptx({.body = "mov.u32 %r2, s; shl.b32 %r3, %r0, 2; add.u32 %r3, %r3, %r2; st.shared.u32 [%r3], %r0;\n"
                         "setp.eq.u32 %p1, %r0, 77; bar.red.or.pred %p2, 0, %p1; xor.b32 %r4, %r3, 256;\n"
                         "ld.shared.u32 %r1, [%r4]; selp.u32 %r5, 1000, 0, %p2; add.u32 %r1, %r1, %r5;\n"
                         "st.global.u32 [%rd1], %r1;",
                 .threads = 128,
                 .module = ".shared .align 1024 .b8 s[512];",
                 .options = {.kernel = "k", .schedule = schedule}},
                words);
    ASSERT_TRUE(ran) << ran.error().message;
    for (std::uint32_t t = 0; t < 128; ++t) EXPECT_EQ(words[t], (t ^ 64) + 1000);
  }
}

TEST(PtxExecution, BytesAndBits) {
  EXPECT_EQ(results_of("mov.u32 %r2, 0x33221100; mov.u32 %r3, 0x77665594; prmt.b32 %r1, %r2, %r3, 0xc470;")[0],
            0xff947700u);
  EXPECT_EQ(results_of("mov.u32 %r2, 0xf0f0f0f0; mov.u32 %r3, 0xcccccccc; mov.u32 %r4, 0xaaaaaaaa;\n"
                       "lop3.b32 %r1, %r2, %r3, %r4, 0x96;")[0],
            0xf0f0f0f0u ^ 0xccccccccu ^ 0xaaaaaaaau);
  EXPECT_EQ(results_of("mov.u32 %r2, 0x80000001; mov.u32 %r3, 0x12345678; shf.l.wrap.b32 %r1, %r2, %r3, 36;")[0],
            0x23456788u);
  EXPECT_EQ(results_of("mov.u32 %r2, 0x80000001; mov.u32 %r3, 0x12345678; shf.r.clamp.b32 %r1, %r2, %r3, 36;")[0],
            0x12345678u);
  EXPECT_EQ(results_of("mov.u32 %r2, 0x00f80000; bfe.s32 %r1, %r2, 19, 5;")[0], 0xffffffffu);
  EXPECT_EQ(results_of("mov.u32 %r2, 0x00780000; bfe.s32 %r1, %r2, 19, 5;")[0], 15u);
  EXPECT_EQ(results_of("brev.b32 %r1, 5;")[0], 0xa0000000u);
  EXPECT_EQ(results_of("redux.sync.add.u32 %r1, %r0, -1;")[7], 31u * 32 / 2);
  EXPECT_EQ(results_of("sub.u32 %r2, %r0, 4; redux.sync.min.s32 %r1, %r2, -1;")[7], static_cast<std::uint32_t>(-4));
}

TEST(PtxExecution, SixteenBitFloats) {
  // 1.5 + 2 and -1 + 0.5; 65504 * 2 is infinite.
  EXPECT_EQ(results_of("mov.u32 %r2, 0xbc003e00; mov.u32 %r3, 0x38004000; add.rn.f16x2 %r1, %r2, %r3;")[0],
            0xb8004300u);
  EXPECT_EQ(results_of("mov.u32 %r2, 0x7bff3c00; mov.u32 %r3, 0x40004000; mul.f16x2 %r1, %r2, %r3;")[0], 0x7c004000u);
  // 1 + 2^-8 squared, plus 2^-24: rounded once it is above the middle of two bf16, through fp32 it would be the middle.
  EXPECT_EQ(results_of("mov.u32 %r2, 0x3f803f80; mov.u32 %r3, 0x3b803b80; fma.rn.bf16x2 %r1, %r2, %r3, %r2;")[0],
            0x3f803f80u);
  EXPECT_EQ(results_of("mov.u32 %r2, 0x7e003c00; mov.u32 %r3, 0x4000bc00; max.f16x2 %r1, %r2, %r3;")[0], 0x40003c00u);
  EXPECT_EQ(results_of("mov.u32 %r2, 0x3c00bc00; neg.f16x2 %r1, %r2;")[0], 0xbc003c00u);
}

TEST(PtxExecution, HalvesClampedFlushedAndCompared) {
  const Computed all[] = {
      // 0.5 + 1 and -1 + 0.5.
      {"mov.u32 %r2, 0xbc003800; mov.u32 %r3, 0x38003c00; add.sat.f16x2 %r1, %r2, %r3;", 0x00003c00u},
      {"mov.u32 %r2, 0xbc003c00; mov.u32 %r3, 0x3c003c00; fma.rn.relu.f16x2 %r1, %r2, %r3, 0;", 0x00003c00u},
      {"mov.u32 %r2, 0xbf803f80; mov.u32 %r3, 0x3f803f80; fma.rn.relu.bf16x2 %r1, %r2, %r3, 0;", 0x00003f80u},
      {"mov.u32 %r2, 0x80003c00; fma.rn.relu.f16x2 %r1, %r2, 0x3c003c00, 0x80008000;", 0x00003c00u},
      {"mov.u32 %r2, 0x00010400; add.ftz.f16x2 %r1, %r2, 0;", 0x00000400u},
      {"mov.u32 %r2, 0x00010400; add.f16x2 %r1, %r2, 0;", 0x00010400u},
      {"mov.u32 %r2, 0x7e003c00; mov.u32 %r3, 0x40004000; max.NaN.f16x2 %r1, %r2, %r3;", 0x7e004000u},
      {"mov.u32 %r2, 0x40003c00; ex2.approx.f16x2 %r1, %r2;", 0x44004000u},
      // 1 + 2^-11 + 2^-30: above the middle of two fp16 by what fp32 forgets.
      {"mov.b16 %h1, 0x1000; mov.b16 %h2, 0x3c00; mov.b16 %h3, 0x3c01; fma.rn.f16 %h4, %h1, %h2, %h3; "
       "cvt.u32.u16 %r1, %h4;",
       0x3c02u},
      {"mov.u32 %r2, 0x40003c00; mov.u32 %r3, 0x3c003c00; set.gt.f16x2.f16x2 %r1, %r2, %r3;", 0x3c000000u},
      {"mov.u32 %r2, 0x3f804000; mov.u32 %r3, 0x3f803f80; set.ge.u32.bf16x2 %r1, %r2, %r3;", 0xffffffffu},
      {"mov.u32 %r2, 0x40003c00; mov.u32 %r3, 0x3c003c00; setp.gt.f16x2 %p1|%p2, %r2, %r3; selp.u32 %r4, 1, 0, %p1; "
       "selp.u32 %r5, 2, 0, %p2; or.b32 %r1, %r4, %r5;",
       2},
      {"mov.b16 %h1, 0xbc00; mov.b16 %h2, 0x7e00; setp.ltu.f16 %p1, %h1, %h2; selp.u32 %r1, 1, 0, %p1;", 1},
      {"set.lt.u32.f32 %r1, 0f3F800000, 0f40000000;", 0xffffffffu},
      {"set.lt.f32.s32 %f1, -1, 0; mov.b32 %r1, %f1;", bits(1)},
  };
  for (const Computed& c : all) EXPECT_THAT(results_of(c.body), Each(c.result)) << c.body;
}

TEST(PtxExecution, ConversionsOfEveryKind) {
  const Computed all[] = {
      {"cvt.rz.f16.f32 %h1, 0f3F9FFFFF; cvt.u32.u16 %r1, %h1;", 0x3cffu},
      {"cvt.rn.f16.f32 %h1, 0f3F9FFFFF; cvt.u32.u16 %r1, %h1;", 0x3d00u},
      {"cvt.rm.f16.f32 %h1, 0fBF9FFFFF; cvt.u32.u16 %r1, %h1;", 0xbd00u},
      {"cvt.rz.f16.f32 %h1, 0f7F000000; cvt.u32.u16 %r1, %h1;", 0x7bffu},  // 2^127: the largest fp16
      {"cvt.rn.f16.f32 %h1, 0f7F000000; cvt.u32.u16 %r1, %h1;", 0x7c00u},
      {"cvt.rz.bf16.f32 %h1, 0f3F80FFFF; cvt.u32.u16 %r1, %h1;", 0x3f80u},
      {"cvt.rn.relu.bf16.f32 %h1, 0fBF800000; cvt.u32.u16 %r1, %h1;", 0},
      {"cvt.rz.f16x2.f32 %r1, 0f3F9FFFFF, 0fBF9FFFFF;", 0x3cffbcffu},
      {"mov.b16 %h1, 0x4100; cvt.rni.f16.f16 %h2, %h1; cvt.u32.u16 %r1, %h2;", 0x4000u},  // 2.5 to even
      {"mov.b16 %h1, 0xc100; cvt.rzi.s32.f16 %r1, %h1;", static_cast<std::uint32_t>(-2)},
      {"cvt.rn.f16.s32 %h1, 2049; cvt.u32.u16 %r1, %h1;", 0x6800u},  // 2048
      {"cvt.rp.f32.s32 %f1, 16777217; mov.b32 %r1, %f1;", bits(16777218)},
      {"cvt.sat.f32.f32 %f1, 0f40000000; mov.b32 %r1, %f1;", bits(1)},
      {"cvt.sat.f32.f32 %f1, 0f7FC00000; mov.b32 %r1, %f1;", 0},
      {"cvt.sat.f32.f32 %f1, 0f80000000; mov.b32 %r1, %f1;", 0},
      {"cvt.rn.relu.f16.f32 %h1, 0f80000000; cvt.u32.u16 %r1, %h1;", 0},
      {"cvt.ftz.f64.f32 %rd2, 0f00000001; cvt.u32.u64 %r1, %rd2;", 0},
      {"cvt.sat.s8.s32 %h1, 300; cvt.u32.u16 %r1, %h1;", 127},
      {"cvt.sat.u8.s32 %h1, -5; cvt.u32.u16 %r1, %h1;", 0},
      {"cvt.rzi.u32.f64 %r1, 0d41EFFFFFFFF00000;", 0xffffffffu},
      {"cvt.rzi.s32.f64 %r1, 0dC1E0000000100000;", 0x80000000u},
      {"cvt.rn.f64.u64 %rd2, -1; shr.u64 %rd2, %rd2, 32; cvt.u32.u64 %r1, %rd2;", 0x43f00000u},
      {"cvt.rz.f64.u64 %rd2, -1; shr.u64 %rd2, %rd2, 32; cvt.u32.u64 %r1, %rd2;", 0x43efffffu},
      {"cvt.rz.f32.f64 %f1, 0d3FF0000010000001; mov.b32 %r1, %f1;", bits(1)},
      {"cvt.rp.f32.f64 %f1, 0d3FF0000000000001; mov.b32 %r1, %f1;", 0x3f800001u},
  };
  for (const Computed& c : all) EXPECT_THAT(results_of(c.body), Each(c.result)) << c.body;
}

TEST(PtxExecution, RoundedAndClampedAsAsked) {
  const Computed all[] = {
      {"add.rz.f32 %f1, 0f3F800000, 0f33C00000; mov.b32 %r1, %f1;", bits(1)},
      {"add.rn.f32 %f1, 0f3F800000, 0f33C00000; mov.b32 %r1, %f1;", 0x3f800001u},
      {"add.rp.f32 %f1, 0f3F800000, 0f2F800000; mov.b32 %r1, %f1;", 0x3f800001u},
      {"sub.rm.f32 %f1, 0f3F800000, 0f2F800000; mov.b32 %r1, %f1;", 0x3f7fffffu},
      {"mul.rz.f32 %f1, 0f3F800001, 0f3F800001; mov.b32 %r1, %f1;", 0x3f800002u},
      {"fma.rp.f32 %f1, 0f3F800001, 0f3F800001, 0f00000000; mov.b32 %r1, %f1;", 0x3f800003u},
      {"div.rz.f32 %f1, 0f3F800000, 0f40400000; mov.b32 %r1, %f1;", 0x3eaaaaaau},
      {"div.rn.f32 %f1, 0f3F800000, 0f40400000; mov.b32 %r1, %f1;", 0x3eaaaaabu},
      {"add.sat.f32 %f1, 0f3F800000, 0f3F800000; mov.b32 %r1, %f1;", bits(1)},
      {"fma.rn.ftz.sat.f32 %f1, 0fBF800000, 0f3F800000, 0f00000000; mov.b32 %r1, %f1;", 0},
      {"max.NaN.f32 %f1, 0f7FC00000, 0f3F800000; setp.nan.f32 %p1, %f1, %f1; selp.u32 %r1, 1, 0, %p1;", 1},
      {"max.relu.s32 %r1, -3, -7;", 0},
      {"sqrt.rn.f64 %rd2, 0d4010000000000000; shr.u64 %rd2, %rd2, 32; cvt.u32.u64 %r1, %rd2;", 0x40000000u},
      {"mov.u64 %rd2, 0x100000000; bfi.b64 %rd3, 0xff, %rd2, 36, 8; shr.u64 %rd3, %rd3, 32; cvt.u32.u64 %r1, %rd3;",
       0xff1u},
      {"mov.u64 %rd2, 0x8000000000000000; bfe.s64 %rd3, %rd2, 60, 8; cvt.u32.u64 %r1, %rd3;", 0xfffffff8u},
      {"mov.u32 %r2, 0xff020304; mov.u32 %r3, 0x01010101; dp4a.s32.s32 %r1, %r2, %r3, 10;", 18},
      {"mov.u32 %r2, 0xff020304; mov.u32 %r3, 0x01010101; dp4a.u32.u32 %r1, %r2, %r3, 10;", 274},
      {"mov.u32 %r2, 0xffff0002; mov.u32 %r3, 0x0403fe01; dp2a.lo.s32.s32 %r1, %r2, %r3, 0;", 4},
      {"mov.u32 %r2, 0xffff0002; mov.u32 %r3, 0x0403fe01; dp2a.hi.s32.u32 %r1, %r2, %r3, 0;", 2},
      {"mad.hi.u32 %r1, 0x80000000, 6, 5;", 8},
      {"bfind.u32 %r1, 0x00f00000;", 23},
      {"bfind.shiftamt.u32 %r1, 0x00f00000;", 8},
      {"bfind.s32 %r1, -1;", 0xffffffffu},
      {"bfind.s32 %r1, -256;", 7},
      {"mov.u64 %rd2, 0x100000000; bfind.u64 %r1, %rd2;", 32},
      {"{.reg.b32 q; mov.b32 q, 9; mov.b32 %r1, q;}", 9},
  };
  for (const Computed& c : all) EXPECT_THAT(results_of(c.body), Each(c.result)) << c.body;
}

TEST(PtxExecution, WhatABarrierTellsOfPredicates) {
  std::vector<std::uint32_t> words(96);
  const auto ran = run_ptx({.body = "setp.lt.u32 %p1, %r0, 40; barrier.cta.red.popc.aligned.u32 %r1, 0, %p1;\n"
                                    "bar.red.popc.u32 %r2, 0, !%p1; mad.lo.u32 %r1, %r2, 1000, %r1;\n"
                                    "bar.red.and.pred %p2, 0, %p1; setp.lt.u32 %p3, %r0, 96; bar.red.and.pred %p4, 0, "
                                    "%p3; @%p2 add.u32 %r1, %r1, 1000000; @%p4 add.u32 %r1, %r1, 2000000;\n"
                                    "st.global.u32 [%rd1], %r1;",
                            .threads = 96},
                           words);
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_THAT(words, Each(2000000u + 56000u + 40u));
}

TEST(PtxExecution, LanesWithTheSameNumber) {
  const auto any = results_of("and.b32 %r2, %r0, 3; match.any.sync.b32 %r1, %r2, -1;");
  for (std::uint32_t l = 0; l < 32; ++l) EXPECT_EQ(any[l], 0x11111111u << l % 4);
  const auto all = results_of(
      "setp.lt.u32 %p1, %r0, 16; selp.b32 %r3, 0xffff, 0xffff0000, %p1; min.u32 %r2, %r0, 16; selp.b32 %r2, 5, %r2, "
      "%p1; setp.eq.u32 %p2, %r0, 31; @%p2 add.u32 %r2, %r2, 1;\n"
      "match.all.sync.b32 %r4|%p3, %r2, %r3; selp.u32 %r5, 1, 0, %p3; add.u32 %r1, %r4, %r5;");
  for (std::uint32_t l = 0; l < 32; ++l) EXPECT_EQ(all[l], l < 16 ? 0x10000u : 0u) << l;
}

TEST(PtxExecution, AClockGoesOn) {
  EXPECT_THAT(results_of("mov.u64 %rd2, %clock64; $L: mov.u64 %rd3, %globaltimer; sub.u64 %rd3, %rd3, %rd2;\n"
                         "setp.lt.u64 %p1, %rd3, 100; @%p1 bra $L; mov.u32 %r1, 1;"),
              Each(1u));
}

TEST(PtxExecution, AtomicsOfSixteenBits) {
  std::vector<std::uint32_t> words(4);
  const auto ran =
      run_ptx({.body = "atom.global.add.noftz.f16 %h1, [%rd0], 0x3c00; red.global.add.noftz.bf16 [%rd0+6], "
                       "0x3f80; atom.cas.b16 %h2, [%rd0+8], 0, 7;"},
              words);
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(words[0], 0x5000u);      // 32
  EXPECT_EQ(words[1], 0x42000000u);  // 32, in the upper half
  EXPECT_EQ(words[2], 7u);
}

TEST(PtxExecution, VariablesThatBeginWithAddresses) {
  std::vector<std::uint32_t> words(32);
  const auto ran = run_ptx({.body = "ld.global.u64 %rd2, [to+8]; ld.global.u32 %r1, [%rd2]; st.global.u32 [%rd1], %r1;",
                            .module = ".global .u32 a[3] = {1, 2, 3};\n.global .u64 to[2] = {a, generic(a)+8};"},
                           words);
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_THAT(words, Each(3u));
}

TEST(PtxExecution, SubnormalNumbersAreFlushedWhereItSaysSo) {
  EXPECT_EQ(results_of("mov.u32 %r2, 0x00000001; mov.b32 %f1, %r2; add.f32 %f2, %f1, %f1; mov.b32 %r1, %f2;")[0], 2u);
  EXPECT_EQ(results_of("mov.u32 %r2, 0x80000001; mov.b32 %f1, %r2; add.ftz.f32 %f2, %f1, %f1; mov.b32 %r1, %f2;")[0],
            0x80000000u);
  EXPECT_EQ(results_of("mov.u32 %r2, 1; mov.b32 %f1, %r2; setp.eq.ftz.f32 %p1, %f1, 0f00000000; selp.u32 %r1, 1, 0, "
                       "%p1;")[0],
            1u);
}

TEST(PtxExecution, AtomicsOfLanesWarpsAndKinds) {
  std::vector<std::uint32_t> words(64);
  const auto ran =
      run_ptx({.body = "red.global.add.u32 [%rd0], 1; atom.global.gpu.acq_rel.max.s32 %r1, [%rd0+4], %r0;\n"
                       "atom.add.f32 %f1, [%rd0+8], 0f3F800000; red.inc.u32 [%rd0+12], 9;\n"
                       "atom.shared.add.u32 %r2, [s], 1;",
               .threads = 64,
               .module = ".shared .align 4 .b8 s[4];"},
              words);
  // Shared memory that nobody has written.
  ASSERT_FALSE(ran);
  EXPECT_NE(ran.error().message.find("atom reads bytes 0-3 of shared memory, some of which nothing has written"),
            std::string::npos)
      << ran.error().message;
  std::fill(words.begin(), words.end(), 0);
  const auto again =
      run_ptx({.body = "red.global.add.u32 [%rd0], 1; atom.global.gpu.acq_rel.max.s32 %r1, [%rd0+4], %r0;\n"
                       "atom.add.f32 %f1, [%rd0+8], 0f3F800000; red.inc.u32 [%rd0+12], 9;",
               .threads = 64},
              words);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(words[0], 64u);
  EXPECT_EQ(words[1], 63u);
  EXPECT_EQ(std::bit_cast<float>(words[2]), 64.f);
  EXPECT_EQ(words[3], 4u);  // counts modulo 10
}

TEST(PtxExecution, GroupsOfLanesThatNameEachOther) {
  // Even lanes and odd ones, at the same instruction: what each group votes and sums is its own.
  const std::string masks =
      "and.b32 %r2, %r0, 1; setp.eq.u32 %p1, %r2, 0; selp.b32 %r3, 0x55555555, 0xaaaaaaaa, %p1;"
      "setp.lt.u32 %p2, %r0, 9;\n";
  const auto group = [](int lane) { return lane % 2 == 0 ? 0x55555555u : 0xaaaaaaaau; };
  const auto ballots = results_of(masks + "vote.sync.ballot.b32 %r1, %p2, %r3;");
  const auto any =
      results_of(masks + "setp.eq.u32 %p2, %r0, 3; vote.sync.any.pred %p3, %p2, %r3; selp.b32 %r1, 1, 0, %p3;");
  const auto all =
      results_of(masks + "setp.ne.u32 %p2, %r0, 3; vote.sync.all.pred %p3, %p2, %r3; selp.b32 %r1, 1, 0, %p3;");
  const auto sums = results_of(masks + "redux.sync.add.u32 %r1, %r0, %r3;");
  const auto most = results_of(masks + "redux.sync.max.u32 %r1, %r0, %r3;");
  for (int lane = 0; lane < 32; ++lane) {
    const auto l = static_cast<std::size_t>(lane);
    EXPECT_EQ(ballots[l], group(lane) & 0x1ff) << lane;
    EXPECT_EQ(any[l], lane % 2 == 1 ? 1 : 0) << lane;
    EXPECT_EQ(all[l], lane % 2 == 0 ? 1 : 0) << lane;
    EXPECT_EQ(sums[l], lane % 2 == 0 ? 240 : 256) << lane;
    EXPECT_EQ(most[l], lane % 2 == 0 ? 30 : 31) << lane;
  }
}

TEST(PtxExecution, ALockThatLanesOfOneWarpTakeInTurn) {
  std::vector<std::uint32_t> words(8);
  const auto ran = run_ptx(
      {.body = "$TRY: atom.acquire.gpu.global.cas.b32 %r1, [%rd0], 0, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra $TRY;\n"
               "ld.relaxed.gpu.global.u32 %r2, [%rd0+4]; add.u32 %r2, %r2, 3; st.relaxed.gpu.global.u32 [%rd0+4], "
               "%r2;\nst.release.gpu.global.u32 [%rd0], 0;",
       .threads = 96},
      words);
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(words[1], 96u * 3);
}

}  // namespace
}  // namespace flashfit::testing
