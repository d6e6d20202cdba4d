// DeviceImages: a set of labelled images in the memory of a model's devices, uploaded once, as bytes; and ShuffledBatches, which
// draws batches from it on the devices themselves, so that training never waits for the host.
#pragma once

#include <rondo/kernels/runtime/buffer.h>
#include <rondo/kernels/core/view.h>
#include <rondo/nn/data/batch_iterator.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace rondo::nn {

class DataParallel;

class DeviceImages {
 public:
  // `images` holds the samples one after the other, each in the shape of the network's input, NHWC; a byte b becomes b / 255. As
  // many labels. Ranks on one device share its copy. Throws rondo::Error: bad_argument, out_of_resources.
  DeviceImages(DataParallel& model, std::span<const uint8_t> images, std::span<const uint8_t> labels);

  int64_t size() const { return size_; }
  // Throws a bad_argument Error where they were uploaded for another model.
  void check_serve(const Replica& replica, size_t rank) const;

  // Enqueues on the stream of replica `rank`: `count` samples, which are those that `order` names at a place in it; without an order,
  // the samples there. The place is the replica's own, in device memory: *step * batch + first.
  void gather(Replica& replica, size_t rank, VectorView<const int32_t> order, const int64_t* step,
              int64_t batch, Shard piece, VectorView<int32_t> labels) const;
  // Samples `piece` of the set, in its order.
  void gather(Replica& replica, size_t rank, Shard piece, VectorView<int32_t> labels) const;

 private:
  struct OnDevice {
    Buffer<uint8_t> images, labels;
    Buffer<int64_t> zero;  // a counter that never moves
  };
  int64_t size_;
  std::vector<const Replica*> replicas_;
  std::vector<std::shared_ptr<const OnDevice>> of_rank_;
};

class ShuffledBatches : public BatchIterator {
 public:
  // Batches of `batch` samples, the last of an epoch being what is left. The images must outlive it.
  ShuffledBatches(DataParallel& model, const DeviceImages& images, int64_t batch, uint64_t seed);

  // A new order of all samples, a pure function of seed and epoch. The following step is number `step` of the epoch.
  // Throws rondo::Error: bad_argument for a step that the epoch does not have.
  void begin_epoch(int64_t epoch, int64_t step = 0);
  int64_t steps() const { return (images_.size() + batch_ - 1) / batch_; }  // of an epoch
  int64_t step() const { return step_; }                                    // how many of them are taken
  bool done() const { return step_ == steps(); }

  int64_t next_batch() const override;
  Loss loss() const override { return Loss::cross_entropy; }
  void load(Replica& replica, size_t rank, Shard piece, const LossTarget& target) override;
  void advance(Replica& replica, size_t rank) override;
  void step_taken() override { ++step_; }

 private:
  // Of one replica, on its device.
  struct Place {
    Replica* replica;
    Buffer<int32_t> order;
    Buffer<int64_t> epoch, step;
  };
  const DeviceImages& images_;
  int64_t batch_;
  uint64_t seed_;
  int64_t step_;
  std::vector<Place> places_;
};

}  // namespace rondo::nn
