// The schedule of the ring: which chunk each rank sends at which step. Pure functions without CUDA. README.md
// has a picture; tests/collectives/algorithms/ring_schedule_test.cpp checks 1 to 64 ranks without a device.
//
// n ranks form a ring. Ranks are numbered here by their position in it: position p sends to the next one, p +
// 1, and receives from the previous one. RankResources::rank_at(p) is the rank at position p. The data is cut
// into n chunks. In 2(n-1) steps every rank sends one chunk per step:
//
//   step    0 ..  n-2   reduce-scatter: the receiver adds the chunk to its own. Chunk c starts at position c.
//                       At position c - 1, its owner, it contains every rank's share.
//   step  n-1 .. 2n-3   all-gather: finished chunks go around the ring and replace the receivers' chunks.
//
// The second phase starts where the first ends, so one formula covers both: at step s position p
// sends chunk p - s (mod n).
#pragma once

#include <algorithm>
#include <cstdint>

namespace rondo::ring {

enum class Phase { reduce_scatter, all_gather };

constexpr int steps(int ranks) { return 2 * (ranks - 1); }
constexpr Phase phase_of(int step, int ranks) {
  return step < ranks - 1 ? Phase::reduce_scatter : Phase::all_gather;
}

constexpr int next_position(int position, int ranks) { return position + 1 == ranks ? 0 : position + 1; }
constexpr int prev_position(int position, int ranks) { return position == 0 ? ranks - 1 : position - 1; }

// The chunk that is sent from `position` to the next one at `step`.
constexpr int sent_chunk(int position, int step, int ranks) {
  return (position - step + 2 * ranks) % ranks;  // 0 <= step < 2 * ranks keeps the dividend positive
}
// The chunk that `position` receives at `step`: the one that the previous position sends.
constexpr int received_chunk(int position, int step, int ranks) {
  return sent_chunk(prev_position(position, ranks), step, ranks);
}

// The position that completes the sum of a chunk at the end of the reduce-scatter.
constexpr int owner_of(int chunk, int ranks) { return prev_position(chunk, ranks); }

// Elements [begin, begin + size) of the data.
struct Chunk {
  int64_t begin = 0;
  int64_t size = 0;
};

// Chunks begin at multiples of this many bytes from the beginning of the data.
inline constexpr int64_t kChunkAlignment = 16;

// The size of a full chunk: an equal part of the data, rounded up to the alignment.
constexpr int64_t full_chunk_size(int64_t count, int ranks, int64_t element_bytes) {
  const int64_t unit = kChunkAlignment / element_bytes;
  const int64_t equal_part = count / ranks + (count % ranks != 0);
  return (equal_part + unit - 1) / unit * unit;
}

// The first chunks are full, then one may be shorter, and the rest are empty.
constexpr Chunk chunk_of(int64_t count, int ranks, int index, int64_t element_bytes) {
  const int64_t full_size = full_chunk_size(count, ranks, element_bytes);
  const int64_t begin = std::min(index * full_size, count);
  return {begin, std::min(full_size, count - begin)};
}

// A chunk is sent in segments, so that one can be added while the next one is in transit. A rank receives
// into kSlots slots; segment i uses slot i % kSlots.
inline constexpr int kSlots = 2;
// A smaller chunk is a single segment: overlap would save less than the additional copy costs.
inline constexpr int64_t kSplitBytes = int64_t{256} << 10;

struct Segments {
  int64_t count = 0;
  int64_t size = 0;  // in elements; the last segment may be shorter
};

// Cuts `chunk` elements into segments of at most `most` elements (`most` is at least one alignment unit).
constexpr Segments segments_of(int64_t chunk, int64_t most, int64_t element_bytes) {
  if (chunk == 0) return {};
  const int64_t unit = kChunkAlignment / element_bytes;
  const int64_t wanted =
      std::max<int64_t>((chunk - 1) / most + 1, chunk * element_bytes < kSplitBytes ? 1 : kSlots);
  const int64_t equal = (chunk - 1) / wanted + 1;
  const int64_t size = std::min((equal + unit - 1) / unit * unit, most / unit * unit);
  return {(chunk - 1) / size + 1, size};
}

// Segment `index` of a chunk; empty after the end of the chunk.
constexpr Chunk segment_of(Chunk chunk, Segments segments, int64_t index) {
  const int64_t begin = std::min(index * segments.size, chunk.size);
  return {chunk.begin + begin, std::min(segments.size, chunk.size - begin)};
}

}  // namespace rondo::ring
