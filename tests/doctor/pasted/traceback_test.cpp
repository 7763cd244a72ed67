#include "doctor/pasted/traceback.hpp"

#include <gtest/gtest.h>

namespace flashfit::doctor::pasted {
namespace {

std::vector<Traceback> read(const char* text) { return read_tracebacks(read_pasted(text)); }

TEST(Tracebacks, AreReadWithTheirChain) {
  const auto all = read(R"(Traceback (most recent call last):
  File "/a/one.py", line 3, in f
    return d[k]
           ~^^^
KeyError: 'k'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/a/two.py", line 9, in <module>
    g()
  File "/a/two.py", line 5, in g
    raise ValueError("x") from error
ValueError: x

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/a/three.py", line 1, in <module>
    h()
AssertionError
)");
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].type, "KeyError");
  EXPECT_EQ(all[0].message, "'k'");
  EXPECT_EQ(all[0].line, 5U);
  EXPECT_EQ(all[0].frames[0].code, "return d[k]");
  EXPECT_EQ(all[0].frames[0].code_line, 3U);
  EXPECT_EQ(all[0].link, Traceback::Link::kNone);
  EXPECT_EQ(all[1].link, Traceback::Link::kHandling);
  ASSERT_EQ(all[1].frames.size(), 2U);
  EXPECT_EQ(all[1].frames[1].function, "g");
  EXPECT_EQ(all[2].link, Traceback::Link::kCause);
  EXPECT_EQ(all[2].type, "AssertionError");
}

TEST(Tracebacks, OfIpythonAndRichAreReadToo) {
  const auto ipython = read(
      "File ~/x/modulation.py:71, in Ada.forward(self, x)\n     70 # joins\n---> 71 x = torch.cat([a, b])\n     72 "
      "return x\n\n"
      "RuntimeError: CUDA error\n");
  ASSERT_EQ(ipython.size(), 1U);
  EXPECT_EQ(ipython[0].frames[0].file, "~/x/modulation.py");
  EXPECT_EQ(ipython[0].frames[0].number, 71);
  EXPECT_EQ(ipython[0].frames[0].code, "x = torch.cat([a, b])");
  EXPECT_EQ(ipython[0].frames[0].code_line, 3U);
  const auto rich = read("\xe2\x94\x82 /home/u/gui.py:12 in <module>        \xe2\x94\x82\nImportError: x\n");
  ASSERT_EQ(rich.size(), 1U);
  EXPECT_EQ(rich[0].frames[0].number, 12);
  EXPECT_EQ(rich[0].type, "ImportError");
}

TEST(Tracebacks, CutAtEitherEndAreReadAsFarAsTheyGo) {
  const auto top = read("    return f()\n  File \"/a.py\", line 3, in f\n    g()\nOSError: x\n");
  ASSERT_EQ(top.size(), 1U);
  EXPECT_EQ(top[0].type, "OSError");
  const auto bottom = read("Traceback (most recent call last):\n  File \"/a.py\", line 3, in f\n");
  ASSERT_EQ(bottom.size(), 1U);
  EXPECT_EQ(bottom[0].line, 0U);
}

TEST(Tracebacks, WithoutFramesAreNone) { EXPECT_TRUE(read("KeyError: 'x'\nerror: no\n").empty()); }

TEST(Packages, AreReadFromPaths) {
  EXPECT_EQ(site_packages_of("/v/lib/python3.11/site-packages/torch/_ops.py"), "/v/lib/python3.11/site-packages");
  EXPECT_EQ(site_packages_of("C:\\v\\Lib\\site-packages\\torch\\_ops.py"), "C:\\v\\Lib\\site-packages");
  EXPECT_EQ(site_packages_of("/usr/lib/python3/dist-packages"), "/usr/lib/python3/dist-packages");
  EXPECT_EQ(site_packages_of("/app/my-site-packages/x.py"), "");
  EXPECT_EQ(package_of("/v/site-packages/fused_layer_norm_cuda.cpython-311-x86_64-linux-gnu.so"),
            "fused_layer_norm_cuda");
  EXPECT_EQ(package_of("/v/dist-packages/sageattention-2.1.1-py3.12-linux-x86_64.egg/sageattention/core.py"),
            "sageattention");
  EXPECT_EQ(package_of("/app/x.py"), "");
}

}  // namespace
}  // namespace flashfit::doctor::pasted
