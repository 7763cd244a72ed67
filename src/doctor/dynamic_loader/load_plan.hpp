#pragma once
// What the model of the loader found: every object that would be in the process, and every request that led to it.
#include <memory>
#include <string>
#include <vector>

#include "doctor/dynamic_loader/c_library.hpp"
#include "doctor/dynamic_loader/object.hpp"

namespace flashfit::doctor::dynamic_loader {

/// Why the loader takes a file, in words for messages: "DT_RUNPATH of libtorch_cuda.so", "LD_LIBRARY_PATH".
enum class FoundBy : std::uint8_t {
  kNothing,      ///< not found
  kPath,         ///< the name has a '/'
  kLoaded,       ///< an object that is there already has the name, as its file's, its soname's or an earlier request's
  kRpath,        ///< DT_RPATH of the one who asks or of one that led to it
  kLibraryPath,  ///< LD_LIBRARY_PATH
  kRunpath,      ///< DT_RUNPATH of the one who asks
  kCache,        ///< /etc/ld.so.cache
  kDefault,      ///< the C library's default folders
  kBeside,       ///< it lies beside the one who asks, in a folder that is not searched: no answer
  kWindows,      ///< of DLLs: the folder of the program or of the file, or one that was added
  kDriver,       ///< nobody has it, and LoaderView::driver_comes_later
};

constexpr int kNobody = -1;  ///< of indices: none

/// A file that a search would come upon.
struct Candidate {
  std::string path;  ///< as the loader names it: its folder and the name, no link followed
  std::string file;  ///< the same without links
  FileId id;
  std::uint64_t size = 0;  ///< bytes of the file
  FoundBy by = FoundBy::kNothing;
  int owner = kNobody;  ///< of kRpath: the index of the object whose DT_RPATH it is
  std::shared_ptr<const Object> object;
};

struct LoadedObject {
  std::string name;  ///< as it was first asked for: "libcudart.so.12"
  Candidate found;
  int asked_by = kNobody;  ///< index in LoadPlan::objects; of the program and of what dlopen opens from nowhere: none
  bool late = false;       ///< by dlopen, after the start
  bool dropped = false;    ///< its dlopen failed in the end: no later name is answered with it
  std::vector<std::string> names;  ///< all that were asked for and answered with this
};

/// One name that one object (or LD_PRELOAD, or dlopen) asked for.
struct LoadRequest {
  std::string name;
  int asked_by = kNobody;
  bool preload = false;    ///< by LD_PRELOAD or /etc/ld.so.preload: where it is not found, the process goes on
  bool late = false;       ///< from a dlopen, or for an object that one brought
  bool by_string = false;  ///< no DT_NEEDED: the name is a text in the object (named_libraries.hpp)
  int object = kNobody;    ///< index in LoadPlan::objects of the answer; kNobody: none
  FoundBy by = FoundBy::kNothing;
  std::string why;  ///< of no answer: the loader's words
  /// What the search of this very request comes upon, in its order, each file once: the first usable one is the answer,
  /// unless `by` is kLoaded. The others are shadowed.
  std::vector<Candidate> candidates;

  bool failed() const { return object == kNobody && by != FoundBy::kDriver; }
};

/// How far a plan has come: what it gets later is behind these.
struct PlanMark {
  std::size_t objects = 0, requests = 0;
};

struct LoadPlan {
  CLibrary c_library;
  std::string machine;
  bool execstack_tunable = false;
  std::vector<LoadedObject> objects;  ///< in the order of loading; the program first, then the loader itself
  std::vector<LoadRequest> requests;  ///< in order
  bool windows = false;               ///< DLLs, by Windows' rules (dll_plan.hpp)
  std::string cut;                    ///< why the plan is not whole: one line; "" if it is

  PlanMark mark() const { return {objects.size(), requests.size()}; }
  /// The object that has the name, as the loader compares them (kLoaded); kNobody: none.
  int find(std::string_view name) const;
  /// The file's name of an object, for messages; "the program" where there is none. Printable.
  std::string short_name(int object) const;
};

/// A path, made safe to print: as a whole, as paths of environments are long and their ends say most.
std::string printable_path(const std::string& path);

/// "DT_RUNPATH of libtorch_cuda.so", "LD_LIBRARY_PATH", "/etc/ld.so.cache". Printable.
std::string describe(const LoadPlan& plan, FoundBy by, int owner, int asked_by);

}  // namespace flashfit::doctor::dynamic_loader
