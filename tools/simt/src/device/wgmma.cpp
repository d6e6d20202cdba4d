// wgmma on the executor: the 128 threads of a warpgroup rendezvous, and one of them computes the product.
// simt/wgmma.h has the semantics.
#include <simt/observe_async.h>
#include <simt/settings.h>
#include <simt/wgmma.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "../base/observer.h"
#include "../base/sanitizers.h"
#include "block.h"
#include "tensor_products.h"
#include "warpgroup.h"

namespace simt {
namespace {

constexpr const char* kMultiply = "wgmma.mma_async";
constexpr const char* kWait = "wgmma.wait_group";
constexpr int kRows = 64;
constexpr uint32_t kPoison = 0xFFFFFFFFu;
constexpr unsigned kAllWarps = 0xF;

template <class What>
[[noreturn]] void fail(const char* instruction, const Place& place, const What& what) {
  running_block(instruction).fail(cudaErrorLaunchFailure, [&] {
    return std::string(instruction) + " at " + text(place) + " " + what();
  });
}

struct ThreadArgs {
  const WarpgroupProduct* product;
  Fiber* fiber;
  const void* address;  // of the instruction
};

// PTX ISA, "Register fragments for wgmma.mma_async": with thread = 32 w + 4 g + t, register 4 j + 2 h + e of
// d is in row 16 w + g + 8 h, column 8 j + 2 t + e.
template <class Visit>
void for_each_result(int n, const Visit& visit) {
  for (unsigned thread = 0; thread < kWarpgroup; ++thread) {
    const int row = static_cast<int>(thread / 32 * 16 + thread % 32 / 4),
              column = static_cast<int>(thread % 4 * 2);
    for (int i = 0; i < n / 2; ++i) visit(thread, i, (row + i / 2 % 2 * 8) * n + column + i / 4 * 8 + i % 2);
  }
}

// Unpacks A from registers. Warp w holds rows 16 w to 16 w + 15, in the layout of mma.sync.
template <TensorFormat format>
void load_registers(float* to, int steps, const PendingProduct& pending) {
  constexpr int kElements = format == TensorFormat::tf32 ? 1 : 2;
  for (unsigned thread = 0; thread < kWarpgroup; ++thread)
    for (int part = 0; part < 4; ++part)
      for (int e = 0; e < kElements; ++e) {
        const int row = static_cast<int>(thread / 32 * 16 + thread % 32 / 4) + part % 2 * 8;
        const int k = (static_cast<int>(thread % 4) + part / 2 * 4) * kElements + e;
        const float value = tensor_element<format>(pending.a[4 * thread + static_cast<unsigned>(part)], e);
        to[row * steps + k] = pending.product.negate_a ? -value : value;
      }
}

// Strides of the unpacked operands: A is [row][k], B is [k][column].
OperandShape shape_of_a(const WarpgroupProduct& p, int stride) {
  return {"a", p.format, p.transpose_a, p.negate_a, kRows, stride, 1};
}
OperandShape shape_of_b(const WarpgroupProduct& p, int stride) {
  return {"b", p.format, p.transpose_b, p.negate_b, p.n, 1, stride};
}

void compute(Warpgroup& group, const PendingProduct& pending) {
  const WarpgroupProduct& p = pending.product;
  Accumulators& accumulators = group.accumulators[pending.accumulators];
  --accumulators.pending;
  const int steps = p.format == TensorFormat::tf32 ? 8 : 16;
  const int width = (p.n + kProductWidth - 1) / kProductWidth * kProductWidth;
  static thread_local std::vector<float> a, b, row;
  a.resize(static_cast<size_t>(kRows * steps));
  b.assign(static_cast<size_t>(steps * width), 0.0f);
  row.assign(static_cast<size_t>(width), 0.0f);
  load_operand(b.data(), pending.b_lines, p.b_descriptor, shape_of_b(p, width));
  if (pending.a.empty())
    load_operand(a.data(), pending.a_lines, p.a_descriptor, shape_of_a(p, steps));
  else if (p.format == TensorFormat::tf32)
    load_registers<TensorFormat::tf32>(a.data(), steps, pending);
  else if (p.format == TensorFormat::bfloat16)
    load_registers<TensorFormat::bfloat16>(a.data(), steps, pending);
  else
    load_registers<TensorFormat::float16>(a.data(), steps, pending);
  if (!p.add) std::fill(accumulators.d.begin(), accumulators.d.end(), 0.0f);
  // Repacks B into blocks of kProductBlock x kProductWidth, ordered by k, then column.
  static thread_local std::vector<float> blocks;
  static thread_local std::vector<BlockKind> kinds;
  constexpr int kBlockSize = kProductBlock * kProductWidth;
  const int blocks_n = width / kProductWidth;
  blocks.resize(b.size());
  kinds.resize(b.size() / kBlockSize);
  for (size_t block = 0; block < kinds.size(); ++block) {
    const size_t k = block / static_cast<size_t>(blocks_n) * kProductBlock,
                 j = block % static_cast<size_t>(blocks_n) * kProductWidth;
    float* const to = &blocks[block * kBlockSize];
    for (size_t l = 0; l < kProductBlock; ++l)
      std::copy_n(&b[(k + l) * static_cast<size_t>(width) + j], kProductWidth, to + l * kProductWidth);
    kinds[block] = kind_of(to, kBlockSize);
  }
  for (int i = 0; i < kRows; ++i) {
    float* const d = &accumulators.d[static_cast<size_t>(i * p.n)];
    std::copy_n(d, p.n, row.begin());
    for (int k = 0; k < steps; k += kProductBlock) {
      const float* const a_block = &a[static_cast<size_t>(i * steps + k)];
      const BlockKind a_kind = kind_of(a_block, kProductBlock);
      const auto first = static_cast<size_t>(k / kProductBlock * blocks_n);
      const auto zero = [&](const BlockKind& kind) { return products_are_zero(a_kind, kind); };
      if (std::none_of(&kinds[first], &kinds[first] + blocks_n, zero)) {
        add_product_rows(blocks_n, row.data(), a_block, 0, &blocks[first * kBlockSize], kBlockSize);
        continue;
      }
      for (int j = 0; j < width; j += kProductWidth) {
        const size_t block = first + static_cast<size_t>(j / kProductWidth);
        float* const sums = &row[static_cast<size_t>(j)];
        if (products_are_zero(a_kind, kinds[block]))
          add_zeros(sums, kProductWidth);
        else
          add_product_row(sums, a_block, &blocks[block * kBlockSize]);
      }
    }
    std::copy_n(row.begin(), p.n, d);
  }
}

void write_registers(const Accumulators& from) {
  for_each_result(from.n, [&](unsigned thread, int i, int at) {
    from.registers[thread][i] = from.d[static_cast<size_t>(at)];
  });
}

bool registers_are(const Accumulators& values) {
  bool same = true;
  for_each_result(values.n, [&](unsigned thread, int i, int at) {
    same = same && std::bit_cast<uint32_t>(values.registers[thread][i]) ==
                       std::bit_cast<uint32_t>(values.d[static_cast<size_t>(at)]);
  });
  return same;
}

const ThreadArgs& args_of(const Warpgroup& group, unsigned thread) {
  return *static_cast<const ThreadArgs*>(group.records[thread]);
}

bool same_product(const WarpgroupProduct& a, const WarpgroupProduct& b) {
  return a.format == b.format && a.n == b.n && !a.a == !b.a && (a.a || a.a_descriptor == b.a_descriptor) &&
         a.b_descriptor == b.b_descriptor && a.add == b.add && a.negate_a == b.negate_a &&
         a.negate_b == b.negate_b && a.transpose_a == b.transpose_a && a.transpose_b == b.transpose_b;
}

// The index of the product's accumulators, with their values.
size_t find_accumulators(Warpgroup& group, const Place& place) {
  std::array<float*, kWarpgroup> registers;
  bool fenced = true;
  for (unsigned t = 0; t < kWarpgroup; ++t) {
    registers[t] = args_of(group, t).product->d;
    fenced = fenced && args_of(group, t).fiber->wgmma_fenced;
  }
  const int n = args_of(group, 0).product->n;
  size_t index = 0;
  while (index < group.accumulators.size() &&
         (group.accumulators[index].registers != registers || group.accumulators[index].n != n))
    ++index;
  const bool known = index < group.accumulators.size();
  const bool in_flight = std::any_of(group.products.begin(), group.products.end(),
                                     [&](const PendingProduct& p) { return p.accumulators == index; });
  if (known && (in_flight || registers_are(group.accumulators[index]))) return index;
  if (!fenced)
    fail(kMultiply, place, [] {
      return "requires a preceding wgmma.fence: the accumulator registers were written since the last "
             "wait, or are used for the first time";
    });
  if (!known)
    group.accumulators.push_back({registers, n, std::vector<float>(static_cast<size_t>(kRows * n)), 0});
  Accumulators& found = group.accumulators[index];
  for_each_result(
      n, [&](unsigned thread, int i, int at) { found.d[static_cast<size_t>(at)] = registers[thread][i]; });
  return index;
}

void multiply_warpgroup(AsyncState& state, Warpgroup& group, const Place& place) {
  const ThreadArgs& first = args_of(group, 0);
  const WarpgroupProduct& product = *first.product;
  const size_t index = find_accumulators(group, place);
  group.products.push_back({product, {}, {}, {}, {}, index, first.fiber->wgmma_groups, place});
  PendingProduct& pending = group.products.back();  // not on the stack, which a fault abandons
#ifdef SIMT_OBSERVE
  const bool tf32 = product.format == TensorFormat::tf32;
  const unsigned number = first.fiber->rank / kWarpgroup;
  detail::observe_warpgroup_product(number, tf32, 16 * product.n * (tf32 ? 8 : 16));
  observe_operand(product.b_descriptor, shape_of_b(product, 0), number, first.address);
  if (!product.a) observe_operand(product.a_descriptor, shape_of_a(product, 0), number, first.address);
  for (unsigned t = 0; t < kWarpgroup; ++t)
    detail::observe_accumulators(first.address, kWarpgroup * number + t, args_of(group, t).product->d,
                                 sizeof(float) * static_cast<size_t>(product.n / 2));
#endif
  pending.b_lines = read_operand(state, product.b_descriptor, shape_of_b(product, 0), place);
  if (product.a)
    for (unsigned t = 0; t < kWarpgroup; ++t)
      read_registers(pending, t, *args_of(group, t).fiber, args_of(group, t).product->a);
  else
    pending.a_lines = read_operand(state, product.a_descriptor, shape_of_a(product, 0), place);
  Accumulators& accumulators = group.accumulators[index];
  ++accumulators.pending;
  if (state.late()) {
    for (float* registers : accumulators.registers)
      std::memset(registers, 0xFF, sizeof(float) * static_cast<size_t>(product.n / 2));
  } else {
    compute(group, pending);
    write_registers(accumulators);
  }
}

void run_wait(AsyncState& state, Warpgroup& group, unsigned end) {
  group.ending.clear();
  group.returned = 0;
  while (!group.products.empty() && group.products.front().group < end) {
    const PendingProduct& pending = group.products.front();
    check_registers(pending);
    if (state.late()) {
      Accumulators& accumulators = group.accumulators[pending.accumulators];
      for_each_result(accumulators.n, [&](unsigned thread, int i, int) {
        uint32_t bits;
        std::memcpy(&bits, &accumulators.registers[thread][i], 4);
        if (bits != kPoison && !detail::order_is_checked())
          fail(kMultiply, pending.place, [&] {
            return "had accumulator register " + std::to_string(i) + " written by thread " +
                   std::to_string(thread) + " of the warpgroup before the wait";
          });
      });
      compute(group, pending);
      if (accumulators.pending == 0) write_registers(accumulators);
    }
    group.ending.push_back(std::move(group.products.front()));
    group.products.erase(group.products.begin());
  }
}

// A thread of `warp` has returned from the wait; if all warps have, the operands may change.
void return_from_wait(Warpgroup& group, unsigned warp) {
  if (group.returned >> warp & 1) return;
  group.returned |= 1u << warp;
  if (group.returned != kAllWarps) return;
  for (const PendingProduct& ended : group.ending) {
    const WarpgroupProduct& product = ended.product;
    check_operand(ended.b_lines, product.b_descriptor, shape_of_b(product, 0), ended.place);
    if (ended.a.empty())
      check_operand(ended.a_lines, product.a_descriptor, shape_of_a(product, 0), ended.place);
  }
  group.ending.clear();
}

}  // namespace

void Block::warpgroup_rendezvous(const char* instruction, const void* record, Place place,
                                 void (*run)(AsyncState&, Warpgroup&, const void*, const Place&)) {
  Fiber& self = *current_;
  self.place = place;
  const unsigned number = self.rank / kWarpgroup, thread = self.rank % kWarpgroup;
  if (threads_ < (number + 1) * kWarpgroup)
    simt::fail(instruction, place, [&] {
      return "needs the 128 threads of a warpgroup, and warpgroup " + std::to_string(number) + " has " +
             std::to_string(threads_ - number * kWarpgroup);
    });
  Warpgroup& group = async_.warpgroup(number);
  if (group.arrived != 0 && group.instruction != instruction)
    simt::fail(instruction, place, [&] {
      return std::string("is called while other threads of the warpgroup wait in ") + group.instruction +
             ". " + waiting_threads();
    });
  group.instruction = instruction;
  group.records[thread] = record;
  group.fibers[thread] = &self;
  if (++group.arrived < kWarpgroup) return wait(self);
  {
    TsanIgnore ignore;  // the registers of other threads, which wait
    run(async_, group, record, place);
  }
  group.arrived = 0;
  FiberQueue fibers;
  for (Fiber*& fiber : group.fibers) {
    if (fiber != &self) fibers.push(*fiber);
    fiber = nullptr;
  }
  wake(fibers);
}

void Block::check_no_pending_products(Fiber& fiber) {
  for (const PendingProduct& pending : async_.warpgroup(fiber.rank / kWarpgroup).products)
    simt::fail(kMultiply, pending.place, [] { return "is still pending when its thread exits"; });
  fiber.wgmma_a.clear();
}

void AsyncState::check_overwritten(const char* instruction, const void* to_shared, size_t bytes,
                                   const Place& place) const {
  const size_t begin = shared_offset(to_shared), end = begin + bytes;
  const auto check = [&](const std::vector<PendingProduct>& products, const char* why) {
    for (const PendingProduct& pending : products) {
      const WarpgroupProduct& product = pending.product;
      const bool meets_a =
          pending.a.empty() && operand_meets(product.a_descriptor, shape_of_a(product, 0), begin, end);
      if (meets_a || operand_meets(product.b_descriptor, shape_of_b(product, 0), begin, end))
        simt::fail(instruction, place, [&] {
          return "overwrites " + std::string(meets_a ? "a" : "b") + " of the wgmma.mma_async at " +
                 text(pending.place) + why;
        });
    }
  };
  for (const Warpgroup& group : warpgroups_) {
    check(group.products, ", which was not waited for");
    check(group.ending, ", which not all four warps have waited for");
  }
}

void AsyncState::add_waiting_warpgroups(WaitReport& report) const {
  for (size_t number = 0; number < warpgroups_.size(); ++number)
    for (const Fiber* fiber : warpgroups_[number].fibers)
      if (fiber)
        report.add(fiber->rank, std::string("in ") + warpgroups_[number].instruction + " of warpgroup " +
                                    std::to_string(number) + ", " + text(fiber->place));
}

void warpgroup_multiply(const WarpgroupProduct& product, Place place) {
  if (product.n < 8 || product.n > 256 || product.n % 8 != 0)
    fail(kMultiply, place,
         [&] { return "has n = " + std::to_string(product.n) + "; 8 to 256 in steps of 8 are valid"; });
  if (product.format == TensorFormat::tf32 && (product.transpose_a || product.transpose_b))
    fail(kMultiply, place, [] { return "transposes tf32; only 16-bit formats can be transposed"; });
  if (product.a && product.transpose_a) fail(kMultiply, place, [] { return "transposes a in registers"; });
  Block& block = running_block(kMultiply);
  Fiber& fiber = block.current();
  fiber.wgmma_used = true;
  const ThreadArgs args{&product, &fiber, __builtin_extract_return_addr(__builtin_return_address(0))};
  block.warpgroup_rendezvous(
      kMultiply, &args, place, [](AsyncState& state, Warpgroup& group, const void*, const Place& at) {
        const ThreadArgs& first = args_of(group, 0);
        for (unsigned t = 1; t < kWarpgroup; ++t)
          if (!same_product(*args_of(group, t).product, *first.product) ||
              args_of(group, t).fiber->wgmma_groups != first.fiber->wgmma_groups)
            fail(kMultiply, at, [&] {
              return "differs between the threads 0 and " + std::to_string(t) +
                     " of the warpgroup: descriptors, flags and committed groups must be equal";
            });
        multiply_warpgroup(state, group, at);
      });
}

void warpgroup_fence() {
  Fiber& fiber = running_block("wgmma.fence").current();
  fiber.wgmma_fenced = true;
  fence_registers(fiber);
}

void warpgroup_commit() {
  ++running_block("wgmma.commit_group").current().wgmma_groups;
  detail::tell_observer([](Observer& observer) { observer.product_commit(thread_rank); });
}

namespace {

void wait_for_products(int groups, const Place& place) {
  Block& block = running_block(kWait);
  Fiber& fiber = block.current();
  if (!fiber.wgmma_used || fiber.wgmma_groups <= static_cast<unsigned>(groups)) return;
  const unsigned end = fiber.wgmma_groups - static_cast<unsigned>(groups);
  const unsigned number = fiber.rank / kWarpgroup;
  const std::vector<PendingProduct>& products = block.async().warpgroup(number).products;
  if (products.empty() || products.front().group >= end) return;
  block.warpgroup_rendezvous(kWait, &end, place,
                             [](AsyncState& state, Warpgroup& group, const void* record, const Place&) {
                               run_wait(state, group, *static_cast<const unsigned*>(record));
                             });
  fiber.wgmma_fenced = false;
  TsanIgnore ignore;
  return_from_wait(block.async().warpgroup(number), fiber.rank % kWarpgroup / 32);
}

}  // namespace

void warpgroup_wait(int groups, Place place) {
  wait_for_products(groups, place);
  detail::tell_observer([&](Observer& observer) { observer.product_wait(thread_rank, groups); });
}

}  // namespace simt
