// What one rank of LeNet's training holds: the shapes of the network, and their places in device memory.
#pragma once

#include <rondo/collectives/algorithm.h>
#include <rondo/kernels/runtime/buffer.h>
#include <rondo/kernels/core/view.h>
#include <rondo/kernels/loss/cross_entropy.h>
#include <rondo/nn/data/fashion_mnist.h>
#include <rondo/nn/train/stream_group.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace rondo::lenet {

struct Options {
  std::vector<int> devices{0, 1};  // one entry a rank; the same device may appear several times
  int64_t batch_size = 256;        // over all devices together
  float lr = 0.2f;
  int64_t epochs = 10;
  uint64_t seed = 0;                           // of the weights and of the order of the samples
  Algorithm algorithm = Algorithm::automatic;  // of the all-reduce
};

inline constexpr int64_t kSide = FashionMnist::kHeight;
inline constexpr int64_t kClasses = FashionMnist::kClasses;
inline constexpr int64_t kFlat = 4 * 4 * 50;  // what the second pooling leaves of an image
inline constexpr int64_t kHidden = 128;

// The weights w and biases b of the four layers that have any, as views into one flat arena. A second set of
// the same shape holds their gradients.
struct Parameters {
  VectorView<float> all;  // the arena

  FilterView<float> w1;  // convolution, 20 filters of 3 x 3 x 1
  VectorView<float> b1;
  FilterView<float> w2;  // convolution, 50 filters of 5 x 5 x 20
  VectorView<float> b2;
  MatrixView<float> w3;  // fully connected, 800 -> 128
  VectorView<float> b3;
  MatrixView<float> w4;  // fully connected, 128 -> 10
  VectorView<float> b4;
};

int64_t parameter_arena_size();  // in floats, with the gaps that alignment leaves
Parameters parameters_in(float* arena);

// What the layers make of `images` images. A second set of the same shape holds the gradients.
struct Activations {
  ImageView<float> x;        // 28 x 28 x  1   the images
  ImageView<float> h1;       // 26 x 26 x 20   convolution 3 x 3, ReLU
  ImageView<float> p1;       // 13 x 13 x 20   average of 2 x 2
  ImageView<float> h2;       //  9 x  9 x 50   convolution 5 x 5, ReLU
  ImageView<float> p2;       //  4 x  4 x 50   average of 2 x 2
  MatrixView<float> flat;    //   800     the same memory as p2
  MatrixView<float> h3;      //   128     fully connected, ReLU
  MatrixView<float> logits;  //    10     fully connected
};

int64_t activation_arena_size(int64_t images);
Activations activations_in(float* arena, int64_t images);

// The rows of an image tensor: one for each image and position, one column for each channel.
inline MatrixView<const float> rows(const ImageView<float>& image) {
  return matrix<const float>(image.data, image.images * image.height * image.width, image.channels);
}
inline VectorView<float> elements(const MatrixView<float>& m) { return {m.data, m.rows * m.cols}; }
inline VectorView<float> elements(const FilterView<float>& f) { return {f.data, f.size()}; }

// The data set in a device's memory, shared by the ranks on that device.
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
  // Room for shards of up to `max_images`; everything is allocated on `device`.
  Replica(int device, cudaStream_t stream, std::shared_ptr<const DeviceData> data, int64_t max_images,
          float learning_rate);

  int device;
  cudaStream_t stream;
  std::shared_ptr<const DeviceData> data;
  int64_t max_images;

  Buffer<float> parameter_arena, gradient_arena, value_arena, value_gradient_arena;
  Parameters parameters, gradients;
  Buffer<int32_t> labels;       // of the shard in x
  Buffer<int32_t> order;        // of the samples in this epoch
  Buffer<int64_t> step, epoch;  // counters that the device itself advances
  Buffer<int64_t> zero;         // one that never moves
  Buffer<float> lr;             // the learning rate
  Buffer<LossStats> loss_stats;      // of this epoch's training, or of the evaluation behind it
  Buffer<unsigned char> scratch;

  // The first `images` images' worth of each.
  Activations values(int64_t images) { return activations_in(value_arena.data(), images); }
  Activations value_gradients(int64_t images) { return activations_in(value_gradient_arena.data(), images); }
  VectorView<int32_t> shard_labels(int64_t images) { return {labels.data(), images}; }
  VectorView<const int32_t> order_view() { return {order.data(), order.size()}; }
  Workspace workspace() { return {scratch.data(), scratch.bytes()}; }
};

// Throws a bad_argument Error that names the value and what would be valid.
void check_options(const FashionMnist& data, const Options& options);

// One replica a rank, on the group's devices and streams; ranks of one device share the data set.
std::vector<Replica> make_replicas(const FashionMnist& data, const Options& options,
                                   const StreamGroup& streams);

}  // namespace rondo::lenet
