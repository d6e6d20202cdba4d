// What forward and backward of the group normalisation share.
//
// The sums over the pixels are those of columns, for blocks of rows that do not cross the border of an image
// (columns::block_sums). A block of 32 threads adds those of a group of an image.
#pragma once

#include <rondo/kernels/core/check.h>
#include <rondo/kernels/core/divisor.h>
#include <rondo/kernels/reduce/moments.h>
#include <rondo/kernels/core/shared.cuh>
#include <rondo/kernels/norm/row_map.cuh>

#include <cub/block/block_reduce.cuh>

namespace rondo::norm {

struct GroupShape {
  int64_t images = 0, pixels = 0;
  int channels = 0, groups = 1, per_group = 0, blocks = 0;  // blocks of rows of an image
  Divisor of_pixels, of_group;

  int64_t rows() const { return images * pixels; }
  int64_t statistics() const { return images * groups; }
  __device__ __forceinline__ int64_t image(int64_t row) const {
    return of_pixels.divide(static_cast<int>(row)).quotient;
  }
  __device__ __forceinline__ double count() const {
    return static_cast<double>(pixels) * static_cast<double>(per_group);
  }
};

// The rows of a block: a divisor of the pixels of an image, so that each block belongs to one image.
inline int64_t rows_per_block(int64_t pixels) {
  for (int64_t rows = std::min<int64_t>(pixels, 1024); rows >= 64; --rows)
    if (pixels % rows == 0) return rows;
  return std::max<int64_t>(pixels, 1);
}
inline int64_t blocks_of(int64_t pixels) { return pixels / rows_per_block(pixels); }

// Of a valid shape.
inline GroupShape group_shape(int64_t images, int64_t pixels, int64_t channels, int64_t groups) {
  GroupShape shape;
  shape.images = images, shape.pixels = pixels, shape.channels = static_cast<int>(channels);
  shape.groups = static_cast<int>(groups), shape.per_group = shape.channels / shape.groups;
  shape.blocks = static_cast<int>(blocks_of(pixels));
  if (images > 0) {
    shape.of_pixels = Divisor(static_cast<int>(pixels));
    shape.of_group = Divisor(static_cast<int>(channels / groups));
  }
  return shape;
}

inline constexpr int kGroupThreads = 32;
using GroupReduce = cub::BlockReduce<double, kGroupThreads>;
struct GroupMemory {
  GroupReduce::TempStorage sums[2];
};
struct GroupSums {
  double of[2];
};

// The sums of a group from those of its channels, each times its weight(c), in thread 0. sums: [images,
// blocks, 2, channels]. One block of threads calls it for each group of each image, blockIdx.x.
template <class Weight>
__device__ __forceinline__ GroupSums add_channels(const GroupShape& shape, const double* sums,
                                                  Weight weight) {
  const int64_t image = blockIdx.x / shape.groups;
  const int first = (static_cast<int>(blockIdx.x) - static_cast<int>(image) * shape.groups) * shape.per_group;
  const double* const of_image = sums + image * shape.blocks * 2 * shape.channels;
  GroupSums total = {};
  for (int i = static_cast<int>(threadIdx.x); i < shape.blocks * shape.per_group; i += kGroupThreads) {
    const auto [block, channel] = shape.of_group.divide(i);
    const int c = first + channel;
    const double* const of_block = of_image + static_cast<int64_t>(block) * 2 * shape.channels + c;
    const double scale = weight(c);
    total.of[0] = fma(scale, of_block[0], total.of[0]);
    total.of[1] = fma(scale, of_block[shape.channels], total.of[1]);
  }
  auto& memory = shared_memory<GroupMemory>();
  for (int s = 0; s < 2; ++s) total.of[s] = GroupReduce(memory.sums[s]).Sum(total.of[s]);
  return total;
}

inline LaunchShape shape_of_groups(const GroupShape& shape) {
  return {.grid_x = shape.statistics(), .block_x = kGroupThreads, .shared_bytes = sizeof(GroupMemory)};
}

// The statistics of N neighbouring channels, by row. They begin in group `group`, at its channel `channel`.
// A thread with vectors has neighbouring rows, and keeps those of the latest image.
template <int N>
struct GroupStatistics {
  const GroupShape* shape;
  const float *first, *second;
  int group, channel;
  struct OfImage {
    int64_t image = -1;
    Values<N> a, b;
  };
  mutable OfImage latest = {};

  __device__ __forceinline__ void load(int64_t row, Values<N>& a, Values<N>& b) const {
    const int64_t image = shape->image(row);
    if constexpr (kVectorTiles) {
      if (image != latest.image) {
        load_image(image, latest.a, latest.b);
        latest.image = image;
      }
      a = latest.a, b = latest.b;
    } else {
      load_image(image, a, b);
    }
  }

 private:
  __device__ __forceinline__ void load_image(int64_t image, Values<N>& a, Values<N>& b) const {
    const int64_t at = image * shape->groups + group;
    if (channel + N <= shape->per_group) {
      const float of_a = first[at], of_b = second[at];
      RONDO_SIMD
      for (int k = 0; k < N; ++k) a.v[k] = of_a, b.v[k] = of_b;
    } else {
      int of_channel = channel, next = 0;
      RONDO_UNROLL
      for (int k = 0; k < N; ++k) {
        a.v[k] = first[at + next], b.v[k] = second[at + next];
        if (++of_channel == shape->per_group) of_channel = 0, ++next;
      }
    }
  }
};
template <int N>
__device__ __forceinline__ GroupStatistics<N> statistics_of(const GroupShape& shape, const float* first,
                                                            const float* second, int col) {
  const auto [group, channel] = shape.of_group.divide(col);
  return {&shape, first, second, group, channel};
}

// The constants of N columns, or `otherwise` without them.
template <int N>
__device__ __forceinline__ Values<N> load_or(const float* from, int col, float otherwise) {
  if (from) return load_values<N>(from + col);
  Values<N> values;
  RONDO_SIMD
  for (int k = 0; k < N; ++k) values.v[k] = otherwise;
  return values;
}

template <class T>
class GroupNormCheck : public ArgumentCheck {
 public:
  // `like`, which messages name, gives the shape.
  GroupNormCheck(const char* operation, const char* name, const ImageView<T>& like, int64_t groups)
      : ArgumentCheck(operation), name_(name), like_(like), groups_(groups) {
    require(like.channels <= kMostMomentColumns, "there are ", like.channels, " channels, must be at most ",
            kMostMomentColumns);
    require(groups >= 1, "groups is ", groups, ", must be at least 1");
    require(groups < 1 || like.channels < 0 || like.channels % groups == 0, "groups is ", groups,
            ", must divide the number of channels, ", like.channels);
    if (like.images <= 0 || like.height < 0 || like.width < 0 || like.channels < 0) return;
    require(like.size() > 0, name, " is ", like.images, " images without elements");
    require(saturating_product({like.height, like.width, like.channels}) <= INT32_MAX, "an image of ", name,
            " has ", saturating_product({like.height, like.width, like.channels}),
            " elements, must have at most ", INT32_MAX);
    require(saturating_product({like.images, like.height, like.width}) <= INT32_MAX, name, " has ",
            saturating_product({like.images, like.height, like.width}), " pixels, must have at most ",
            INT32_MAX);
  }

  void input_image(const char* name, const ImageView<const T>& view) {
    input(name, view);
    same_shape(name, view, name_, like_);
  }
  template <class View>
  void statistics(const char* name, const View& view) {
    if constexpr (std::is_same_v<View, VectorView<float>>)
      output(name, view);
    else
      input(name, view);
    if (ok())
      require(view.size == like_.images * groups_, name, ".size is ", view.size, ", must be ",
              like_.images * groups_, ", images times groups");
  }
  template <class View>
  void optional_of_channels(const char* name, const View& view) {
    if constexpr (std::is_same_v<View, VectorView<float>>)
      optional_output(name, view);
    else
      optional_input(name, view);
    if (view.data)
      require(view.size == like_.channels, name, ".size is ", view.size, ", must be ", name_,
              ".channels = ", like_.channels);
  }

 private:
  const char* name_;
  const ImageView<T> like_;
  int64_t groups_;
};

}  // namespace rondo::norm
