// The field reports that the doctor was made for, rebuilt small: each must get its true cause, and no other file the
// blame.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doctor/facts/read_target.hpp"
#include "doctor/facts/torch_facts.hpp"
#include "doctor/rules/judge.hpp"
#include "doctor/rules/origin_folder.hpp"

namespace flashfit::doctor {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

class OriginReports : public test::OriginFolder {
 protected:
  /// Problems that make a verdict other than "fits".
  std::vector<Problem> blamed(const std::string& part, const Question& question) const {
    std::vector<Problem> problems = problems_of(read_file(path(part)), question);
    std::erase_if(problems, [](const Problem& p) { return p.severity == Severity::kNote; });
    return problems;
  }
};

Question l40() {
  Question question;
  question.gpus.push_back({"L40", name_gpu("L40").value()});
  question.python = parse_python("3.11").value();
  question.platform = parse_platform("manylinux_2_35_x86_64").value();
  return question;
}

TEST_F(OriginReports, AWheelForAnotherPythonIsRefusedByItsTag) {
  const auto problems = blamed("torch2.7cxx11abiFALSE-cp310", l40());
  ASSERT_THAT(problems, Contains(Field(&Problem::code, "FF201")));
  EXPECT_THAT(problems, Contains(Field(&Problem::message, HasSubstr("cp310 is not your cp311"))));
}

TEST_F(OriginReports, TheOldAbiIsRefusedByATorchOfTheNew) {
  Question question = l40();
  question.torch = read_torch(path("torch-2.7.1")).value();
  const auto problems = blamed("cxx11abiFALSE-cp311", question);
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].code, "FF401");
  EXPECT_THAT(problems[0].message, HasSubstr("torchCheckFail"));
}

TEST_F(OriginReports, SassOf8And9RunsOnAnL40) {
  Question question = l40();
  question.torch = read_torch(path("torch-2.7.1")).value();
  EXPECT_THAT(blamed("cxx11abiTRUE-cp311", question), IsEmpty());
}

TEST_F(OriginReports, TheCulpritOfNoKernelImageIsTheOneWithoutAnImage) {
  EXPECT_THAT(blamed("apex", l40()),
              ElementsAre(AllOf(Field(&Problem::code, "FF101"),
                                Field(&Problem::member, "fused_layer_norm_cuda.cpython-311-x86_64-linux-gnu.so"))));
  EXPECT_THAT(blamed("cxx11abiTRUE-cp311", l40()), IsEmpty()) << "wherever the error showed";
}

}  // namespace
}  // namespace flashfit::doctor
