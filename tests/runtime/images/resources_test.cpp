#include "runtime/images/build/resources.hpp"

#include <gtest/gtest.h>

#include "kernels/attention/forward/variants.hpp"
#include "runtime/images/build/catalogue_recipes.hpp"

namespace flashfit {
namespace {

constexpr const char* kLog =
    "ptxas info    : Compiling entry function '_Z5entry' for 'sm_120'\n"
    "ptxas info    : Function properties for _Z5entry\n"
    "    40 bytes stack frame, 60 bytes spill stores, 72 bytes spill loads\n"
    "ptxas info    : Used 255 registers, used 1 barriers, 40 bytes cumulative stack size\n";

const ForwardVariant& some_variant() { return forward_variants().front(); }

Recipe recipe_of(const ForwardVariant& variant, const Target& target) {
  return make_recipe(kernel_of(kernel_variant_of(variant)), target, "closure", "12.9");
}

TEST(Resources, AreReadFromThePtxasReport) {
  const Result<Resources> r = parse_resources(kLog);
  ASSERT_TRUE(r);
  EXPECT_EQ(r->registers, 255);
  EXPECT_EQ(r->stack_bytes, 40);
  EXPECT_EQ(r->spill_store_bytes, 60);
  EXPECT_EQ(r->spill_load_bytes, 72);
}

TEST(Resources, ProductsThatTheCompilerWaitsForAreAnError) {
  const std::string serialized =
      "ptxas info    : (C7514) Potential Performance Loss: wgmma.mma_async instructions are serialized due to non "
      "wgmma "
      "instructions reading accumulator registers in the function 'f'\n";
  const auto refused = parse_resources(serialized + kLog);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "ptxas: " + serialized.substr(0, serialized.size() - 1));
  EXPECT_FALSE(
      parse_resources(std::string("ptxas info    : (C7517) warpgroup.wait is injected in around line 5\n") + kLog));
  EXPECT_TRUE(parse_resources(std::string("ptxas info    : (C7519) warpgroup.arrive is injected\n") + kLog));
}

TEST(Resources, AReportOfAnotherFormIsAnError) {
  EXPECT_FALSE(parse_resources(""));
  EXPECT_FALSE(parse_resources("ptxas info    : Used 255 registers"));
}

TEST(Resources, SpillsPastTheVariantsFailWithTheNumbers) {
  const Recipe recipe = recipe_of(some_variant(), {120, Target::Kind::kSass});
  const Result<void> checked = check_resources(recipe, *parse_resources(kLog));
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().message,
            name_of(some_variant().config) +
                " for 12.0: 255 registers, 40 B stack, 60 B spill stores, 72 B spill loads a thread; the variant "
                "table allows 0 B");
  EXPECT_TRUE(check_resources(recipe, Resources{.registers = 255}));

  ForwardVariant tolerant = some_variant();
  tolerant.spill_bytes = 60;
  EXPECT_TRUE(check_resources(recipe_of(tolerant, recipe.target), *parse_resources(kLog)));
  Recipe unlimited = recipe;
  unlimited.kernel.limits.reset();
  EXPECT_TRUE(check_resources(unlimited, *parse_resources(kLog)));
  EXPECT_TRUE(check_resources(recipe_of(some_variant(), {120, Target::Kind::kPtx}), *parse_resources(kLog)));
}

TEST(Resources, SharedMemoryPastTheTargetFails) {
  ForwardVariant large = some_variant();
  large.config.head_dim = large.config.head_dim_v = 128;
  large.config.block_m = large.config.block_n = 128;
  const Recipe recipe = recipe_of(large, {89, Target::Kind::kSass});
  const Result<void> checked = check_resources(recipe, Resources{});
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().message,
            name_of(large.config) + " for 8.9: 163840 B of shared memory a block; 8.9 has 101376 B");
}

}  // namespace
}  // namespace flashfit
