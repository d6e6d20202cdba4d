#include <rondo/collectives/collectives.h>
#include <rondo/kernels/activation/add.h>
#include <rondo/kernels/activation/cast.h>
#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/data/batch.h>
#include <rondo/kernels/runtime/launch_trace.h>
#include <rondo/nn/train/training_steps.h>

namespace rondo::nn {

namespace {

std::vector<Event> event_on_each(const std::vector<int>& devices) {
  std::vector<Event> events;
  for (int device : devices) {
    const DeviceScope scope(device);
    events.emplace_back();
  }
  return events;
}

// Only the first replica is timed; the others do the same work.
PhaseTimer timer_of(const StreamGroup& streams) {
  const DeviceScope scope(streams.device(0));
  return PhaseTimer(streams.stream(0));
}

}  // namespace

TrainingSteps::TrainingSteps(ReplicaGroup& group)
    : group_(group),
      options_(group.options()),
      exchange_(options_.devices),
      buckets_(gradient_buckets(group.graph(), options_.bucket_bytes)),
      ready_(event_on_each(options_.devices)),
      reduced_(event_on_each(options_.devices)),
      whole_(timer_of(group.streams())),
      partial_(timer_of(group.streams())),
      recorded_(group.world().processes()) {
  if (const auto exchange = gradient_exchange(options_, group.graph()))
    gradient_communicator_ = std::make_unique<Communicator>(options_.devices, *exchange);
  if (const int64_t size = rounded_bucket_size(options_, group_.graph()))
    group_.on_each([&](Replica&, size_t) { rounded_.emplace_back(size); });
  if (options_.micro_batches > 1)
    group_.on_each(
        [&](Replica&, size_t) { accumulated_.emplace_back(group_.graph().parameter_arena_size()); });
}

TrainingSteps::~TrainingSteps() { exchange_.drain(); }

void TrainingSteps::check(const Optimizer& optimizer) const {
  throw_if_error(failure_);
  for (size_t rank = 0; rank < group_.replicas().size(); ++rank)
    if (!optimizer.serves(group_.replicas()[rank], rank))
      throw Error(
          bad_argument("DataParallel: the optimizer was made for another model, must be for this one"));
}

void TrainingSteps::take(BatchIterator& batches, Optimizer& optimizer) {
  check(optimizer);
  const int64_t batch = batches.next_batch();
  if (batch < 1 || batch > options_.batch)
    throw Error(bad_argument("DataParallel: the batch has ", counted(batch, "sample"), ", must have 1 to ",
                             options_.batch));
  // The optimizer's steps write the rounded parameters. Others who change the parameters (initial values, a
  // checkpoint, the caller) do not.
  group_.on_each([](Replica& replica, size_t) {
    if (!replica.rounded_is_current()) replica.round_parameters();
  });
  const auto work = [this, &batches, batch, &optimizer] { enqueue(batches, batch, optimizer); };
  try {
    if (trace_) {
      const LaunchTrace kernels(trace_, group_.streams().streams());
      group_.streams().fork();
      work();
      group_.streams().join();
    } else {
      recorded_.run({batch, batches.id(), optimizer.id(), static_cast<int>(batches.loss())}, group_.streams(),
                    work);
    }
    group_.on_each(
        [&](Replica& replica, size_t) { replica.set_rounded_is_current(optimizer.rounds_parameters()); });
    batches.step_taken();
  } catch (const Error& error) {
    failure_ = Status(error.status().code(), concat("DataParallel: a step failed: ", error.what()));
    throw;
  } catch (...) {
    failure_ = Status(StatusCode::device_failed, "DataParallel: a step failed");
    throw;
  }
}

void TrainingSteps::enqueue(BatchIterator& batches, int64_t batch, Optimizer& optimizer) {
  timed_ = timed_ || batch == options_.batch;
  const auto end = [&](Phase phase) {
    const DeviceScope scope(group_.streams().device(0));
    timer(batch).end(phase);
  };
  for (int64_t index = 0; index < options_.micro_batches; ++index) {
    const bool last = index + 1 == options_.micro_batches;
    Pass training = group_.training_pass(batch, index);
    training.rounded = true;
    timer(batch).begin();
    group_.load(batches, batch, index);
    if (last) group_.on_each([&](Replica& replica, size_t rank) { batches.advance(replica, rank); });
    end(Phase::load);
    nn::forward(group_.replicas(), training);
    group_.enqueue_loss(batches.loss(), true);
    end(Phase::forward);
    size_t next = 0;
    nn::backward(group_.replicas(), training, [&](int node) {
      while (last && next < buckets_.size() && buckets_[next].node >= node) reduce(buckets_[next++]);
    });
    end(Phase::backward);
    if (!last) accumulate(index);
  }
  update(batch, optimizer);
}

// Adds the gradients of a micro-batch to accumulated_, because the next backward pass overwrites them.
void TrainingSteps::accumulate(int64_t micro_batch) {
  group_.on_each([&](Replica& replica, size_t rank) {
    const VectorView<float> sum = {accumulated_[rank].data(), accumulated_[rank].size()};
    const VectorView<float> gradients = replica.gradients();
    if (micro_batch == 0)
      RONDO_CUDA_THROW(cudaMemcpyAsync(sum.data, gradients.data,
                                       static_cast<size_t>(sum.size) * sizeof(float),
                                       cudaMemcpyDeviceToDevice, replica.stream()));
    else
      throw_if_error(add(sum, sum, gradients, false, replica.stream()));
  });
}

// Rounds a bucket's gradients to bfloat16, on the rank's stream of exchange_. On that stream widen() has read
// the bucket before, so its memory is free.
DataView TrainingSteps::round(VectorView<const float> gradients, size_t rank) {
  const cudaStream_t exchange = exchange_.stream(static_cast<int>(rank));
  const VectorView<__nv_bfloat16> bucket = {rounded_[rank].data(), gradients.size};
  const Trace::Scope span =
      trace_span(trace_, static_cast<int>(rank), "kernel", "sums", exchange, "round to bfloat16");
  throw_if_error(cast(bucket, gradients, exchange));
  return bucket;
}

// Writes the reduced bucket to the gradients, on the same stream.
void TrainingSteps::widen(VectorView<float> gradients, size_t rank) {
  const cudaStream_t exchange = exchange_.stream(static_cast<int>(rank));
  const Trace::Scope span =
      trace_span(trace_, static_cast<int>(rank), "kernel", "sums", exchange, "widen to float32");
  throw_if_error(cast(gradients, {rounded_[rank].data(), gradients.size}, exchange));
}

// Called during backward of the last micro-batch. Adds the earlier micro-batches to a bucket, then
// all-reduces it over the replicas, on the streams of exchange_. The bucket with the first gradient also
// tells the other replicas of a loss that is not finite.
void TrainingSteps::reduce(const GradientBucket& bucket) {
  const auto gradients = [&](Replica& replica) {
    return VectorView<float>{replica.gradients().data + bucket.begin, bucket.size};
  };
  std::vector<DataView> parts;
  group_.on_each([&](Replica& replica, size_t rank) {
    const VectorView<float> part = gradients(replica);
    if (options_.micro_batches > 1)
      throw_if_error(
          add(part, {accumulated_[rank].data() + bucket.begin, bucket.size}, part, false, replica.stream()));
    if (bucket.begin == 0) group_.enqueue_loss_check(rank);
    if (!gradient_communicator_) return;
    const cudaStream_t exchange = exchange_.stream(static_cast<int>(rank));
    RONDO_CUDA_THROW(cudaEventRecord(ready_[rank], replica.stream()));
    RONDO_CUDA_THROW(cudaStreamWaitEvent(exchange, ready_[rank], 0));
    parts.push_back(rounded_.empty() ? DataView(part) : round(part, rank));
  });
  if (!gradient_communicator_) return;
  throw_if_error(all_reduce(parts, {.algorithm = options_.algorithm, .order = options_.order},
                            *gradient_communicator_, exchange_.streams()));
  if (!rounded_.empty())
    group_.on_each([&](Replica& replica, size_t rank) { widen(gradients(replica), rank); });
}

// Takes the same step on each replica. The gradients are sums over the batch, so one division by the size of
// the whole batch is right for shards of any size.
void TrainingSteps::update(int64_t batch, Optimizer& optimizer) {
  const float mean = 1.0f / static_cast<float>(batch);
  group_.on_each([&](Replica& replica, size_t rank) {
    if (gradient_communicator_) {
      RONDO_CUDA_THROW(cudaEventRecord(reduced_[rank], exchange_.stream(static_cast<int>(rank))));
      RONDO_CUDA_THROW(cudaStreamWaitEvent(replica.stream(), reduced_[rank], 0));
    }
    if (rank == 0) timer(batch).end(Phase::reduce);
    group_.enqueue_nonfinite_check(rank);
    optimizer.step(replica, rank, mean);
    throw_if_error(advance(replica.step(), 1, replica.stream()));
    if (rank == 0) timer(batch).end(Phase::update);
  });
}

PhaseSeconds TrainingSteps::phases() const {
  if (!timed_) return {};
  PhaseSeconds seconds = whole_.read();
  // The timer holds the last micro-batch; all of them take the same time.
  for (Phase phase : {Phase::load, Phase::forward, Phase::backward})
    seconds[static_cast<size_t>(phase)] *= static_cast<double>(options_.micro_batches);
  return seconds;
}

void TrainingSteps::set_trace(Trace* trace) {
  trace_ = trace;
  if (gradient_communicator_) gradient_communicator_->set_trace(trace);
}

}  // namespace rondo::nn
