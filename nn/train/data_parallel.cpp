#include <rondo/kernels/core/counted.h>
#include <rondo/nn/data/labels.h>
#include <rondo/nn/diagnostics/model_checks.h>
#include <rondo/nn/train/data_parallel.h>
#include <rondo/nn/train/evaluation.h>

namespace rondo::nn {

DataParallel::DataParallel(const AnyModule& network, Shape input, DataParallelOptions options)
    : group_(std::make_unique<ReplicaGroup>(network, input, std::move(options))), steps_(*group_) {}

DataParallel::~DataParallel() { group_->streams().drain(); }

int64_t DataParallel::batch_of(std::span<const float> x) const {
  const int64_t sample = graph().input().shape.size(), size = static_cast<int64_t>(x.size());
  if (size % sample != 0)
    throw Error(bad_argument("DataParallel: the batch has ", counted(size, "value"),
                             ", must have a multiple of ", sample, ", the size of a sample"));
  const int64_t batch = size / sample;
  if (batch < 1 || batch > options().batch)
    throw Error(bad_argument("DataParallel: the batch has ", counted(batch, "sample"), ", must have 1 to ",
                             options().batch));
  return batch;
}

// Copies each replica's shard to its device.
template <class Targets>
void DataParallel::stage(std::span<const float> x, Targets targets, int64_t batch) {
  std::vector<Shard> shards;
  for (int rank = 0; rank < world().local(); ++rank)
    shards.push_back(group_->shard(batch, world().first() + rank));
  if (!staged_)
    staged_ = std::make_unique<StagedBatch>(*group_, group_->samples_per_replica() * options().micro_batches);
  staged_->stage(shards, x, targets);
}

void DataParallel::train_step(std::span<const float> x, std::span<const int32_t> labels,
                              Optimizer& optimizer) {
  steps_.check(optimizer);
  const int64_t batch = batch_of(x);
  if (static_cast<int64_t>(labels.size()) != batch)
    throw Error(bad_argument("DataParallel: ", there_are(labels.size(), "label"), ", must be ", batch,
                             ", one for each sample"));
  check_labels("DataParallel", labels, graph().output().shape.size());
  stage(x, labels, batch);
  steps_.take(*staged_, optimizer);
}

void DataParallel::train_step(std::span<const float> x, std::span<const float> targets,
                              Optimizer& optimizer) {
  steps_.check(optimizer);
  const int64_t batch = batch_of(x), outputs = graph().output().shape.size();
  if (static_cast<int64_t>(targets.size()) != batch * outputs)
    throw Error(bad_argument("DataParallel: ", there_are(targets.size(), "target value"), ", must be ",
                             batch * outputs, ", ", outputs, " for each sample"));
  stage(x, targets, batch);
  steps_.take(*staged_, optimizer);
}

void DataParallel::repeat_step(Optimizer& optimizer) {
  steps_.check(optimizer);
  if (!staged_) throw Error(bad_argument("DataParallel: there was no batch yet, must be a step to repeat"));
  steps_.take(*staged_, optimizer);
}

std::vector<float> DataParallel::predict(std::span<const float> x) { return nn::predict(*group_, x); }
LossStats DataParallel::evaluate(std::span<const float> x, std::span<const int32_t> labels) {
  return nn::evaluate(*group_, x, labels);
}
LossStats DataParallel::evaluate(const DeviceImages& images) { return nn::evaluate(*group_, images); }

void DataParallel::throw_if_failed() {
  throw_if_error(steps_.failure());
  if (const std::string value = nonfinite_value(*this); !value.empty())
    throw Error(bad_argument("DataParallel: ", value,
                             " was not finite in a step; the parameters have not changed since"));
}

}  // namespace rondo::nn
