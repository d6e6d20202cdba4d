#include <simt/bulk_copy.h>
#include <simt/cluster.h>
#include <simt/observe_async.h>
#include <simt/shared.h>

#include <bit>
#include <cstring>
#include <string>

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
  int at[TensorMap::kMostRank];
  void* shared;
};

void load_line(AsyncState& state, const void* arguments) {
  const Line& line = *static_cast<const Line*>(arguments);
  state.write(line.shared, line.global, line.bytes);
}

// A map of the type TFLOAT32 rounds to nearest. CUDA does not say how it rounds ties; here away from zero, as
// cvt.rna.tf32 does.
void round_to_tf32(unsigned char (&bytes)[16]) {
  for (unsigned i = 0; i < 16; i += 4) {
    uint32_t bits;
    std::memcpy(&bits, bytes + i, 4);
    const bool finite = (bits & 0x7F800000u) != 0x7F800000u;
    if (finite) bits = (bits + 0x1000u) & 0xFFFFE000u;
    if (!finite && (bits & 0x007FFFFFu) != 0) bits = 0x7FFFFFFFu;
    std::memcpy(bytes + i, &bits, 4);
  }
}

void load_box(AsyncState& state, const void* arguments) {
  const Box& box = *static_cast<const Box*>(arguments);
  struct To {
    AsyncState& state;
    bool round;
  } to{state, box.map.rounds_to_tf32};
  const auto part = [](void* user, const BoxPart& p) {
    const To& all = *static_cast<const To*>(user);
    unsigned char bytes[16] = {};
    if (p.global) std::memcpy(bytes + p.skipped, p.global, p.bytes);
    if (all.round) round_to_tf32(bytes);
    all.state.write(shared_at(p.shared), bytes, p.all);
  };
  for_each_part(box.map, box.at, shared_offset(box.shared), part, &to);
}

// A load to block `at`, whose shared memory is selected.
template <class Arguments>
void issue(const char* instruction, Block& at, void* mbarrier, void (*copy)(AsyncState&, const void*),
           const Arguments& arguments, unsigned bytes, const Place& place) {
  AsyncState& state = at.async();
  static_assert(sizeof(Arguments) <= sizeof(BulkLoad::arguments));
  BulkLoad load;
  std::memcpy(load.arguments, &arguments, sizeof(arguments));
  load.copy = copy;
  load.bytes = bytes;
  load.place = place;
  if (state.late()) state.fill(arguments.shared, 0xFF, bytes);
  issue_load(at, mbarrier, load, instruction);
}

// A load to the blocks whose ranks are bits of `ranks`.
template <class Arguments>
void issue_to(uint16_t ranks, const char* instruction, void* mbarrier, void (*copy)(AsyncState&, const void*),
              Arguments arguments, unsigned bytes, const Place& place) {
  const Block& self = running_block(instruction);
  void* const shared = arguments.shared;
  for (unsigned rank = 0; ranks >> rank != 0; ++rank) {
    if (!(ranks >> rank & 1)) continue;
    Block& at = self.place_in_cluster().cluster->reached(rank, instruction, place);
    arguments.shared = cluster_map(shared, rank, place);
    void* const done = cluster_map(mbarrier, rank, place);
    const OtherSharedMemory scope(self, at);
    issue(instruction, at, done, copy, arguments, bytes, place);
  }
}

Box box_of(const char* instruction, const CUtensorMap* map, const int* at, int rank, const void* shared,
           const Place& place) {
  Box box = {};
  box.map = checked_map(instruction, map, rank, place);
  std::memcpy(box.at, at, static_cast<size_t>(rank) * sizeof(int));
  box.shared = const_cast<void*>(shared);
  check_shared(instruction, shared, box.map.box_bytes(), 128, place);
  return box;
}

#ifdef SIMT_OBSERVE
#define SIMT_PLACE __builtin_extract_return_addr(__builtin_return_address(0))

// A copy to several blocks is read once, and stored once for each of them.
void observe(const void* place, const void* mbarrier, const Line& line, int blocks = 1) {
  for (int block = 0; block < blocks; ++block)
    for (unsigned done = 0; done < line.bytes; done += 16)
      detail::observe_bulk_load(place, mbarrier, static_cast<const char*>(line.shared) + done,
                                block == 0 ? static_cast<const char*>(line.global) + done : nullptr, 16,
                                done / 16);
}
void observe(const void* place, const void* mbarrier, const Box& box, int blocks = 1) {
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
  for (int block = 0; block < blocks; ++block) {
    Parts parts{place, mbarrier, block == 0};
    for_each_part(box.map, box.at, shared_offset(box.shared), part, &parts);
  }
}
#endif

// A store copies through `bytes`: the content of shared memory, in its order.
void read_store(AsyncState& state, BulkStore& store) {
  store.bytes.resize(store.size);
  state.read(store.bytes.data(), store.shared, store.size);
  store.read = true;
}

struct Written {
  const unsigned char* bytes;
  size_t begin;
};

void write_store(BulkStore& store) {
  if (store.written) return;
  if (store.global) {
    std::memcpy(store.global, store.bytes.data(), store.size);
  } else {
    const Box& box = *reinterpret_cast<const Box*>(store.box);
    Written written{store.bytes.data(), shared_offset(store.shared)};
    const auto part = [](void* user, const BoxPart& p) {
      const Written& from = *static_cast<const Written*>(user);
      if (p.global) std::memcpy(p.global, from.bytes + (p.shared - from.begin) + p.skipped, p.bytes);
    };
    for_each_part(box.map, box.at, written.begin, part, &written);
  }
  store.written = true;
}

void issue(Fiber& fiber, AsyncState& state, BulkStore store) {
  store.group = fiber.store_groups;
  if (!state.late()) {
    read_store(state, store);
    write_store(store);
    store.bytes.clear();
  }
  fiber.stores.push_back(std::move(store));
}

}  // namespace

void bulk_load(void* to_shared, const void* from, unsigned bytes, void* mbarrier, Place place) {
  constexpr const char* kName = "cp.async.bulk";
  check_shared(kName, to_shared, bytes, 16, place);
  check_global(kName, from, bytes, place);
#ifdef SIMT_OBSERVE
  observe(SIMT_PLACE, mbarrier, Line{to_shared, from, bytes});
#endif
  issue(kName, running_block(kName), mbarrier, load_line, Line{to_shared, from, bytes}, bytes, place);
}

void bulk_load_multicast(void* to_shared, const void* from, unsigned bytes, void* mbarrier, uint16_t ranks,
                         Place place) {
  constexpr const char* kName = "cp.async.bulk.multicast::cluster";
  check_shared(kName, to_shared, bytes, 16, place);
  check_global(kName, from, bytes, place);
#ifdef SIMT_OBSERVE
  observe(SIMT_PLACE, mbarrier, Line{to_shared, from, bytes}, std::popcount(ranks));
#endif
  issue_to(ranks, kName, mbarrier, load_line, Line{to_shared, from, bytes}, bytes, place);
}

void tma_load(void* to_shared, const CUtensorMap* map, const int* at, int rank, void* mbarrier, Place place) {
  constexpr const char* kName = "cp.async.bulk.tensor";
  const Box box = box_of(kName, map, at, rank, to_shared, place);
#ifdef SIMT_OBSERVE
  observe(SIMT_PLACE, mbarrier, box);
#endif
  issue(kName, running_block(kName), mbarrier, load_box, box, box.map.box_bytes(), place);
}

void tma_load_multicast(void* to_shared, const CUtensorMap* map, const int* at, int rank, void* mbarrier,
                        uint16_t ranks, Place place) {
  constexpr const char* kName = "cp.async.bulk.tensor.multicast::cluster";
  const Box box = box_of(kName, map, at, rank, to_shared, place);
#ifdef SIMT_OBSERVE
  observe(SIMT_PLACE, mbarrier, box, std::popcount(ranks));
#endif
  issue_to(ranks, kName, mbarrier, load_box, box, box.map.box_bytes(), place);
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
  const Box box = box_of(kName, map, at, rank, from_shared, place);
  Block& block = running_block(kName);
  BulkStore store{.shared = from_shared,
                  .size = box.map.box_bytes(),
                  .global = nullptr,
                  .box = {},
                  .place = place,
                  .bytes = {}};
  static_assert(sizeof(box) <= sizeof(store.box));
  std::memcpy(store.box, &box, sizeof(box));
  issue(block.current(), block.async(), std::move(store));
}

void bulk_commit() { ++running_block("cp.async.bulk.commit_group").current().store_groups; }

void bulk_wait(int groups, bool only_read) {
  Block& block = running_block("cp.async.bulk.wait_group");
  Fiber& fiber = block.current();
  if (fiber.store_groups <= static_cast<unsigned>(groups)) return;
  const unsigned end = fiber.store_groups - static_cast<unsigned>(groups);
  for (BulkStore& store : fiber.stores) {
    if (store.group >= end) break;
    store.waited = true;
    if (!store.read) read_store(block.async(), store);
    if (!only_read) write_store(store);
  }
  std::erase_if(fiber.stores, [&](const BulkStore& store) { return store.group < end && store.written; });
}

void Block::end_stores(Fiber& fiber) {
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
