#include <simt/bulk_copy.h>
#include <simt/cluster.h>
#include <simt/observe_async.h>
#include <simt/shared.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <utility>

#include "block.h"
#include "mbarrier.h"
#include "tensor_map.h"

namespace simt {
namespace {

char* shared_at(size_t offset) { return static_cast<char*>(detail::shared_begin) + offset; }

void check_global(const char* instruction, const void* address, unsigned bytes, const Place& place) {
  if (reinterpret_cast<uintptr_t>(address) % 16 == 0 && bytes % 16 == 0) return;
  running_block(instruction).fail(cudaErrorMisalignedAddress, [&] {
    return std::string(instruction) + " at " + text(place) + ": global address " +
           std::to_string(reinterpret_cast<uintptr_t>(address) % 16) + " bytes past a multiple of 16, " +
           std::to_string(bytes) + " bytes; both must be multiples of 16";
  });
}

// The two kinds of copies, as the arguments of a BulkLoad.
struct Line {
  void* shared;
  const void* global;
  unsigned bytes;
};
struct Box {
  TensorMap map;  // a copy: the kernel's parameter ends with its thread
  BoxPosition position;
  void* shared;
  Place place;
};

void load_line(AsyncState& state, const void* arguments) {
  const Line& line = *static_cast<const Line*>(arguments);
  state.write(line.shared, line.global, line.bytes);
}

// A map of the type TFLOAT32 rounds to nearest, ties to even (unlike cvt.rna.tf32), and copies infinity and
// NaN as they are. CUDA's documentation does not say so; Triton found it on a GPU (its pull request 11751).
void round_to_tf32(unsigned char (&bytes)[16]) {
  for (unsigned i = 0; i < 16; i += 4) {
    uint32_t bits;
    std::memcpy(&bits, bytes + i, 4);
    const bool finite = (bits & 0x7F800000u) != 0x7F800000u;
    if (finite) bits = (bits + 0x0FFFu + (bits >> 13 & 1)) & 0xFFFFE000u;
    std::memcpy(bytes + i, &bits, 4);
  }
}

void load_box(AsyncState& state, const void* arguments) {
  const Box& box = *static_cast<const Box*>(arguments);
  struct To {
    AsyncState& state;
    bool round;
    uint16_t layout;
  } to{state, box.map.rounds_to_tf32, 0};
  // A box of rank 1 may be any data, such as a tile that is swizzled in global memory.
  if (box.map.rank > 1) to.layout = state.layout(box.map.swizzle_span, box.place);
  const auto part = [](void* user, const BoxPart& p) {
    const To& all = *static_cast<const To*>(user);
    unsigned char bytes[16] = {};
    if (p.global) std::memcpy(bytes + p.skipped, p.global, p.bytes);
    if (all.round) round_to_tf32(bytes);
    all.state.write(shared_at(p.shared), bytes, p.all, all.layout);
  };
  for_each_part(box.map, box.position, shared_offset(box.shared), part, &to);
}

#define SIMT_PLACE __builtin_extract_return_addr(__builtin_return_address(0))

#ifdef SIMT_OBSERVE
// A copy to several blocks is read once (`reads`), and stored once for each of them.
void observe(const void* place, const void* mbarrier, const Line& line, bool reads) {
  for (unsigned done = 0; done < line.bytes; done += 16)
    detail::observe_bulk_load(place, mbarrier, static_cast<const char*>(line.shared) + done,
                              reads ? static_cast<const char*>(line.global) + done : nullptr, 16, done / 16);
}
void observe(const void* place, const void* mbarrier, const Box& box, bool reads) {
  struct Parts {
    const void *place, *mbarrier;
    bool reads;
    unsigned count = 0;
  };
  const auto part = [](void* user, const BoxPart& p) {
    Parts& all = *static_cast<Parts*>(user);
    detail::observe_bulk_load(all.place, all.mbarrier, shared_at(p.shared), all.reads ? p.global : nullptr,
                              p.bytes, all.count++);
  };
  Parts parts{place, mbarrier, reads};
  for_each_part(box.map, box.position, shared_offset(box.shared), part, &parts);
}
#endif

// How an instruction names itself in faults and to the observer.
struct Origin {
  const char* instruction;
  const Place& place;
  const void* address;  // SIMT_PLACE
};

// A load to block `at`, whose shared memory is selected. `first`: of those of one instruction.
template <class Arguments>
void issue(const Origin& origin, Block& at, void* mbarrier, void (*copy)(AsyncState&, const void*),
           const Arguments& arguments, unsigned bytes, [[maybe_unused]] bool first = true) {
#ifdef SIMT_OBSERVE
  observe(origin.address, mbarrier, arguments, first);
#endif
  TsanIgnore ignore;
  AsyncState& state = at.async();
  static_assert(sizeof(Arguments) <= sizeof(BulkLoad::arguments));
  BulkLoad load;
  std::memcpy(load.arguments, &arguments, sizeof(arguments));
  load.copy = copy;
  load.bytes = bytes;
  load.place = origin.place;
  state.check_overwritten(origin.instruction, arguments.shared, bytes, origin.place);
  if (state.late()) state.fill(arguments.shared, 0xFF, bytes);
  issue_load(at, mbarrier, load, origin.instruction);
}

// A load to the blocks whose ranks are bits of `ranks`.
template <class Arguments>
void issue_to(uint16_t ranks, const Origin& origin, void* mbarrier, void (*copy)(AsyncState&, const void*),
              Arguments arguments, unsigned bytes) {
  const auto& [instruction, place, address] = origin;
  const Block& self = running_block(instruction);
  void* const shared = arguments.shared;
  bool first = true;
  for (unsigned rank = 0; ranks >> rank != 0; ++rank) {
    if (!(ranks >> rank & 1)) continue;
    Block& at = self.place_in_cluster().cluster->reached(rank, instruction, place);
    arguments.shared = cluster_map(shared, rank, place);
    void* const done = cluster_map(mbarrier, rank, place);
    const OtherSharedMemory scope(self, at);
    issue(origin, at, done, copy, arguments, bytes, std::exchange(first, false));
  }
}

// `offset`: of im2col mode, null in tiled mode.
Box box_of(const char* instruction, const CUtensorMap* map, const int* at, const int* offset, int rank,
           const void* shared, const Place& place) {
  Box box = {};
  box.map = checked_map(instruction, map, rank, offset != nullptr, place);
  if (offset)
    box.position = checked_base(instruction, box.map, at, offset, place);
  else
    std::copy_n(at, rank, box.position.at);
  box.shared = const_cast<void*>(shared);
  box.place = place;
  check_shared(instruction, shared, box.map.box_bytes(), 128, place);
  return box;
}

// Calls visit(shared, global, bytes) for each part of a store that it writes.
template <class Visit>
void for_each_stored(const BulkStore& store, Visit visit) {
  if (store.global) return visit(static_cast<const char*>(store.shared), store.global, store.size);
  const Box& box = *reinterpret_cast<const Box*>(store.box);
  const auto part = [](void* user, const BoxPart& p) {
    if (p.global) (*static_cast<Visit*>(user))(shared_at(p.shared + p.skipped), p.global, p.bytes);
  };
  for_each_part(box.map, box.position, shared_offset(store.shared), part, &visit);
}

// `what` is "that ...".
[[noreturn]] void fail_store(const BulkStore& store, const void* byte, const char* what) {
  running_block("cp.async.bulk").fail(cudaErrorLaunchFailure, [&] {
    return "the bulk store at " + text(store.place) + " reads " + shared_text(byte) + what;
  });
}

// A store copies through `bytes`: the content of shared memory at the issue, in its order.
void write_store(BulkStore& store) {
  if (store.written) return;
  TsanIgnore ignore;
  const char* const begin = static_cast<const char*>(store.shared);
  for_each_stored(store, [&](const char* shared, void* global, size_t bytes) {
    std::memcpy(global, store.bytes.data() + (shared - begin), bytes);
  });
  store.written = true;
}

void issue(Fiber& fiber, AsyncState& state, const BulkStore& store) {
  TsanIgnore ignore;
  fiber.stores.push_back(store);
  BulkStore& issued = fiber.stores.back();  // not on the stack, which a fault abandons
  issued.group = fiber.store_groups;
  for_each_stored(issued, [&](const char* shared, void*, size_t bytes) {
    if (const void* const byte = state.unfenced(shared, bytes))
      fail_store(issued, byte, ", which a thread wrote, and no fence.proxy.async followed");
  });
  const auto* const begin = static_cast<const unsigned char*>(issued.shared);
  issued.bytes.assign(begin, begin + issued.size);
  if (!state.late()) write_store(issued);
}

// At the wait for it.
void end_read(BulkStore& store) {
  const char* const begin = static_cast<const char*>(store.shared);
  for_each_stored(store, [&](const char* shared, void*, size_t bytes) {
    const auto* const old = reinterpret_cast<const char*>(store.bytes.data()) + (shared - begin);
    if (std::memcmp(shared, old, bytes) != 0)
      fail_store(store, std::mismatch(shared, shared + bytes, old).first,
                 ", which was written before the wait");
  });
  store.read = true;
}

}  // namespace

void bulk_load(void* to_shared, const void* from, unsigned bytes, void* mbarrier, Place place) {
  constexpr const char* kName = "cp.async.bulk";
  check_shared(kName, to_shared, bytes, 16, place);
  check_global(kName, from, bytes, place);
  issue({kName, place, SIMT_PLACE}, running_block(kName), mbarrier, load_line, Line{to_shared, from, bytes},
        bytes);
}

void bulk_load_multicast(void* to_shared, const void* from, unsigned bytes, void* mbarrier, uint16_t ranks,
                         Place place) {
  constexpr const char* kName = "cp.async.bulk.multicast::cluster";
  check_shared(kName, to_shared, bytes, 16, place);
  check_global(kName, from, bytes, place);
  issue_to(ranks, {kName, place, SIMT_PLACE}, mbarrier, load_line, Line{to_shared, from, bytes}, bytes);
}

void tma_load(void* to_shared, const CUtensorMap* map, const int* at, int rank, void* mbarrier, Place place) {
  constexpr const char* kName = "cp.async.bulk.tensor";
  const Box box = box_of(kName, map, at, nullptr, rank, to_shared, place);
  issue({kName, place, SIMT_PLACE}, running_block(kName), mbarrier, load_box, box, box.map.box_bytes());
}

void tma_load_im2col(void* to_shared, const CUtensorMap* map, const int* at, const int* offset, int rank,
                     void* mbarrier, Place place) {
  constexpr const char* kName = "cp.async.bulk.tensor.im2col";
  const Box box = box_of(kName, map, at, offset, rank, to_shared, place);
  issue({kName, place, SIMT_PLACE}, running_block(kName), mbarrier, load_box, box, box.map.box_bytes());
}

void tma_load_multicast(void* to_shared, const CUtensorMap* map, const int* at, int rank, void* mbarrier,
                        uint16_t ranks, Place place) {
  constexpr const char* kName = "cp.async.bulk.tensor.multicast::cluster";
  const Box box = box_of(kName, map, at, nullptr, rank, to_shared, place);
  issue_to(ranks, {kName, place, SIMT_PLACE}, mbarrier, load_box, box, box.map.box_bytes());
}

void bulk_store(void* to, const void* from_shared, unsigned bytes, Place place) {
  constexpr const char* kName = "cp.async.bulk";
  check_shared(kName, from_shared, bytes, 16, place);
  check_global(kName, to, bytes, place);
  Block& block = running_block(kName);
  issue(block.current(), block.async(),
        {.shared = from_shared, .size = bytes, .global = to, .box = {}, .place = place, .bytes = {}});
}

void tma_store(const CUtensorMap* map, const int* at, int rank, const void* from_shared, Place place) {
  constexpr const char* kName = "cp.async.bulk.tensor";
  const Box box = box_of(kName, map, at, nullptr, rank, from_shared, place);
  Block& block = running_block(kName);
  BulkStore store{.shared = from_shared,
                  .size = box.map.box_bytes(),
                  .global = nullptr,
                  .box = {},
                  .place = place,
                  .bytes = {}};
  static_assert(sizeof(box) <= sizeof(store.box));
  std::memcpy(store.box, &box, sizeof(box));
  issue(block.current(), block.async(), store);
}

void bulk_commit() { ++running_block("cp.async.bulk.commit_group").current().store_groups; }

void bulk_wait(int groups, bool only_read) {
  TsanIgnore ignore;
  Block& block = running_block("cp.async.bulk.wait_group");
  Fiber& fiber = block.current();
  if (fiber.store_groups <= static_cast<unsigned>(groups)) return;
  const unsigned end = fiber.store_groups - static_cast<unsigned>(groups);
  for (BulkStore& store : fiber.stores) {
    if (store.group >= end) break;
    store.waited = true;
    if (!store.read) end_read(store);
    if (!only_read) write_store(store);
  }
  std::erase_if(fiber.stores, [&](const BulkStore& store) { return store.group < end && store.written; });
}

void Block::end_stores(Fiber& fiber) {
  TsanIgnore ignore;
  for (BulkStore& store : fiber.stores) {
    if (!store.waited)
      fail(cudaErrorLaunchFailure, [&] {
        return "the bulk store at " + text(store.place) +
               " was not waited for: its thread exits and shared memory may not have been read";
      });
    write_store(store);
  }
  fiber.stores.clear();
  fiber.store_groups = 0;
}

}  // namespace simt
