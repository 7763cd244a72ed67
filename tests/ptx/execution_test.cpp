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
