#include "decoder.h"

#include <algorithm>
#include <atomic>

#include "fault.h"
#include "instruction_table.h"
#include "lexer.h"
#include "special_registers.h"
#include "statistics.h"
#include "system_calls.h"

namespace ptx {
namespace {

constexpr int kMostInlined = 16;                       // functions in each other
constexpr size_t kMostInstructions = size_t{1} << 20;  // of a kernel

int round_up(int value, int multiple) { return (value + multiple - 1) / multiple * multiple; }

// The numbers behind a directive of the header, such as ".maxntid 128, 1, 1". False: it is not there.
bool numbers_after(std::string_view header, std::string_view directive, int count, int* numbers) {
  const size_t at = header.find(directive);
  if (at == header.npos) return false;
  std::string_view rest = header.substr(at + directive.size());
  for (int n = 0; n < count && take_number(rest, &numbers[n]); ++n) {
    rest = trim(rest);
    if (!rest.starts_with(',')) break;
    rest.remove_prefix(1);
  }
  return true;
}

// The parameters of "(.param .b32 result) name (.param .b64 a, .param .b32 b)".
struct Signature {
  explicit Signature(std::string_view header) {
    if (header.starts_with('(')) {
      const size_t close = header.find(')');
      results = split_list(header.substr(1, close - 1));
      header = trim(header.substr(close + 1));
    }
    const size_t open = header.find('(');
    if (open != header.npos)
      parameters = split_list(header.substr(open + 1, header.find(')', open) - open - 1));
  }
  std::vector<std::string_view> results, parameters;
};

// Operands: a predicate, a pointer. immediate: the address of a function
void is_function(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  uint32_t equal = 0;
  for_lanes(lanes, [&](int lane) {
    const bool is =
        value_of(warp, instruction.operands[1], lane) == static_cast<uint64_t>(instruction.immediate);
    equal |= uint32_t{is} << lane;
  });
  set_predicate(warp, instruction, 0, lanes, equal);
}

void is_no_function(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  const uint64_t pointer = value_of(warp, instruction.operands[0], std::countr_zero(lanes));
  fail(kInvalidPc, "a call through the pointer ", hex(pointer),
       ", which is no function of the program with these parameters");
}

}  // namespace

bool Draft::has(std::string_view qualifier) const {
  return std::find(parts.begin() + 1, parts.end(), qualifier) != parts.end();
}
bool Draft::has_prefix(std::string_view qualifier) const {
  return std::any_of(parts.begin() + 1, parts.end(),
                     [&](std::string_view part) { return part.starts_with(qualifier); });
}

Decoder::Decoder(Kernel& kernel, const Module& module, Code& code)
    : kernel_(kernel), module_(module), code_(code) {
  scopes_.emplace_back();
  locals_.emplace_back();
}

void Decoder::decode(const FunctionText& text) {
  read_header(text.header);
  read_body(text.body, nullptr);
  Draft last;  // a body may end without ret
  last.instruction.flow = Flow::exit;
  last.source.text = "(end)";
  last.source.form = form_number("(end)");
  push(std::move(last));
  resolve_jumps();
  pack();
  kernel_.static_shared = shared_bytes_;
  kernel_.local_bytes = round_up(local_bytes_, 16);
  code_.register_bytes = round_up(next_register_, kRegisterUnit) + kRegisterUnit;
  const auto before = [](Operand a, Operand b) { return a.at < b.at; };
  const auto same = [](Operand a, Operand b) { return a.at == b.at; };
  std::vector<Operand>& products = code_.product_registers;
  std::sort(products.begin(), products.end(), before);
  products.erase(std::unique(products.begin(), products.end(), same), products.end());
  code_.product_index.assign(static_cast<size_t>(code_.register_bytes / kRegisterUnit), -1);
  for (size_t n = 0; n < code_.product_registers.size(); ++n)
    code_.product_index[static_cast<size_t>(code_.product_registers[n].at / kRegisterUnit)] =
        static_cast<int32_t>(n);
  static std::atomic<uint64_t> serial{0};
  code_.serial = ++serial;
}

void Decoder::read_header(std::string_view header) {
  const size_t open = header.find('(');
  if (open != header.npos && trim(header.substr(0, open)).empty()) {
    const size_t close = std::min(header.find(')', open), header.size());
    int at = 0;
    for (const std::string_view parameter : split_list(header.substr(open + 1, close - open - 1))) {
      Declaration declaration;
      const std::string_view rest = parameter.substr(first_directive(parameter).size());
      if (!parse_declaration(rest, &declaration)) fail(kInvalidPtx, "parameter '", parameter, "'");
      // ".param .u64 .ptr .global .align 4 name": the alignment is that of the memory behind the pointer.
      if (rest.find(".ptr") != rest.npos) declaration.bytes = declaration.alignment = 8;
      at = round_up(at, declaration.alignment);
      kernel_.parameters.push_back({declaration.bytes, at});
      const size_t name = parameter.rfind(declaration.name);
      parameter_names_.push_back(parameter.substr(name, declaration.name.size()));
      at += declaration.bytes;
    }
    kernel_.parameter_bytes = at;
    header = header.substr(std::min(close + 1, header.size()));
  }
  int threads[3] = {1, 1, 1};
  if (numbers_after(header, ".maxntid", 3, threads) || numbers_after(header, ".reqntid", 3, threads))
    kernel_.max_threads = threads[0] * threads[1] * threads[2];
  int cluster[3] = {1, 1, 1};
  if (numbers_after(header, ".reqnctapercluster", 3, cluster)) std::copy_n(cluster, 3, kernel_.cluster);
}

void Decoder::enter_block() {
  scopes_.emplace_back();
  locals_.emplace_back();
  parents_.push_back(block_);
  block_ = static_cast<int>(parents_.size()) - 1;
  range_marks_.push_back(ranges_.size());
}

void Decoder::leave_block() {
  if (range_marks_.empty()) fail(kInvalidPtx, "a '}' without '{' in ", kernel_.name);
  scopes_.pop_back();
  locals_.pop_back();
  block_ = parents_[static_cast<size_t>(block_)];
  ranges_.resize(range_marks_.back());
  range_marks_.pop_back();
}

void Decoder::read_body(std::string_view body, std::vector<size_t>* returns) {
  for (size_t at = 0; at < body.size();) {
    const char c = body[at];
    if (is_space(c) || c == ';') {
      ++at;
      continue;
    }
    if (c == '{' || c == '}') {
      c == '{' ? enter_block() : leave_block();
      ++at;
      continue;
    }
    const std::string_view word = first_word(body.substr(at));
    if (word == ".loc") {
      const size_t end = std::min(body.find('\n', at), body.size());
      read_location(body.substr(at, end - at));
      at = end;
      continue;
    }
    size_t behind = at + word.size();  // "prototype : .callprototype" has a space
    while (behind < body.size() && is_space(body[behind])) ++behind;
    if (!word.empty() && body.substr(behind, 1) == ":" && body.substr(behind, 2) != "::") {
      at = behind + 1;
      read_label(body, &at, word);
      continue;
    }
    const size_t end = std::min(body.find(';', at), body.size());
    read_statement(trim(body.substr(at, end - at)), returns);
    at = end + 1;
  }
}

bool Decoder::read_label(std::string_view body, size_t* at, std::string_view name) {
  constexpr std::string_view kTargets = ".branchtargets";
  const std::string_view rest = trim(body.substr(*at));
  if (!rest.starts_with(kTargets)) {
    // ".calltargets" and ".callprototype" name their label, too, and end with a ';'.
    labels_[{block_, name}] = static_cast<int>(drafts_.size());
    return false;
  }
  const size_t end = std::min(body.find(';', *at), body.size());
  const size_t begin = static_cast<size_t>(rest.data() - body.data()) + kTargets.size();
  tables_[name] = split_list(body.substr(begin, end - begin));
  *at = end + 1;
  return true;
}

// .loc 1 24 5, function_name NAME, inlined_at 2 30 7
void Decoder::read_location(std::string_view line) {
  constexpr std::string_view kInlinedAt = "inlined_at";
  const auto place = [](std::string_view text) {
    std::tuple<int, int, int> result{0, 0, 0};
    auto& [file, number, column] = result;
    if (take_number(text, &file) && take_number(text, &number)) take_number(text, &column);
    return result;
  };
  const std::tuple<int, int, int> own = place(line.substr(4));
  if (std::get<1>(own) <= 0) return;
  Location location{std::get<0>(own), std::get<1>(own), -1};
  if (const size_t at = line.find(kInlinedAt); at != line.npos) {
    const auto outer = locations_.find(place(line.substr(at + kInlinedAt.size())));
    if (outer != locations_.end()) location.inlined_at = outer->second;
  }
  location_ = static_cast<int>(code_.locations.size());
  locations_[own] = location_;
  code_.locations.push_back(location);
}

void Decoder::read_statement(std::string_view text, std::vector<size_t>* returns) {
  const std::string_view word = first_directive(text);
  if (word == ".reg") {
    declare_registers(trim(text.substr(word.size())));
  } else if (word == ".shared" || word == ".local" || word == ".param") {
    declare_memory(word, text.substr(word.size()));
  } else if (!word.starts_with('.')) {
    instruction(text, returns);
  } else if (word != ".pragma" && word != ".callprototype" && word != ".calltargets") {
    Draft draft;
    draft.source = {text, location_, form_number(word)};
    not_supported(draft, concat("the interpreter does not know the directive ", word));
    push(std::move(draft));
  }
}

// A fault where it is executed.
void Decoder::not_supported(Draft& draft, std::string problem) {
  kernel_.unsupported.push_back(concat(draft.source.text, ": ", problem));
  draft.instruction.flow = Flow::trap;
  draft.instruction.option = true;
  draft.instruction.immediate = static_cast<int64_t>(code_.problems.size());
  code_.problems.push_back(std::move(problem));
}

int32_t Decoder::allocate(int bytes) {
  if (bytes != 0) next_register_ = round_up(next_register_, kRegisterUnit);
  const int32_t at = next_register_;
  next_register_ += bytes == 0 ? 4 : bytes * kWarpSize;
  return at;
}

void Decoder::declare_registers(std::string_view text) {
  const std::string_view type = first_word(text);
  const int bytes = register_bytes(type.substr(std::min<size_t>(1, type.size())));
  if (bytes < 0) fail(kInvalidPtx, ".reg ", text);
  for (const std::string_view name : split_list(text.substr(type.size()))) {
    const size_t angle = name.find('<');
    if (angle == name.npos) {
      scopes_.back()[name] = {allocate(bytes), bytes};
      continue;
    }
    int count = 0;
    std::string_view number = name.substr(angle + 1);
    take_number(number, &count);
    next_register_ = round_up(next_register_, kRegisterUnit);
    ranges_.push_back({name.substr(0, angle), count, {next_register_, bytes}});
    next_register_ += count * (bytes == 0 ? 4 : bytes * kWarpSize);
  }
}

void Decoder::declare_memory(std::string_view space, std::string_view text) {
  Declaration declaration;
  if (!parse_declaration(text, &declaration)) fail(kInvalidPtx, space, " ", text);
  const std::string_view name = text.substr(text.rfind(declaration.name), declaration.name.size());
  const bool shared = space == ".shared";
  int& at = shared ? shared_bytes_ : local_bytes_;
  at = round_up(at, declaration.alignment);
  (shared ? shared_ : locals_.back())[name] = at;
  at += declaration.bytes;
}

void Decoder::instruction(std::string_view text, std::vector<size_t>* returns) {
  Draft draft;
  draft.source = {text, location_, 0};
  Instruction& instruction = draft.instruction;
  std::string_view rest = text;
  if (rest.starts_with('@')) {
    rest.remove_prefix(1);
    instruction.guard_negated = rest.starts_with('!');
    if (instruction.guard_negated) rest.remove_prefix(1);
    const std::string_view name = first_word(rest);
    Operand guard;
    if (!find_register(name, &guard)) fail(kInvalidPtx, "guard of '", text, "'");
    instruction.guard = guard.at;
    rest = trim(rest.substr(name.size()));
  }
  size_t end = 0;
  while (end < rest.size() && (is_word(rest[end]) || rest[end] == ':')) ++end;
  draft.opcode = rest.substr(0, end);
  draft.source.form = form_number(draft.opcode);
  draft.parts = split_opcode(draft.opcode);
  draft.arguments = split_list(rest.substr(end));
  const std::string_view name = draft.parts[0];

  if (name == "call") return call(draft);
  if (name == "ret" && returns) {
    instruction.flow = Flow::branch;
    returns->push_back(drafts_.size());
  } else if (name == "bra") {
    instruction.flow = Flow::branch;
    jumps_.push_back({drafts_.size(), {{draft.arguments.at(0), block_}}});
  } else if (name == "brx") {
    instruction.flow = Flow::branch_indexed;
    draft.add(source(draft.arguments.at(0), 4));
    Jump jump{drafts_.size(), {}};
    for (const std::string_view label : tables_[draft.arguments.at(1)])
      jump.labels.push_back({label, block_});
    jumps_.push_back(std::move(jump));
  } else {
    std::string problem;
    try {
      if (!select(*this, draft)) problem = "the interpreter does not support this instruction";
    } catch (const Fault& fault) {
      problem = fault.text;
    }
    if (!problem.empty()) not_supported(draft, std::move(problem));
  }
  push(std::move(draft));
}

void Decoder::push(Draft&& draft) { drafts_.push_back(std::move(draft)); }

bool Decoder::find_register(std::string_view name, Operand* operand) const {
  for (size_t scope = scopes_.size(); scope-- > 0;) {
    const auto found = scopes_[scope].find(name);
    if (found == scopes_[scope].end()) continue;
    *operand = found->second;
    return true;
  }
  for (size_t index = ranges_.size(); index-- > 0;) {
    const Range& range = ranges_[index];
    if (!name.starts_with(range.prefix)) continue;
    std::string_view digits = name.substr(range.prefix.size());
    int number = 0;
    if (digits.empty() || !is_digit(digits[0]) || !take_number(digits, &number) || !digits.empty()) continue;
    if (number >= range.count) continue;
    const int step = range.first.bytes == 0 ? 4 : range.first.bytes * kWarpSize;
    *operand = {range.first.at + number * step, range.first.bytes};
    return true;
  }
  return false;
}

Operand Decoder::constant(uint64_t value, int bytes) {
  if (bytes == 0) value = value != 0;
  if (bytes == 2 || bytes == 4) value &= (uint64_t{1} << bytes * 8) - 1;
  const auto [found, fresh] = constants_.try_emplace({value, bytes}, 0);
  if (fresh) {
    found->second = allocate(bytes);
    code_.constants.push_back({found->second, static_cast<uint8_t>(bytes), value});
  }
  return {found->second, bytes};
}

Operand Decoder::source(std::string_view text, int bytes) {
  text = trim(text);
  Operand operand;
  if (find_register(text, &operand)) return operand;
  uint64_t value = 0;
  if (parse_number(text, bytes, &value)) return constant(value, bytes);
  if (text == "WARP_SZ") return constant(kWarpSize, bytes);
  SpecialRegister special{};
  if (special_register(text, &special)) {
    code_.reserved_shared |= special.special == Special::reserved_smem;
    const auto [found, fresh] = specials_.try_emplace(text, 0);
    if (fresh) {
      found->second = special.at = allocate(4);
      code_.specials.push_back(special);
    }
    return {found->second, 4};
  }
  if (module_.entries.count(std::string(text)) != 0)
    fail(kInvalidPtx, "the address of the kernel ", text,
         ": the interpreter has no launches by kernels (dynamic parallelism)");
  fail(kInvalidPtx, "operand '", text, "' is neither declared nor a number");
}

Operand Decoder::destination(std::string_view text) {
  text = trim(text);
  Operand operand;
  if (find_register(text, &operand)) return operand;
  if (text == "_") return {allocate(8), 8};
  fail(kInvalidPtx, "destination '", text, "' is not declared");
}

bool Decoder::find_variable(std::string_view text, Address* address) {
  const size_t plus = text.find('+');
  const std::string_view name = trim(text.substr(0, plus));
  uint64_t offset = 0;
  if (plus != text.npos && !parse_number(trim(text.substr(plus + 1)), 8, &offset)) return false;
  *address = {};
  const auto found_at = [&](uint64_t at, Base relative) {
    address->offset = static_cast<int64_t>(at + offset);
    address->relative = relative;
    return true;
  };
  const auto parameter = std::find(parameter_names_.begin(), parameter_names_.end(), name);
  if (parameter != parameter_names_.end()) {
    const size_t index = static_cast<size_t>(parameter - parameter_names_.begin());
    return found_at(static_cast<uint64_t>(kernel_.parameters[index].offset), Base::parameters);
  }
  if (const auto found = shared_.find(name); found != shared_.end())
    return found_at(static_cast<uint64_t>(found->second), Base::shared);
  const std::string key(name);
  // Of a module's shared variables, only those that the kernel names take memory of its blocks.
  if (const auto found = module_.shared.find(key); found != module_.shared.end()) {
    shared_bytes_ = round_up(shared_bytes_, found->second.alignment);
    shared_[name] = shared_bytes_;
    shared_bytes_ += found->second.bytes;
    return found_at(static_cast<uint64_t>(shared_[name]), Base::shared);
  }
  if (local_variable(name) >= 0) {
    address->local = true;
    return found_at(static_cast<uint64_t>(local_variable(name)), Base::absolute);
  }
  if (module_.dynamic_shared.count(key) != 0) return found_at(0, Base::dynamic_shared);
  if (const auto found = module_.variables.find(key); found != module_.variables.end())
    return found_at(reinterpret_cast<uint64_t>(found->second.data), Base::absolute);
  if (const uint64_t function = module_.function_address(name)) return found_at(function, Base::absolute);
  return false;
}

int Decoder::local_variable(std::string_view name) const {
  for (size_t block = locals_.size(); block-- > 0;)
    if (const auto found = locals_[block].find(name); found != locals_[block].end()) return found->second;
  return -1;
}

Address Decoder::address(std::string_view text) {
  text = trim(text);
  if (text.size() < 2 || text.front() != '[' || text.back() != ']')
    fail(kInvalidPtx, "address '", text, "' is not understood");
  std::vector<std::string_view> parts = split_list(text.substr(1, text.size() - 2));
  if (parts.empty()) fail(kInvalidPtx, "address '", text, "' is empty");
  const std::string_view whole = parts[0];
  Address address;
  if (!find_variable(whole, &address)) {
    const size_t plus = whole.find('+');
    const std::string_view name = trim(whole.substr(0, plus));
    uint64_t offset = 0;
    if (plus != whole.npos && !parse_number(trim(whole.substr(plus + 1)), 8, &offset))
      fail(kInvalidPtx, "address '", text, "' is not understood");
    address = {};
    if (!find_register(name, &address.base)) {
      uint64_t number = 0;
      if (!parse_number(name, 8, &number)) fail(kInvalidPtx, "address '", text, "' is not understood");
      address.base = constant(number, 8);
    }
    address.offset = static_cast<int64_t>(offset);
  }
  address.rest.assign(parts.begin() + 1, parts.end());
  return address;
}

Address Decoder::add_address(Draft& draft, std::string_view text) {
  Address found = address(text);
  draft.add(found.base);
  draft.instruction.immediate = found.offset;
  draft.instruction.base = found.relative;
  return found;
}

int Decoder::find_label(const Label& label) const {
  for (int block = label.block; block >= 0; block = parents_[static_cast<size_t>(block)]) {
    const auto found = labels_.find({block, label.name});
    if (found != labels_.end()) return found->second;
  }
  fail(kInvalidPtx, "there is no label ", label.name);
}

void Decoder::resolve_jumps() {
  for (const Jump& jump : jumps_) {
    Draft& draft = drafts_[jump.instruction];
    if (draft.instruction.flow == Flow::branch) {
      draft.instruction.target = find_label(jump.labels[0]);
      continue;
    }
    for (const Label& label : jump.labels) draft.numbers.push_back(find_label(label));
    draft.instruction.target = static_cast<int32_t>(jump.labels.size());
  }
}

void Decoder::pack() {
  size_t operands = 0, numbers = 0;
  for (const Draft& draft : drafts_) {
    operands += draft.operands.size();
    numbers += draft.numbers.size();
  }
  code_.operands.reserve(operands);
  code_.numbers.reserve(numbers);
  for (Draft& draft : drafts_) {
    draft.instruction.operands = code_.operands.data() + code_.operands.size();
    draft.instruction.numbers = code_.numbers.data() + code_.numbers.size();
    code_.operands.insert(code_.operands.end(), draft.operands.begin(), draft.operands.end());
    code_.numbers.insert(code_.numbers.end(), draft.numbers.begin(), draft.numbers.end());
    code_.instructions.push_back(draft.instruction);
    code_.sources.push_back(draft.source);
  }
  drafts_.clear();
}

// call (results), name, (arguments), prototype: a copy of the function's body, whose parameters are the
// caller's variables.
void Decoder::call(Draft& draft) {
  std::vector<std::string_view> results, arguments;
  std::string_view name;
  for (const std::string_view part : draft.arguments) {
    if (part.starts_with('(')) {
      (name.empty() ? results : arguments) = elements_of(part);
    } else if (name.empty()) {
      name = part;
    }
  }
  const auto found = module_.functions.find(std::string(name));
  Operand pointer;
  const bool by_pointer = find_register(name, &pointer);
  if (by_pointer || found != module_.functions.end()) {
    std::string problem;
    if (draft.instruction.guard >= 0)
      problem = "the interpreter does not support a call with a guard";
    else if (depth_ >= kMostInlined)
      problem = concat("functions are called more than ", kMostInlined,
                       " deep in each other: the interpreter copies them to their calls");
    else if (drafts_.size() >= kMostInstructions)
      problem = concat("with the functions that it calls, the kernel has more than ", kMostInstructions,
                       " instructions");
    if (problem.empty() && by_pointer) return call_pointer(std::move(draft), pointer, results, arguments);
    if (problem.empty()) return inline_function(found->second, results, arguments);
    not_supported(draft, std::move(problem));
    return push(std::move(draft));
  }
  for (const std::string_view argument : arguments) draft.numbers.push_back(local_variable(argument));
  draft.instruction.immediate = results.empty() ? -1 : local_variable(results[0]);
  draft.instruction.run = system_call(name);
  draft.instruction.changes = true;
  if (!draft.instruction.run)
    not_supported(draft, concat("the interpreter does not know the function ", name));
  push(std::move(draft));
}

void Decoder::inline_function(const FunctionText& function, const std::vector<std::string_view>& results,
                              const std::vector<std::string_view>& arguments) {
  enter_block();
  ++depth_;
  const Signature signature(function.header);
  bind(signature.results, results);
  bind(signature.parameters, arguments);
  std::vector<size_t> returns;
  read_body(function.body, &returns);
  for (const size_t at : returns) drafts_[at].instruction.target = static_cast<int32_t>(drafts_.size());
  --depth_;
  leave_block();
}

// For each function that the pointer may name: its body, for the lanes whose pointer does.
void Decoder::call_pointer(Draft&& draft, Operand pointer, const std::vector<std::string_view>& results,
                           const std::vector<std::string_view>& arguments) {
  const auto add = [&](Flow flow, Handler run) {
    Draft part;
    part.source = draft.source;
    part.instruction.flow = flow;
    part.instruction.run = run;
    return part;
  };
  std::vector<size_t> ends;
  for (const std::string& name : module_.pointed_functions) {
    const FunctionText& function = module_.functions.at(name);
    const Signature signature(function.header);
    if (signature.results.size() != results.size() || signature.parameters.size() != arguments.size())
      continue;
    const Operand equal{allocate(0), 0};
    Draft compare = add(Flow::next, is_function);
    compare.instruction.immediate = static_cast<int64_t>(module_.function_address(name));
    compare.add(equal);
    compare.add(pointer);
    push(std::move(compare));
    Draft skip = add(Flow::branch, nullptr);
    skip.instruction.guard = equal.at;
    skip.instruction.guard_negated = true;
    const size_t skip_at = drafts_.size();
    push(std::move(skip));
    inline_function(function, results, arguments);
    ends.push_back(drafts_.size());
    push(add(Flow::branch, nullptr));
    drafts_[skip_at].instruction.target = static_cast<int32_t>(drafts_.size());
  }
  Draft none = add(Flow::next, is_no_function);
  none.add(pointer);
  push(std::move(none));
  for (const size_t at : ends) drafts_[at].instruction.target = static_cast<int32_t>(drafts_.size());
}

void Decoder::bind(const std::vector<std::string_view>& formal, const std::vector<std::string_view>& actual) {
  for (size_t n = 0; n < formal.size() && n < actual.size(); ++n) {
    std::string_view text = formal[n];
    text.remove_prefix(first_directive(text).size());  // .param
    Declaration declaration;
    parse_declaration(text, &declaration);
    const int at = local_variable(actual[n]);
    if (at < 0) fail(kInvalidPtx, "argument '", actual[n], "' of a call is not understood");
    locals_.back()[text.substr(text.rfind(declaration.name), declaration.name.size())] = at;
  }
}

}  // namespace ptx
