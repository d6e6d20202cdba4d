#include <rondo/nn/data/device_images.h>

#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/data/batch.h>
#include <rondo/nn/data/image_set.h>

#include <algorithm>
#include <limits>
#include <map>

namespace rondo::nn {

namespace {

const Graph& graph_of(std::span<Replica> replicas) {
  if (replicas.empty()) throw Error(bad_argument("DeviceImages: there are no replicas"));
  return replicas[0].graph();
}

// Enqueues counter = value. The value is an argument of a kernel: a copy could read it later, when the
// caller's variable is gone.
void set(Buffer<int64_t>& counter, int64_t value, cudaStream_t stream) {
  RONDO_CUDA_THROW(cudaMemsetAsync(counter.data(), 0, sizeof(int64_t), stream));
  throw_if_error(rondo::advance(counter.data(), value, stream));
}

}  // namespace

DeviceImages::DeviceImages(std::span<Replica> replicas, const SampleValues& images,
                           const SampleLabels& labels, const Normalize& normalize)
    : size_(ImageSet{{}, images, labels}.size()) {
  const Graph& graph = graph_of(replicas);
  const Shape input = graph.input().shape;
  check_images("DeviceImages", {input, images, labels}, input, graph.output().shape.size());
  if (size_ > std::numeric_limits<int32_t>::max())
    throw Error(bad_argument("DeviceImages: ", there_are(size_, "image"), ", must be below 2^31"));
  check_normalize("DeviceImages", normalize, input.channels);
  const double unit = std::holds_alternative<std::span<const uint8_t>>(images) ? 255 : 1;  // the stored 1
  for (int64_t c = 0; c < input.channels; ++c) {
    const size_t of = normalize.mean.size() == 1 ? 0 : static_cast<size_t>(c);
    const double mean = normalize.mean.empty() ? 0 : double{normalize.mean[of]},
                 stddev = normalize.mean.empty() ? 1 : double{normalize.stddev[of]};
    scale_.push_back(static_cast<float>(1 / (unit * stddev)));
    shift_.push_back(static_cast<float>(-mean / stddev));  // -0 keeps the sign of a value of 0
  }
  const auto all_same = [](const std::vector<float>& values) {
    return std::ranges::all_of(values, [&](float value) { return value == values[0]; });
  };
  same_scales_ = all_same(scale_) && all_same(shift_);
  std::map<int, std::shared_ptr<OnDevice>> on;
  for (const Replica& replica : replicas) {
    std::shared_ptr<OnDevice>& there = on[replica.device()];
    if (!there) {
      const DeviceScope scope(replica.device());
      there = std::make_shared<OnDevice>();
      std::visit([&]<class T>(std::span<const T> values) { there->images = Buffer<T>(values); }, images);
      std::visit([&]<class T>(std::span<const T> values) { there->labels = Buffer<T>(values); }, labels);
      there->zero = Buffer<int64_t>(1);
      there->zero.fill_bytes(0);
      there->scale = Buffer<float>(scale_);
      there->shift = Buffer<float>(shift_);
    }
    of_rank_.push_back(there);
    replicas_.push_back(&replica);
  }
}

int64_t DeviceImages::bytes_on_device(int64_t count, Shape shape, DType stored, DType labels) {
  const auto scales = 2 * shape.channels * static_cast<int64_t>(sizeof(float));
  return count * (shape.size() * size_of(stored) + size_of(labels)) + static_cast<int64_t>(sizeof(int64_t)) +
         scales;
}

void DeviceImages::check_serve(const Replica& replica, size_t rank) const {
  if (rank >= replicas_.size() || replicas_[rank] != &replica)
    throw Error(
        bad_argument("DeviceImages: the images are on another model's devices, must be on this one's"));
}

void DeviceImages::gather(Replica& replica, size_t rank, VectorView<const int32_t> order, const int64_t* step,
                          int64_t batch, Shard samples, VectorView<int32_t> labels,
                          const Augmentation& augmentation, AugmentationStream random) const {
  check_serve(replica, rank);
  const OnDevice& here = *of_rank_[rank];
  const Tensor x = replica.input();
  const auto image_labels =
      std::visit([&](const auto& labels) { return LabelsView(labels.data(), size_); }, here.labels);
  const BatchPosition position = {step, batch, samples.first};
  if (random.epoch == nullptr) random.epoch = here.zero.data();  // without augmentation it is not used
  throw_if_error(std::visit(
      [&]<class S>(const Buffer<S>& stored) {
        const ImageView<const S> images = {stored.data(), size_, x.shape.height, x.shape.width,
                                           x.shape.channels};
        if (same_scales_ && !augmentation.any())
          return gather_batch(x.image(), labels, images, image_labels, order, position, scale_[0], shift_[0],
                              replica.stream());
        return gather_augmented_batch(
            x.image(), labels, images, image_labels, order, position, {here.scale.data(), here.scale.size()},
            {here.shift.data(), here.shift.size()}, augmentation, random, replica.stream());
      },
      here.images));
}

void DeviceImages::gather(Replica& replica, size_t rank, Shard samples, VectorView<int32_t> labels) const {
  check_serve(replica, rank);
  gather(replica, rank, {}, of_rank_[rank]->zero.data(), size_, samples, labels);
}

ShuffledBatches::ShuffledBatches(std::span<Replica> replicas, const DeviceImages& images, int64_t batch,
                                 uint64_t seed, const Augmentation& augmentation)
    : images_(images), batch_(batch), seed_(seed), augmentation_(augmentation) {
  if (batch < 1) throw Error(bad_argument("ShuffledBatches: the batch is ", batch, ", must be at least 1"));
  if (augmentation.any()) check_augments("ShuffledBatches", augmentation, graph_of(replicas).input().shape);
  for (Replica& replica : replicas) {
    images.check_serve(replica, places_.size());
    const DeviceScope scope(replica.device());
    places_.push_back({&replica, Buffer<int32_t>(images.size()), Buffer<int64_t>(1), Buffer<int64_t>(1)});
  }
  step_ = steps();  // no epoch has begun
}

int64_t ShuffledBatches::bytes_of_replica(int64_t count) {
  return count * static_cast<int64_t>(sizeof(int32_t)) + 2 * static_cast<int64_t>(sizeof(int64_t));
}

void ShuffledBatches::begin_epoch(int64_t epoch, int64_t step) {
  if (step < 0 || step > steps())
    throw Error(
        bad_argument("ShuffledBatches: the epoch continues at step ", step, ", must be 0 to ", steps()));
  for (Place& place : places_) {
    const DeviceScope scope(place.replica->device());
    const cudaStream_t stream = place.replica->stream();
    set(place.epoch, epoch, stream);
    set(place.step, step, stream);
    throw_if_error(shuffle({place.order.data(), place.order.size()}, seed_, place.epoch.data(), stream));
  }
  step_ = step;
}

int64_t ShuffledBatches::next_batch() const {
  if (done())
    throw Error(bad_argument("ShuffledBatches: the epoch has no more steps, begin_epoch() must be called"));
  return std::min(batch_, images_.size() - step_ * batch_);
}

void ShuffledBatches::load(Replica& replica, size_t rank, Shard samples, const LossTarget& target) {
  images_.check_serve(replica, rank);
  const Place& place = places_[rank];
  images_.gather(replica, rank, {place.order.data(), place.order.size()}, place.step.data(), batch_, samples,
                 target.labels, augmentation_, {seed_, place.epoch.data()});
}

void ShuffledBatches::advance(Replica& replica, size_t rank) {
  throw_if_error(rondo::advance(places_[rank].step.data(), 1, replica.stream()));
}

}  // namespace rondo::nn
