#pragma once
// An entry of a module, decoded once into a form that runs: each instruction a function and the places of its operands.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "proof/emu/site.hpp"
#include "proof/ptx/module.hpp"

namespace flashfit::ptx {

class Warp;
struct Instruction;

/// Executes for the lanes of Warp::mask(). Ends the launch at a finding.
using Run = void (*)(Warp&, const Instruction&);

enum class Kind : unsigned char {
  kPlain,
  kAsk,  ///< a plain one after which other lanes may be let run
  kBranch,
  kExit,
  kTogether,  ///< waits until all lanes of its member mask are there; Instruction::r[0] is the mask's slot
  kBarrier,   ///< of the block; waits until all lanes of the warp that have not left are there
};

/// Operands are slots: where in a warp's registers 32 values lie, one a lane, in bytes; a predicate is one word, a bit
/// a lane. Constants and special registers have slots as well.
struct Instruction {
  Run run = nullptr;
  const std::uint32_t* r = nullptr;  ///< slots, as `run` takes them
  std::int64_t imm = 0;
  std::uint32_t guard = 0;       ///< slot of a predicate
  std::uint32_t guard_flip = 0;  ///< ~0: lanes run where it is false
  std::int32_t extra = 0;        ///< of a branch, where to; of others, as `run` takes it
  std::uint32_t site = 0;
  std::uint32_t access = 0;  ///< the instruction's number in records of accesses
  Kind kind = Kind::kPlain;
};

/// Special registers, filled when a warp starts.
enum class Special : unsigned char {
  kTid,
  kNtid,
  kCtaid,
  kNctaid,
  kClusterid,
  kNclusterid,
  kClusterCtaid,
  kClusterNctaid,
  kClusterCtarank,
  kClusterNctarank,
  kLane,
  kWarp,
  kWarps,
  kLanesBelow,
  kLanesUpTo,
  kLanesAbove,
  kLanesFrom,
  kLaneMask,
  kZero,  ///< of what does not matter here: %smid, %gridid
};
struct SpecialSlot {
  Special which;
  int axis;  ///< 0 .. 2
  int bits;
  std::uint32_t slot;
};

/// An instruction that records of accesses to shared memory name.
struct AccessPlace {
  std::string what;
  std::uint32_t site;
};

struct Program {
  static constexpr std::size_t kLanes = 32, kSlotAlignment = 64;
  /// Addresses: shared memory begins here in its own space, so that address 0 is none of it; generic addresses of
  /// shared and local memory have a base that no host address has.
  static constexpr std::uint32_t kSharedStart = 1024;
  static constexpr std::uint64_t kSharedWindow = 0xa000'0000'0000'0000, kLocalWindow = 0xb000'0000'0000'0000,
                                 kParamWindow = 0xc000'0000'0000'0000;
  /// An address of shared memory: these bits say where, those above them which block of the cluster, from 1 on; 0 is
  /// the thread's own.
  static constexpr std::uint32_t kPlaceMask = (1u << 24) - 1;
  /// Of all arguments (CUDA C++ Programming Guide, "Function Parameters").
  static constexpr std::size_t kMostParamBytes = 32764;

  std::string name;  ///< the entry's
  int target = 0, max_threads = 0, min_blocks = 1, cluster = 1;
  std::vector<Instruction> code;
  std::vector<std::uint32_t> operands;
  std::size_t register_bytes = 0;
  std::vector<std::byte> constants;  ///< what a warp's registers begin with
  std::vector<SpecialSlot> specials;
  std::vector<std::uint32_t> word_slots;  ///< of the registers of 32 bits
  std::size_t param_bytes = 0;
  std::size_t static_shared = 0, local_bytes = 0;
  /// Variables of the module, which live as long as the program. Its text need not.
  struct Global {
    std::string name;
    std::unique_ptr<std::uint64_t[]> memory;
    std::size_t bytes;
    bool writable;
    std::uint64_t base = 0;  ///< its address, aligned as declared
  };
  std::vector<Global> globals;
  std::vector<std::string> files;  ///< of sites
  std::vector<emu::Site> sites;    ///< of instructions; point into `files`
  std::vector<AccessPlace> accesses;
  bool dynamic_shared = false;  ///< whether it names what the launch gives
};

/// kInvalidArgument: "NAME:LINE: what is not known", or there is no entry of that name; an empty name takes the only
/// one.
Result<std::unique_ptr<Program>> decode(const Module& module, std::string_view entry);

}  // namespace flashfit::ptx
