#include "proof/ptx/decoder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/base/printable.hpp"
#include "proof/emu/accesses.hpp"
#include "proof/ptx/parser.hpp"

namespace flashfit::ptx {
namespace {

constexpr std::pair<std::string_view, Type> kTypes[] = {
    {"pred", Type::kPred}, {"b8", Type::kB8},       {"b16", Type::kB16},      {"b32", Type::kB32},
    {"b64", Type::kB64},   {"u8", Type::kU8},       {"u16", Type::kU16},      {"u32", Type::kU32},
    {"u64", Type::kU64},   {"s8", Type::kS8},       {"s16", Type::kS16},      {"s32", Type::kS32},
    {"s64", Type::kS64},   {"f16", Type::kF16},     {"bf16", Type::kBF16},    {"f32", Type::kF32},
    {"f64", Type::kF64},   {"f16x2", Type::kF16x2}, {"bf16x2", Type::kBF16x2}};

/// Of a warp's copy: tens of thousands.
constexpr std::size_t kMostConstantBytes = 4 << 20;
/// Of a thread (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability").
constexpr std::size_t kMostLocalBytes = 512 << 10;

std::size_t slot_bytes(int bits) {
  const std::size_t bytes = bits == 1 ? 4 : static_cast<std::size_t>(bits) / 8 * Program::kLanes;
  return (bytes + Program::kSlotAlignment - 1) / Program::kSlotAlignment * Program::kSlotAlignment;
}

}  // namespace

int bits_of(Type type) {
  switch (type) {
    case Type::kNone:
      return 0;
    case Type::kPred:
      return 1;
    case Type::kB8:
    case Type::kU8:
    case Type::kS8:
      return 8;
    case Type::kB16:
    case Type::kU16:
    case Type::kS16:
    case Type::kF16:
    case Type::kBF16:
      return 16;
    case Type::kB64:
    case Type::kU64:
    case Type::kS64:
    case Type::kF64:
      return 64;
    default:
      return 32;
  }
}
bool is_signed(Type t) { return t == Type::kS8 || t == Type::kS16 || t == Type::kS32 || t == Type::kS64; }
bool is_float(Type t) { return t >= Type::kF16; }

Decoder::Decoder(const Module& module, const Entry& entry, Program& program)
    : module_(module), entry_(entry), program_(program) {}

void Decoder::refuse(const std::string& what) const {
  Unknown unknown;
  unknown.message = statement_ == nullptr ? fmt::format("{}: {}", module_.name, what)
                                          : fmt::format("{}:{}: {}: {}", module_.name, statement_->line,
                                                        printable(statement_->opcode, 80), what);
  throw unknown;
}

bool Decoder::take(std::string_view modifier) {
  if (next_modifier_ == modifiers_.size() || modifiers_[next_modifier_] != modifier) return false;
  ++next_modifier_;
  return true;
}
bool Decoder::take_any(std::initializer_list<std::string_view> modifiers) {
  return std::any_of(modifiers.begin(), modifiers.end(), [this](std::string_view m) { return take(m); });
}
std::string_view Decoder::take_word() {
  return next_modifier_ == modifiers_.size() ? std::string_view{} : modifiers_[next_modifier_++];
}
std::optional<arch::MemoryOrder> Decoder::take_order() {
  using enum arch::MemoryOrder;
  for (const auto& [name, order] :
       {std::pair{"relaxed", kRelaxed}, {"acquire", kAcquire}, {"release", kRelease}, {"acq_rel", kAcqRel}})
    if (take(name)) return order;
  return std::nullopt;
}
Type Decoder::take_type() {
  if (next_modifier_ < modifiers_.size())
    for (const auto& [name, type] : kTypes)
      if (take(name)) return type;
  refuse(next_modifier_ == modifiers_.size()
             ? std::string("has no type")
             : fmt::format("'.{}' is not known here", printable(modifiers_[next_modifier_], 40)));
}
Type Decoder::last_type() const {
  for (const auto& [name, type] : kTypes)
    if (modifiers_.back() == name) return type;
  return Type::kNone;
}
void Decoder::expect_operands(std::size_t least, std::size_t most) {
  if (next_modifier_ != modifiers_.size())
    refuse(fmt::format("'.{}' is not known here", printable(modifiers_[next_modifier_], 40)));
  if (operand_count() < least || operand_count() > most)
    refuse(fmt::format("{} operands, takes {}", operand_count(),
                       least == most ? std::to_string(least) : fmt::format("{} to {}", least, most)));
}

// Slots.
std::uint32_t Decoder::add_slot(int bits) {
  const std::size_t slot = program_.register_bytes;
  program_.register_bytes += slot_bytes(bits);
  return static_cast<std::uint32_t>(slot);
}

std::uint32_t Decoder::register_slot(std::uint32_t reg, int bits) {
  const int has = entry_.registers[reg].bits;
  if (has != bits)
    refuse(fmt::format("a register of {} where one of {} is needed",
                       has == 1 ? "a predicate" : fmt::format("{} bits", has),
                       bits == 1 ? "a predicate" : fmt::format("{} bits", bits)));
  return slots_[reg];
}

int Decoder::register_bits(const Operand& o) const {
  if (o.kind != Operand::Kind::kRegister) refuse("a register is needed");
  return entry_.registers[o.reg].bits;
}

std::uint32_t Decoder::sink(int bits) {
  const auto [found, is_new] = sinks_.try_emplace(bits, 0);
  if (is_new) found->second = add_slot(bits);
  return found->second;
}

std::uint32_t Decoder::destination(const Operand& o, int bits) {
  if (o.kind == Operand::Kind::kSink) return sink(bits);
  if (o.kind != Operand::Kind::kRegister || o.negated) refuse("the result needs a register");
  return register_slot(o.reg, bits);
}

/// Constants lie before everything else, so that one copy starts a warp: they are collected first and moved in the end.
std::uint32_t Decoder::constant(std::uint64_t value, int bits) {
  if (bits < 64 && bits != 1) value &= (std::uint64_t{1} << bits) - 1;
  const auto [found, is_new] = constants_.try_emplace({value, bits}, 0);
  if (!is_new) return found->second;
  const std::size_t slot = program_.constants.size();
  if (slot + slot_bytes(bits) > kMostConstantBytes) refuse("more constants than are taken");
  program_.constants.resize(slot + slot_bytes(bits));
  std::byte* const at = program_.constants.data() + slot;
  if (bits == 1) {
    const std::uint32_t word = value != 0 ? ~0u : 0;
    std::memcpy(at, &word, sizeof word);
  } else {
    const std::size_t bytes = static_cast<std::size_t>(bits) / 8;
    for (std::size_t l = 0; l < Program::kLanes; ++l) std::memcpy(at + l * bytes, &value, bytes);
  }
  return found->second = static_cast<std::uint32_t>(slot);
}

std::uint32_t Decoder::special(std::string_view name, int bits) {
  const auto [found, is_new] = specials_.try_emplace({name, bits}, 0);
  if (!is_new) return found->second;
  struct Known {
    std::string_view name;
    Special which;
  };
  constexpr Known kAxes[] = {{"%tid.", Special::kTid},
                             {"%ntid.", Special::kNtid},
                             {"%ctaid.", Special::kCtaid},
                             {"%nctaid.", Special::kNctaid},
                             {"%clusterid.", Special::kClusterid},
                             {"%nclusterid.", Special::kNclusterid},
                             {"%cluster_ctaid.", Special::kClusterCtaid},
                             {"%cluster_nctaid.", Special::kClusterNctaid}};
  constexpr Known kPlain[] = {{"%laneid", Special::kLane},
                              {"%warpid", Special::kWarp},
                              {"%nwarpid", Special::kWarps},
                              {"%lanemask_eq", Special::kLaneMask},
                              {"%lanemask_lt", Special::kLanesBelow},
                              {"%lanemask_le", Special::kLanesUpTo},
                              {"%lanemask_gt", Special::kLanesAbove},
                              {"%lanemask_ge", Special::kLanesFrom},
                              {"%cluster_ctarank", Special::kClusterCtarank},
                              {"%cluster_nctarank", Special::kClusterNctarank},
                              {"%smid", Special::kZero},
                              {"%gridid", Special::kZero}};
  found->second = add_slot(bits);
  for (const Known& k : kAxes)
    if (name.size() == k.name.size() + 1 && name.starts_with(k.name) && name.back() >= 'x' && name.back() <= 'z') {
      program_.specials.push_back({k.which, name.back() - 'x', bits, found->second});
      return found->second;
    }
  for (const Known& k : kPlain)
    if (name == k.name) {
      program_.specials.push_back({k.which, 0, bits, found->second});
      return found->second;
    }
  refuse(fmt::format("register '{}' is not known", printable(name, 40)));
}

std::uint32_t Decoder::source(const Operand& o, int bits) {
  switch (o.kind) {
    case Operand::Kind::kRegister:
      if (o.negated) refuse("'!' is not known here");
      return register_slot(o.reg, bits);
    case Operand::Kind::kInteger:
      return constant(o.value, bits);
    case Operand::Kind::kFloat:
      if (bits != (o.wide ? 64 : 32)) refuse(fmt::format("a float where {} bits are needed", bits));
      return constant(o.value, bits);
    case Operand::Kind::kSpecial:
      if (bits != 32 && bits != 64) refuse("a special register has 32 or 64 bits");
      return special(o.symbol, bits);
    case Operand::Kind::kSymbol:
      return constant(address_of(o.symbol), bits);
    default:
      refuse("an operand of another form is needed");
  }
}

std::uint64_t Decoder::immediate(const Operand& o) const {
  if (o.kind != Operand::Kind::kInteger) refuse("a constant is needed");
  return o.value;
}

std::uint64_t Decoder::address_of(std::string_view symbol, Space* space) const {
  const auto found = variables_.find(symbol);
  if (found == variables_.end()) refuse(fmt::format("'{}' is not declared", printable(symbol, 60)));
  if (space != nullptr) *space = found->second.first;
  return found->second.second;
}

Decoder::Address Decoder::address(const Operand& o, Space space, std::size_t coordinates) {
  if (o.kind != Operand::Kind::kAddress) refuse("an address in brackets is needed");
  if (o.parts.size() != coordinates) refuse(fmt::format("{} coordinates, takes {}", o.parts.size(), coordinates));
  const auto offset = static_cast<std::int64_t>(o.value);
  if (o.absolute) return {constant(o.value, 64), 64, 0};
  if (o.symbol.empty()) {
    const int bits = entry_.registers[o.reg].bits;
    if (bits != 32 && bits != 64) refuse("an address has 32 or 64 bits");
    return {slots_[o.reg], bits, offset};
  }
  Space is = space;
  const std::uint64_t at = address_of(o.symbol, &is);
  if (space != is && space != Space::kGeneric) refuse(fmt::format("'{}' is in another space", printable(o.symbol, 60)));
  if (space == Space::kGeneric && is != Space::kGlobal && is != Space::kConst)
    refuse(fmt::format("'{}' has no generic address", printable(o.symbol, 60)));
  return {constant(at, 64), 64, offset};
}

std::int32_t Decoder::label(const Operand& o) const {
  const auto found = o.kind == Operand::Kind::kSymbol ? entry_.labels.find(o.symbol) : entry_.labels.end();
  if (found == entry_.labels.end()) refuse(fmt::format("label '{}' is not there", printable(o.symbol, 60)));
  return static_cast<std::int32_t>(found->second);
}

// Instructions.
std::uint32_t Decoder::site_of(const Statement& s) {
  // Text without line information is its own source.
  const auto file = module_.files.find(s.place.file);
  const bool known = file != module_.files.end();
  const unsigned file_id = known ? s.place.file : ~0u, line = known ? s.place.line : s.line;
  const auto [found, is_new] = site_numbers_.try_emplace({file_id, line}, 0);
  if (is_new) {
    const auto [number, is_new_file] = file_numbers_.try_emplace(file_id, program_.files.size());
    if (is_new_file) program_.files.push_back(known ? file->second : module_.name);
    program_.sites.emplace_back(nullptr, line);
    site_files_.push_back(number->second);
    found->second = static_cast<std::uint32_t>(program_.sites.size() - 1);
  }
  return found->second;
}

Instruction& Decoder::emit(Run run, std::vector<std::uint32_t> slots, Kind kind) {
  Instruction i;
  i.run = run;
  i.kind = kind;
  const Statement& s = *statement_;
  i.guard = s.guard == Operand::kNone ? constant(1, 1) : register_slot(s.guard, 1);
  i.guard_flip = s.guard_negated ? ~0u : 0;
  i.site = site_of(s);
  first_operand_.push_back(program_.operands.size());
  program_.operands.insert(program_.operands.end(), slots.begin(), slots.end());
  program_.code.push_back(i);
  return program_.code.back();
}

void Decoder::names_access(Instruction& i, std::string what) {
  const auto [found, is_new] = access_numbers_.try_emplace({std::move(what), i.site}, 0);
  if (is_new) {
    found->second = static_cast<std::uint32_t>(program_.accesses.size());
    if (found->second == emu::Accesses::kMostInstructions)
      refuse(fmt::format("memory is accessed at more than {} lines", emu::Accesses::kMostInstructions));
    program_.accesses.push_back({found->first.first, i.site});
  }
  i.access = found->second;
}

void Decoder::place(const Variable& v, std::map<std::string_view, std::pair<Space, std::uint64_t>>& places) {
  std::uint64_t at = 0;
  const auto take_from = [&v](std::size_t& used) {
    const std::size_t first = (used + v.alignment - 1) / v.alignment * v.alignment;
    used = first + v.bytes;
    return first;
  };
  switch (v.space) {
    case Space::kShared:
      if (v.bytes == 0) return;  // dynamic: behind all others
      at = Program::kSharedStart + take_from(program_.static_shared);
      break;
    case Space::kLocal:
      at = take_from(program_.local_bytes);
      break;
    case Space::kParam:
      at = v.offset;
      break;
    default: {
      // Aligned to 8 by its words, to more by room to move.
      const std::size_t words = (v.bytes + v.alignment + 7) / 8;
      Program::Global g{std::string(v.name), std::make_unique<std::uint64_t[]>(words), v.bytes,
                        v.space == Space::kGlobal};
      auto base = reinterpret_cast<std::uint64_t>(g.memory.get());
      base += (v.alignment - base % v.alignment) % v.alignment;
      std::copy(v.initial.begin(), v.initial.end(), reinterpret_cast<std::byte*>(base));
      g.base = base;
      at = base;
      program_.globals.push_back(std::move(g));
    }
  }
  if (!places.emplace(v.name, std::pair{v.space, at}).second)
    refuse(fmt::format("'{}' is declared twice", printable(v.name, 60)));
}

void Decoder::place_variables() {
  for (const Variable& v : module_.variables) place(v, variables_);
  for (const Variable& v : entry_.variables) place(v, variables_);
  for (const Variable& v : entry_.params) place(v, variables_);
  for (const Variable& v : module_.variables)
    for (const Variable::Address& a : v.addresses) {
      Space space{};
      const std::uint64_t value = address_of(a.symbol, &space) + a.offset;
      if (space != Space::kGlobal && space != Space::kConst)
        refuse(fmt::format("'{}' has no address that a variable can begin with", printable(a.symbol, 60)));
      std::memcpy(reinterpret_cast<std::byte*>(address_of(v.name)) + a.at, &value, sizeof value);
    }
  program_.local_bytes = (program_.local_bytes + 15) / 16 * 16;
  if (program_.local_bytes > kMostLocalBytes)
    refuse(fmt::format("{} bytes of local memory: at most {}", program_.local_bytes, kMostLocalBytes));
  for (const Variable& v : module_.variables) {
    if (v.space != Space::kShared || v.bytes != 0) continue;
    program_.static_shared = (program_.static_shared + v.alignment - 1) / v.alignment * v.alignment;
    program_.dynamic_shared = true;
  }
  for (const Variable& v : module_.variables)
    if (v.space == Space::kShared && v.bytes == 0)
      variables_[v.name] = {Space::kShared, Program::kSharedStart + program_.static_shared};
}

void Decoder::place_registers() {
  // Constants are not known yet: registers are placed from 0 and moved behind them in the end.
  for (const Register& r : entry_.registers) slots_.push_back(add_slot(r.bits));
}

void Decoder::decode_one(const Statement& s) {
  statement_ = &s;
  modifiers_.clear();
  next_modifier_ = 0;
  caches_ = false;
  std::string_view rest = s.opcode;
  while (true) {
    const std::size_t dot = rest.find('.');
    modifiers_.push_back(rest.substr(0, dot));
    if (dot == std::string_view::npos) break;
    rest.remove_prefix(dot + 1);
  }
  const std::string_view base = take_word();
  constexpr bool (*kGroups[])(Decoder&, std::string_view) = {
      &decode_comparison, &decode_half,     &decode_arithmetic, &decode_data,    &decode_convert,
      &decode_memory,     &decode_warp,     &decode_cluster,    &decode_control, &decode_matrix,
      &decode_warpgroup,  &decode_mbarrier, &decode_bulk,       &decode_atomic};
  if (std::ranges::none_of(kGroups, [&](auto decode) { return decode(*this, base); }))
    refuse("this instruction is not known");
}

void Decoder::decode_all() {
  program_.name = std::string(entry_.name);
  program_.target = module_.target;
  program_.max_threads = entry_.max_threads;
  program_.min_blocks = entry_.min_blocks;
  program_.cluster = entry_.cluster;
  program_.param_bytes = entry_.param_bytes;
  if (program_.param_bytes > Program::kMostParamBytes)
    refuse(fmt::format("{} bytes of arguments: at most {}", program_.param_bytes, Program::kMostParamBytes));
  constant(1, 1);  // slot 0, which therefore is no operand's that may be missing
  place_variables();
  // One region for constants, one for the rest, so that numbers tell them apart until both sizes are known.
  program_.register_bytes = kRegisterBase;
  place_registers();
  for (const Statement& s : entry_.statements) decode_one(s);
  Statement end;
  end.opcode = "ret";
  end.line = entry_.statements.empty() ? 0 : entry_.statements.back().line;
  decode_one(end);
  statement_ = nullptr;
  const std::size_t constants = program_.constants.size();
  const auto moved = [constants](std::uint32_t slot) {
    return slot < kRegisterBase ? slot : static_cast<std::uint32_t>(slot - kRegisterBase + constants);
  };
  program_.register_bytes = program_.register_bytes - kRegisterBase + constants;
  for (std::uint32_t& slot : program_.operands) slot = moved(slot);
  for (SpecialSlot& s : program_.specials) s.slot = moved(s.slot);
  for (std::size_t r = 0; r < slots_.size(); ++r)
    if (entry_.registers[r].bits == 32) program_.word_slots.push_back(moved(slots_[r]));
  for (std::size_t i = 0; i < program_.code.size(); ++i) {
    program_.code[i].guard = moved(program_.code[i].guard);
    program_.code[i].r = program_.operands.data() + first_operand_[i];
  }
  for (std::size_t i = 0; i < program_.sites.size(); ++i)
    program_.sites[i].file = program_.files[site_files_[i]].c_str();
}

Result<std::unique_ptr<Program>> decode(const Module& module, std::string_view entry) {
  const auto found = entry.empty() && module.entries.size() == 1
                         ? module.entries.begin()
                         : std::find_if(module.entries.begin(), module.entries.end(),
                                        [entry](const Entry& e) { return e.name == entry; });
  if (found == module.entries.end()) {
    std::string names;
    for (const Entry& e : module.entries) names += (names.empty() ? "" : ", ") + printable(e.name, 200);
    return fail(Code::kInvalidArgument, fmt::format("{}: no entry '{}': it has {}", module.name, printable(entry, 200),
                                                    names.empty() ? "none" : names));
  }
  auto program = std::make_unique<Program>();
  try {
    Decoder(module, *found, *program).decode_all();
  } catch (const Unknown& unknown) {
    return fail(Code::kInvalidArgument, unknown.message);
  }
  return program;
}

}  // namespace flashfit::ptx
