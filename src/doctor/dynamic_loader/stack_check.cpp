// FF608: a library that is opened late and asks for an executable stack.
#include "doctor/dynamic_loader/all_problems.hpp"
#include "doctor/dynamic_loader/load_faults.hpp"

namespace flashfit::doctor::dynamic_loader {

void check_stacks(const LoadPlan& plan, PlanMark since, std::vector<doctor::Problem>& problems) {
  for (std::size_t i = since.objects; i < plan.objects.size(); ++i) {
    const LoadedObject& object = plan.objects[i];
    const auto refused = refuses_stack(plan, object);
    if (refused && !*refused) continue;
    const GlibcVersion& glibc = plan.c_library.version;
    problems.push_back(
        {"FF608", refused ? doctor::Severity::kMisfit : doctor::Severity::kUnknown,
         refused ? fmt::format("asks for an executable stack, which glibc {}.{} refuses to what is opened late",
                               glibc.major, glibc.minor)
                 : std::string("asks for an executable stack, which glibc refuses from 2.41 on to what is opened late; "
                               "the version here is not known"),
         object.found.path,
         fmt::format("patchelf --clear-execstack {}, or GLIBC_TUNABLES=glibc.rtld.execstack=2",
                     printable_path(object.found.path))});
  }
}

}  // namespace flashfit::doctor::dynamic_loader
