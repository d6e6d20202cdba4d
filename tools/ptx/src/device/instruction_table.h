// The table of instructions: how each opcode is decoded, and the handler that executes it.
#pragma once

#include <span>

#include "decoder.h"
#include "races.h"
#include "reduction.h"

namespace ptx {

// Chooses the handler of the draft's opcode and adds its operands. False: the form is not supported.
bool select(Decoder& decoder, Draft& draft);

// An instruction whose operands follow from its type.
struct Form {
  // The opcode without its type, and without rounding and other modifiers of floating-point numbers.
  std::string_view name;
  // A letter for each operand: d the destination, s a source of the instruction's type, w one of twice its
  // width, u one of 32 bits, p a predicate.
  std::string_view operands;
  Handler (*handler)(Type type, Draft& draft);  // null: not for this type
};

// Forms by family.
std::span<const Form> integer_forms();
std::span<const Form> carry_forms();
std::span<const Form> bit_forms();
std::span<const Form> packed_forms();
std::span<const Form> float_forms();
std::span<const Form> float_pair_forms();
std::span<const Form> half_forms();
std::span<const Form> predicate_forms();

// Instructions with operands of their own kinds. Each function decodes one: it adds the operands to the draft
// and sets its handler. False: the form is not supported.
bool decode_mov(Decoder&, Draft&);
bool decode_cvt(Decoder&, Draft&);
bool decode_cvta(Decoder&, Draft&);
bool decode_isspacep(Decoder&, Draft&);
bool decode_setp(Decoder&, Draft&);
bool decode_set(Decoder&, Draft&);
bool decode_slct(Decoder&, Draft&);
bool decode_lop3(Decoder&, Draft&);
bool decode_shf(Decoder&, Draft&);
bool decode_prmt(Decoder&, Draft&);
bool decode_dp(Decoder&, Draft&);  // dp4a, dp2a
bool decode_testp(Decoder&, Draft&);
bool decode_load(Decoder&, Draft&);
bool decode_store(Decoder&, Draft&);
bool decode_atom(Decoder&, Draft&);         // atom, red
bool decode_async_store(Decoder&, Draft&);  // st.async, red.async
// The rest of the decoding of .b128: of loads and stores behind the address, of all of mov and atom.
bool decode_wide_access(Decoder&, Draft&, bool is_load);
bool decode_wide_move(Decoder&, Draft&);
bool decode_wide_atom(Decoder&, Draft&, Reduction);
bool decode_shfl(Decoder&, Draft&);
bool decode_vote(Decoder&, Draft&);
bool decode_redux(Decoder&, Draft&);
bool decode_match(Decoder&, Draft&);
bool decode_activemask(Decoder&, Draft&);
bool decode_elect(Decoder&, Draft&);
bool decode_barrier(Decoder&, Draft&);  // bar, barrier
bool decode_fence(Decoder&, Draft&);    // fence, membar
bool decode_exit(Decoder&, Draft&);     // ret, exit
bool decode_trap(Decoder&, Draft&);     // trap, brkpt
bool decode_nanosleep(Decoder&, Draft&);
bool decode_hint(Decoder&, Draft&);  // instructions without effect on values
bool decode_setmaxnreg(Decoder&, Draft&);
bool decode_ldmatrix(Decoder&, Draft&);
bool decode_stmatrix(Decoder&, Draft&);
bool decode_movmatrix(Decoder&, Draft&);
bool decode_mma(Decoder&, Draft&);
bool decode_mma_quads(Decoder&, Draft&);  // m8n8k4 of f16
bool decode_wmma(Decoder&, Draft&);
bool decode_wgmma(Decoder&, Draft&);
bool decode_cp(Decoder&, Draft&);  // cp.async, cp.async.bulk, cp.reduce.async.bulk
bool decode_cp_async(Decoder&, Draft&);
bool decode_bulk(Decoder&, Draft&);
bool decode_tensor(Decoder&, Draft&);
bool decode_mapa(Decoder&, Draft&);
bool decode_getctarank(Decoder&, Draft&);
bool decode_mbarrier(Decoder&, Draft&);

Order order_of(const Draft& draft);  // relaxed without a qualifier
Space space_of(const Draft& draft);  // of its qualifiers; generic without one

// Adds the destination and `sources` sources of the draft's type.
void add_operands(Decoder& decoder, Draft& draft, int sources, Type type);

// wait_group: sets `immediate` to the number of newest groups that are not waited for.
bool decode_newest_groups(Draft& draft);

// "d|p": the two destinations; the second is empty without a '|' or if it is "_".
std::pair<std::string_view, std::string_view> split_pair(std::string_view text);

// The lanes that take part, by a mask operand: the instruction waits for them.
void converge_by_mask(Decoder& decoder, Draft& draft, std::string_view mask);
// All lanes take part: "The behavior of mma instruction is undefined if [...] any thread in the warp has
// exited", and the same of the others.
inline void converge_all(Draft& draft) {
  draft.instruction.flow = Flow::converge;
  draft.instruction.aligned = true;
  draft.instruction.whole = true;
}

}  // namespace ptx
