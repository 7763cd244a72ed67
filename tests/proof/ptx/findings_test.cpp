// What is wrong with a kernel is said in one line that names block, warp, lane and place, whatever the schedule.
#include "small.hpp"

namespace flashfit::testing {
namespace {

using ::testing::HasSubstr;

const std::string kShared = ".shared .align 16 .b8 s[512];";
/// %r3: the thread's word of s.
const std::string kOwnWord = "mov.u32 %r2, s; shl.b32 %r3, %r0, 2; add.u32 %r3, %r3, %r2;\n";

void expect_finding(const std::string& body, const char* what, int threads = 32) {
  for (const emu::Schedule schedule : {emu::Schedule::kRoundRobin, emu::Schedule::kReversed, emu::Schedule::kRandom}) {
    std::vector<std::uint32_t> words(128);
    const auto ran = run_ptx(
        {.body = body, .threads = threads, .module = kShared, .options = {.kernel = "k", .schedule = schedule}}, words);
    ASSERT_FALSE(ran) << "no finding: " << body;
    EXPECT_THAT(ran.error().message, HasSubstr(what));
    EXPECT_EQ(ran.error().message.find('\n'), std::string::npos);
  }
}

TEST(PtxFindings, AnAccessPastATensor) {
  expect_finding("st.global.u32 [%rd1+512], %r0;", "k: block (0,0,0) warp 0 lane 0 (", 32);
  expect_finding("st.global.u32 [%rd1+512], %r0;", "writes 4 bytes at byte 0 past the end of words (512 bytes)");
  expect_finding("ld.global.u32 %r1, [%rd0+2];", "which is not aligned to 4");
  expect_finding("mov.u64 %rd2, 0; ld.global.u32 %r1, [%rd2];", "from a null pointer");
  expect_finding("ld.param.u64 %rd2, [p+8];", "reads 8 bytes at byte 8 of 8 bytes of arguments");
}

TEST(PtxFindings, APlaceInTheText) { expect_finding("\nst.global.u32 [%rd1+512], %r0;", "k.ptx:10: writes 4 bytes"); }

TEST(PtxFindings, SharedMemoryThatNobodyWrote) {
  expect_finding(kOwnWord + "ld.shared.u32 %r1, [%r3];",
                 "ld reads bytes 0-3 of shared memory, some of which nothing has written");
  expect_finding(kOwnWord + "ld.shared.u32 %r1, [%r3+512];", "of a shared memory of 512");
  expect_finding("mov.u32 %r3, 0; ld.shared.u32 %r1, [%r3];",
                 "touches 4 bytes at byte -1024 of a shared memory of 512");
}

TEST(PtxFindings, WarpsThatDoNotWaitForOneAnother) {
  expect_finding(kOwnWord + "st.shared.u32 [%r3], %r0; xor.b32 %r4, %r3, 128; st.shared.u32 [%r4], %r0;",
                 "no synchronisation between them", 64);
}

TEST(PtxFindings, ACopyThatWasNotWaitedFor) {
  expect_finding(
      "mov.u32 %r2, s; shl.b32 %r3, %r0, 4; add.u32 %r3, %r3, %r2; and.b32 %r4, %r0, 7; mul.wide.u32 %rd3, %r4, 16;\n"
      "add.s64 %rd2, %rd0, %rd3; cp.async.cg.shared.global [%r3], [%rd2], 16; cp.async.commit_group;\n"
      "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r5, %r6, %r7, %r8}, [%r3];",
      "has yet to fill");
}

TEST(PtxFindings, AKernelThatEndsItself) {
  expect_finding("setp.eq.u32 %p1, %r0, 7; @%p1 trap;", "warp 0 lane 7");
  expect_finding("trap;", "the kernel ends itself by a trap");
}

TEST(PtxFindings, LanesThatWaitForOneAnother) {
  expect_finding(
      "setp.lt.u32 %p1, %r0, 16; @%p1 bra $A; bar.warp.sync -1; bra $E; $A: vote.sync.ballot.b32 %r1, %p1, -1; $E:",
      "lanes of a warp wait for one another: lanes 16-31 wait at k.ptx:9, lanes 0-15 wait at");
}

TEST(PtxFindings, WarpsThatWaitForEver) {
  expect_finding("setp.lt.u32 %p1, %r0, 32; @%p1 bra $A; bar.sync 1, 64; bra $E; $A: bar.sync 2, 64; $E:",
                 "deadlock: warp 0 waits in barrier 2", 64);
}

TEST(PtxFindings, BarriersThatDisagree) {
  expect_finding(
      "setp.lt.u32 %p1, %r0, 32; @%p1 bra $A; bar.sync 1, 64; bra $E; $A: bar.sync 1, 96; $E:", "barrier 1 for ", 128);
  expect_finding("bar.sync 16;", "barrier 16: ids are 0 to 15");
}

TEST(PtxFindings, LaunchesThatTheEntryDoesNotTake) {
  std::vector<std::uint32_t> words(4);
  const auto ran = run_ptx({.body = "", .threads = 2048}, words);
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().message, "kernel: blocks of 2048 x 1 x 1 threads: 1 to 1024");
}

}  // namespace
}  // namespace flashfit::testing
