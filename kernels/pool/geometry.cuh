// Shared parts of the pooling kernels: the elements of a window, the windows of an element, and the layout of
// threads over an image.
//
// A window is a range of rows and a range of columns. A side of the images (their rows or their columns) is
// one of four types, which have the same functions:
//   elements(v)    the elements of window v that lie inside the image, `step` apart
//   windows_of(i)  the windows that contain element i, `window_step` apart
//
// Each thread computes packs of N neighbouring channels of one pixel. The grid is column runs x rows x
// images, and a block is channels x columns. Consecutive blocks therefore read neighbouring memory, and no
// thread needs a division to find its pixel. A thread with vector registers has all channels of a pixel.
#pragma once

#include <rondo/kernels/pool/pool.h>
#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/core/values.cuh>

#include <algorithm>
#include <optional>
#include <type_traits>

namespace rondo::pool {

constexpr int kThreads = 128;
constexpr int64_t kImagesPerThread = 4;

// The range first ... last - 1.
struct Range {
  int first, last;
  __device__ int size() const { return last - first; }
  __device__ bool has(int i) const { return i >= first && i < last; }
};

// Windows of one length, `stride` apart.
struct FixedSide {
  static constexpr bool inside = false, disjoint = false;
  static constexpr int step = 1, window_step = 1;
  int size, windows;  // of x and of y
  int window, stride, pad, pad_end;

  __device__ int begin(int v) const { return v * stride - pad; }
  __device__ Range elements(int v) const { return {max(begin(v), 0), min(begin(v) + window, size)}; }
  __device__ Range windows_of(int i) const {
    const int past_first = i + pad - window;  // window v contains i if v * stride is in (past_first, i + pad]
    return {past_first < 0 ? 0 : past_first / stride + 1, min((i + pad) / stride + 1, windows)};
  }
  // The number of elements of window v inside the padded image.
  __device__ int padded(int v) const { return min(window, size + pad_end - begin(v)); }
};

// Windows of two elements, two apart: the most common ones, known at compile time. Loops over them are
// unrolled, and divisions become shifts. All windows lie inside the image.
struct PairSide {
  static constexpr bool inside = true, disjoint = true;
  static constexpr int step = 1, window_step = 1;
  int size, windows;

  __device__ Range elements(int v) const { return {2 * v, 2 * v + 2}; }
  __device__ Range windows_of(int i) const { return {i / 2, min(i / 2 + 1, windows)}; }
};

// Windows whose elements are `step` apart, the dilation. `window` is the distance from the first element to
// the one behind the last.
struct DilatedSide : FixedSide {
  int step, window_step;  // window_step = step / gcd(step, stride)

  __device__ Range elements(int v) const {
    Range range = FixedSide::elements(v);
    if (begin(v) < 0) range.first = (step - -begin(v) % step) % step;
    return range;
  }
  __device__ Range windows_of(int i) const {
    Range range = FixedSide::windows_of(i);
    while (range.first < range.last && (i - begin(range.first)) % step != 0) ++range.first;
    return range;
  }
};

// As many windows as asked for, of nearly equal length (adaptive_pool.h). They cover the image, and
// neighbours may share an element. Window v contains element i if and only if the intervals
// [v / windows, (v + 1) / windows] and [i / size, (i + 1) / size] overlap, which is symmetric in both.
struct AdaptiveSide {
  static constexpr bool inside = false, disjoint = false;
  static constexpr int step = 1, window_step = 1;
  int size, windows;

  __device__ Range elements(int v) const { return overlapping(v, windows, size); }
  __device__ Range windows_of(int i) const { return overlapping(i, size, windows); }

 private:
  // Of `parts` intervals, those that overlap interval i of `count`. kMaxSide keeps the sums below 2^32.
  static __device__ Range overlapping(int i, int count, int parts) {
    const auto of = static_cast<unsigned>(count), begin = static_cast<unsigned>(i) * parts;
    return {static_cast<int>(begin / of), static_cast<int>((begin + parts + of - 1) / of)};
  }
};

// `rows` and `cols` describe the rows and columns of x and of y.
template <class Side>
struct Geometry {
  static constexpr bool inside = Side::inside, disjoint = Side::disjoint;
  Side rows, cols;
  int64_t images;
  int channels;

  __device__ int64_t x_offset(int64_t n, int h, int w, int c) const {
    return ((n * rows.size + h) * cols.size + w) * channels + c;
  }
  __device__ int64_t y_offset(int64_t n, int p, int q, int c) const {
    return ((n * rows.windows + p) * cols.windows + q) * channels + c;
  }
};

__device__ inline int row_of_thread() { return static_cast<int>(blockIdx.y); }
__device__ inline int col_of_thread() { return static_cast<int>(blockIdx.x * blockDim.y + threadIdx.y); }

// Packs of N channels. Those of a thread with vector registers may begin anywhere.
template <int N, class T>
__device__ __forceinline__ Values<N> load_channels(const T* from) {
  if constexpr (kVectorTiles)
    return load_elements<N>(from);
  else
    return load_values<N>(from);
}
template <int N, class T>
__device__ __forceinline__ void store_channels(T* to, const Values<N>& values) {
  if constexpr (kVectorTiles)
    store_elements<N>(to, values);
  else
    store_values<N>(to, values);
}

template <int N>
using PackWidth = std::integral_constant<int, N>;

// Calls work(width, n, c) for every image n and every first channel c of the calling thread's packs. Values
// that depend only on the pixel are computed once for several images. With vector registers kJoined packs are
// one, the last pack may overlap the one before, and packs are narrower if there are fewer than N channels.
template <int N, int kJoined = 1, class G, class Work>
__device__ void for_each_pack(const G& g, Work work) {
  for (int64_t n = blockIdx.z; n < g.images; n += gridDim.z)
    if constexpr (kVectorTiles) {
      int c = 0;
      for (; c + kJoined * N <= g.channels; c += kJoined * N) work(PackWidth<kJoined * N>(), n, c);
      for (; c + N <= g.channels; c += N) work(PackWidth<N>(), n, c);
      if (c > 0 && c < g.channels) {
        work(PackWidth<N>(), n, g.channels - N);
        continue;
      }
      for (; c + 4 <= g.channels; c += 4) work(PackWidth<4>(), n, c);
      for (; c < g.channels; ++c) work(PackWidth<1>(), n, c);
    } else {
      for (int c = static_cast<int>(threadIdx.x) * N; c < g.channels; c += static_cast<int>(blockDim.x) * N)
        work(PackWidth<N>(), n, c);
    }
}

// Calls work(i, j) for the windows in the rows p and columns q of windows_of(), row by row.
template <class Side, class Work>
__device__ __forceinline__ void for_each_window(const Geometry<Side>& g, Range p, Range q, Work work) {
  if constexpr (Side::disjoint) {
    if (p.first < p.last && q.first < q.last) work(p.first, q.first);
  } else {
    for (int i = p.first; i < p.last; i += g.rows.window_step)
      for (int j = q.first; j < q.last; j += g.cols.window_step) work(i, j);
  }
}

// Calls start(n) with an integral_constant n for a width that values_width<T>() returned. With vector
// registers n is the widest: for_each_pack() has narrower packs for the rest.
template <class T, class Start>
Status with_packs(int width, Start start) {
  if constexpr (kVectorTiles)
    return start(PackWidth<kWidestValues<T>>());
  else
    return with_values_width<T>(width, start);
}

constexpr int64_t kMaxSide = 65535;

// The launch shape with threads for all pixels of `image`.
template <class T>
LaunchShape shape_over(ImageView<T> image, int pack_width) {
  const int64_t packs = kVectorTiles ? 1 : image.channels / pack_width;
  LaunchShape shape;
  shape.block_x = static_cast<int>(std::clamp<int64_t>(packs, 1, kThreads));
  const int64_t runs = ceil_div<int64_t>(image.width, std::max(1, kThreads / shape.block_x));
  shape.block_y = static_cast<int>(ceil_div(image.width, runs));
  shape.grid_x = runs;
  shape.grid_y = image.height;
  shape.grid_z = image.channels == 0 ? 0 : std::min(ceil_div(image.images, kImagesPerThread), kMaxSide);
  return shape;
}

// The windows as pairs, if they are of 2 x 2 with stride 2.
inline std::optional<Geometry<PairSide>> pairs_of(const Geometry<FixedSide>& g) {
  const auto pairs = [](const FixedSide& side) {
    return side.window == 2 && side.stride == 2 && side.pad == 0 && 2 * side.windows <= side.size;
  };
  const auto pair = [](const FixedSide& side) { return PairSide{side.size, side.windows}; };
  if (!pairs(g.rows) || !pairs(g.cols)) return {};
  return Geometry<PairSide>{pair(g.rows), pair(g.cols), g.images, g.channels};
}

inline bool dilated(const Geometry<DilatedSide>& g) { return g.rows.step > 1 || g.cols.step > 1; }
inline Geometry<FixedSide> without_dilation(const Geometry<DilatedSide>& g) {
  return {g.rows, g.cols, g.images, g.channels};
}
// The fixed windows that adaptive ones are where they divide the image evenly.
inline std::optional<Geometry<FixedSide>> even_windows(const Geometry<AdaptiveSide>& g) {
  if (g.rows.size % g.rows.windows != 0 || g.cols.size % g.cols.windows != 0) return {};
  const auto fixed = [](const AdaptiveSide& side) {
    return FixedSide{side.size, side.windows, side.size / side.windows, side.size / side.windows, 0, 0};
  };
  return Geometry<FixedSide>{fixed(g.rows), fixed(g.cols), g.images, g.channels};
}

// Calls start(geometry) with the type of side that knows most at compile time.
template <class Start>
Status with_geometry(const Geometry<FixedSide>& g, Start start) {
  if (const auto pairs = pairs_of(g)) return start(*pairs);
  return start(g);
}
template <class Start>
Status with_geometry(const Geometry<DilatedSide>& g, Start start) {
  return dilated(g) ? start(g) : with_geometry(without_dilation(g), start);
}
template <class Start>
Status with_geometry(const Geometry<AdaptiveSide>& g, Start start) {
  const auto fixed = even_windows(g);
  return fixed ? with_geometry(*fixed, start) : start(g);
}

// Checks that the shapes match, and narrows them to the types of the kernels. `image` is x or dx, `pooled` is
// y or dy. Both must have passed the checks of a single operand.
Status check_geometry(const char* operation, ImageView<const void> image, ImageView<const void> pooled,
                      const PoolWindow& window, Geometry<DilatedSide>* geometry);
// The same for adaptive windows.
Status check_geometry(const char* operation, ImageView<const void> image, ImageView<const void> pooled,
                      Geometry<AdaptiveSide>* geometry);
template <class T>
ImageView<const void> untyped(const ImageView<T>& view) {
  return {view.data, view.images, view.height, view.width, view.channels};
}

}  // namespace rondo::pool
