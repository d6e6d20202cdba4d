// FixedBatch: a batch iterator that returns the same labelled samples in every step, from the memory of the
// model's devices.
#pragma once

#include <rondo/nn/train/data_parallel.h>

#include <cstdint>
#include <vector>

namespace rondo::test {

class FixedBatch : public nn::BatchIterator {
 public:
  FixedBatch(nn::DataParallel& model, const std::vector<float>& x, const std::vector<int32_t>& labels)
      : batch_(static_cast<int64_t>(labels.size())) {
    for (const nn::Replica& replica : model.replicas()) {
      const DeviceScope scope(replica.device());
      x_.emplace_back(x);
      labels_.emplace_back(labels);
    }
  }

  int64_t next_batch() const override { return batch_; }
  nn::Loss loss() const override { return nn::Loss::cross_entropy; }
  void load(nn::Replica& replica, size_t rank, nn::Shard piece, const nn::LossTarget& target) override {
    if (fails) throw Error(bad_argument("FixedBatch: it was told to fail"));
    const int64_t sample = replica.input().shape.size();
    copy(replica.input().as(), x_[rank].data() + piece.first * sample, piece.size * sample, replica.stream());
    copy(target.labels.data, labels_[rank].data() + piece.first, piece.size, replica.stream());
  }
  void advance(nn::Replica&, size_t) override {}
  void step_taken() override {}

  bool fails = false;

 private:
  template <class T>
  static void copy(T* to, const T* from, int64_t count, cudaStream_t stream) {
    if (count > 0)
      RONDO_CUDA_THROW(cudaMemcpyAsync(to, from, static_cast<size_t>(count) * sizeof(T),
                                       cudaMemcpyDeviceToDevice, stream));
  }

  int64_t batch_;
  std::vector<Buffer<float>> x_;
  std::vector<Buffer<int32_t>> labels_;
};

}  // namespace rondo::test
