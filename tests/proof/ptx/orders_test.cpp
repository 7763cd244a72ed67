// What orders one block before another: releases, acquires and fences, each way that PTX has to write them; and what
// looks like it and does not.
#include "small.hpp"

namespace flashfit::testing {
namespace {

using ::testing::HasSubstr;

/// How block 0 says that it has written word 0, by word 1, and how block 1 waits for that before it reads.
struct Message {
  const char *says, *asks, *then;
};

Result<emu::Stats> send(const Message& m, emu::Schedule schedule, std::vector<std::uint32_t>& words) {
  const std::string body = fmt::format(
      "mov.u32 %r2, %ctaid.x; setp.ne.u32 %p1, %r0, 0; @%p1 bra $END;\n"
      "setp.ne.u32 %p2, %r2, 0; @%p2 bra $WAITS;\n"
      "st.global.u32 [%rd0], 7; {} bra $END;\n"
      "$WAITS: {} setp.eq.u32 %p3, %r3, 0; @%p3 bra $WAITS;\n"
      "{} ld.global.u32 %r1, [%rd0]; st.global.u32 [%rd0+8], %r1;\n"
      "$END:",
      m.says, m.asks, m.then);
  return run_ptx({.body = body, .blocks = 2, .options = {.kernel = "k", .schedule = schedule, .seed = 3}}, words);
}

constexpr emu::Schedule kAll[] = {emu::Schedule::kRoundRobin, emu::Schedule::kReversed, emu::Schedule::kRandom};

TEST(PtxOrders, MessagesThatArrive) {
  const Message messages[] = {
      {"st.release.gpu.global.u32 [%rd0+4], 1;", "ld.acquire.gpu.global.u32 %r3, [%rd0+4];", ""},
      {"st.release.sys.u32 [%rd0+4], 1;", "ld.acquire.sys.u32 %r3, [%rd0+4];", ""},
      {"red.release.gpu.global.add.u32 [%rd0+4], 1;", "ld.acquire.gpu.global.u32 %r3, [%rd0+4];", ""},
      {"atom.acq_rel.gpu.global.add.u32 %r3, [%rd0+4], 1;", "atom.acquire.gpu.global.or.b32 %r3, [%rd0+4], 0;", ""},
      {"atom.global.gpu.release.exch.b32 %r3, [%rd0+4], 1;", "atom.global.gpu.acquire.cas.b32 %r3, [%rd0+4], 1, 1;",
       ""},
      {"membar.gl; st.volatile.global.u32 [%rd0+4], 1;", "ld.volatile.global.u32 %r3, [%rd0+4];", "membar.gl;"},
      {"fence.acq_rel.gpu; red.global.add.u32 [%rd0+4], 1;", "ld.relaxed.gpu.global.u32 %r3, [%rd0+4];",
       "fence.acq_rel.gpu;"},
      {"fence.sc.gpu; st.relaxed.gpu.u32 [%rd0+4], 1;", "atom.relaxed.gpu.max.u32 %r3, [%rd0+4], 0;", "fence.sc.sys;"},
      {"fence.acq_rel.gpu; st.relaxed.gpu.u32 [%rd0+4], 1;", "ld.acquire.gpu.u32 %r3, [%rd0+4];", ""},
      {"st.release.gpu.u32 [%rd0+4], 1;", "ld.relaxed.gpu.u32 %r3, [%rd0+4];", "fence.acq_rel.gpu;"},
      // Who makes something of a released number passes it on, with no order of its own.
      {"st.release.gpu.u32 [%rd0+4], 1; red.relaxed.gpu.global.add.u32 [%rd0+4], 1;",
       "ld.acquire.gpu.u32 %r3, [%rd0+4];", ""},
  };
  for (const Message& m : messages)
    for (const emu::Schedule schedule : kAll) {
      std::vector<std::uint32_t> words(4);
      const auto ran = send(m, schedule, words);
      ASSERT_TRUE(ran) << m.says << m.asks << m.then << ": " << ran.error().message;
      EXPECT_EQ(words[2], 7u);
    }
}

TEST(PtxOrders, MessagesThatMayNotArrive) {
  const Message messages[] = {
      {"st.relaxed.gpu.global.u32 [%rd0+4], 1;", "ld.acquire.gpu.global.u32 %r3, [%rd0+4];", ""},
      {"st.release.gpu.global.u32 [%rd0+4], 1;", "ld.relaxed.gpu.global.u32 %r3, [%rd0+4];", ""},
      {"red.global.add.u32 [%rd0+4], 1;", "ld.acquire.gpu.global.u32 %r3, [%rd0+4];", ""},
      {"membar.gl; st.volatile.global.u32 [%rd0+4], 1;", "ld.volatile.global.u32 %r3, [%rd0+4];", ""},
      {"st.volatile.global.u32 [%rd0+4], 1; membar.gl;", "ld.volatile.global.u32 %r3, [%rd0+4];", "membar.gl;"},
      {"membar.gl; st.volatile.global.u32 [%rd0+4], 1;", "membar.gl; ld.volatile.global.u32 %r3, [%rd0+4];", ""},
      // A store hides what was released before it.
      {"st.release.gpu.u32 [%rd0+4], 1; st.relaxed.gpu.u32 [%rd0+4], 2;", "ld.acquire.gpu.u32 %r3, [%rd0+4];", ""},
      {"st.global.u32 [%rd0+4], 1;", "ld.global.u32 %r3, [%rd0+4];", ""},
  };
  for (const Message& m : messages)
    for (const emu::Schedule schedule : kAll) {
      std::vector<std::uint32_t> words(4);
      const auto ran = send(m, schedule, words);
      ASSERT_FALSE(ran) << "no finding: " << m.says << m.asks << m.then;
      EXPECT_THAT(ran.error().message, HasSubstr("no synchronisation between them"));
    }
}

TEST(PtxOrders, AFlagThatALaterBlockRaises) {
  std::vector<std::uint32_t> words(4);
  for (const char* asks : {"ld.acquire.gpu.global.u32 %r3, [%rd0+4];", "ld.volatile.global.u32 %r3, [%rd0+4];",
                           "atom.acquire.gpu.global.cas.b32 %r3, [%rd0+4], 1, 1;"}) {
    const auto ran =
        run_ptx({.body = fmt::format("$L: {} setp.eq.u32 %p3, %r3, 0; @%p3 bra $L;", asks), .blocks = 2}, words);
    ASSERT_FALSE(ran) << asks;
    EXPECT_THAT(ran.error().message, HasSubstr("asks for ever for the same numbers"));
  }
}

/// How warp 0 says that it has written the first word of shared memory, by the second, and how warp 1 waits for that.
Result<emu::Stats> pass_on(const Message& m, emu::Schedule schedule, std::vector<std::uint32_t>& words) {
  const std::string body = fmt::format(
      "setp.ne.u32 %p1, %r0, 0; @%p1 bra $INIT_END; st.shared.u32 [s+4], 0; $INIT_END: bar.sync 0;\n"
      "setp.eq.u32 %p1, %r0, 0; setp.eq.u32 %p2, %r0, 32; @%p2 bra $WAITS; @!%p1 bra $END;\n"
      "st.shared.u32 [s], 7; {} bra $END;\n"
      "$WAITS: {} setp.eq.u32 %p3, %r3, 0; @%p3 bra $WAITS;\n"
      "{} ld.shared.u32 %r1, [s]; st.global.u32 [%rd0], %r1;\n"
      "$END:",
      m.says, m.asks, m.then);
  return run_ptx({.body = body,
                  .threads = 64,
                  .module = ".shared .align 16 .b8 s[16];",
                  .options = {.kernel = "k", .schedule = schedule, .seed = 3}},
                 words);
}

TEST(PtxOrders, MessagesInSharedMemoryThatArrive) {
  const Message messages[] = {
      {"st.release.cta.shared.u32 [s+4], 1;", "ld.acquire.cta.shared.u32 %r3, [s+4];", ""},
      {"membar.cta; st.volatile.shared.u32 [s+4], 1;", "ld.volatile.shared.u32 %r3, [s+4];", "membar.cta;"},
      {"atom.acq_rel.cta.shared.exch.b32 %r3, [s+4], 1;", "atom.acquire.cta.shared.cas.b32 %r3, [s+4], 1, 1;", ""},
      {"fence.acq_rel.cta; red.shared.add.u32 [s+4], 1;", "ld.relaxed.cta.shared.u32 %r3, [s+4];",
       "fence.acq_rel.cta;"},
  };
  for (const Message& m : messages)
    for (const emu::Schedule schedule : kAll) {
      std::vector<std::uint32_t> words(4);
      const auto ran = pass_on(m, schedule, words);
      ASSERT_TRUE(ran) << m.says << m.asks << m.then << ": " << ran.error().message;
      EXPECT_EQ(words[0], 7u);
    }
}

TEST(PtxOrders, MessagesInSharedMemoryThatMayNotArrive) {
  const Message messages[] = {
      {"st.relaxed.cta.shared.u32 [s+4], 1;", "ld.acquire.cta.shared.u32 %r3, [s+4];", ""},
      {"st.release.cta.shared.u32 [s+4], 1;", "ld.relaxed.cta.shared.u32 %r3, [s+4];", ""},
      {"st.volatile.shared.u32 [s+4], 1;", "ld.volatile.shared.u32 %r3, [s+4];", ""},
      {"st.shared.u32 [s+4], 1;", "ld.volatile.shared.u32 %r3, [s+4];", ""},
      {"atom.shared.add.u32 %r3, [s+4], 1;", "ld.shared.u32 %r3, [s+4];", ""},
  };
  for (const Message& m : messages)
    for (const emu::Schedule schedule : kAll) {
      std::vector<std::uint32_t> words(4);
      const auto ran = pass_on(m, schedule, words);
      ASSERT_FALSE(ran) << "no finding: " << m.says << m.asks << m.then;
      EXPECT_THAT(ran.error().message, HasSubstr("no synchronisation between them"));
    }
}

TEST(PtxOrders, ALockInSharedMemory) {
  for (const emu::Schedule schedule : kAll) {
    std::vector<std::uint32_t> words(4);
    const auto ran = run_ptx(
        {.body = "setp.ne.u32 %p1, %r0, 0; @%p1 bra $READY; st.shared.v2.u32 [s], {0, 0}; $READY: bar.sync 0;\n"
                 "and.b32 %r2, %r0, 31; setp.ne.u32 %p1, %r2, 0; @%p1 bra $END;\n"
                 "$TRY: atom.acquire.cta.shared.cas.b32 %r1, [s], 0, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra $TRY;\n"
                 "ld.shared.u32 %r2, [s+4]; add.u32 %r2, %r2, 3; st.shared.u32 [s+4], %r2;\n"
                 "st.release.cta.shared.u32 [s], 0; $END: bar.sync 0; ld.shared.u32 %r2, [s+4];\n"
                 "st.volatile.global.u32 [%rd0], %r2;",
         .threads = 128,
         .module = ".shared .align 16 .b8 s[16];",
         .options = {.kernel = "k", .schedule = schedule}},
        words);
    ASSERT_TRUE(ran) << ran.error().message;
    EXPECT_EQ(words[0], 12u);
  }
}

TEST(PtxOrders, AFlagInSharedMemoryThatNobodyRaises) {
  std::vector<std::uint32_t> words(4);
  const auto ran = run_ptx({.body = "st.volatile.shared.u32 [s], 0; $L: ld.volatile.shared.u32 %r3, [s];\n"
                                    "setp.eq.u32 %p3, %r3, 0; @%p3 bra $L;",
                            .module = ".shared .align 16 .b8 s[16];"},
                           words);
  ASSERT_FALSE(ran);
  EXPECT_THAT(ran.error().message, HasSubstr("asks for ever for the same numbers"));
  EXPECT_THAT(ran.error().message, HasSubstr("byte 0 of shared memory"));
}

/// Each warp of block 0 writes a word; then one thread counts the block in, after `fence` of all and a barrier.
Result<emu::Stats> count_in(const char* fence, const char* reader_fence, emu::Schedule schedule,
                            std::vector<std::uint32_t>& words) {
  const std::string body = fmt::format(
      "mov.u32 %r2, %ctaid.x; setp.ne.u32 %p2, %r2, 0; @%p2 bra $WAITS;\n"
      "st.global.u32 [%rd1+64], 7; {} bar.sync 0; setp.ne.u32 %p1, %r0, 0; @%p1 bra $END;\n"
      "red.relaxed.gpu.global.add.u32 [%rd0], 1; bra $END;\n"
      "$WAITS: setp.ne.u32 %p1, %r0, 0; @%p1 bra $END;\n"
      "$AGAIN: ld.relaxed.gpu.global.u32 %r3, [%rd0]; setp.eq.u32 %p3, %r3, 0; @%p3 bra $AGAIN;\n"
      "{} ld.global.u32 %r1, [%rd0+192]; st.global.u32 [%rd0+8], %r1;\n"
      "$END:",
      fence, reader_fence);
  return run_ptx(
      {.body = body, .threads = 64, .blocks = 2, .options = {.kernel = "k", .schedule = schedule, .seed = 3}}, words);
}

TEST(PtxOrders, AFenceOfEveryThreadBeforeABarrier) {
  for (const emu::Schedule schedule : kAll) {
    std::vector<std::uint32_t> words(96);
    const auto ran = count_in("membar.gl;", "membar.gl;", schedule, words);
    ASSERT_TRUE(ran) << ran.error().message;
    EXPECT_EQ(words[2], 7u);
    // Fences that are in no order of all do not do it (PTX ISA, "release pattern" is of one thread).
    for (const auto& [fence, reader] : {std::pair{"fence.acq_rel.gpu;", "membar.gl;"},
                                        {"membar.gl;", "fence.acq_rel.gpu;"},
                                        {"", "membar.gl;"},
                                        {"membar.gl;", ""}}) {
      std::vector<std::uint32_t> other(96);
      const auto wrong = count_in(fence, reader, schedule, other);
      ASSERT_FALSE(wrong) << "no finding: " << fence << ", " << reader;
      EXPECT_THAT(wrong.error().message, HasSubstr("no synchronisation between them"));
    }
  }
}

TEST(PtxOrders, AFenceBehindTheBarrierOfWhoRead) {
  // As in count_in(), but warp 0 of block 1 reads the counter, and warp 1 goes on behind a barrier and its own fence.
  const auto read_by_another = [](const char* fence, emu::Schedule schedule) {
    std::vector<std::uint32_t> words(96);
    return run_ptx({.body = fmt::format(
                        "mov.u32 %r2, %ctaid.x; setp.ne.u32 %p2, %r2, 0; @%p2 bra $WAITS;\n"
                        "st.global.u32 [%rd1+64], 7; membar.gl; bar.sync 0; setp.ne.u32 %p1, %r0, 0;\n"
                        "@%p1 bra $END; red.relaxed.gpu.global.add.u32 [%rd0], 1; bra $END;\n"
                        "$WAITS: setp.ge.u32 %p1, %r0, 32; @%p1 bra $MEET;\n"
                        "$AGAIN: ld.relaxed.gpu.global.u32 %r3, [%rd0]; setp.eq.u32 %p3, %r3, 0; @%p3 bra $AGAIN;\n"
                        "$MEET: bar.sync 0; setp.ne.u32 %p1, %r0, 32; @%p1 bra $END;\n"
                        "{} ld.global.u32 %r1, [%rd0+64]; st.global.u32 [%rd0+8], %r1;\n$END:",
                        fence),
                    .threads = 64,
                    .blocks = 2,
                    .options = {.kernel = "k", .schedule = schedule, .seed = 3}},
                   words);
  };
  for (const emu::Schedule schedule : kAll) {
    const auto ran = read_by_another("membar.gl;", schedule);
    EXPECT_TRUE(ran) << ran.error().message;
    EXPECT_FALSE(read_by_another("fence.acq_rel.gpu;", schedule));
    EXPECT_FALSE(read_by_another("", schedule));
  }
}

/// Every block counts itself; the last one does `resets` to the counter.
Result<emu::Stats> last_block(const char* counts, const char* resets, emu::Schedule schedule,
                              std::vector<std::uint32_t>& words) {
  const std::string body = fmt::format("{} setp.ne.u32 %p1, %r1, 3; @%p1 bra $END; {} $END:", counts, resets);
  return run_ptx({.body = body, .threads = 1, .blocks = 4, .options = {.kernel = "k", .schedule = schedule, .seed = 3}},
                 words);
}

TEST(PtxOrders, TheLastBlockSetsTheCounterBack) {
  const char* const counts = "atom.global.add.u32 %r1, [%rd0], 1;";
  for (const emu::Schedule schedule : kAll) {
    std::vector<std::uint32_t> words(4);
    const auto ran = last_block(counts, "st.global.u32 [%rd0], 0;", schedule, words);
    ASSERT_TRUE(ran) << ran.error().message;
    EXPECT_EQ(words[0], 0u);
    // Another place than that of the atomic operations, and a counter that is only looked at.
    words.assign(4, 0);
    const auto other = last_block("st.global.u32 [%rd0+4], 1; atom.global.add.u32 %r1, [%rd0], 1;",
                                  "ld.global.u32 %r2, [%rd0+4];", schedule, words);
    ASSERT_FALSE(other);
    EXPECT_THAT(other.error().message, HasSubstr("no synchronisation between them"));
    words.assign(4, 0);
    const auto looked = last_block(
        "red.global.add.u32 [%rd0], 1; ld.relaxed.gpu.global.u32 %r1, [%rd0]; add.u32 %r1, "
        "%r1, -1;",
        "st.global.u32 [%rd0], 0;", schedule, words);
    ASSERT_FALSE(looked);
    EXPECT_THAT(looked.error().message, HasSubstr("no synchronisation between them"));
  }
}

TEST(PtxOrders, TheLastWarpSetsTheCounterBack) {
  const auto last_warp = [](const char* touches, emu::Schedule schedule) {
    std::vector<std::uint32_t> words(4);
    return run_ptx({.body = fmt::format("setp.ne.u32 %p1, %r0, 0; @%p1 bra $READY; st.shared.v2.u32 [s], {{0, 0}};\n"
                                        "$READY: bar.sync 0; and.b32 %r2, %r0, 31; setp.ne.u32 %p1, %r2, 0;\n"
                                        "@%p1 bra $END; {} atom.shared.add.u32 %r1, [s], 1;\n"
                                        "setp.ne.u32 %p1, %r1, 3; @%p1 bra $END; st.shared.u32 [s], 0; $END:",
                                        touches),
                    .threads = 128,
                    .module = ".shared .align 16 .b8 s[16];",
                    .options = {.kernel = "k", .schedule = schedule}},
                   words);
  };
  for (const emu::Schedule schedule : kAll) {
    const auto ran = last_warp("", schedule);
    EXPECT_TRUE(ran) << ran.error().message;
    EXPECT_FALSE(last_warp("st.shared.u32 [s+4], %r0;", schedule));
  }
}

}  // namespace
}  // namespace flashfit::testing
