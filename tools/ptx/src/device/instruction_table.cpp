#include "instruction_table.h"

#include <algorithm>
#include <unordered_map>

#include "lexer.h"

namespace ptx {
namespace {

using Decode = bool (*)(Decoder&, Draft&);

// The first part of the opcode. The numbers are those of the sections of the PTX ISA 9.0.
const std::unordered_map<std::string_view, Decode> kInstructions = {
    // 9.7.1 Integer arithmetic (others: integer_forms(), bit_forms(), packed_forms())
    {"dp4a", decode_dp},
    {"dp2a", decode_dp},
    // 9.7.3 Floating point (others: float_forms(), float_pair_forms(), half_forms())
    {"testp", decode_testp},
    // 9.7.6 and 9.7.7 Comparison and selection
    {"set", decode_set},
    {"setp", decode_setp},
    {"slct", decode_slct},
    // 9.7.8 Logic and shift
    {"lop3", decode_lop3},
    {"shf", decode_shf},
    // 9.7.9 Data movement and conversion
    {"mov", decode_mov},
    {"shfl", decode_shfl},
    {"prmt", decode_prmt},
    {"ld", decode_load},
    {"ldu", decode_load},
    {"st", decode_store},
    {"prefetch", decode_hint},
    {"prefetchu", decode_hint},
    {"applypriority", decode_hint},
    {"discard", decode_hint},
    {"createpolicy", decode_hint},
    {"isspacep", decode_isspacep},
    {"cvta", decode_cvta},
    {"cvt", decode_cvt},
    {"mapa", decode_mapa},
    {"getctarank", decode_getctarank},
    {"cp", decode_cp},
    // 9.7.12 Control flow (bra, brx and call: the decoder)
    {"ret", decode_exit},
    {"exit", decode_exit},
    // 9.7.13 Synchronization and communication
    {"bar", decode_barrier},
    {"barrier", decode_barrier},
    {"membar", decode_fence},
    {"fence", decode_fence},
    {"atom", decode_atom},
    {"red", decode_atom},
    {"vote", decode_vote},
    {"match", decode_match},
    {"activemask", decode_activemask},
    {"redux", decode_redux},
    {"griddepcontrol", decode_hint},
    {"elect", decode_elect},
    {"mbarrier", decode_mbarrier},
    // 9.7.14 and 9.7.15 Products of matrices
    {"wmma", decode_wmma},
    {"mma", decode_mma},
    {"ldmatrix", decode_ldmatrix},
    {"stmatrix", decode_stmatrix},
    {"movmatrix", decode_movmatrix},
    {"wgmma", decode_wgmma},
    // 9.7.19 Miscellaneous
    {"brkpt", decode_trap},
    {"trap", decode_trap},
    {"nanosleep", decode_nanosleep},
    {"pmevent", decode_hint},
    {"setmaxnreg", decode_setmaxnreg},
};

constexpr std::string_view kFloatModifiers[] = {"rn", "rz", "rm", "rp", "ftz", "sat", "approx", "full"};

// "fma.rn.ftz.f32" -> "fma"
std::string name_of_form(const Draft& draft) {
  const bool with_modifiers = is_float(draft.type());
  std::string name(draft.parts[0]);
  for (size_t part = 1; part + 1 < draft.parts.size(); ++part) {
    const bool modifier = std::find(std::begin(kFloatModifiers), std::end(kFloatModifiers),
                                    draft.parts[part]) != std::end(kFloatModifiers);
    if (!with_modifiers || !modifier) (name += '.') += draft.parts[part];
  }
  return name;
}

// Instruction::changes.
bool changes(const Draft& draft) {
  constexpr std::string_view kAlways[] = {"stmatrix", "wmma", "wgmma"};
  const std::string_view name = draft.parts[0];
  if (name == "cp") return !draft.has("wait_all") && !draft.has("wait_group");
  if (name == "mbarrier") return !draft.has("test_wait") && !draft.has("try_wait");
  if (name == "st" || name == "atom" || name == "red")
    return draft.has("async") || draft.type() == Type::b128;
  return std::find(std::begin(kAlways), std::end(kAlways), name) != std::end(kAlways);
}

bool select_form(Decoder& decoder, Draft& draft) {
  const std::string name = name_of_form(draft);
  const Type type = draft.type();
  const int bytes = register_bytes(type);
  for (const std::span<const Form> family :
       {integer_forms(), carry_forms(), bit_forms(), packed_forms(), float_forms(), float_pair_forms(),
        half_forms(), predicate_forms()}) {
    for (const Form& form : family) {
      if (form.name != name || form.operands.size() != draft.arguments.size()) continue;
      const Handler handler = form.handler(type, draft);
      if (!handler) continue;
      draft.instruction.run = handler;
      for (size_t n = 0; n < form.operands.size(); ++n) {
        const std::string_view text = draft.arguments[n];
        switch (form.operands[n]) {
          case 'd':
            draft.add(decoder.destination(text));
            break;
          case 's':
            draft.add(decoder.source(text, bytes));
            break;
          case 'w':
            draft.add(decoder.source(text, 2 * bytes));
            break;
          case 'u':
            draft.add(decoder.source(text, 4));
            break;
          default:
            draft.add(decoder.source(text, 0));
            break;
        }
      }
      return true;
    }
  }
  return false;
}

}  // namespace

bool select(Decoder& decoder, Draft& draft) {
  const auto found = kInstructions.find(draft.parts[0]);
  draft.instruction.changes = changes(draft);
  return found != kInstructions.end() ? found->second(decoder, draft) : select_form(decoder, draft);
}

void add_operands(Decoder& decoder, Draft& draft, int sources, Type type) {
  draft.add(decoder.destination(draft.arguments.at(0)));
  for (int n = 1; n <= sources; ++n)
    draft.add(decoder.source(draft.arguments.at(static_cast<size_t>(n)), type));
}

bool decode_newest_groups(Draft& draft) {
  uint64_t number = 0;
  if (!parse_number(draft.arguments.at(0), 4, &number)) return false;
  draft.instruction.immediate = static_cast<int64_t>(number);
  return true;
}

std::pair<std::string_view, std::string_view> split_pair(std::string_view text) {
  const size_t bar = text.find('|');
  if (bar == text.npos) return {text, {}};
  const std::string_view second = trim(text.substr(bar + 1));
  return {trim(text.substr(0, bar)), second == "_" ? std::string_view() : second};
}

void converge_by_mask(Decoder& decoder, Draft& draft, std::string_view mask) {
  draft.instruction.flow = Flow::converge;
  draft.instruction.immediate2 = decoder.source(mask, 4).at;
}

}  // namespace ptx
