#include <rondo/kernels/core/counted.h>
#include <rondo/nn/data/labels.h>
#include <rondo/nn/train/data_parallel.h>

namespace rondo::nn {

DataParallel::DataParallel(const AnyModule& network, Shape input, DataParallelOptions options)
    : group_(std::make_unique<ReplicaGroup>(network, input, std::move(options))), step_(*group_) {}

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

// Copies each replica's shard to its device, and takes a step on it.
template <class Targets>
void DataParallel::train_step_on(std::span<const float> x, Targets targets, int64_t batch,
                                 Optimizer& optimizer) {
  std::vector<Shard> shards;
  for (size_t rank = 0; rank < replicas().size(); ++rank) shards.push_back(group_->shard(batch, rank));
  if (!staged_)
    staged_ = std::make_unique<StagedBatch>(replicas(), group_->uploads(),
                                            group_->samples_per_replica() * options().micro_batches);
  staged_->stage(shards, x, targets);
  train_step(*staged_, optimizer);
}

void DataParallel::train_step(std::span<const float> x, std::span<const int32_t> labels,
                              Optimizer& optimizer) {
  step_.check(optimizer);
  const int64_t batch = batch_of(x);
  if (static_cast<int64_t>(labels.size()) != batch)
    throw Error(bad_argument("DataParallel: ", there_are(labels.size(), "label"), ", must be ", batch,
                             ", one for each sample"));
  check_labels("DataParallel", labels, graph().output().shape.size());
  train_step_on(x, labels, batch, optimizer);
}

void DataParallel::train_step(std::span<const float> x, std::span<const float> targets,
                              Optimizer& optimizer) {
  step_.check(optimizer);
  const int64_t batch = batch_of(x), outputs = graph().output().shape.size();
  if (static_cast<int64_t>(targets.size()) != batch * outputs)
    throw Error(bad_argument("DataParallel: ", there_are(targets.size(), "target value"), ", must be ",
                             batch * outputs, ", ", outputs, " for each sample"));
  train_step_on(x, targets, batch, optimizer);
}

void DataParallel::repeat_step(Optimizer& optimizer) {
  step_.check(optimizer);
  if (!staged_) throw Error(bad_argument("DataParallel: there was no batch yet, must be a step to repeat"));
  train_step(*staged_, optimizer);
}

void DataParallel::throw_if_failed() {
  throw_if_error(step_.failure());
  if (const std::string value = group_->nonfinite_value(); !value.empty())
    throw Error(bad_argument("DataParallel: ", value,
                             " was not finite in a step; the parameters have not changed since"));
}

}  // namespace rondo::nn
