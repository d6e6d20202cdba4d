// cp.async.bulk.tensor and cp.reduce.async.bulk.tensor (PTX ISA 5.5 "Tensors", 9.7.9.27).
#include <algorithm>

#include "bulk_copy.h"
#include "fault.h"
#include "float_bits.h"
#include "instruction_table.h"
#include "lexer.h"
#include "mbarrier.h"
#include "memory.h"

namespace ptx {
namespace {

constexpr uint32_t kUnit = 16;

// CUtensorMapDataType
constexpr int kFloat16 = 6, kFloat64 = 8, kBfloat16 = 9, kFloat32Ftz = 10, kTf32 = 11, kTf32Ftz = 12;

int element_bytes(const TensorMap& map) {
  constexpr int kBytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
  return kBytes[map.type];
}

int64_t size_of(const TensorMap& map, int dimension) { return int64_t{map.size[dimension]} + 1; }

struct Coordinates {
  int32_t at[5];       // innermost first
  uint16_t offset[3];  // im2col: of the filter
};

// Consecutive elements of the innermost dimension.
struct Row {
  uint32_t offset;    // in the box, bytes
  uint64_t address;   // of the first element that is copied
  uint32_t elements;  // of the box
  uint32_t step;      // elements of the tensor from one to the next
  int64_t first;      // coordinate of the first one
  bool inside;        // in all other dimensions
};

template <class Visit>
void walk_tile(const TensorMap& map, const Coordinates& coordinates, Visit visit) {
  const uint32_t bytes = static_cast<uint32_t>(element_bytes(map));
  uint32_t count[5], x[5] = {};
  for (int d = 0; d < 5; ++d)
    count[d] = d < map.rank ? (uint32_t{map.box[d]} + map.step[d] - 1) / map.step[d] : 1;
  Row row{0, 0, count[0], map.step[0], coordinates.at[0], true};
  for (x[4] = 0; x[4] < count[4]; ++x[4]) {
    for (x[3] = 0; x[3] < count[3]; ++x[3]) {
      for (x[2] = 0; x[2] < count[2]; ++x[2]) {
        for (x[1] = 0; x[1] < count[1]; ++x[1]) {
          row.inside = true;
          row.address = map.data + static_cast<uint64_t>(row.first) * bytes;
          for (int d = 1; d < map.rank; ++d) {
            const int64_t c = int64_t{coordinates.at[d]} + int64_t{x[d]} * map.step[d];
            if (c < 0 || c >= size_of(map, d)) row.inside = false;
            row.address += static_cast<uint64_t>(c) * map.stride[d - 1];
          }
          visit(row);
          row.offset += count[0] * bytes;
        }
      }
    }
  }
}

// Pixels of the bounding box in the order of the tensor, from the coordinates on; of each, `channels`
// elements.
template <class Visit>
void walk_im2col(const TensorMap& map, const Coordinates& coordinates, Visit visit) {
  const uint32_t bytes = static_cast<uint32_t>(element_bytes(map));
  const int spatial = map.rank - 2;
  int64_t pixel[3] = {}, image = coordinates.at[map.rank - 1];
  for (int d = 0; d < spatial; ++d) pixel[d] = coordinates.at[d + 1];
  Row row{0, 0, map.channels, 1, coordinates.at[0], true};
  for (int n = 0; n < map.pixels; ++n) {
    row.inside = image >= 0 && image < size_of(map, map.rank - 1);
    row.address = map.data + static_cast<uint64_t>(row.first) * bytes +
                  static_cast<uint64_t>(image) * map.stride[map.rank - 2];
    for (int d = 0; d < spatial; ++d) {
      const int64_t c = pixel[d] + coordinates.offset[d];
      if (c < 0 || c >= size_of(map, d + 1)) row.inside = false;
      row.address += static_cast<uint64_t>(c) * map.stride[d];
    }
    visit(row);
    row.offset += row.elements * bytes;
    int d = 0;
    for (; d < spatial; ++d) {  // the next pixel
      pixel[d] += map.step[d + 1];
      if (pixel[d] < size_of(map, d + 1) + map.upper[d]) break;
      pixel[d] = map.lower[d];
    }
    if (d == spatial) ++image;
  }
}

template <class Visit>
void walk(const TensorMap& map, const Coordinates& coordinates, Visit visit) {
  if (map.im2col) {
    walk_im2col(map, coordinates, visit);
  } else {
    walk_tile(map, coordinates, visit);
  }
}

uint32_t box_bytes(const TensorMap& map) {
  uint32_t elements = map.im2col ? uint32_t{map.channels} * map.pixels : 1;
  if (!map.im2col)
    for (int d = 0; d < map.rank; ++d) elements *= (uint32_t{map.box[d]} + map.step[d] - 1) / map.step[d];
  return elements * static_cast<uint32_t>(element_bytes(map));
}

// Calls visit(index, count) for the elements of the row that are inside of the tensor, in runs.
template <class Visit>
void for_runs_inside(const TensorMap& map, const Row& row, Visit visit) {
  if (!row.inside) return;
  const int64_t size = size_of(map, 0), elements = row.elements;
  if (row.step == 1) {
    const int64_t begin = std::clamp<int64_t>(-row.first, 0, elements);
    const int64_t end = std::clamp<int64_t>(size - row.first, begin, elements);
    if (begin < end) visit(static_cast<uint32_t>(begin), static_cast<uint32_t>(end - begin));
    return;
  }
  for (int64_t n = 0; n < elements; ++n) {
    const int64_t c = row.first + n * row.step;
    if (c >= 0 && c < size) visit(static_cast<uint32_t>(n), 1u);
  }
}

// Shared memory in units of 16 bytes, of which the swizzle exchanges some.
uint32_t swizzled(uint32_t address, int mode) {
  const uint32_t units = mode == 0 ? 1 : 1u << mode;
  return address ^ ((address >> 7 & (units - 1)) << 4);
}

// Values of elements as the copy to shared memory makes them.
void convert_elements(const TensorMap& map, TensorTies ties, char* data, uint32_t elements) {
  if (map.type != kTf32 && map.type != kTf32Ftz && map.type != kFloat32Ftz) return;
  for (uint32_t n = 0; n < elements; ++n) {
    float value = 0;
    std::memcpy(&value, data + 4 * n, 4);
    if (map.type != kTf32) value = flush_subnormal(value);
    if (map.type != kFloat32Ftz)
      value = ties == TensorTies::away ? to_tf32_ties_away(value) : to_tf32_ties_even(value);
    std::memcpy(data + 4 * n, &value, 4);
  }
}

void fill_outside(const TensorMap& map, std::vector<char>& box) {
  if (!map.nan_fill) return;
  uint64_t nan = 0;
  switch (map.type) {
    case kFloat16:
      nan = 0x7FFF;
      break;
    case kBfloat16:
      nan = 0x7FFF;
      break;
    case kFloat64:
      nan = 0x7FFFFFFFFFFFFFFFu;
      break;
    default:
      nan = 0x7FFFFFFF;
      break;
  }
  const size_t bytes = static_cast<size_t>(element_bytes(map));
  for (size_t at = 0; at < box.size(); at += bytes) std::memcpy(&box[at], &nan, bytes);
}

std::vector<char> read_box(const LaunchState& launch, const TensorMap& map, const Coordinates& coordinates) {
  std::vector<char> box(box_bytes(map));
  fill_outside(map, box);
  GlobalRange range(launch);
  const uint32_t bytes = static_cast<uint32_t>(element_bytes(map));
  walk(map, coordinates, [&](const Row& row) {
    for_runs_inside(map, row, [&](uint32_t first, uint32_t count) {
      char* const to = &box[row.offset + first * bytes];
      std::memcpy(to, range.pointer(row.address + uint64_t{first} * row.step * bytes, count * bytes, false),
                  count * bytes);
      convert_elements(map, launch.launch.tensor_ties, to, count);
    });
  });
  return box;
}

void write_shared(Block& block, uint32_t address, const TensorMap& map, const std::vector<char>& box) {
  const uint32_t rank = block.rank << kRankShift;
  shared_pointer(block, address | rank, static_cast<uint32_t>(box.size()), kUnit);
  for (uint32_t at = 0; at < box.size(); at += kUnit) {
    const uint32_t offset = swizzled(address + at, map.swizzle);
    const uint32_t bytes = std::min<uint32_t>(kUnit, static_cast<uint32_t>(box.size()) - at);
    std::memcpy(shared_pointer(block, offset | rank, bytes, 1), &box[at], bytes);
    block.shadow.write_bulk(offset, bytes);
    forget_accesses(block, offset, bytes);
  }
}

std::vector<char> read_shared(const Block& block, uint32_t address, const TensorMap& map) {
  std::vector<char> box(box_bytes(map));
  shared_pointer(block, address, static_cast<uint32_t>(box.size()), kUnit);
  for (uint32_t at = 0; at < box.size(); at += kUnit) {
    const uint32_t from = swizzled(address + at, map.swizzle);
    const uint32_t bytes = std::min<uint32_t>(kUnit, static_cast<uint32_t>(box.size()) - at);
    uint32_t offset = 0;
    std::memcpy(&box[at], shared_pointer(block, from, bytes, 1, nullptr, &offset), bytes);
  }
  return box;
}

void write_box(const LaunchState& launch, const TensorMap& map, const Coordinates& coordinates,
               const BulkReduction& how, const std::vector<char>& box) {
  GlobalRange range(launch);
  const uint32_t bytes = static_cast<uint32_t>(element_bytes(map));
  walk(map, coordinates, [&](const Row& row) {
    for_runs_inside(map, row, [&](uint32_t first, uint32_t count) {
      char* const to = range.pointer(row.address + uint64_t{first} * row.step * bytes, count * bytes, true);
      put_bulk(how, to, &box[row.offset + first * bytes], count * bytes);
    });
  });
}

// The elements that a store takes from shared memory must have been written. The others of the box may be
// unwritten.
void check_box(const Block& block, uint32_t address, const TensorMap& map, const Coordinates& coordinates,
               uint32_t thread) {
  if (!block.shadow.enabled()) return;
  const uint32_t bytes = static_cast<uint32_t>(element_bytes(map));
  walk(map, coordinates, [&](const Row& row) {
    for_runs_inside(map, row, [&](uint32_t first, uint32_t count) {
      const uint32_t end = row.offset + (first + count) * bytes;
      for (uint32_t at = row.offset + first * bytes; at < end;) {
        const uint32_t part = std::min(end, (at / kUnit + 1) * kUnit) - at;
        const uint32_t offset = swizzled(address + at, map.swizzle) & kOffsetMask;
        block.shadow.check_read(offset, part, block.rank);
        block.shadow.check_proxy(offset, part, thread, block.rank, "a tensor copy");
        at += part;
      }
    });
  });
}

// Calls visit(offset, bytes) for the parts of a box in shared memory.
template <class Visit>
void for_units(uint32_t address, const TensorMap& map, Visit visit) {
  const uint32_t bytes = box_bytes(map);
  for (uint32_t at = 0; at < bytes; at += kUnit)
    visit(swizzled(address + at, map.swizzle) & kOffsetMask, std::min(kUnit, bytes - at));
}

TensorMap read_map(Warp& warp, uint64_t address, const Instruction& instruction) {
  if (address % 64 != 0)
    fail(kMisalignedAddress, "the tensor map at ", hex(address), " is not aligned to 64 bytes");
  check_global(warp, address, 128, Access::read);
  TensorMap map;
  std::memcpy(&map, reinterpret_cast<const void*>(address), sizeof map);
  if (map.magic != kTensorMapMagic || map.type > kTf32Ftz || map.rank > 5 || map.interleave != 0)
    fail(kLaunchFailure, "there is no tensor map at ", hex(address));
  if (map.rank != instruction.elements)
    fail(kLaunchFailure, "a tensor copy of ", int{instruction.elements}, " dimensions with a map of ",
         int{map.rank});
  if ((map.im2col != 0) != instruction.option)
    fail(kLaunchFailure, "a tensor copy in ", instruction.option ? "im2col" : "tiled",
         " mode with a map of the other one");
  return map;
}

void check_box_address(uint32_t address) {
  if (address % 128 != 0)
    fail(kMisalignedAddress, "a tensor copy with the shared address ", hex(address),
         ", which is not a multiple of 128");
}

Coordinates coordinates_of(const Warp& warp, const Instruction& instruction, int first, bool offsets,
                           int lane) {
  Coordinates coordinates{};
  for (int d = 0; d < instruction.elements; ++d)
    coordinates.at[d] = static_cast<int32_t>(value_of(warp, instruction.operands[first + d], lane));
  for (int d = 0; offsets && d < instruction.elements - 2; ++d)
    coordinates.offset[d] =
        static_cast<uint16_t>(value_of(warp, instruction.operands[first + instruction.elements + d], lane));
  return coordinates;
}

// Operands: to, map, mbarrier, mask or absent, coordinates, offsets. elements: dimensions; option: im2col.
// numbers: offsets of the addresses.
void load(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  for_lanes(lanes, [&](int lane) {
    const auto shared = [&](int operand, int number) {
      return static_cast<uint32_t>(value_of(warp, instruction.operands[operand], lane)) +
             static_cast<uint32_t>(instruction.numbers[number]);
    };
    const uint32_t to = shared(0, 0), barrier = shared(2, 2);
    const TensorMap map = read_map(
        warp, value_of(warp, instruction.operands[1], lane) + static_cast<uint64_t>(instruction.numbers[1]),
        instruction);
    check_box_address(to);
    const Coordinates coordinates = coordinates_of(warp, instruction, 4, instruction.option, lane);
    const uint32_t mask = receiving_blocks(warp, instruction.operands[3], lane, to);
    check_mbarriers_of_copy(*warp.block, mask, barrier & kOffsetMask, true);
    Cluster* const cluster = warp.block->cluster;
    for (uint32_t rank = 0; rank < cluster->blocks.size(); ++rank) {
      if (!(mask >> rank & 1)) continue;
      Block& block = *cluster->blocks[rank];
      shared_pointer(*warp.block, (to & kOffsetMask) | rank << kRankShift, box_bytes(map), kUnit);
      for_units(to, map, [&](uint32_t at, uint32_t bytes) { block.shadow.expect_bulk(at, bytes); });
    }
    issue_load(warp, [=] {
      const std::vector<char> box = read_box(*cluster->launch, map, coordinates);
      for (uint32_t rank = 0; rank < cluster->blocks.size(); ++rank) {
        if (!(mask >> rank & 1)) continue;
        Block& block = *cluster->blocks[rank];
        write_shared(block, to & kOffsetMask, map, box);
        complete_transactions(block, barrier & kOffsetMask, static_cast<uint32_t>(box.size()));
      }
    });
  });
}

// Operands: map, from, coordinates. immediate: the type, immediate2: the reduction.
void store(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  for_lanes(lanes, [&](int lane) {
    const TensorMap map = read_map(
        warp, value_of(warp, instruction.operands[0], lane) + static_cast<uint64_t>(instruction.numbers[0]),
        instruction);
    const uint32_t from = static_cast<uint32_t>(value_of(warp, instruction.operands[1], lane)) +
                          static_cast<uint32_t>(instruction.numbers[1]);
    check_box_address(from);
    const Coordinates coordinates = coordinates_of(warp, instruction, 2, false, lane);
    Type type = Type::none;
    switch (map.type) {  // of the reduction
      case 2:
        type = Type::u32;
        break;
      case 3:
        type = Type::s32;
        break;
      case 4:
        type = Type::u64;
        break;
      case 5:
        type = Type::s64;
        break;
      case kFloat16:
        type = Type::f16;
        break;
      case kBfloat16:
        type = Type::bf16;
        break;
      case kFloat64:
        type = Type::f64;
        break;
      default:
        type = Type::f32;
        break;
    }
    const BulkReduction how{type, static_cast<Reduction>(instruction.immediate2)};
    Block* const block = warp.block;
    const LaunchState* const launch = block->launch;
    shared_pointer(*block, from, box_bytes(map), kUnit);
    check_box(*block, from, map, coordinates, thread_of(warp, lane));
    for_units(from, map, [&](uint32_t at, uint32_t bytes) {
      block->shadow.begin_source(at, bytes);
      note_shared_access(warp, *block, at, bytes, false, false);
    });
    const auto box = std::make_shared<std::vector<char>>();
    issue_store(
        warp, lane,
        [=] {
          *box = read_shared(*block, from, map);
          for_units(from, map, [&](uint32_t at, uint32_t bytes) { block->shadow.end_source(at, bytes); });
        },
        [=] { write_box(*launch, map, coordinates, how, *box); });
  });
}

}  // namespace

// cp.async.bulk.tensor.2d.shared::cluster.global..., cp.async.bulk.tensor.2d.global.shared::cta..., and the
// latter with cp.reduce
bool decode_tensor(Decoder& decoder, Draft& draft) {
  Instruction& instruction = draft.instruction;
  const bool reduces = draft.parts[1] == "reduce";
  const size_t dimensions = reduces ? 5 : 4;
  if (draft.parts.size() < dimensions + 3 || draft.parts[dimensions].size() != 2) return false;
  instruction.elements = static_cast<uint8_t>(draft.parts[dimensions][0] - '0');
  instruction.option = draft.has_prefix("im2col");
  if (draft.has("im2col::w") || draft.has("im2col::w::128") || draft.has_prefix("tile::")) return false;
  const auto add_address = [&](const Address& address) {
    draft.add(address.base);
    draft.numbers.push_back(static_cast<int32_t>(address.offset));
    return address.base.present();
  };
  const auto add_coordinates = [&](const Address& map) {
    if (map.rest.empty()) return false;
    for (const std::string_view text : elements_of(map.rest[0])) draft.add(decoder.source(text, 4));
    return true;
  };
  if (draft.parts[dimensions + 1] == "global") {
    instruction.run = store;
    decoder.uses_async_reads();
    instruction.immediate2 = static_cast<int64_t>(Reduction::none);
    for (const std::string_view part : draft.parts)
      if (const Reduction reduction = reduction_named(part); reduction != Reduction::none)
        instruction.immediate2 = static_cast<int64_t>(reduction);
    const Address map = decoder.address(draft.arguments.at(0));
    return add_address(map) && add_address(decoder.address(draft.arguments.at(1))) && add_coordinates(map) &&
           draft.operands.size() == 2u + instruction.elements;
  }
  if (reduces) return false;
  instruction.run = load;
  const Address map = decoder.address(draft.arguments.at(1));
  if (!add_address(decoder.address(draft.arguments.at(0))) || !add_address(map) ||
      !add_address(decoder.address(draft.arguments.at(2))))
    return false;
  size_t next = 3;
  std::vector<std::string_view> offsets;
  if (instruction.option) offsets = elements_of(draft.arguments.at(next++));
  if (draft.has_prefix("multicast")) {
    draft.add(decoder.source(draft.arguments.at(next++), 2));
  } else {
    draft.add_absent();
  }
  if (next + (draft.has_prefix("L2::cache_hint") ? 1 : 0) != draft.arguments.size()) return false;
  if (!add_coordinates(map)) return false;
  for (const std::string_view text : offsets) draft.add(decoder.source(text, 2));
  return draft.operands.size() ==
         4u + instruction.elements + (instruction.option ? instruction.elements - 2u : 0u);
}

}  // namespace ptx
