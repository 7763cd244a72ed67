#include "proof/ptx/parser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <exception>
#include <optional>
#include <ranges>
#include <utility>

#include "core/base/ascii.hpp"
#include "core/base/printable.hpp"
#include "proof/ptx/lexer.hpp"

namespace flashfit::ptx {
namespace {

/// Leaves the parser at the first thing that it does not take; caught by parse().
struct Refusal : std::exception {
  std::string message;
};

constexpr std::size_t kMostScopes = 64, kMostParts = 128, kMostOperands = 16;

/// Bytes of a fundamental type, 0: none. A predicate has no bytes.
std::size_t bytes_of(std::string_view type) {
  if (type.size() < 2 || std::string_view("bsuf").find(type[0]) == std::string_view::npos) return 0;
  const std::string_view bits = type.substr(1);
  return bits == "8" ? 1 : bits == "16" ? 2 : bits == "32" ? 4 : bits == "64" ? 8 : 0;
}

class Parser {
 public:
  Parser(std::string name, std::string_view text) : lexer_(text) {
    module_.name = std::move(name);
    step();
  }

  Module parse() {
    while (token_.kind != Token::Kind::kEnd) directive();
    return std::move(module_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    Refusal refusal;
    refusal.message = fmt::format("{}:{}: {}", module_.name, token_.line, what);
    throw refusal;
  }
  [[noreturn]] void refuse_token(const char* wanted) const {
    refuse(token_.kind == Token::Kind::kEnd
               ? fmt::format("the text ends where {} was expected", wanted)
               : fmt::format("'{}' where {} was expected", printable(token_.text, 60), wanted));
  }

  void step() { token_ = lexer_.next(); }
  bool take(char sign) { return token_.is(sign) && (step(), true); }
  bool take(std::string_view word) { return token_.is(word) && (step(), true); }
  void expect(char sign) {
    if (!take(sign)) refuse_token(std::string{'\'', sign, '\''}.c_str());
  }
  std::string_view word(const char* what) {
    if (token_.kind != Token::Kind::kWord) refuse_token(what);
    const std::string_view text = token_.text;
    step();
    return text;
  }

  /// An integer constant, "16" or "0x1fU"; PTX's octal and binary too.
  std::uint64_t integer(std::string_view text) const {
    if (!text.empty() && text.back() == 'U') text.remove_suffix(1);
    int base = 10;
    if (text.size() > 1 && text[0] == '0') {
      const char kind = to_lower(text[1]);
      base = kind == 'x' ? 16 : kind == 'b' ? 2 : 8;
      text.remove_prefix(base == 8 ? 1 : 2);
    }
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (error != std::errc() || end != text.data() + text.size())
      refuse(fmt::format("'{}' is no integer of 64 bits", printable(token_.text, 60)));
    return value;
  }
  std::uint64_t number(const char* what) {
    if (token_.kind != Token::Kind::kNumber) refuse_token(what);
    const std::uint64_t value = integer(token_.text);
    step();
    return value;
  }
  unsigned small(const char* what) {
    const std::uint64_t value = number(what);
    if (value > 0x7fffffff) refuse(fmt::format("{} of {}: at most {}", what, value, 0x7fffffff));
    return static_cast<unsigned>(value);
  }

  // Module level.
  void directive() {
    if (take(".version") || take(".address_size")) {
      step();
      if (token_.kind == Token::Kind::kWord && token_.text.size() > 1 && is_digit(token_.text[1]))
        step();  // ".8" of 8.8
    } else if (take(".target")) {
      target();
    } else if (take(".file")) {
      file();
    } else if (take(".section")) {
      skip_section();
    } else if (take(".visible") || take(".weak") || take(".extern") || take(".common")) {
      return;  // linkage changes nothing here
    } else if (take(".entry")) {
      entry();
    } else if (token_.is(".global") || token_.is(".const") || token_.is(".shared")) {
      module_.variables.push_back(variable());
    } else {
      if (token_.is(".func")) refuse("functions are not run: what the entry calls must be inlined");
      refuse_token("a directive (.version, .target, .file, .section, .entry or a variable)");
    }
  }

  void target() {
    const std::string_view name = word("a target");
    if (!name.starts_with("sm_")) refuse(fmt::format("target '{}': sm_NN is known", printable(name, 40)));
    int cc = 0;
    std::from_chars(name.data() + 3, name.data() + name.size(), cc);
    module_.target = cc;
    while (take(',')) word("a target's option");
  }

  void file() {
    const unsigned id = small("a file's number");
    if (token_.kind != Token::Kind::kString) refuse_token("a file's name");
    module_.files[id] = std::string(token_.text);
    step();
    while (take(',')) number("a file's time or size");
  }

  /// Debug information, which is data alone.
  void skip_section() {
    word("a section's name");
    expect('{');
    while (!token_.is('}')) {
      if (token_.kind == Token::Kind::kEnd) refuse_token("'}'");
      step();
    }
    step();
  }

  Space space() {
    const std::string_view name = word("a state space");
    if (name == ".global") return Space::kGlobal;
    if (name == ".const") return Space::kConst;
    if (name == ".shared") return Space::kShared;
    if (name == ".local") return Space::kLocal;
    if (name == ".param") return Space::kParam;
    refuse(fmt::format("state space '{}' is not known", printable(name, 40)));
  }

  std::size_t alignment() {
    if (!take(".align")) return 0;
    const unsigned value = small("an alignment");
    if (value == 0 || value > 1024 || (value & (value - 1)) != 0)
      refuse(fmt::format("an alignment of {}: a power of two up to 1024", value));
    return value;
  }

  std::size_t type_bytes() {
    const std::string_view type = word("a type");
    const std::size_t bytes = type.size() > 1 ? bytes_of(type.substr(1)) : 0;
    if (bytes == 0) refuse(fmt::format("type '{}' is not known", printable(type, 40)));
    return bytes;
  }

  /// ".global .align 4 .u32 name[2] = {1, 2};"
  Variable variable() {
    Variable v = declared();
    if (take('=')) initialise(v);
    expect(';');
    return v;
  }
  Variable declared() {
    Variable v;
    v.space = space();
    v.alignment = alignment();
    v.type = token_.text;
    const std::size_t element = type_bytes();
    if (v.space == Space::kParam && take(".ptr")) pointer();
    v.alignment = std::max(v.alignment, element);
    v.name = word("a name");
    std::size_t count = 1;
    while (take('[')) {
      v.is_array = true;
      const std::size_t n = token_.is(']') ? 0 : small("a count");
      if (n != 0 && count > kMostVariableBytes / n) refuse("a variable of more than 64 MiB");
      count *= n;
      expect(']');
    }
    if (count > kMostVariableBytes / element || variable_bytes_ + count * element > kMostVariableBytes)
      refuse("variables of more than 64 MiB");
    variable_bytes_ += count * element;
    v.bytes = count * element;
    element_ = element;
    if (v.space == Space::kGlobal || v.space == Space::kConst) v.initial.resize(v.bytes);
    return v;
  }
  /// What is known of where a pointer points, which nothing is made of.
  void pointer() {
    if (token_.is(".global") || token_.is(".const") || token_.is(".shared") || token_.is(".local")) step();
    alignment();
  }
  void initialise(Variable& v) {
    std::size_t at = 0;
    const auto room = [&] {
      if (v.initial.size() - at < element_)
        refuse(fmt::format("{} has fewer elements than values", printable(v.name, 60)));
    };
    const auto put = [&] {
      if (token_.kind == Token::Kind::kWord) {
        room();
        v.addresses.push_back(address_of_variable(at));
        at += element_;
        return;
      }
      const bool negative = take('-');
      if (token_.kind != Token::Kind::kNumber) refuse_token("a number");
      std::uint64_t value = constant().value;
      if (negative) value = ~value + 1;
      room();
      std::memcpy(v.initial.data() + at, &value, element_);
      at += element_;
    };
    if (!take('{')) return put();
    while (!token_.is('}')) {
      put();
      if (!take(',')) break;
    }
    expect('}');
  }

  /// "name", "generic(name)", "generic(name)+16".
  Variable::Address address_of_variable(std::size_t at) {
    if (element_ != 8) refuse("an address has 64 bits");
    const bool generic = take("generic");
    if (generic) expect('(');
    const std::string_view symbol = word("a variable's name");
    if (generic) expect(')');
    return {at, symbol, take('+') ? number("an offset") : 0};
  }

  // An entry.
  void entry() {
    Entry e;
    e.name = word("an entry's name");
    if (std::ranges::any_of(module_.entries, [&e](const Entry& other) { return other.name == e.name; }))
      refuse(fmt::format("entry '{}' is there twice", printable(e.name, 200)));
    entry_ = &e;
    if (take('(')) {
      while (!token_.is(')')) {
        param();
        if (!take(',')) break;
      }
      expect(')');
    }
    limits();
    expect('{');
    body();
    entry_ = nullptr;
    module_.entries.push_back(std::move(e));
  }

  void param() {
    if (!token_.is(".param")) refuse_token("'.param'");
    Variable v = declared();
    Entry& e = *entry_;
    e.param_bytes = (e.param_bytes + v.alignment - 1) / v.alignment * v.alignment;
    v.offset = e.param_bytes;
    e.param_bytes += v.bytes;
    e.params.push_back(std::move(v));
  }

  /// "128, 2": up to three sizes, and their product.
  int extent(int (&sizes)[3], const char* what) {
    std::uint64_t all = 1;
    for (int axis = 0; axis < 3; ++axis) {
      const unsigned size = axis == 0 || take(',') ? small(what) : 1;
      sizes[axis] = static_cast<int>(std::min(size, 1u << 20));
      all = std::min<std::uint64_t>(all * size, 1 << 20);
    }
    return static_cast<int>(all);
  }

  void limits() {
    while (token_.kind == Token::Kind::kWord) {
      const bool required = token_.is(".reqntid");
      if (required || token_.is(".maxntid")) {
        step();
        int sizes[3];
        entry_->max_threads = extent(sizes, "threads");
        if (required) std::ranges::copy(sizes, entry_->required_threads);
      } else if (take(".reqnctapercluster") || take(".maxclusterrank")) {
        int sizes[3];
        entry_->cluster = extent(sizes, "blocks");
        if (sizes[1] != 1 || sizes[2] != 1) refuse("clusters of blocks along x are known");
      } else if (take(".explicitcluster")) {
        continue;
      } else if (take(".minnctapersm")) {
        entry_->min_blocks = static_cast<int>(std::clamp(small("blocks"), 1u, 64u));
      } else if (take(".maxnreg")) {
        small("a number");
      } else {
        refuse(fmt::format("directive '{}' of an entry is not known", printable(token_.text, 60)));
      }
    }
  }

  void body() {
    scopes_.assign(1, {});
    place_ = {};
    while (true) {
      if (token_.kind == Token::Kind::kEnd) refuse_token("'}'");
      if (take('}')) {
        scopes_.pop_back();
        if (scopes_.empty()) return;
      } else if (take('{')) {
        if (scopes_.size() == kMostScopes) refuse(fmt::format("more than {} blocks in one another", kMostScopes));
        scopes_.emplace_back();
      } else if (take(".loc")) {
        loc();
      } else if (take(".reg")) {
        registers(word("a type"));
      } else if (token_.kind == Token::Kind::kWord && token_.text.starts_with(".reg.")) {
        const std::string_view type = token_.text.substr(4);  // without a blank, as asm statements often write it
        step();
        registers(type);
      } else if (take(".pragma")) {
        if (token_.kind != Token::Kind::kString) refuse_token("a pragma's text");
        step();
        expect(';');
      } else if (token_.is(".shared") || token_.is(".local")) {
        entry_->variables.push_back(variable());
      } else if (token_.kind == Token::Kind::kWord && token_.text[0] == '.') {
        refuse(fmt::format("directive '{}' is not known", printable(token_.text, 60)));
      } else {
        statement();
      }
    }
  }

  void loc() {
    place_.file = small("a file's number");
    place_.line = small("a line");
    small("a column");
    if (!take(',')) return;
    if (!take("function_name")) refuse_token("'function_name'");
    word("a label");
    if (take('+')) number("an offset");
    expect(',');
    if (!take("inlined_at")) refuse_token("'inlined_at'");
    for (int i = 0; i < 3; ++i) number("a place");
  }

  void registers(std::string_view type) {
    const int bits = type == ".pred" ? 1 : type.size() > 1 ? static_cast<int>(bytes_of(type.substr(1)) * 8) : 0;
    if (bits != 1 && bits < 16) refuse(fmt::format("registers of type '{}' are not known", printable(type, 40)));
    do {
      const std::string_view name = word("a register's name");
      if (take('<')) {
        const unsigned count = small("a count");
        expect('>');
        if (count > kMostRegisters) refuse(fmt::format("{} registers: at most {}", count, kMostRegisters));
        scopes_.back().ranges[name] = {static_cast<std::uint32_t>(entry_->registers.size()), count};
        add_registers(bits, count);
      } else {
        scopes_.back().names[name] = static_cast<std::uint32_t>(entry_->registers.size());
        add_registers(bits, 1);
      }
    } while (take(','));
    expect(';');
  }
  void add_registers(int bits, unsigned count) {
    std::vector<Register>& all = entry_->registers;
    if (all.size() + count > kMostRegisters) refuse(fmt::format("more than {} registers", kMostRegisters));
    all.resize(all.size() + count, Register{bits});
  }

  /// The register of that name, of the innermost scope that has it.
  std::optional<std::uint32_t> find_register(std::string_view name) const {
    const std::size_t digits = name.find_last_not_of("0123456789") + 1;
    for (const Scope& scope : std::views::reverse(scopes_)) {
      if (const auto found = scope.names.find(name); found != scope.names.end()) return found->second;
      if (digits == name.size() || name.size() - digits > 6) continue;
      const auto range = scope.ranges.find(name.substr(0, digits));
      if (range == scope.ranges.end()) continue;
      unsigned number = 0;
      std::from_chars(name.data() + digits, name.data() + name.size(), number);
      if (number < range->second.count) return range->second.first + number;
    }
    return std::nullopt;
  }
  std::uint32_t register_of(std::string_view name) const {
    if (const auto found = find_register(name)) return *found;
    refuse(fmt::format("register '{}' is not declared", printable(name, 60)));
  }

  void statement() {
    Statement s;
    s.line = token_.line;
    s.place = place_;
    if (take('@')) {
      s.guard_negated = take('!');
      s.guard = register_of(word("a predicate"));
    }
    s.opcode = word("an instruction");
    if (s.guard == Operand::kNone && take(':')) {
      if (!entry_->labels.emplace(s.opcode, static_cast<std::uint32_t>(entry_->statements.size())).second)
        refuse(fmt::format("label '{}' is there twice", printable(s.opcode, 60)));
      return;
    }
    while (!token_.is(';')) {
      if (s.operands.size() == kMostOperands) refuse(fmt::format("more than {} operands", kMostOperands));
      s.operands.push_back(operand());
      if (!take(',')) break;
    }
    expect(';');
    if (entry_->statements.size() == kMostStatements) refuse(fmt::format("more than {} instructions", kMostStatements));
    entry_->statements.push_back(std::move(s));
  }

  Operand operand() {
    if (take('{')) return vector();
    if (take('[')) return address();
    return scalar();
  }

  Operand vector() {
    Operand v;
    v.kind = Operand::Kind::kVector;
    while (!token_.is('}')) {
      if (v.parts.size() == kMostParts) refuse(fmt::format("a vector of more than {} parts", kMostParts));
      v.parts.push_back(scalar());
      if (!take(',')) break;
    }
    expect('}');
    return v;
  }

  Operand address() {
    Operand a;
    a.kind = Operand::Kind::kAddress;
    if (token_.kind == Token::Kind::kNumber) {
      a.absolute = true;
      a.value = number("an address");
    } else {
      const std::string_view base = word("an address");
      if (const auto found = find_register(base))
        a.reg = *found;
      else
        a.symbol = base;
      if (take('+')) {
        const bool negative = take('-');
        const std::uint64_t offset = number("an offset");
        a.value = negative ? ~offset + 1 : offset;
      }
    }
    if (take(',')) {
      expect('{');
      a.parts = vector().parts;
    }
    expect(']');
    return a;
  }

  Operand scalar() {
    Operand o;
    o.negated = take('!');
    if (token_.kind == Token::Kind::kNumber || token_.is('-')) {
      const bool negative = take('-');
      if (token_.kind != Token::Kind::kNumber) refuse_token("a number");
      o = constant();
      if (negative) o.value = ~o.value + 1;
      return o;
    }
    const std::string_view name = word("an operand");
    if (name == "_") {
      o.kind = Operand::Kind::kSink;
    } else if (const auto found = find_register(name)) {
      o.kind = Operand::Kind::kRegister;
      o.reg = *found;
    } else if (name[0] == '%') {
      o.kind = Operand::Kind::kSpecial;
      o.symbol = name;
    } else {
      o.kind = Operand::Kind::kSymbol;
      o.symbol = name;
    }
    if (take('|')) o.second = register_of(word("a predicate"));
    return o;
  }

  /// A number: an integer, or the bits of a float as 0fXXXXXXXX or 0dXXXXXXXXXXXXXXXX.
  Operand constant() {
    Operand o;
    const std::string_view text = token_.text;
    const char kind = text.size() > 1 && text[0] == '0' ? to_lower(text[1]) : ' ';
    if ((kind == 'f' && text.size() == 10) || (kind == 'd' && text.size() == 18)) {
      o.kind = Operand::Kind::kFloat;
      o.wide = kind == 'd';
      const auto [end, error] = std::from_chars(text.data() + 2, text.data() + text.size(), o.value, 16);
      if (error != std::errc() || end != text.data() + text.size()) refuse_token("bits of a float");
    } else {
      o.kind = Operand::Kind::kInteger;
      o.value = integer(text);
    }
    step();
    return o;
  }

  struct Range {
    std::uint32_t first, count;
  };
  struct Scope {
    std::map<std::string_view, Range> ranges;
    std::map<std::string_view, std::uint32_t> names;
  };

  Lexer lexer_;
  Token token_;
  Module module_;
  Entry* entry_ = nullptr;
  std::vector<Scope> scopes_;
  Place place_;
  std::size_t variable_bytes_ = 0, element_ = 0;
};

}  // namespace

Result<Module> parse(std::string name, std::string_view text) {
  try {
    return Parser(std::move(name), text).parse();
  } catch (const Refusal& refusal) {
    return fail(Code::kInvalidArgument, refusal.message);
  }
}

}  // namespace flashfit::ptx
