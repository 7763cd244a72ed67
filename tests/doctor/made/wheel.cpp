#include "doctor/made/wheel.hpp"

#include "doctor/packaging/wheel_tag.hpp"

namespace flashfit::doctor::test {

MadeWheel& MadeWheel::add(std::string member, const std::vector<std::byte>& content) {
  members.push_back({.name = std::move(member), .content = std::string(as_text(content))});
  return *this;
}

std::vector<std::byte> MadeWheel::bytes() const {
  const std::string folder = name + "-" + version + ".dist-info/";
  std::string metadata = "Metadata-Version: 2.1\nName: " + name + "\nVersion: " + version + "\n";
  if (!requires_python.empty()) metadata += "Requires-Python: " + requires_python + "\n";
  for (const std::string& requirement : requirements) metadata += "Requires-Dist: " + requirement + "\n";
  std::string wheel = "Wheel-Version: 1.0\nGenerator: flashfit-tests\nRoot-Is-Purelib: false\n";
  for (const std::string& set : tags.empty() ? std::vector<std::string>{tag} : tags) {
    const auto each = parse_tags(set).value();
    for (const WheelTag& one : each) wheel += "Tag: " + one.str() + "\n";
  }
  auto all = members;
  all.push_back({.name = folder + "METADATA", .content = metadata});
  all.push_back({.name = folder + "WHEEL", .content = wheel});
  std::string record;
  for (const MadeMember& member : all) record += member.name + ",,\n";
  all.push_back({.name = folder + "RECORD", .content = record + folder + "RECORD,,\n"});
  return make_zip(all).bytes;
}

}  // namespace flashfit::doctor::test
