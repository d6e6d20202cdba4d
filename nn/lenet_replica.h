// Shapes of LeNet, and the device memory of one rank.
#pragma once

#include <rondo/collectives/algorithm.h>
#include <rondo/kernels/core/view.h>
#include <rondo/kernels/loss/cross_entropy.h>
#include <rondo/kernels/runtime/buffer.h>
#include <rondo/nn/data/fashion_mnist.h>
#include <rondo/nn/train/stream_group.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace rondo::lenet {

struct Options {
  std::vector<int> devices{0, 1};  // one entry per rank; the same device may appear several times
  int64_t batch_size = 256;        // over all devices
  float lr = 0.2f;
  int64_t epochs = 10;
  uint64_t seed = 0;                           // of the initial weights and of the sample order
  Algorithm algorithm = Algorithm::automatic;  // of the all-reduce
};

inline constexpr int64_t kSide = FashionMnist::kHeight;
inline constexpr int64_t kClasses = FashionMnist::kClasses;
inline constexpr int64_t kFlat = 4 * 4 * 50;  // per image, the output of the second pooling
inline constexpr int64_t kHidden = 128;

// The weights w and biases b of the four layers with parameters, as views into one flat arena. A second
// Parameters with the same layout holds the gradients.
struct Parameters {
  VectorView<float> all;  // the arena, including alignment gaps

  FilterView<float> w1;  // convolution, 20 filters of 3 x 3 x 1
  VectorView<float> b1;
  FilterView<float> w2;  // convolution, 50 filters of 5 x 5 x 20
  VectorView<float> b2;
  MatrixView<float> w3;  // fully connected, 800 -> 128
  VectorView<float> b3;
  MatrixView<float> w4;  // fully connected, 128 -> 10
  VectorView<float> b4;
};

// With a null arena only the sizes are valid, including that of `all`.
Parameters parameters_in(float* arena);

// Activations of `images` images. A second Activations with the same layout holds the gradients.
struct Activations {
  VectorView<float> all;  // the arena

  ImageView<float> x;        // 28 x 28 x  1   the images
  ImageView<float> h1;       // 26 x 26 x 20   convolution 3 x 3, ReLU
  ImageView<float> p1;       // 13 x 13 x 20   average pooling 2 x 2
  ImageView<float> h2;       //  9 x  9 x 50   convolution 5 x 5, ReLU
  ImageView<float> p2;       //  4 x  4 x 50   average pooling 2 x 2
  MatrixView<float> flat;    //   800     same memory as p2
  MatrixView<float> h3;      //   128     fully connected, ReLU
  MatrixView<float> logits;  //    10     fully connected
};

Activations activations_in(float* arena, int64_t images);

inline VectorView<float> elements(const MatrixView<float>& m) { return {m.data, m.rows * m.cols}; }
inline VectorView<float> elements(const FilterView<float>& f) { return {f.data, f.size()}; }

// The data set in device memory. Ranks on the same device share it.
struct DeviceData {
  DeviceData(const FashionMnist& host, int device);

  struct Split {
    Buffer<uint8_t> bytes;
    Buffer<uint8_t> labels;
    int64_t count = 0;
    ImageView<const uint8_t> images() const { return {bytes.data(), count, kSide, kSide, 1}; }
    VectorView<const uint8_t> label_view() const { return {labels.data(), count}; }
  };
  Split train, test;
};

struct Replica {
  // Allocates room for shards of up to `max_images` on `device`.
  Replica(int device, cudaStream_t stream, std::shared_ptr<const DeviceData> data, int64_t max_images,
          float learning_rate);

  int device;
  cudaStream_t stream;
  std::shared_ptr<const DeviceData> data;
  int64_t max_images;

  Buffer<float> parameter_arena, gradient_arena, value_arena, value_gradient_arena;
  Parameters parameters, gradients;
  Buffer<int32_t> labels;        // of the images in x
  Buffer<int32_t> order;         // sample order of this epoch
  Buffer<int64_t> step, epoch;   // counters advanced by the device
  Buffer<int64_t> zero;          // constant 0: a position that does not advance
  Buffer<float> lr;              // learning rate
  Buffer<LossStats> loss_stats;  // of the epoch's training, then of its evaluation
  Buffer<unsigned char> scratch;

  // Views for the first `images` images.
  Activations values(int64_t images) { return activations_in(value_arena.data(), images); }
  Activations value_gradients(int64_t images) { return activations_in(value_gradient_arena.data(), images); }
  VectorView<int32_t> shard_labels(int64_t images) { return {labels.data(), images}; }
  VectorView<const int32_t> order_view() { return {order.data(), order.size()}; }
  Workspace workspace() { return {scratch.data(), scratch.bytes()}; }
};

// Throws a bad_argument Error that names the value and the valid range.
void check_options(const FashionMnist& data, const Options& options);

// One replica per rank, on the group's devices and streams.
std::vector<Replica> make_replicas(const FashionMnist& data, const Options& options,
                                   const StreamGroup& streams);

}  // namespace rondo::lenet
