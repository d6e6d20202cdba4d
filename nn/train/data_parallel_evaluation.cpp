// What is asked of a model beside its steps: predictions, evaluation, and looks inside.

#include <rondo/kernels/data/batch.h>
#include <rondo/kernels/reduce/first_nonfinite.h>
#include <rondo/nn/train/data_parallel.h>
#include <rondo/nn/data/device_images.h>
#include <rondo/nn/diagnostics/replica_check.h>
#include <rondo/nn/train/shard.h>

#include <algorithm>

namespace rondo::nn {

// As many samples at a time as `ranks` have room for: load(replica, rank, shard) of all samples, forward,
// then after(first, count).
template <class Load, class After>
void DataParallel::evaluate_in_batches(int64_t samples, const World& ranks, Load load, After after) {
  const int64_t room = most_ * ranks.size();
  for (int64_t begin = 0; begin < samples; begin += room) {
    const int64_t count = std::min(room, samples - begin);
    on_each([&](Replica& replica, size_t rank) {
      Shard shard = shard_of(count, ranks.first() + static_cast<int64_t>(rank), ranks.size());
      shard.first += begin;
      replica.set_batch(shard.size, shard.first);
      if (shard.size > 0) load(replica, rank, shard);
    });
    nn::forward(replicas_, {.seed = options_.seed});
    after(begin, count);
  }
}

// Keeps the loss_stats of training: what else goes through the loss must not mix with it.
template <class Work>
auto DataParallel::beside_training(Work work) {
  const LossStats of_training = take_loss_stats();
  const auto put_back = [&] {
    clear_loss_stats();
    if (world_.first() > 0) return;  // the sum is that of all ranks
    const DeviceScope scope(replicas_[0].device());
    targets_[0].loss_stats.upload(std::vector<LossStats>{of_training});
  };
  try {
    auto result = work();
    put_back();
    return result;
  } catch (...) {
    put_back();
    throw;
  }
}

template <class Load>
LossStats DataParallel::evaluate_with(int64_t samples, Load load) {
  return beside_training([&] {
    evaluate_in_batches(samples, world_, load,
                        [&](int64_t, int64_t) { enqueue_loss(Loss::cross_entropy, false); });
    return world_.sum(clear_loss_stats());
  });
}

std::vector<float> DataParallel::predict(std::span<const float> x) {
  const int64_t sample = graph_.input().shape.size(), outputs = graph_.output().shape.size();
  const int64_t size = static_cast<int64_t>(x.size());
  if (size % sample != 0)
    throw Error(bad_argument("DataParallel: there are ", size, " values, must be a multiple of ", sample,
                             ", the size of a sample"));
  std::vector<float> all(static_cast<size_t>(size / sample * outputs));
  evaluate_in_batches(
      size / sample, World("DataParallel", devices(), nullptr),
      [&](Replica& replica, size_t, Shard shard) {
        upload_shard(replica.input().data, x, shard, sample, replica.stream());
      },
      [&](int64_t begin, int64_t count) {
        compute_.synchronize();
        on_each([&](Replica& replica, size_t rank) {
          const Shard shard = shard_of(count, static_cast<int64_t>(rank), devices());
          if (shard.size == 0) return;
          RONDO_CUDA_THROW(cudaMemcpy(all.data() + (begin + shard.first) * outputs, replica.output().data,
                                      static_cast<size_t>(shard.size * outputs) * sizeof(float),
                                      cudaMemcpyDeviceToHost));
        });
      });
  return all;
}

LossStats DataParallel::evaluate(std::span<const float> x, std::span<const int32_t> labels) {
  const auto sample = static_cast<size_t>(graph_.input().shape.size());
  if (x.size() != labels.size() * sample)
    throw Error(bad_argument("DataParallel: there are ", x.size(), " values and ", labels.size(),
                             " labels, must be ", sample, " values for each label"));
  return evaluate_with(static_cast<int64_t>(labels.size()), [&](Replica& replica, size_t rank, Shard shard) {
    upload_shard(replica.input().data, x, shard, static_cast<int64_t>(sample), replica.stream());
    upload_shard(targets_[rank].labels.data(), labels, shard, 1, replica.stream());
  });
}

LossStats DataParallel::evaluate(const DeviceImages& images) {
  return evaluate_with(images.size(), [&](Replica& replica, size_t rank, Shard shard) {
    images.gather(replica, rank, shard, target_of(rank, shard.size).labels);
  });
}

LossStats DataParallel::take_loss_stats() {
  std::vector<LossStats> own = clear_loss_stats();
  if (!sharded()) {
    own.resize(1);  // the others see the same samples
    if (world_.first() > 0) own[0] = {};
  }
  return world_.sum(own);
}

// What they were, of each replica.
std::vector<LossStats> DataParallel::clear_loss_stats() {
  compute_.synchronize();
  std::vector<LossStats> were;
  on_each([&](Replica&, size_t rank) {
    were.push_back(targets_[rank].loss_stats.download()[0]);
    targets_[rank].loss_stats.fill_bytes(0);
  });
  return were;
}

std::vector<const LossStats*> DataParallel::loss_stats() const {
  std::vector<const LossStats*> all;
  for (const Target& target : targets_) all.push_back(target.loss_stats.data());
  if (!sharded()) all.resize(1);  // the others see the same samples
  return all;
}

PhaseSeconds DataParallel::phases() const {
  if (!timed_) return {};
  PhaseSeconds seconds = timer_.read();
  // What was seen is the last of the step's pieces, which are all the same.
  for (Phase phase : {Phase::load, Phase::forward, Phase::backward})
    seconds[static_cast<size_t>(phase)] *= static_cast<double>(options_.micro_batches);
  return seconds;
}

void DataParallel::set_trace(Trace* trace) {
  trace_ = trace;
  if (gradients_) gradients_->set_trace(trace);
}

std::string DataParallel::nonfinite_gradient() {
  compute_.synchronize();
  unsigned long long first = kAllFinite;
  on_each([&](Replica&, size_t rank) {
    if (rank < found_inf_.size()) first = std::min(first, found_inf_[rank].download()[0]);
  });
  if (first == kAllFinite) return "";
  const auto index = static_cast<int64_t>(first);
  for (const Parameter& p : graph_.parameters())
    if (index < p.offset + p.size) return p.name;
  return "";
}

void DataParallel::check_sound() {
  throw_if_error(failure_);
  if (const std::string parameter = nonfinite_gradient(); !parameter.empty())
    throw Error(bad_argument("DataParallel: the gradient of '", parameter,
                             "' was not finite in a step that was taken, and no step since has learned"));
}

void DataParallel::clear_nonfinite_gradient() {
  compute_.synchronize();
  on_each([&](Replica&, size_t rank) {
    if (rank < found_inf_.size()) found_inf_[rank].fill_bytes(0xff);
  });
}

std::optional<NonfiniteTensor> DataParallel::first_nonfinite_tensor(BatchIterator& source, int64_t steps_ago) {
  const int64_t batch = source.next_batch();
  const auto move_steps = [&](int64_t steps) {
    on_each(
        [&](Replica& replica, size_t) { throw_if_error(advance(replica.step(), steps, replica.stream())); });
  };
  const auto hunt = [&]() -> std::optional<NonfiniteTensor> {
    for (int64_t piece = 0; piece < options_.micro_batches; ++piece) {
      const Pass training = training_pass(batch, piece);
      load_piece(source, batch, piece);
      compute_.synchronize();
      if (const auto bad = first_bad_in_forward(replicas_, training, &world_)) return bad;
      enqueue_loss(source.loss(), true);
      if (const auto bad = first_bad_in_backward(replicas_, training, &world_)) return bad;
    }
    return std::nullopt;
  };
  return beside_training([&] {
    move_steps(-steps_ago);
    try {
      const std::optional<NonfiniteTensor> bad = hunt();
      move_steps(steps_ago);
      return bad;
    } catch (...) {
      move_steps(steps_ago);
      throw;
    }
  });
}

int64_t DataParallel::differing_values() {
  std::vector<VectorView<const float>> parameters;
  for (Replica& replica : replicas_) parameters.push_back(replica.parameters());
  ReplicaCheck check(compute_, parameters, options_.processes);
  check.enqueue();
  return world_.sum(check.differences(), "adding up differences");
}

}  // namespace rondo::nn
