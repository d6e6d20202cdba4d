// DeviceImages: a set of labelled images in the memory of the replicas' devices, uploaded once, as bytes or
// as floats.
// ShuffledBatches: draws batches from it on the devices, so that training never waits for the host.
#pragma once

#include <rondo/kernels/core/view.h>
#include <rondo/kernels/data/augmented_batch.h>
#include <rondo/kernels/runtime/buffer.h>
#include <rondo/nn/data/batch_iterator.h>
#include <rondo/nn/data/image_set.h>

#include <cstdint>
#include <memory>
#include <span>
#include <variant>
#include <vector>

namespace rondo::nn {

class DeviceImages {
 public:
  // `replicas`: those of a DataParallel, which converts to them. They must outlive this. `images` holds the
  // samples one after the other, in the shape of the network's input (NHWC), with one label each, below
  // the number of the network's outputs. A byte b becomes b / 255, a float keeps its value, and `normalize`
  // normalises either. Ranks on one device share a copy. Throws rondo::Error: bad_argument, out_of_resources.
  DeviceImages(std::span<Replica> replicas, const SampleValues& images, const SampleLabels& labels,
               const Normalize& normalize = {});

  // The memory that `count` images of this shape take on each device, in bytes. `stored`: uint8 or float32;
  // `labels`: uint8 or int32.
  static int64_t bytes_on_device(int64_t count, Shape shape, DType stored = DType::uint8,
                                 DType labels = DType::uint8);

  int64_t size() const { return size_; }
  // Throws a bad_argument Error if the images were uploaded for another model.
  void check_serve(const Replica& replica, size_t rank) const;

  // Enqueues the load of samples `samples` of a batch on the stream of replica `rank`. Sample i of the batch
  // is number order[*step * batch + i] of the set, or number *step * batch + i if `order` is empty. `order`,
  // `step` and the epoch of `random` are in the memory of the replica's device. `random` is used only by
  // `augmentation`.
  void gather(Replica& replica, size_t rank, VectorView<const int32_t> order, const int64_t* step,
              int64_t batch, Shard samples, VectorView<int32_t> labels, const Augmentation& augmentation = {},
              AugmentationStream random = {}) const;
  // Enqueues the load of samples `samples` of the set, in its own order.
  void gather(Replica& replica, size_t rank, Shard samples, VectorView<int32_t> labels) const;

 private:
  struct OnDevice {
    std::variant<Buffer<uint8_t>, Buffer<float>> images;
    std::variant<Buffer<uint8_t>, Buffer<int32_t>> labels;
    Buffer<int64_t> zero;        // constant 0: a position that does not advance
    Buffer<float> scale, shift;  // of each channel
  };
  int64_t size_;
  std::vector<float> scale_, shift_;  // the same on the host
  bool same_scales_;                  // for all channels
  std::vector<const Replica*> replicas_;
  std::vector<std::shared_ptr<const OnDevice>> of_rank_;
};

class ShuffledBatches : public BatchIterator {
 public:
  // Batches of `batch` samples; the last of an epoch has the remaining ones. `images` must outlive this. Each
  // image is changed at random by `augmentation`, in a way that depends only on the seed, the epoch and its
  // index in the set. Throws rondo::Error: bad_argument for a batch below 1, for images of other replicas,
  // for augmentation outside its range, or of vectors.
  ShuffledBatches(std::span<Replica> replicas, const DeviceImages& images, int64_t batch, uint64_t seed,
                  const Augmentation& augmentation = {});

  // The memory of each replica for the order of `count` samples, in bytes.
  static int64_t bytes_of_replica(int64_t count);

  // Starts an epoch with a new order of all samples, which depends only on seed and epoch. The next step is
  // number `step` of the epoch. Throws rondo::Error: bad_argument unless 0 <= step <= steps().
  void begin_epoch(int64_t epoch, int64_t step = 0);
  int64_t steps() const { return (images_.size() + batch_ - 1) / batch_; }  // per epoch
  int64_t step() const { return step_; }                                    // steps taken in this epoch
  bool done() const { return step_ == steps(); }

  int64_t next_batch() const override;
  Loss loss() const override { return Loss::cross_entropy; }
  void load(Replica& replica, size_t rank, Shard samples, const LossTarget& target) override;
  void advance(Replica& replica, size_t rank) override;
  void step_taken() override { ++step_; }

 private:
  // Position of one replica, in the memory of its device.
  struct Place {
    Replica* replica;
    Buffer<int32_t> order;
    Buffer<int64_t> epoch, step;
  };
  const DeviceImages& images_;
  int64_t batch_;
  uint64_t seed_;
  Augmentation augmentation_;
  int64_t step_;
  std::vector<Place> places_;
};

}  // namespace rondo::nn
