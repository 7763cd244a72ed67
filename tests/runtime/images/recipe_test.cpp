#include "runtime/images/build/recipe.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <set>

#include "runtime/images/build/catalogue_recipes.hpp"
#include "runtime/images/build/kernel_list.hpp"
#include "runtime/images/catalogue.hpp"

namespace flashfit {
namespace {

namespace fs = std::filesystem;

/// A source tree like ours in miniature: each family's kernel includes a neighbour and the backend.
struct RecipeTest : testing::Test {
  fs::path source = fs::temp_directory_path() / ("flashfit_recipe_test_" + std::to_string(getpid()));

  void SetUp() override {
    for (const KernelVariant& variant : catalogue())
      write(variant.family->header, "#include \"tile/tile.cuh\"\n#include <flashfit_arch.hpp>\n");
    write("tile/tile.cuh", "int tile;\n");
    write("kernels/arch/cuda/flashfit_arch.hpp", "int arch;\n");
    write("cpu/other.hpp", "int other;\n");
  }
  void TearDown() override { fs::remove_all(source); }

  void write(const std::string& file, const std::string& text) const {
    fs::create_directories((source / file).parent_path());
    std::ofstream(source / file) << text;
  }
  std::vector<Recipe> recipes(const std::string& nvrtc = "12.9") const {
    const auto made = catalogue_recipes({80, 90}, source, nvrtc);
    EXPECT_TRUE(made) << made.error().message;
    return made.value_or(std::vector<Recipe>());
  }
  std::vector<std::string> keys(const std::string& nvrtc = "12.9") const {
    std::vector<std::string> out;
    for (const Recipe& r : recipes(nvrtc)) out.push_back(r.key);
    return out;
  }
};

TEST_F(RecipeTest, OneForEachRowAndChosenTarget) {
  std::set<std::string> keys;
  for (const Recipe& r : recipes()) {
    EXPECT_TRUE(r.target.cc == 80 || r.target.cc == 90);
    EXPECT_TRUE(keys.insert(r.key).second) << name_of(r) << " shares a key";
    const bool ptx = r.target.kind == Target::Kind::kPtx;
    EXPECT_THAT(r.options, testing::Contains((ptx ? "--gpu-architecture=compute_" : "--gpu-architecture=sm_") +
                                             std::to_string(r.target.cc) + suffix_of(r.target.scope)));
  }
  std::size_t expected = 0;
  for (const KernelVariant& variant : catalogue())
    for (const Target& t : variant.targets) expected += t.cc == 80 || t.cc == 90 ? 1 : 0;
  EXPECT_EQ(keys.size(), expected);
}

TEST_F(RecipeTest, KeysFollowWhatIsReachedAndNothingElse) {
  const auto before = keys();
  EXPECT_EQ(keys(), before);
  write("cpu/other.hpp", "int changed;\n");
  EXPECT_EQ(keys(), before);
  write("tile/tile.cuh", "int changed;\n");
  const auto after_tile = keys();
  EXPECT_NE(after_tile, before);
  write("kernels/arch/cuda/flashfit_arch.hpp", "int changed;\n");
  EXPECT_NE(keys(), after_tile);
  EXPECT_NE(keys("13.0"), keys("12.9"));
}

TEST_F(RecipeTest, AListIsReadByTheSameRules) {
  write("list.txt", "# comment\nscan | tile/tile.cuh | Scan<256> | 9.0, 9.0a, 10.0f, 8.0+PTX\n");
  const auto made = read_kernel_list(source / "list.txt", {source}, "12.9");
  ASSERT_TRUE(made) << made.error().message;
  std::vector<std::string> names, architectures;
  for (const Recipe& r : *made) names.push_back(name_of(r)), architectures.push_back(r.options.front());
  EXPECT_THAT(names, testing::ElementsAre("scan for 9.0", "scan for 9.0a", "scan for 10.0f", "scan for 8.0+PTX"));
  EXPECT_THAT(architectures, testing::ElementsAre("--gpu-architecture=sm_90", "--gpu-architecture=sm_90a",
                                                  "--gpu-architecture=sm_100f", "--gpu-architecture=compute_80"));
  EXPECT_EQ(made->front().source, "#include \"tile/tile.cuh\"\nnamespace flashfit { using Kernel = Scan<256>; }\n");
  for (const char* target : {"9", "9.0b", "9.0 a", "sm_90", ""}) {
    write("list.txt", std::string("scan | tile/tile.cuh | Scan<256> | 9.0, ") + target + "\n");
    const auto wrong = read_kernel_list(source / "list.txt", {source}, "12.9");
    ASSERT_FALSE(wrong) << target;
    EXPECT_EQ(wrong.error().message, (source / "list.txt").string() + ":1: target '" + target +
                                         "' is not of the form 9.0, 9.0a, 10.0f or 8.0+PTX");
  }
}

TEST_F(RecipeTest, AnIncludeThatIsMissingIsNamed) {
  fs::remove(source / "tile/tile.cuh");
  const auto made = catalogue_recipes({90}, source, "12.9");
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, testing::HasSubstr("tile/tile.cuh cannot be read"));
}

}  // namespace
}  // namespace flashfit
