// What a text names, held against what is known of PyTorch's releases.
#include "doctor/pasted/named_facts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/gpu/driver_versions.hpp"
#include "doctor/pasted/answer.hpp"

namespace flashfit::doctor::pasted {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

doctor::Question question_for(const Diagnosis& diagnosis, const char* driver = nullptr) {
  doctor::Question question;
  if (diagnosis.named.gpu) question.gpus.push_back({diagnosis.named.gpu->name, *diagnosis.named.gpu});
  if (driver != nullptr) question.driver = parse_driver(driver).value();
  return question;
}

std::vector<NamedFact> facts_of(const char* text, const char* driver = nullptr) {
  const Diagnosis diagnosis = diagnose(text);
  return named_facts(diagnosis, question_for(diagnosis, driver));
}

TEST(NamedFacts, ABuildWithoutCodeForTheGpuHoldsTheAnswer) {
  const auto facts = facts_of("torch: 2.8.0+cu128\nNVIDIA GeForce GTX 1080 Ti\nit crashed\n");
  ASSERT_THAT(facts, SizeIs(1));
  EXPECT_THAT(facts[0].line, StartsWith("torch 2.8.0+cu128 carries nothing for GTX 1080 Ti (6.1): "));
  EXPECT_EQ(facts[0].code, "FF704");
  EXPECT_THAT(facts[0].mend, HasSubstr("+cu126"));
}

TEST(NamedFacts, ABuildWithCodeForTheGpuIsClearedByName) {
  const auto facts = facts_of("torch==2.8.0+cu128 on an NVIDIA GeForce RTX 4090\n");
  ASSERT_THAT(facts, SizeIs(1));
  EXPECT_THAT(facts[0].line, StartsWith("torch 2.8.0+cu128 itself has code for RTX 4090 (8.9): "));
  EXPECT_THAT(facts[0].code, IsEmpty());
}

TEST(NamedFacts, ABuildForCpusUsesNoGpu) {
  const auto facts = facts_of("PyTorch version: 2.4.0+cpu\nGPU: Tesla T4\n");
  ASSERT_THAT(facts, SizeIs(1));
  EXPECT_THAT(facts[0].line, HasSubstr("2.4.0+cpu is a build for CPUs"));
  EXPECT_EQ(facts[0].code, "FF704");
}

TEST(NamedInText, PathsTellWindows) {
  const auto is_windows = [](const char* text) { return diagnose(text).named.windows; };
  EXPECT_TRUE(
      is_windows("  File \"C:\\venv\\Lib\\site-packages\\torch\\__init__.py\", line 3, in <module>\nKeyError: 1\n"));
  EXPECT_TRUE(is_windows("PS E:\\ComfyUI> python.exe -m pip install x.whl\n"));
  EXPECT_FALSE(
      is_windows("  File \"/venv/lib/python3.11/site-packages/torch/__init__.py\", line 3, in f\nKeyError: 1\n"));
  EXPECT_FALSE(is_windows("PS E:\\ComfyUI> docker run x\n  File \"/app/a.py\", line 3, in f\nKeyError: 1\n"))
      << "a container's program, started from Windows";
  EXPECT_FALSE(is_windows("http://example.invalid/x and C: alone\n"));
}

TEST(NamedFacts, AVersionOfALibraryIsNoDrivers) {
  EXPECT_EQ(
      diagnose("Found cuSOLVER version 11002, but JAX was built against version 11401, which is newer.\n").named.driver,
      "");
  EXPECT_EQ(diagnose("The NVIDIA driver on your system is too old (found version 11040).\n").named.driver, "11.4");
}

TEST(NamedFacts, ADriverTooOldForTheBuildIsSaid) {
  const auto facts = facts_of("torch 2.9.1+cu130\n", "535");
  ASSERT_THAT(facts, SizeIs(1));
  EXPECT_EQ(facts[0].code, "FF703");
  EXPECT_THAT(facts[0].line, HasSubstr("580"));
  EXPECT_THAT(facts[0].mend, HasSubstr("cu12"));
}

TEST(NamedFacts, ACompanionOfAnotherPyTorchIsSaidWithTheOneThatGoesWithIt) {
  const auto facts = facts_of("torch 2.9.1+cu128 torchvision 0.23.0+cu128\ntorchaudio==2.9.1\n");
  ASSERT_THAT(facts, SizeIs(2));
  EXPECT_EQ(facts[0].code, "FF406");
  EXPECT_THAT(facts[0].line, HasSubstr("torchvision 0.23.0+cu128 is built for torch ==2.8.0"));
  EXPECT_THAT(facts[0].mend, HasSubstr("torchvision==0.24"));
  EXPECT_THAT(facts[1].line, HasSubstr("torchaudio 2.9.1 goes with torch 2.9.1+cu128"));
}

TEST(NamedFacts, WhatAPackageWantsOrWasBuiltForIsNotWhatIsThere) {
  EXPECT_THAT(facts_of("xformers requires torch==2.8.0, but you have torch 2.9.1\ntorchvision 0.23.0\n"), IsEmpty());
  EXPECT_EQ(diagnose("PyTorch 2.1.0+cu121 with CUDA 1201 (you have 2.1.0+cpu)\n").named.torch, "");
}

TEST(NamedFacts, OfSeveralVersionsNoneCounts) {
  EXPECT_EQ(diagnose("torch 2.8.0\ntorch 2.9.1\n").named.torch, "");
  EXPECT_EQ(diagnose("torch 2.9.1\nPyTorch: 2.9.1+cu128\n").named.torch, "2.9.1+cu128");
}

TEST(NamedFacts, ExplainAnErrorOfTheirKind) {
  Diagnosis diagnosis = diagnose(
      "torch: 2.8.0+cu128\nNVIDIA GeForce GTX 1080 Ti\nRuntimeError: CUDA error: no kernel image is available for "
      "execution on the device\n");
  const doctor::Question question = question_for(diagnosis);
  const Answer found = answer(std::move(diagnosis), {}, question, "FILE");
  EXPECT_TRUE(found.cause_found);
  EXPECT_THAT(found.mend, HasSubstr("torch=="));
  // Of an unknown error they are no proof.
  Diagnosis unknown = diagnose("torch: 2.8.0+cu128\nNVIDIA GeForce GTX 1080 Ti\nKeyError: 'x'\n");
  const doctor::Question same = question_for(unknown);
  const Answer open = answer(std::move(unknown), {}, same, "FILE");
  EXPECT_FALSE(open.cause_found);
  EXPECT_THAT(open.mend, HasSubstr("torch=="));
}

}  // namespace
}  // namespace flashfit::doctor::pasted
